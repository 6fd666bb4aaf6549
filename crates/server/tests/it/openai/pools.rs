//! Several engines behind one model.

use std::time::Duration;

use testkit::fake_engine::{FakeEngine, Script};
use testkit::http::Client;
use tokio::task::JoinSet;

use crate::app::{CHAT, TIMEOUT, TestApp, chat, error_line, stream, text, wait_until};
use crate::redis::Redis;

/// Two probes and the period between them, on a busy machine.
const NOTICED_WITHIN: Duration = Duration::from_secs(10);

fn failing(status: u16) -> Script {
    Script { status: Some(status), ..Script::default() }
}

pub(super) fn call_counts(app: &TestApp) -> Vec<usize> {
    app.engines.iter().map(|engine| engine.calls().len()).collect()
}

/// Chats with different prefixes, so that they are spread over the pool.
pub(super) async fn chats_served(app: &TestApp, count: usize) -> usize {
    let mut served = 0;
    for index in 0..count {
        served += usize::from(app.chat(&format!("{index} and so on")).await.status == 200);
    }
    served
}

#[tokio::test]
async fn a_dead_engine_fails_no_call() {
    let mut app = TestApp::setup().engines(2).start().await;
    assert_eq!(chats_served(&app, 20).await, 20);
    assert!(call_counts(&app).iter().all(|count| *count > 0), "{:?}", call_counts(&app));
    app.engines[0].stop();
    assert_eq!(chats_served(&app, 40).await, 40);
}

#[tokio::test]
async fn a_failed_call_is_retried_once_at_another_engine() {
    for broken in [
        failing(500),
        failing(503),
        failing(429),
        Script { hang_up: true, ..Script::default() },
        Script { html: true, ..Script::default() },
        Script { wrong_json: true, ..Script::default() },
        Script { cut_after: Some(0), no_role: true, ..Script::default() },
    ] {
        let app = TestApp::setup().engines(2).start().await;
        app.engines[0].script(broken.clone());
        assert_eq!(chats_served(&app, 10).await, 10, "{broken:?}");
        let streams = app.open_stream(stream("hi")).await.rest().await;
        let only_unary = broken.wrong_json;
        assert!(only_unary || streams.0.last().unwrap().is_done(), "{broken:?}");
        assert!(call_counts(&app)[0] > 0, "{broken:?}: the broken one got at least one call");
    }
}

#[tokio::test]
async fn a_call_is_retried_only_once() {
    for (script, expected) in [
        (failing(500), "502 bad_gateway"),
        (Script { hang_up: true, ..Script::default() }, "502 bad_gateway"),
        (Script { retry_after: Some("9".to_owned()), ..failing(429) }, "503 model_not_serving"),
    ] {
        let app = TestApp::setup().engines(3).start().await;
        app.engines.iter().for_each(|engine| engine.script(script.clone()));
        let response = app.chat("hi").await;
        assert_eq!(error_line(&response), expected);
        assert_eq!(call_counts(&app).iter().sum::<usize>(), 2, "{script:?}");
        assert!(call_counts(&app).iter().all(|count| *count < 2), "not the same engine again");
        assert_eq!(response.header("retry-after"), script.retry_after.as_deref());
    }
}

#[tokio::test]
async fn a_rejected_request_is_not_retried() {
    let app = TestApp::setup().engines(2).start().await;
    app.engines.iter().for_each(|engine| engine.script(failing(400)));
    assert_eq!(error_line(&app.chat("hi").await), "400 invalid_value");
    assert_eq!(call_counts(&app).iter().sum::<usize>(), 1);
}

#[tokio::test]
async fn a_stream_that_an_engine_refuses_is_rejected_and_no_failure_of_the_engine() {
    let app = TestApp::setup().engines(2).start().await;
    let message = "Grammar error: Invalid type: unknown";
    let refusing =
        Script { error_event_after: Some(0), no_role: true, error_message: Some(message.to_owned()), ..failing(400) };
    app.engines.iter().for_each(|engine| engine.script(refusing.clone()));
    for client in [app.client(), second_workspace(&app)] {
        for number in 0..6 {
            let response = client.post_json("/chat/completions", stream(&number.to_string())).await;
            assert_eq!(error_line(&response), "400 invalid_value");
            assert_eq!(response.json()["error"]["message"], message);
        }
    }
    let body = serde_json::json!({"model": CHAT, "input": "hi", "stream": true});
    assert_eq!(error_line(&app.client().post_json("/responses", body).await), "400 invalid_value");
    assert_eq!(call_counts(&app).iter().sum::<usize>(), 13, "no other engine is asked");
    assert_eq!(app.model_status(CHAT).await, "available");
}

/// A client of another workspace of the same organization.
pub(super) fn second_workspace(app: &TestApp) -> Client {
    workspace_in(app, text(&app.forebay.bootstrap()["organizationId"]))
}

/// A client of another organization.
fn second_organization(app: &TestApp) -> Client {
    workspace_in(app, text(&app.admin("organizations create --name other")["id"]))
}

fn workspace_in(app: &TestApp, organization: &str) -> Client {
    let workspace = app.admin(&format!("workspaces create --organization {organization} --name other"));
    let key = app.admin(&format!("keys create --workspace {} --name other", text(&workspace["id"])));
    app.client_with(text(&key["key"]))
}

#[tokio::test]
async fn one_organization_alone_does_not_shut_an_engine() {
    let cut = Script { cut_after: Some(0), no_role: true, ..Script::default() };
    let hang_up = Script { hang_up: true, ..Script::default() };
    for (script, is_streamed) in [(failing(500), false), (hang_up, false), (cut.clone(), false), (cut, true)] {
        let body = if is_streamed { stream } else { chat };
        let app = TestApp::setup().engines(2).start().await;
        app.engines.iter().for_each(|engine| engine.script(script.clone()));
        let call = async |client: &Client, number: i32| {
            error_line(&client.post_json("/chat/completions", body(&format!("{number}"))).await)
        };
        for client in [app.client(), second_workspace(&app)] {
            for number in 0..12 {
                assert_eq!(call(&client, number).await, "502 bad_gateway", "{script:?}");
            }
        }
        let status = app.model_status(CHAT).await;
        assert_eq!(status, "available", "all of its workspaces are one witness: {script:?}");
        let other = second_organization(&app);
        for number in 0..6 {
            call(&other, number).await;
        }
        assert_eq!(app.model_status(CHAT).await, "degraded", "{script:?}");
    }
}

#[tokio::test]
async fn counts_that_an_engine_does_not_end_are_its_failures() {
    let app = TestApp::setup().upstream("engine = \"vllm\"").start().await;
    app.engine().script(Script { stall_after: Some(0), ..Script::default() });
    let mut counts = JoinSet::new();
    for client in [app.client(), app.client(), app.client(), app.client(), second_organization(&app)] {
        let body = serde_json::json!({"model": CHAT, "input": "hi"});
        counts.spawn(async move { client.post_json("/responses/input_tokens", body).await.status });
    }
    while let Some(status) = counts.join_next().await {
        assert_eq!(status.unwrap(), 200, "an estimate");
    }
    assert_eq!(app.engine().calls().len(), 5);
    assert_eq!(app.model_status(CHAT).await, "degraded");
}

#[tokio::test]
async fn nothing_is_retried_after_the_first_byte() {
    let app = TestApp::setup().engines(2).start().await;
    app.engines.iter().for_each(|engine| engine.script(Script { cut_after: Some(1), ..Script::default() }));
    let (events, _) = app.open_stream(stream("hi")).await.rest().await;
    assert!(events.last().unwrap().raw.contains("bad_gateway"), "{events:#?}");
    assert_eq!(call_counts(&app).iter().sum::<usize>(), 1);
}

#[tokio::test]
async fn the_status_of_a_model_follows_the_health_of_its_engines() {
    let mut app = TestApp::setup().engines(2).start().await;
    let status_is = async |app: &TestApp, expected: &str| {
        wait_until(expected, NOTICED_WITHIN, async || app.model_status(CHAT).await == expected).await;
    };
    status_is(&app, "available").await;
    app.engines[0].set_health(503);
    status_is(&app, "degraded").await;
    app.engines[1].stop();
    status_is(&app, "unavailable").await;
    let response = app.chat("hi").await;
    assert_eq!(error_line(&response), "503 model_not_serving");
    assert_eq!(response.header("retry-after"), Some("5"));
    assert!(call_counts(&app) == [0, 0], "an engine that is down gets no calls");

    app.engines[0].set_health(200);
    status_is(&app, "degraded").await;
    assert_eq!(chats_served(&app, 5).await, 5);
    app.engines[1].restart();
    status_is(&app, "available").await;
}

#[tokio::test]
async fn an_engine_without_a_health_route_counts_as_available() {
    let app = TestApp::start().await;
    app.engine().set_health(404);
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    assert_eq!(app.model_status(CHAT).await, "available");
}

#[tokio::test]
async fn an_engine_at_its_cap_gets_no_calls_and_a_full_pool_rejects_them() {
    let app = TestApp::setup().engines(2).upstream("max_in_flight = 1").start().await;
    app.engines.iter().for_each(|engine| engine.script(Script { stall_after: Some(1), ..Script::default() }));
    let first = app.open_stream(stream("a")).await;
    let _second = app.open_stream(stream("a")).await;
    assert_eq!(call_counts(&app), [1, 1]);
    let response = app.chat("a").await;
    assert_eq!(error_line(&response), "503 model_not_serving");
    assert_eq!(response.header("retry-after"), Some("5"));

    drop(first);
    app.engines.iter().for_each(|engine| engine.script(Script::default()));
    wait_until("a slot is free", TIMEOUT, async || app.chat("a").await.status == 200).await;
}

#[tokio::test]
async fn calls_with_the_same_prefix_go_to_one_engine() {
    let app = TestApp::setup().engines(4).start().await;
    let instructions = "You are a helpful assistant. ".repeat(200);
    for number in 0..20 {
        app.chat(&format!("{instructions} {number}")).await;
    }
    let mut counts = call_counts(&app);
    counts.sort_unstable();
    assert_eq!(counts, [0, 0, 0, 20]);
    let page = Client::new(app.forebay.ops).get("/metrics").await.text();
    assert!(page.contains("reason=\"cached\"} 19"), "{page}");
}

#[tokio::test]
async fn a_caller_learns_where_its_call_went_only_if_both_it_and_the_operator_want_that() {
    let prompt = "You are a helpful assistant. ".repeat(200);
    let on = "routing_headers = true";
    for (line, model, wants, shown, shows_cached) in [
        (on, "", true, true, true),
        (on, "share_prefix_cache = true", true, true, false),
        (on, "", false, false, false),
        ("", "", true, false, false),
    ] {
        let app = TestApp::setup().engines(2).edge(line).model(model).start().await;
        let client = if wants { app.client().header("x-forebay-debug", "1") } else { app.client() };
        client.post_json("/chat/completions", chat(&prompt)).await;
        let unary = client.post_json("/chat/completions", chat(&prompt)).await;
        let streamed = client.post_json("/chat/completions", stream(&prompt)).await;
        for response in [unary, streamed] {
            assert_eq!(response.status, 200);
            assert_eq!(response.header("x-forebay-replica").is_some_and(|name| name.contains('#')), shown);
            let cached: Option<u64> =
                response.header("x-forebay-cached-estimate").map(|tokens| tokens.parse().unwrap());
            assert_eq!(cached.is_some_and(|tokens| tokens > 1_000), shows_cached, "{cached:?}");
            assert_eq!(cached.is_some(), shows_cached, "{model}");
        }
    }
}

#[tokio::test]
async fn a_node_avoids_the_engine_that_another_node_keeps_busy() {
    let redis = Redis::start().await;
    let limits = format!("[limits]\nurl = \"{}\"\ntimeout = \"2s\"", redis.url());
    let app = TestApp::setup().engines(2).table(&limits).start().await;
    let other = TestApp::setup().table(&limits).start_beside(&app).await;
    let silent = Script { stall_after: Some(0), no_role: true, ..Script::default() };
    app.engines.iter().for_each(|engine| engine.script(silent.clone()));
    let client = app.client();
    let mut long = JoinSet::new();
    long.spawn(async move { client.open_stream("/chat/completions", stream(&"long ".repeat(10_000))).await });
    wait_until("the prompt reaches an engine", TIMEOUT, async || call_counts(&app).contains(&1)).await;
    app.engines.iter().for_each(|engine| engine.script(Script::default()));
    let busy = call_counts(&app).iter().position(|count| *count == 1).unwrap();
    let ops = Client::new(other.forebay.ops);
    let loads = async || -> Vec<u64> {
        let page = ops.get("/metrics").await.text();
        let lines = page.lines().filter(|line| line.starts_with("forebay_prefill_tokens_in_flight{"));
        lines.map(|line| line.rsplit(' ').next().unwrap().parse().unwrap()).collect()
    };
    wait_until("the other node knows of it", TIMEOUT, async || loads().await.iter().any(|load| *load > 10_000)).await;
    assert_eq!(chats_served(&other, 10).await, 10);
    assert_eq!(call_counts(&app)[busy], 1, "all calls went to the other engine");
    drop(long);
    wait_until("the load is gone", TIMEOUT, async || loads().await.iter().all(|load| *load == 0)).await;
}

#[tokio::test]
async fn a_session_returns_to_its_engine_while_nothing_else_decides() {
    let app = TestApp::setup().engines(4).start().await;
    let client = app.client().header("x-claude-code-session-id", "s-1");
    for _ in 0..20 {
        assert_eq!(client.post_json("/chat/completions", chat("hi")).await.status, 200);
    }
    let mut counts = call_counts(&app);
    counts.sort_unstable();
    assert_eq!(counts, [0, 0, 0, 20]);
}

#[tokio::test]
async fn an_engine_that_keeps_failing_gets_no_calls_for_a_while() {
    let app = TestApp::setup().engines(2).start().await;
    app.engines[0].script(failing(500));
    let other = second_organization(&app);
    for index in 0..20 {
        assert_eq!(other.post_json("/chat/completions", chat(&format!("{index}"))).await.status, 200);
        assert_eq!(chats_served(&app, 1).await, 1);
    }
    let failed = app.engines[0].calls().len();
    assert!((5..15).contains(&failed), "{failed} calls went to the engine that only fails");
    app.engines[0].script(Script::default());
    app.engines.iter().for_each(FakeEngine::forget_calls);
    wait_until("it gets calls again", TIMEOUT, async || {
        chats_served(&app, 5).await;
        call_counts(&app)[0] > 5
    })
    .await;
}

#[tokio::test]
async fn a_model_without_reachable_engines_is_not_serving() {
    let mut app = TestApp::start().await;
    app.engines[0].stop();
    wait_until("down", NOTICED_WITHIN, async || app.model_status(CHAT).await == "unavailable").await;
    assert_eq!(error_line(&app.ask(stream("hi")).await), "503 model_not_serving");
    assert_eq!(app.client().get("/models?status=unavailable").await.json()["data"].as_array().unwrap().len(), 2);
}

/// A server that closes every connection after its response, as that of llama.cpp does on `/health`.
async fn closing_server(response: &'static str) -> std::net::SocketAddr {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::task::spawn_local(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(response.as_bytes()).await;
        }
    });
    address
}

#[tokio::test]
async fn an_engine_that_closes_the_connection_after_its_health_response_is_healthy() {
    let test = async {
        for response in [
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok",
            "HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok",
        ] {
            let address = closing_server(response).await;
            let config = TestApp::setup().config(&[format!("http://{address}/v1")]);
            let forebay = testkit::process::ForebayLaunch::default().binary(crate::app::BINARY);
            let forebay = forebay.start(&config).await.unwrap();
            tokio::time::sleep(Duration::from_secs(3)).await;
            let client = testkit::http::Client::new(format!("http://{}", forebay.public));
            let models = client.key(&forebay.api_key().unwrap()).get("/v1/models").await.json();
            assert_eq!(models["data"][0]["status"], "available", "{response}");
        }
    };
    tokio::task::LocalSet::new().run_until(test).await;
}

#[tokio::test]
async fn replicas_have_distinct_names_after_a_reload() {
    let app = TestApp::setup().engines(2).start().await;
    let third = FakeEngine::start().await;
    app.forebay.write_config(&TestApp::setup().config(&[app.engines[1].url(), third.url()])).unwrap();
    app.forebay.child.signal("HUP").unwrap();
    let ops = testkit::http::Client::new(format!("http://{}", app.forebay.ops));
    wait_until("two replicas with two names", TIMEOUT, async || {
        let metrics = ops.get("/metrics").await.text();
        metrics.contains(&format!("replica=\"{CHAT}#1\""))
            && metrics.contains(&format!("replica=\"{CHAT}#2\""))
            && third.connections().accepted > 0
    })
    .await;
}
