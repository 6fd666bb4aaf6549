//! Messages and Responses over engines that speak them themselves.

use bytes::Bytes;
use domain::usage::{CallOrigin, CallSurface};
use http::Method;
use serde_json::{Value, json};
use testkit::fake_engine::{ErrorBody, FakeEngine, Script};
use testkit::http::{Client, Event};

use crate::app::{CHAT, CONTENT_KEY, Setup, TIMEOUT, TestApp, UPSTREAM_NAME, events_of, text, types, wait_until};
use crate::openai::stored_responses::{continuing, keep_for_days};

const MESSAGES: &str = "/messages";
const RESPONSES: &str = "/responses";

fn native() -> Setup {
    TestApp::setup().chat_upstream("native = [\"messages\", \"responses\"]")
}

/// A client of both APIs.
fn client(app: &TestApp) -> Client {
    app.client().header("x-api-key", &app.key).header("anthropic-version", "2099-01-01").header("anthropic-beta", "x")
}

fn request(path: &str) -> Value {
    match path {
        MESSAGES => json!({"model": CHAT, "max_tokens": 64, "messages": [{"role": "user", "content": "hi"}]}),
        _ => json!({"model": CHAT, "input": "hi"}),
    }
}

fn streamed(path: &str) -> Value {
    let mut body = request(path);
    body["stream"] = json!(true);
    body
}

async fn events(app: &TestApp, path: &str, script: Script) -> Vec<Event> {
    app.engine().push(script);
    events_of(&client(app), path, streamed(path)).await
}

/// `status code certainty prompt+completion(cached)` of the one call.
async fn bill(app: &TestApp) -> String {
    let event = app.usage(1).await.remove(0);
    let (code, tokens) = (if event.code.is_empty() { "-" } else { &event.code }, event.tokens);
    let certainty = event.certainty.as_str();
    format!("{} {code} {certainty} {}+{}({})", event.status, tokens.prompt, tokens.completion, tokens.cached)
}

/// The routes that an engine was called at.
fn routes(engine: &FakeEngine) -> Vec<String> {
    engine.calls().iter().map(|call| call.path.clone()).collect()
}

#[tokio::test]
async fn a_message_is_passed_through_with_our_model_limit_and_headers() {
    let alias = format!("[[aliases]]\nname = \"claude-*\"\nmodel = \"{CHAT}\"");
    let app = native().table(&alias).start().await;
    app.engine().push(Script { cached_tokens: Some(4), ..Script::default() });
    let body = json!({"model": "claude-x", "max_tokens": 128_000, "messages": [{"role": "user", "content": "hi"}],
        "thinking": {"type": "disabled"}, "metadata": {"user_id": "ann"}, "cache_salt": "mine", "unknown": 1});
    let response = client(&app).post_json("/messages?beta=true", body).await;
    assert_eq!(response.status_line(), "200 OK");
    let received = response.json();
    assert!(text(&received["id"]).starts_with("msg_"), "{received}");
    assert_eq!((&received["model"], &received["stop_reason"]), (&"claude-x".into(), &"end_turn".into()));
    assert_eq!(received["content"], json!([{"type": "text", "text": "Hello Hello Hello "}]), "as the engine wrote it");
    assert_eq!(received["usage"], json!({"input_tokens": 6, "cache_read_input_tokens": 4, "output_tokens": 3}));
    assert!(response.header("anthropic-ratelimit-tokens-limit").is_some());

    let calls = app.engine().calls();
    let mut sent = calls[0].json();
    let limit = sent["max_tokens"].take().as_u64().unwrap();
    assert!((1_000..4_096).contains(&limit), "what the context leaves: {limit}");
    let expected = json!({"model": UPSTREAM_NAME, "max_tokens": null, "messages": [{"role": "user", "content": "hi"}],
        "thinking": {"type": "disabled"}});
    assert_eq!((calls[0].path.as_str(), sent), ("/v1/messages", expected));
    let headers = ["x-api-key", "authorization", "anthropic-beta", "anthropic-version", "x-request-id"];
    let headers = headers.map(|name| calls[0].header(name));
    assert_eq!(headers, [None, None, None, Some("2023-06-01"), response.header("x-request-id")]);

    let event = app.usage(1).await.remove(0);
    let origin = CallOrigin {
        surface: Some(CallSurface::Messages),
        requested_model: Some("claude-x".into()),
        ..CallOrigin::default()
    };
    assert_eq!((event.model.as_str(), event.origin), (CHAT, origin));
    assert_eq!(bill(&app).await, "200 - exact 10+3(4)");
}

#[tokio::test]
async fn a_response_is_passed_through_and_not_stored_by_the_engine() {
    let app = native().start().await;
    let mut body = request(RESPONSES);
    body["user"] = json!("ann");
    body["metadata"] = json!({"a": "b"});
    body["max_output_tokens"] = json!(50);
    let received = client(&app).post_json(RESPONSES, body).await.json();
    assert!(text(&received["id"]).starts_with("resp_") && received["id"] != "resp_fake", "{received}");
    assert_eq!((&received["model"], &received["store"]), (&CHAT.into(), &false.into()));
    assert_eq!(received["output"][0]["content"][0]["text"], "Hello Hello Hello ");
    let calls = app.engine().calls();
    let expected = json!({"model": UPSTREAM_NAME, "max_output_tokens": 50, "store": false, "input": "hi",
        "metadata": {"a": "b"}});
    assert_eq!((calls[0].path.as_str(), calls[0].json()), ("/v1/responses", expected));
    assert_eq!(bill(&app).await, "200 - exact 10+3(0)");
}

#[tokio::test]
async fn the_same_call_costs_the_same_whether_it_is_translated_or_not() {
    let app = native().start().await;
    app.chat("hi").await;
    for path in [MESSAGES, RESPONSES] {
        client(&app).post_json(path, request(path)).await;
        events(&app, path, Script { comments: true, crlf: true, split: Some(7), ..Script::default() }).await;
    }
    let bills: Vec<_> =
        app.usage(5).await.into_iter().map(|event| (event.tokens, event.certainty, event.cost)).collect();
    assert!(bills.iter().all(|bill| *bill == bills[0]), "{bills:?}");
    let expected = ["/v1/messages", "/v1/messages", "/v1/responses", "/v1/responses"];
    assert_eq!(routes(app.engine())[1..], expected);
}

#[tokio::test]
async fn events_are_those_of_the_engine_under_our_names() {
    let app = native().start().await;
    let found = events(&app, MESSAGES, Script::default()).await;
    let expected = ["message_start", "content_block_start", "content_block_delta", "content_block_stop"];
    assert_eq!(types(&found), [&expected[..], &["message_delta", "message_stop"]].concat());
    assert_eq!(found.last().unwrap().raw, "event: message_stop\ndata: {\"type\":\"message_stop\"}");
    let message = &found[0].json()["message"];
    assert!(text(&message["id"]).starts_with("msg_") && message["model"] == CHAT, "{message}");

    let found = events(&app, RESPONSES, Script::default()).await;
    let expected = ["response.created", "response.in_progress", "response.output_item.added"];
    let end = ["response.output_text.delta", "response.output_item.done", "response.completed"];
    assert_eq!(types(&found), [&expected[..], &end].concat());
    for event in [&found[0], found.last().unwrap()] {
        let response = &event.json()["response"];
        assert_eq!((&response["model"], &response["id"]), (&CHAT.into(), &found[0].json()["response"]["id"]));
        assert_ne!(response["id"], "resp_fake");
    }
}

#[tokio::test]
async fn a_stream_whose_engine_dies_is_billed_by_what_was_sent() {
    // Until the end, only Anthropic's API reports the prompt.
    for (path, prompt, last) in [(MESSAGES, 10, "error"), (RESPONSES, 8, "response.failed")] {
        for sent in [1, 4] {
            let app = native().start().await;
            let cut = Script { chunks: 9, cut_after: Some(sent), ..Script::default() };
            let found = events(&app, path, cut).await;
            assert_eq!(types(&found).last().unwrap(), last, "{found:#?}");
            assert_eq!(bill(&app).await, format!("200 bad_gateway estimated {prompt}+{sent}(0)"), "{path}");
        }
    }
}

#[tokio::test]
async fn a_stream_that_breaks_after_its_usage_is_billed_exactly() {
    let app = native().start().await;
    let usage = json!({"input_tokens": 10, "output_tokens": 7});
    let message = json!({"id": "m", "model": "m", "content": [], "usage": {"input_tokens": 10, "output_tokens": 0}});
    let cut = [
        json!({"type": "message_start", "message": message}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": usage}),
    ];
    let script = Script { raw_events: Some(cut.map(|event| event.to_string()).to_vec()), ..Script::default() };
    let found = events(&app, MESSAGES, script).await;
    assert_eq!(types(&found).last().unwrap(), "error", "it has no end");
    assert_eq!(bill(&app).await, "200 bad_gateway exact 10+7(0)");
}

#[tokio::test]
async fn a_client_that_leaves_pays_for_what_it_got() {
    for (path, delta, prompt) in [(MESSAGES, "content_block_delta", 10), (RESPONSES, "response.output_text.delta", 8)] {
        let app = native().start().await;
        app.engine().push(Script { chunks: 9, stall_after: Some(3), ..Script::default() });
        let mut stream = client(&app).open_stream(path, streamed(path)).await;
        let mut deltas = 0;
        while deltas < 3 {
            deltas += usize::from(stream.next_event().await.unwrap().json()["type"] == delta);
        }
        drop(stream);
        assert_eq!(bill(&app).await, format!("499 client_gone estimated {prompt}+3(0)"), "{path}");
        assert!(app.engine().wait_until_cancelled(TIMEOUT).await);
    }
}

#[tokio::test]
async fn a_client_that_leaves_before_the_first_text_pays_for_the_prompt() {
    for path in [MESSAGES, RESPONSES] {
        let app = native().start().await;
        app.engine().push(Script { stall_after: Some(0), ..Script::default() });
        let (client, body) = (client(&app), Bytes::from(streamed(path).to_string()));
        tokio::select! {
            response = client.try_send(Method::POST, path, body) => panic!("{response:?}"),
            arrived = app.engine().wait_for_calls(1, TIMEOUT) => assert!(arrived),
        }
        assert_eq!(bill(&app).await, "499 client_gone estimated 8+0(0)", "{path}");
    }
}

#[tokio::test]
async fn tokens_are_estimated_if_the_engine_reports_none() {
    for path in [MESSAGES, RESPONSES] {
        let app = native().start().await;
        app.engine().push(Script { no_usage: true, ..Script::default() });
        assert_eq!(client(&app).post_json(path, request(path)).await.status_line(), "200 OK");
        // 18 bytes of text.
        assert_eq!(bill(&app).await, "200 - estimated 8+5(0)", "{path}");
    }
}

#[tokio::test]
async fn errors_of_the_engine_have_our_form() {
    let app = native().start().await;
    let own = json!({"type": "error", "error": {"type": "invalid_request_error", "message": "top_k is too large"}});
    let rejected = |body: ErrorBody, status| Script { status: Some(status), error_body: body, ..Script::default() };
    app.engine().push(rejected(ErrorBody::Raw(own.to_string()), 400));
    let response = client(&app).post_json(MESSAGES, request(MESSAGES)).await.json();
    let error = &response["error"];
    assert_eq!((&error["type"], &error["message"]), (&"invalid_request_error".into(), &"top_k is too large".into()));
    assert_eq!((&response["type"], response["request_id"].is_string()), (&"error".into(), true));
    for (path, last) in [(MESSAGES, "error"), (RESPONSES, "response.failed")] {
        let found = events(&app, path, Script { error_event_after: Some(2), ..Script::default() }).await;
        let event = found.last().unwrap().json();
        assert_eq!(event["type"], last, "{event}");
        assert!(!event.to_string().contains("scripted"), "the engine's own words stay here: {event}");
    }
    let found = events(&app, RESPONSES, Script { cut_after: Some(1), ..Script::default() }).await;
    let numbers: Vec<u64> = found.iter().filter_map(|event| event.json()["sequence_number"].as_u64()).collect();
    assert_eq!(numbers, (0..found.len() as u64).collect::<Vec<_>>());
}

#[tokio::test]
async fn an_engine_without_the_route_is_reported_with_the_setting() {
    let app = native().start().await;
    let missing = |status| Script { status: Some(status), ..Script::default() };
    for (path, api) in [(MESSAGES, "messages"), (RESPONSES, "responses")] {
        for status in [404, 405] {
            app.engine().push(missing(status));
            let response = client(&app).post_json(path, request(path)).await;
            let error = &response.json()["error"];
            assert_eq!((response.status.as_u16(), text(&error["code"])), (502, "bad_gateway"), "{path} {status}");
            assert!(text(&error["message"]).contains("`native` of its upstream"), "{error}");
        }
        let advice = format!("does not serve /{api}, remove");
        wait_until("the log says what to do", TIMEOUT, async || app.forebay.child.stdout().contains(&advice)).await;
    }
    app.engine().push(missing(404));
    assert!(!app.chat("hi").await.text().contains("native"), "chat is another route");
}

#[tokio::test]
async fn a_prompt_that_is_too_long_reads_as_agents_expect() {
    let app = native().start().await;
    let too_long = "This model's maximum context length is 4096 tokens. However, your request has 5000 input tokens.";
    app.engine().script(Script { status: Some(400), error_message: Some(too_long.into()), ..Script::default() });
    let response = client(&app).post_json(MESSAGES, request(MESSAGES)).await;
    assert_eq!(response.json()["error"]["message"], "prompt is too long: 5000 tokens > 4096 maximum");
    let stream = client(&app).open_stream(RESPONSES, streamed(RESPONSES)).await;
    let (found, _) = stream.rest().await;
    assert_eq!(found.last().unwrap().json()["response"]["error"]["code"], "context_length_exceeded");
}

#[tokio::test]
async fn a_call_whose_limit_does_not_fit_is_translated() {
    let app = native().start().await;
    let too_large = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens \
        (1000 in the messages, 4000 in the completion). Please reduce the length of the messages or completion.";
    app.engine().push(Script { status: Some(400), error_message: Some(too_large.into()), ..Script::default() });
    assert_eq!(client(&app).post_json(MESSAGES, request(MESSAGES)).await.status_line(), "200 OK");
    assert_eq!(routes(app.engine()), ["/v1/messages", "/v1/chat/completions"]);
    assert_eq!(app.engine().calls()[1].json()["max_tokens"], 64, "it may fit next to the translation");
    assert_eq!(bill(&app).await, "200 - exact 10+3(0)");
}

#[tokio::test]
async fn each_engine_of_a_pool_gets_what_it_speaks() {
    let (speaks, chats) = (FakeEngine::start().await, FakeEngine::start().await);
    let (native_url, chat_url) = (speaks.url(), chats.url());
    let mixed = format!(
        "[[models]]\nid = \"acme/mixed\"\nupstreams = [ {{ url = \"{native_url}\", native = [\"messages\", \"responses\"] }}, \
         {{ url = \"{chat_url}\" }} ]"
    );
    let app = TestApp::setup().table(&mixed).start().await;
    let down = Script { status: Some(500), ..Script::default() };
    for path in [MESSAGES, RESPONSES] {
        for mut body in [request(path), streamed(path)] {
            body["model"] = json!("acme/mixed");
            for (broken, serving) in [(&speaks, &chats), (&chats, &speaks)] {
                broken.script(down.clone());
                serving.script(Script::default());
                let response = client(&app).post_json(path, body.clone()).await;
                assert_eq!(response.status_line(), "200 OK", "{}", response.text());
                assert!(response.text().contains("Hello") && response.text().contains("acme/mixed"));
            }
        }
    }
    assert!(routes(&chats).iter().all(|route| route == "/v1/chat/completions"), "{:?}", routes(&chats));
    assert!(routes(&speaks).iter().all(|route| route != "/v1/chat/completions"), "{:?}", routes(&speaks));
    assert!(app.usage(8).await.iter().all(|event| event.status == 200 && event.tokens.completion == 3));
}

#[tokio::test]
async fn an_engine_that_dies_before_its_first_text_is_replaced() {
    for path in [MESSAGES, RESPONSES] {
        for broken in [
            Script { cut_after: Some(0), ..Script::default() },
            Script { error_event_after: Some(0), ..Script::default() },
            Script { hang_up: true, ..Script::default() },
            Script { html: true, ..Script::default() },
        ] {
            let app = native().engines(2).start().await;
            app.engines[0].script(broken.clone());
            for index in 0.. {
                let mut body = streamed(path);
                // Different beginnings are spread over the pool.
                match path {
                    MESSAGES => body["messages"][0]["content"] = json!(format!("{index} and so on")),
                    _ => body["input"] = json!(format!("{index} and so on")),
                }
                let response = client(&app).post_json(path, body).await;
                assert!(response.status == 200 && response.text().contains("Hello"), "{broken:?}");
                if !app.engines[0].calls().is_empty() {
                    break;
                }
            }
        }
    }
}

#[tokio::test]
async fn stored_responses_are_translated() {
    let app = native().environment("FOREBAY_CONTENT_KEY", CONTENT_KEY).start().await;
    keep_for_days(&app, &app.workspace().to_string(), json!(7)).await;
    let first = client(&app).post_json(RESPONSES, request(RESPONSES)).await.json();
    assert_eq!(first["store"], true, "{first}");
    let mut second = continuing(text(&first["id"]), "two");
    second["store"] = json!(false);
    assert_eq!(client(&app).post_json(RESPONSES, second).await.status_line(), "200 OK");
    let messages = &app.engine().calls()[1].json()["messages"];
    assert_eq!(messages.as_array().unwrap().len(), 3, "{messages}");
    let mut unstored = request(RESPONSES);
    unstored["store"] = json!(false);
    assert_eq!(client(&app).post_json(RESPONSES, unstored).await.status_line(), "200 OK");
    assert_eq!(routes(app.engine()), ["/v1/chat/completions", "/v1/chat/completions", "/v1/responses"]);
}

#[tokio::test]
async fn an_engine_counts_the_tokens_of_its_own_api() {
    let app = native().start().await;
    app.engine().push(Script { prompt_tokens: 77, ..Script::default() });
    let response = client(&app).post_json("/messages/count_tokens", request(MESSAGES)).await;
    assert_eq!((response.json(), response.header("x-forebay-estimate")), (json!({"input_tokens": 77}), None));
    let call = &app.engine().calls()[0];
    assert_eq!((call.path.as_str(), &call.json()["model"]), ("/v1/messages/count_tokens", &UPSTREAM_NAME.into()));
    assert_eq!(call.header("anthropic-version"), Some("2023-06-01"));
    assert!(app.usage(0).await.is_empty());
}

#[tokio::test]
async fn a_salt_keeps_the_caches_of_workspaces_apart_where_the_engine_has_one() {
    let app = TestApp::setup().chat_upstream("engine = \"vllm\", native = [\"responses\"]").start().await;
    client(&app).post_json(RESPONSES, request(RESPONSES)).await;
    app.chat("hi").await;
    let salts: Vec<Value> = app.engine().calls().iter().map(|call| call.json()["cache_salt"].clone()).collect();
    assert!(salts[0].as_str().is_some_and(|salt| salt.len() > 20) && salts[0] == salts[1], "{salts:?}");

    let shared = TestApp::setup().model("share_prefix_cache = true");
    let app = shared.chat_upstream("engine = \"vllm\", native = [\"messages\"]").start().await;
    client(&app).post_json(MESSAGES, request(MESSAGES)).await;
    assert_eq!(
        (routes(app.engine()), &app.engine().calls()[0].json()["cache_salt"]),
        (vec!["/v1/messages".into()], &Value::Null)
    );
}

#[tokio::test]
async fn a_stream_that_is_passed_through_fails_with_its_replica() {
    let upstream = "engine = \"vllm\", native = [\"responses\"]";
    let app = TestApp::setup().engines(2).model("failover = true").chat_upstream(upstream).start().await;
    app.engines.iter().for_each(|engine| engine.script(Script { chunks: 9, cut_after: Some(4), ..Script::default() }));
    let stream = client(&app).open_stream(RESPONSES, streamed(RESPONSES)).await;
    let (found, is_clean) = stream.rest().await;
    assert!(is_clean && types(&found).last().unwrap() == "response.failed", "{found:#?}");
    assert_eq!(bill(&app).await, "200 bad_gateway estimated 8+4(0)");
}

#[tokio::test]
async fn large_requests_and_responses_pass() {
    let app = native().context_length(1_000_000).start().await;
    let long = "long ".repeat(60_000);
    for path in [MESSAGES, RESPONSES] {
        app.engine().push(Script { huge_bytes: 400 << 10, ..Script::default() });
        let mut body = request(path);
        match path {
            MESSAGES => body["messages"][0]["content"] = json!(long),
            _ => body["input"] = json!(long),
        }
        let response = client(&app).post_json(path, body).await;
        assert_eq!(response.status_line(), "200 OK");
        assert!(response.body.len() > 400 << 10);
        let sent = app.engine().calls().last().unwrap().json();
        assert!(sent["messages"][0]["content"] == long.as_str() || sent["input"] == long.as_str());
    }
}
