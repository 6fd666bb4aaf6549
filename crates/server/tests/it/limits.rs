//! Per-minute limits and the monthly quota on one node.

use crate::app::{CHAT, EMBEDDING, TIMEOUT, TestApp, chat, error_line, stream, text, wait_until};
use crate::console::person::{Person, error_of};
use domain::{Month, Timestamp};
use serde_json::{Value, json};
use store::quota;
use testkit::fake_engine::Script;
use testkit::http::Response;

const MANY: u64 = 1_000_000_000;

fn with_limit(max_tokens: u64) -> Value {
    let mut body = chat("hi");
    body["max_tokens"] = json!(max_tokens);
    body
}

fn seconds(response: &Response, header: &str) -> u64 {
    response.header(header).unwrap_or_else(|| panic!("no {header}")).parse().unwrap()
}

#[tokio::test]
async fn a_request_above_the_limit_is_rejected_with_the_exact_wait_and_charged_nothing() {
    let app = TestApp::setup().workspace_limits(3, MANY, MANY).start().await;
    for left in ["2", "1", "0"] {
        let response = app.chat("hi").await;
        assert_eq!(response.status_line(), "200 OK");
        assert_eq!(response.header("x-ratelimit-limit-requests"), Some("3"));
        assert_eq!(response.header("x-ratelimit-remaining-requests"), Some(left));
    }
    for _ in 0..5 {
        let response = app.chat("hi").await;
        assert_eq!(error_line(&response), "429 rate_limit_exceeded");
        assert!((15..=20).contains(&seconds(&response, "retry-after")), "{:?}", response.header("retry-after"));
        assert_eq!(response.header("x-ratelimit-remaining-requests"), Some("0"));
        let message = text(&response.json()["error"]["message"]).to_owned();
        let workspace = app.workspace();
        assert!(message.contains(&format!("workspace {workspace}")), "{message}");
        assert!(message.contains("3 requests per minute, 3 used"), "{message}");
    }
    assert_eq!(app.engine().calls().len(), 3);
    assert_eq!(app.client().get("/models").await.status, 200, "only calls to models count");
}

#[tokio::test]
async fn tokens_are_reserved_before_and_settled_after() {
    let app = TestApp::setup().workspace_limits(MANY, 1_000, MANY).start().await;
    let response = app.ask(with_limit(250)).await;
    assert_eq!(response.status_line(), "200 OK");
    let left = seconds(&response, "x-ratelimit-remaining-tokens");
    assert!(left < 750, "{left}: a running call counts with what it is expected to use");
    let used = response.json()["usage"]["total_tokens"].as_u64().unwrap();
    let again = app.ask(with_limit(250)).await;
    assert_eq!(again.status_line(), "200 OK", "unused tokens were returned");
    let left_now = seconds(&again, "x-ratelimit-remaining-tokens");
    assert!(left_now + used <= left + 20, "{left_now} after {left} less {used}");
    assert!(left_now > 500, "{left_now}");
}

#[tokio::test]
async fn the_limit_of_a_key_applies_within_that_of_its_workspace() {
    let app = TestApp::setup().workspace_limits(100, MANY, MANY).start().await;
    let line = format!("keys create --workspace {} --name slow --requests-per-minute 1", app.workspace());
    let created = app.admin(&line);
    let slow = app.client_with(text(&created["key"]));
    let first = slow.post_json("/chat/completions", chat("hi")).await;
    assert_eq!(first.status_line(), "200 OK");
    assert_eq!(first.header("x-ratelimit-limit-requests"), Some("1"), "the tighter of both");
    let second = slow.post_json("/chat/completions", chat("hi")).await;
    assert_eq!(error_line(&second), "429 rate_limit_exceeded");
    let message = text(&second.json()["error"]["message"]).to_owned();
    assert!(message.contains(&format!("key {}", text(&created["id"]))), "{message}");
    assert_eq!(app.chat("hi").await.status_line(), "200 OK", "other keys are unaffected");
}

#[tokio::test]
async fn a_changed_limit_applies_within_a_second() {
    let app = TestApp::setup().workspace_limits(1, MANY, MANY).start().await;
    assert_eq!(app.chat("hi").await.status, 200);
    assert_eq!(app.chat("hi").await.status, 429);
    app.admin(&format!("workspaces set {} --requests-per-minute 6000", app.workspace()));
    wait_until("raised", TIMEOUT, async || app.chat("hi").await.status == 200).await;
}

#[tokio::test]
async fn a_spent_quota_rejects_calls_until_the_month_ends() {
    let app = TestApp::setup().workspace_limits(MANY, MANY, 2_000).start().await;
    app.engine().script(Script { prompt_tokens: 90, completion_tokens: Some(50), ..Script::default() });
    let mut used = 0;
    let rejected = loop {
        let response = app.ask(with_limit(50)).await;
        if response.status != 200 {
            break response;
        }
        used += response.json()["usage"]["total_tokens"].as_u64().unwrap();
        assert!(used <= 2_000, "{used} used");
    };
    assert_eq!(error_line(&rejected), "429 quota_exceeded");
    assert_eq!(rejected.header("x-should-retry"), Some("false"));
    let now = Timestamp::from_millis(now_millis());
    let until = Month::of(now).end().millis_since(now) / 1_000;
    assert!(seconds(&rejected, "retry-after").abs_diff(until) <= 5);
    let message = text(&rejected.json()["error"]["message"]).to_owned();
    assert!(message.contains("2000 tokens") && message.contains("resets at"), "{message}");
    assert!(used > 2_000 - 150, "{used} used: less than one call was left");

    app.admin(&format!("workspaces set {} --monthly-tokens 1000000", app.workspace()));
    wait_until("raised", TIMEOUT, async || app.ask(with_limit(50)).await.status == 200).await;
}

fn now_millis() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

#[tokio::test]
async fn a_call_without_a_limit_is_clamped_to_the_remaining_quota() {
    let app = TestApp::setup().workspace_limits(MANY, MANY, 1_000).start().await;
    assert_eq!(app.chat("hi").await.status_line(), "200 OK");
    let sent = app.engine().calls().last().unwrap().json();
    let limit = sent["max_tokens"].as_u64().expect("less than the context is left");
    let messages = serde_json::to_string(&chat("hi")["messages"]).unwrap().len() as u64;
    assert_eq!(limit, 1_000 - messages - 64);

    let mut body = chat("hi");
    body["max_completion_tokens"] = json!(5_000);
    assert_eq!(app.ask(body).await.status_line(), "200 OK");
    let sent = app.engine().calls().last().unwrap().json();
    assert!(sent["max_completion_tokens"].as_u64().unwrap() < 1_000 && sent.get("max_tokens").is_none(), "{sent}");

    let unlimited = TestApp::start().await;
    assert_eq!(unlimited.ask(with_limit(5)).await.status_line(), "200 OK");
    assert_eq!(unlimited.engine().calls().last().unwrap().json()["max_tokens"], 5, "enough is left");
}

/// The context of the test model.
const CONTEXT: u64 = 4_096;

#[tokio::test]
async fn every_call_gets_a_limit_that_fits_the_context() {
    let app = TestApp::start().await;
    let prompt = serde_json::to_string(&chat("hi")["messages"]).unwrap().len() as u64 + 64;
    for (member, value, limit) in [
        ("stop", json!("x"), CONTEXT - prompt),
        ("max_tokens", Value::Null, CONTEXT - prompt),
        ("chat_template_kwargs", json!({"date": "x".repeat(600)}), CONTEXT - prompt - 611),
        ("documents", json!(["x".repeat(400_000)]), CONTEXT / 4),
        ("max_tokens", json!(1_000_000), CONTEXT),
        ("max_tokens", json!(CONTEXT), CONTEXT),
    ] {
        let mut body = chat("hi");
        body[member] = value;
        assert_eq!(app.ask(body).await.status_line(), "200 OK");
        assert_eq!(app.engine().calls().last().unwrap().json()["max_tokens"], limit, "{member}");
    }
}

#[tokio::test]
async fn an_engine_with_less_room_than_the_limit_gets_the_call_without_it() {
    let app = TestApp::start().await;
    let rejects = || Script {
        status: Some(400),
        error_message: Some("This model's maximum context length is 2048 tokens and your request has 9.".into()),
        ..Script::default()
    };
    app.engine().push(rejects());
    assert_eq!(app.chat("hi").await.status_line(), "200 OK");
    let sent: Vec<Value> = app.engine().calls().iter().map(|call| call.json()["max_tokens"].clone()).collect();
    assert!(sent[0].is_u64() && sent[1..] == [Value::Null], "{sent:?}");

    app.engine().script(rejects());
    assert_eq!(error_line(&app.chat("hi").await), "400 context_length_exceeded");
    assert_eq!(app.engine().calls().len(), 4, "once with and once without a limit");
    assert_eq!(error_line(&app.ask(with_limit(3_000)).await), "400 context_length_exceeded");
    assert_eq!(app.engine().calls().len(), 5, "the client's own limit stays");
}

#[tokio::test]
async fn members_in_the_prompt_cannot_exceed_the_quota() {
    let app = TestApp::setup().workspace_limits(MANY, MANY, 1_000).start().await;
    let mut body = with_limit(1);
    body["chat_template_kwargs"] = json!({"date_string": "x".repeat(3_000)});
    assert_eq!(error_line(&app.ask(body).await), "429 quota_exceeded");
    assert!(app.engine().calls().is_empty());
}

#[tokio::test]
async fn concurrent_calls_never_exceed_the_quota() {
    let cap = 20_000;
    let app = TestApp::setup().workspace_limits(MANY, MANY, cap).start().await;
    app.engine().script(Script { prompt_tokens: 90, completion_tokens: Some(40), ..Script::default() });
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..300 {
        let client = app.client();
        calls.spawn(async move { client.post_json("/chat/completions", with_limit(40)).await });
    }
    let (mut served, mut used) = (0, 0);
    while let Some(response) = calls.join_next().await {
        let response = response.unwrap();
        match response.status.as_u16() {
            200 => {
                served += 1;
                used += response.json()["usage"]["total_tokens"].as_u64().unwrap();
            }
            429 => assert_eq!(error_line(&response), "429 quota_exceeded"),
            other => panic!("{other}: {}", response.text()),
        }
    }
    assert!((cap * 95 / 100..=cap).contains(&used), "{used} used by {served} calls");
    app.usage(served).await;
    let store = app.store().await;
    let month = Month::of(Timestamp::from_millis(now_millis()));
    let account = quota::account(&store, &app.workspace(), month, cap).await.unwrap();
    assert_eq!(account.used, used, "the account is the sum of the events");
}

#[tokio::test]
async fn a_long_stream_is_charged_while_it_runs() {
    let app = TestApp::setup().workspace_limits(MANY, 2_000, MANY).start().await;
    app.engine().push(Script { chunks: 1_400, ..Script::default() });
    let (events, clean) = app.open_stream(stream("hi")).await.rest().await;
    assert!(clean && events.last().unwrap().is_done(), "per-minute limits never cut a stream");
    let after = app.ask(with_limit(1)).await;
    let left = seconds(&after, "x-ratelimit-remaining-tokens");
    assert!(left < 700, "{left} tokens are left of 2,000 after a stream of 1,400");
}

#[tokio::test]
async fn a_huge_token_limit_leaves_most_of_the_minute_to_others() {
    let app = TestApp::setup().workspace_limits(MANY, 60_000, MANY).context_length(200_000).start().await;
    app.engine().push(Script { completion_tokens: Some(300), ..Script::default() });
    let response = app.ask(with_limit(128_000)).await;
    assert_eq!(response.status_line(), "200 OK");
    assert!(seconds(&response, "x-ratelimit-remaining-tokens") > 58_000);
    assert_eq!(app.engine().calls()[0].json()["max_tokens"], 128_000, "the limit itself stays");
    let other = app.ask(with_limit(1)).await;
    assert!(seconds(&other, "x-ratelimit-remaining-tokens") > 59_500, "unused tokens were returned");
    let expected = app.ask(with_limit(128_000)).await;
    let left = seconds(&expected, "x-ratelimit-remaining-tokens");
    assert!((59_000..59_900).contains(&left), "{left}: about 300 are expected now");
}

#[tokio::test]
async fn calls_rejected_for_other_reasons_return_their_tokens() {
    let app = TestApp::setup().workspace_limits(MANY, 2_000, 5_000).start().await;
    for _ in 0..20 {
        app.engine().push(Script { status: Some(400), ..Script::default() });
        assert_eq!(app.ask(with_limit(1_500)).await.status, 400);
    }
    assert_eq!(app.ask(with_limit(1_500)).await.status_line(), "200 OK");
}

#[tokio::test]
async fn failing_calls_have_a_bucket_of_their_own_and_take_no_requests() {
    let app = TestApp::setup().workspace_limits(3, MANY, MANY).start().await;
    let line = format!("keys create --workspace {} --name other", app.workspace());
    let other = app.client_with(text(&app.admin(&line)["key"]));
    let mut unknown = chat("hi");
    unknown["model"] = json!("acme/none");
    let bodies = [json!({}), unknown, json!("text")];
    let mut statuses = std::collections::BTreeSet::new();
    let mut failed = 0;
    let rejected = loop {
        let response = app.ask(bodies[failed % bodies.len()].clone()).await;
        if response.status == 429 {
            break response;
        }
        statuses.insert(response.status.as_u16());
        failed += 1;
        assert!(failed < 60, "no 429 after {failed} failing calls");
    };
    assert!(failed >= 30, "429 after {failed} failing calls");
    assert!(statuses.iter().all(|status| matches!(status, 400 | 404 | 422)) && statuses.len() > 1, "{statuses:?}");
    assert_eq!(error_line(&rejected), "429 rate_limit_exceeded");
    assert!((1..=2).contains(&seconds(&rejected, "retry-after")));
    let message = text(&rejected.json()["error"]["message"]).to_owned();
    assert!(message.contains("failing calls with this credential: 30 per minute"), "{message}");
    let response = other.post_json("/chat/completions", chat("hi")).await;
    assert_eq!(response.header("x-ratelimit-remaining-requests"), Some("2"), "failing calls took nothing");
    for _ in 0..40 {
        let limited = other.post_json("/chat/completions", chat("hi")).await;
        assert!(
            !limited.text().contains("failing calls"),
            "429s of the limit do not count as failures: {}",
            limited.text()
        );
    }
}

#[tokio::test]
async fn served_calls_do_not_count_as_failed_attempts() {
    let app = TestApp::setup().workspace_limits(MANY, MANY, MANY).table("[limits]\nattempts_factor = 1").start().await;
    let line = format!("keys create --workspace {} --name slow --requests-per-minute 40", app.workspace());
    let slow = app.client_with(text(&app.admin(&line)["key"]));
    assert_eq!(slow.post_json("/chat/completions", json!({})).await.status, 400);
    for number in 0..40 {
        let response = slow.post_json("/chat/completions", chat("hi")).await;
        assert_eq!(response.status_line(), "200 OK", "{number}");
    }
}

#[tokio::test]
async fn a_key_has_limits_by_model_and_models_of_a_prefix_share_one() {
    let app = TestApp::setup().workspace_limits(100, MANY, MANY).start().await;
    let person = Person::operator(&app).await;
    let keys = format!("/api/workspaces/{}/keys", app.workspace());
    let limits = json!({"perModel": [{"model": "acme/*", "requestsPerMinute": 2}]});
    let made = person.make(&keys, json!({"name": "narrow", "limits": limits})).await;
    assert_eq!(made["limits"]["perModel"][0]["tokensPerMinute"], Value::Null);
    let client = app.client_with(text(&made["key"]));
    let embed = json!({"model": EMBEDDING, "input": "hi"});
    let first = client.post_json("/embeddings", embed.clone()).await;
    assert_eq!(first.status_line(), "200 OK");
    assert_eq!(first.header("x-ratelimit-limit-requests"), Some("2"), "the tighter one");
    assert_eq!(client.post_json("/chat/completions", chat("hi")).await.status_line(), "200 OK");
    for (path, body) in [("/embeddings", embed), ("/chat/completions", chat("hi"))] {
        let rejected = client.post_json(path, body).await;
        assert_eq!(error_line(&rejected), "429 rate_limit_exceeded");
        let message = text(&rejected.json()["error"]["message"]).to_owned();
        assert!(message.contains(&format!("key {} for `acme/*`", text(&made["id"]))), "{message}");
    }
    assert_eq!(app.chat("hi").await.status_line(), "200 OK", "other keys are unaffected");

    let edited = app.admin(&format!("keys edit {} --model-requests-per-minute {CHAT}=50", text(&made["id"])));
    assert_eq!(
        edited["limits"]["perModel"][1],
        json!({"model": CHAT, "requestsPerMinute": 50, "tokensPerMinute": null})
    );
    wait_until("the id comes first", TIMEOUT, async || {
        client.post_json("/chat/completions", chat("hi")).await.status == 200
    })
    .await;
    let removed = app.admin(&format!("keys edit {} --remove limits", text(&made["id"])));
    assert_eq!(removed["limits"], json!({"perModel": []}));

    let path = format!("{keys}/{}", text(&made["id"]));
    let entry = |model: &str, requests: u64| json!({"model": model, "requestsPerMinute": requests});
    for bad in [
        json!([entry("a b", 1)]),
        json!([entry("acme/tiny", 0)]),
        json!([entry("dedicated/chat", 1)]),
        json!([{"model": "acme/tiny"}]),
        json!([entry("acme/tiny", 1), entry("acme/tiny", 2)]),
        (0..51).map(|number| entry(&format!("a/{number}"), 1)).collect(),
    ] {
        let refused = person.patch(&path, json!({"limits": {"perModel": bad}})).await;
        assert_eq!(error_of(&refused), "422 invalid_value limits.perModel", "{bad}");
    }
}

#[tokio::test]
async fn workspaces_share_the_limits_per_minute_of_their_organization() {
    let app = TestApp::setup().workspace_limits(100, MANY, MANY).start().await;
    let organization = text(&app.forebay.bootstrap()["organizationId"]).to_owned();
    let operator = Person::operator(&app).await;
    let path = format!("/api/operator/organizations/{organization}");
    let bounded = operator.patch(&path, json!({"requestsPerMinute": 4})).await;
    assert_eq!((bounded.status.as_u16(), &bounded.json()["requestsPerMinute"]), (200, &json!(4)), "{}", bounded.text());
    let other = app.admin(&format!("workspaces create --organization {organization} --name Other"));
    let key = app.admin(&format!("keys create --workspace {} --name other", text(&other["id"])));
    let others = app.client_with(text(&key["key"]));
    assert_eq!(app.chat("hi").await.header("x-ratelimit-limit-requests"), Some("4"));
    for client in [others.clone(), app.client(), others.clone()] {
        assert_eq!(client.post_json("/chat/completions", chat("hi")).await.status_line(), "200 OK");
    }
    let rejected = others.post_json("/chat/completions", chat("hi")).await;
    assert_eq!(error_line(&rejected), "429 rate_limit_exceeded");
    let message = text(&rejected.json()["error"]["message"]).to_owned();
    assert!(message.contains(&format!("organization {organization} reached: 4 requests per minute")), "{message}");
    assert_eq!(app.chat("hi").await.status, 429);

    let administrator = Person::new(&app, "ann", "admin").await;
    let own = format!("/api/organizations/{organization}");
    assert_eq!(administrator.read(&own).await["requestsPerMinute"], 4, "administrators see it");
    let refused = administrator.patch(&own, json!({"requestsPerMinute": 1000})).await;
    assert_eq!(refused.status, 422, "and cannot change it");
    let quota = administrator.read(&format!("/api/workspaces/{}/quota", app.workspace())).await;
    assert_eq!(quota["perMinute"]["requests"]["limit"], 4);
    app.admin(&format!("organizations set {organization} --requests-per-minute default"));
    wait_until("removed", TIMEOUT, async || app.chat("hi").await.status == 200).await;
}
