//! Completions of prompts.

use domain::usage::{CallOrigin, CallSurface, Certainty, Tokens};
use expect_test::expect;
use serde_json::{Value, json};
use testkit::fake_engine::Script;
use testkit::http::Response;

use crate::app::{CHAT, EMBEDDING, TestApp, UPSTREAM_NAME, error_line};

async fn complete(app: &TestApp, members: Value) -> Response {
    let mut body = json!({"model": CHAT});
    body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    app.client().post_json("/completions", body).await
}

#[tokio::test]
async fn a_prompt_is_completed_and_billed_like_a_chat() {
    let app = TestApp::start().await;
    app.chat("hi").await;
    let response = complete(&app, json!({"prompt": "hi", "top_k": 5})).await;
    expect![[r#"{"id":"cmpl-fake","object":"text_completion","created":1700000000,"model":"acme/tiny","choices":[{"index":0,"text":"Hello Hello Hello ","logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens_details":{"cached_tokens":0},"prompt_tokens":10,"completion_tokens":3,"total_tokens":13}}"#]]
    .assert_eq(&response.json().to_string());
    let calls = app.engine().calls();
    let sent = json!({"model": UPSTREAM_NAME, "max_tokens": 16, "prompt": "hi", "top_k": 5});
    assert_eq!((calls[1].path.as_str(), calls[1].json()), ("/v1/completions", sent));

    let events = app.usage(2).await;
    assert_eq!(events[0].origin, CallOrigin { surface: Some(CallSurface::Completions), ..CallOrigin::default() });
    assert_eq!((events[0].tokens, events[0].cost), (events[1].tokens, events[1].cost));
}

#[tokio::test]
async fn prompts_of_every_form_have_their_choices_and_are_all_billed() {
    let app = TestApp::start().await;
    for (prompt, prompts) in [(json!(["a", "b"]), 2), (json!([1, 2, 3]), 1), (json!([[1], [2], [3]]), 3)] {
        app.engine().forget_calls();
        let members = json!({"prompt": prompt, "n": 2, "max_tokens": 1, "echo": true, "logprobs": 1});
        let response = complete(&app, members.clone()).await.json();
        let choices = response["choices"].as_array().unwrap();
        assert_eq!(choices.len(), 2 * prompts, "{response}");
        assert!(choices.iter().all(|choice| choice["logprobs"]["token_logprobs"][0] == -0.5), "{response}");
        let sent = app.engine().calls()[0].json();
        for (name, value) in members.as_object().unwrap() {
            assert_eq!(sent[name], *value);
        }
    }
    let tokens: Vec<Tokens> = app.usage(3).await.into_iter().map(|event| event.tokens).collect();
    let of = |prompts: u64| Tokens { prompt: 10 * prompts, completion: 2 * prompts, cached: 0 };
    assert_eq!(tokens, [of(3), of(1), of(2)]);
}

#[tokio::test]
async fn a_stream_has_the_texts_of_all_choices_and_the_usage_if_requested() {
    let app = TestApp::start().await;
    for wants_usage in [false, true] {
        let mut body = json!({"model": CHAT, "prompt": ["a", "b"], "stream": true, "echo": true});
        if wants_usage {
            body["stream_options"] = json!({"include_usage": true});
        }
        let (events, clean) = app.client().open_stream("/completions", body).await.rest().await;
        assert!(clean && events.last().unwrap().is_done(), "{events:#?}");
        let chunks: Vec<Value> = events[..events.len() - 1].iter().map(|event| event.json()).collect();
        let mut texts = [String::new(), String::new()];
        for choice in chunks.iter().flat_map(|chunk| chunk["choices"].as_array().unwrap()) {
            texts[usize::try_from(choice["index"].as_u64().unwrap()).unwrap()] += choice["text"].as_str().unwrap();
            assert!(choice.get("delta").is_none());
        }
        assert_eq!(texts, ["aHello Hello Hello ", "bHello Hello Hello "]);
        assert!(chunks.iter().all(|chunk| chunk["model"] == CHAT && chunk["object"] == "text_completion"));
        let usage: Vec<&Value> = chunks.iter().filter_map(|chunk| chunk.get("usage")).collect();
        assert_eq!(usage.len(), usize::from(wants_usage), "{chunks:#?}");
        assert!(usage.iter().all(|usage| usage["total_tokens"] == 26), "{usage:?}");
        let sent = json!({"include_usage": true, "continuous_usage_stats": true});
        assert_eq!(app.engine().calls().last().unwrap().json()["stream_options"], sent);
    }
    let events = app.usage(2).await;
    let tokens = Tokens { prompt: 20, completion: 6, cached: 0 };
    assert!(events.iter().all(|event| (event.tokens, event.certainty) == (tokens, Certainty::Exact)), "{events:?}");
}

#[tokio::test]
async fn usage_that_the_engine_does_not_send_is_estimated_without_the_echo() {
    let app = TestApp::start().await;
    app.engine().push(Script { no_usage: true, ..Script::default() });
    complete(&app, json!({"prompt": "x".repeat(400), "echo": true})).await;
    let event = app.usage(1).await.remove(0);
    assert_eq!(event.certainty, Certainty::Estimated);
    assert!(event.tokens.prompt >= 100 && event.tokens.completion < 10, "{:?}", event.tokens);
}

#[tokio::test]
async fn what_an_engine_would_ignore_is_rejected_before_it_is_sent() {
    let lacking = [
        (json!({"prompt": "x", "echo": true, "logprobs": 1}), "422 invalid_value echo", "llama-server"),
        (json!({"prompt": ["x", "y"]}), "422 invalid_value prompt", "llama-server"),
        (json!({"prompt": "x", "n": 2}), "422 invalid_value n", "llama-server"),
        (json!({"prompt": "x", "suffix": "y"}), "422 invalid_value suffix", "vllm"),
        (json!({"prompt": "x", "best_of": 2}), "422 invalid_value best_of", "vllm"),
    ];
    for engine in ["llama-server", "vllm"] {
        let app = TestApp::setup().upstream(&format!("engine = \"{engine}\"")).start().await;
        for (members, expected, _) in lacking.iter().filter(|(_, _, of)| *of == engine) {
            assert_eq!(error_line(&complete(&app, members.clone()).await), *expected, "{members}");
        }
        assert!(app.engine().calls().is_empty());
        assert_eq!(complete(&app, json!({"prompt": "x"})).await.status_line(), "200 OK");
        app.usage(1).await;
    }
    let app = TestApp::start().await;
    let all = json!({"prompt": "x", "echo": true, "suffix": "y", "best_of": 2});
    assert_eq!(complete(&app, all).await.status_line(), "200 OK", "an engine that is not known gets everything");
}

#[tokio::test]
async fn bad_requests_and_bad_responses_have_their_errors() {
    let app = TestApp::start().await;
    for (members, expected) in [
        (json!({}), "400 missing_parameter prompt"),
        (json!({"prompt": []}), "422 invalid_value prompt"),
        (json!({"prompt": "x", "logprobs": 21}), "422 invalid_value logprobs"),
        (json!({"prompt": "x".repeat(2_000_000)}), "400 context_length_exceeded prompt"),
        (json!({"prompt": "x", "model": EMBEDDING}), "422 invalid_value model"),
        (json!({"prompt": "x", "n_predict": 9}), "400 unsupported_parameter n_predict"),
        (json!({"prompt": "x", "prompt_embeds": "AAAA"}), "400 unsupported_parameter prompt_embeds"),
    ] {
        assert_eq!(error_line(&complete(&app, members).await), expected);
    }
    for body in [r#"{"choices":[]}"#, r#"{"choices":[{"message":{}}]}"#, "{"] {
        app.engine().push(Script { raw_body: Some(body.to_owned()), ..Script::default() });
        assert_eq!(error_line(&complete(&app, json!({"prompt": "x"})).await), "502 bad_gateway", "{body}");
    }
}

#[tokio::test]
async fn completions_are_admitted_like_chats() {
    let app = TestApp::setup().workspace_limits(1_000, 100_000, 300).start().await;
    let served = complete(&app, json!({"prompt": ["x", "y"], "max_tokens": 200})).await;
    assert_eq!(served.status, 200, "{}", served.text());
    let sent = app.engine().calls()[0].json()["max_tokens"].as_u64().unwrap();
    assert!((50..=150).contains(&sent), "{sent} tokens for each of two prompts, of 300");
    app.engine().script(Script { prompt_tokens: 300, ..Script::default() });
    assert_eq!(complete(&app, json!({"prompt": "x"})).await.status, 200);
    app.usage(2).await;
    let rejected = complete(&app, json!({"prompt": "x"})).await;
    assert_eq!(error_line(&rejected), "429 quota_exceeded");
}
