//! Limits by the minute and the monthly quota on one node.

use crate::app::{PATIENCE, TestApp, chat, refusal, stream, text, wait_until};
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

fn seconds(answer: &Response, header: &str) -> u64 {
    answer.header(header).unwrap_or_else(|| panic!("no {header}")).parse().unwrap()
}

#[tokio::test]
async fn a_request_too_many_is_refused_with_the_true_wait_and_debits_nothing() {
    let app = TestApp::setup().workspace_limits(3, MANY, MANY).start().await;
    for left in ["2", "1", "0"] {
        let answer = app.chat("hi").await;
        assert_eq!(answer.status_line(), "200 OK");
        assert_eq!(answer.header("x-ratelimit-limit-requests"), Some("3"));
        assert_eq!(answer.header("x-ratelimit-remaining-requests"), Some(left));
    }
    for _ in 0..5 {
        let answer = app.chat("hi").await;
        assert_eq!(refusal(&answer), "429 rate_limit_exceeded");
        assert!((15..=20).contains(&seconds(&answer, "retry-after")), "{:?}", answer.header("retry-after"));
        assert_eq!(answer.header("x-ratelimit-remaining-requests"), Some("0"));
        let message = text(&answer.json()["error"]["message"]).to_owned();
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
    let answer = app.ask(with_limit(900)).await;
    assert_eq!(answer.status_line(), "200 OK");
    let left = seconds(&answer, "x-ratelimit-remaining-tokens");
    assert!(left < 100, "{left}: the answer is counted with its limit while it runs");
    let used = answer.json()["usage"]["total_tokens"].as_u64().unwrap();
    let again = app.ask(with_limit(900)).await;
    assert_eq!(again.status_line(), "200 OK", "what was not used came back");
    let left_now = seconds(&again, "x-ratelimit-remaining-tokens");
    assert!(left_now + used <= left + 20, "{left_now} after {left} less {used}");
}

#[tokio::test]
async fn a_key_has_its_own_limit_inside_that_of_the_workspace() {
    let app = TestApp::setup().workspace_limits(100, MANY, MANY).start().await;
    let line = format!("keys create --workspace {} --name slow --requests-per-minute 1", app.workspace());
    let created = app.admin(&line);
    let slow = app.client_with(text(&created["key"]));
    let first = slow.post_json("/chat/completions", chat("hi")).await;
    assert_eq!(first.status_line(), "200 OK");
    assert_eq!(first.header("x-ratelimit-limit-requests"), Some("1"), "the tighter of both");
    let second = slow.post_json("/chat/completions", chat("hi")).await;
    assert_eq!(refusal(&second), "429 rate_limit_exceeded");
    let message = text(&second.json()["error"]["message"]).to_owned();
    assert!(message.contains(&format!("key {}", text(&created["id"]))), "{message}");
    assert_eq!(app.chat("hi").await.status_line(), "200 OK", "other keys go on");
}

#[tokio::test]
async fn a_limit_that_is_changed_works_within_a_second() {
    let app = TestApp::setup().workspace_limits(1, MANY, MANY).start().await;
    assert_eq!(app.chat("hi").await.status, 200);
    assert_eq!(app.chat("hi").await.status, 429);
    app.admin(&format!("workspaces set {} --requests-per-minute 6000", app.workspace()));
    wait_until("raised", PATIENCE, async || app.chat("hi").await.status == 200).await;
}

#[tokio::test]
async fn a_spent_quota_refuses_until_the_month_ends() {
    let app = TestApp::setup().workspace_limits(MANY, MANY, 2_000).start().await;
    app.engine().script(Script { prompt_tokens: 90, completion_tokens: Some(50), ..Script::default() });
    let mut used = 0;
    let refused = loop {
        let answer = app.ask(with_limit(50)).await;
        if answer.status != 200 {
            break answer;
        }
        used += answer.json()["usage"]["total_tokens"].as_u64().unwrap();
        assert!(used <= 2_000, "{used} used");
    };
    assert_eq!(refusal(&refused), "429 quota_exceeded");
    assert_eq!(refused.header("x-should-retry"), Some("false"));
    let now = Timestamp::from_millis(now_millis());
    let until = Month::of(now).end().millis_since(now) / 1_000;
    assert!(seconds(&refused, "retry-after").abs_diff(until) <= 5);
    let message = text(&refused.json()["error"]["message"]).to_owned();
    assert!(message.contains("2000 tokens") && message.contains("resets at"), "{message}");
    assert!(used > 2_000 - 150, "{used} used: less than one call was left");

    app.admin(&format!("workspaces set {} --monthly-tokens 1000000", app.workspace()));
    wait_until("raised", PATIENCE, async || app.ask(with_limit(50)).await.status == 200).await;
}

fn now_millis() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

#[tokio::test]
async fn a_call_without_a_limit_is_clamped_to_what_is_left() {
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

    let roomy = TestApp::start().await;
    assert_eq!(roomy.chat("hi").await.status_line(), "200 OK");
    assert!(roomy.engine().calls().last().unwrap().json().get("max_tokens").is_none(), "enough is left");
}

#[tokio::test]
async fn many_at_once_never_exceed_the_quota() {
    let cap = 20_000;
    let app = TestApp::setup().workspace_limits(MANY, MANY, cap).start().await;
    app.engine().script(Script { prompt_tokens: 90, completion_tokens: Some(40), ..Script::default() });
    let mut calls = tokio::task::JoinSet::new();
    for _ in 0..300 {
        let client = app.client();
        calls.spawn(async move { client.post_json("/chat/completions", with_limit(40)).await });
    }
    let (mut served, mut used) = (0, 0);
    while let Some(answer) = calls.join_next().await {
        let answer = answer.unwrap();
        match answer.status.as_u16() {
            200 => {
                served += 1;
                used += answer.json()["usage"]["total_tokens"].as_u64().unwrap();
            }
            429 => assert_eq!(refusal(&answer), "429 quota_exceeded"),
            other => panic!("{other}: {}", answer.text()),
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
async fn a_stream_that_goes_on_is_counted_as_it_goes() {
    let app = TestApp::setup().workspace_limits(MANY, 2_000, MANY).start().await;
    app.engine().push(Script { chunks: 1_400, ..Script::default() });
    let (events, clean) = app.open_stream(stream("hi")).await.rest().await;
    assert!(clean && events.last().unwrap().is_done(), "no limit by the minute cuts a stream");
    let after = app.ask(with_limit(1)).await;
    let left = seconds(&after, "x-ratelimit-remaining-tokens");
    assert!(left < 700, "{left} tokens are left of 2,000 after a stream of 1,400");
}

#[tokio::test]
async fn refusals_for_other_reasons_give_back_what_they_took() {
    let app = TestApp::setup().workspace_limits(MANY, 2_000, 5_000).start().await;
    for _ in 0..20 {
        app.engine().push(Script { status: Some(400), ..Script::default() });
        assert_eq!(app.ask(with_limit(1_500)).await.status, 400);
    }
    assert_eq!(app.ask(with_limit(1_500)).await.status_line(), "200 OK");
}
