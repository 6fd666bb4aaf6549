//! The memory budget of bodies.

use std::io::Write as _;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::json;
use tempfile::TempDir;
use testkit::fake_engine::Script;
use testkit::http::Client;
use testkit::http::form::BOUNDARY;

use super::stored_responses;
use crate::app::{CHAT, TIMEOUT, TestApp, chat, error_line, text, wait_until};
use crate::batches;
use crate::wire::{Wire, post_head};

const KIB: u64 = 1 << 10;

/// The bytes that bodies take from the budget.
async fn used(app: &TestApp) -> u64 {
    let page = Client::new(app.forebay.ops).get("/metrics").await.text();
    let line = page.lines().find_map(|line| line.strip_prefix("forebay_body_memory_bytes ")).unwrap().to_owned();
    line.parse().unwrap()
}

async fn wait_for_use(app: &TestApp, bytes: u64) {
    wait_until(&format!("{bytes} bytes are in use"), TIMEOUT, async || used(app).await == bytes).await;
}

/// A head that announces a body, with another key if there is one.
fn head(app: &TestApp, key: &str, length: u64) -> String {
    post_head(app, &format!("content-length: {length}\r\n")).replace(&app.key, key)
}

/// Sends all of a body but its last byte.
async fn unfinished(app: &TestApp, key: &str, length: u64) -> Wire {
    let before = used(app).await;
    let mut wire = Wire::open(app.forebay.public).await;
    wire.send(head(app, key, length) + &" ".repeat(length as usize - 1)).await;
    wait_for_use(app, before + length).await;
    wire
}

/// The id of a new organization.
fn organization(app: &TestApp, name: &str) -> String {
    text(&app.admin(&format!("organizations create --name {name}"))["id"]).to_owned()
}

/// The key of a new workspace.
fn key_in(app: &TestApp, organization: &str, name: &str) -> String {
    let workspace = app.admin(&format!("workspaces create --organization {organization} --name {name}"));
    let key = app.admin(&format!("keys create --workspace {} --name {name}", text(&workspace["id"])));
    text(&key["key"]).to_owned()
}

#[tokio::test]
async fn an_organization_with_unfinished_bodies_leaves_room_for_the_others() {
    let app = TestApp::setup().edge("body_limit = \"1MiB\"\nmemory_budget = \"1MiB\"").start().await;
    let key = app.key.clone();
    let sibling = key_in(&app, text(&app.forebay.bootstrap()["organizationId"]), "sibling");
    let other = key_in(&app, &organization(&app, "other"), "other");
    let unfinished_bodies = [unfinished(&app, &key, 300 * KIB).await, unfinished(&app, &sibling, 200 * KIB).await];

    for workspace in [&key, &sibling] {
        let mut third = Wire::open(app.forebay.public).await;
        third.send(head(&app, workspace, 300 * KIB)).await;
        let response = third.response().await;
        assert_eq!(response.error_line(), "429 concurrency_limit_exceeded", "workspaces have one share");
        assert_eq!(response.header("retry-after"), Some("1"));
    }
    assert_eq!(app.client_with(&other).post_json("/chat/completions", chat("hi")).await.status_line(), "200 OK");

    let _others = unfinished(&app, &other, 500 * KIB).await;
    let mut last = Wire::open(app.forebay.public).await;
    last.send(head(&app, &key_in(&app, &organization(&app, "third"), "third"), 100 * KIB)).await;
    let response = last.response().await;
    assert_eq!(response.error_line(), "503 server_busy");
    assert_eq!(response.header("retry-after"), Some("1"));

    drop(unfinished_bodies);
    wait_for_use(&app, 500 * KIB).await;
    assert_eq!(app.chat("hi").await.status_line(), "200 OK");
    wait_for_use(&app, 500 * KIB).await;
}

#[tokio::test]
async fn a_body_takes_memory_for_what_has_arrived_and_a_window() {
    let app = TestApp::setup().edge("body_limit = \"1MiB\"\nmemory_budget = \"1MiB\"").start().await;
    let mut wire = Wire::open(app.forebay.public).await;
    wire.send(head(&app, &app.key, 700 * KIB) + "{").await;
    wait_until("a window is taken", TIMEOUT, async || used(&app).await >= 64 * KIB).await;
    assert!(used(&app).await <= 64 * KIB + 1);
    wire.send(" ".repeat(100 << 10)).await;
    wait_until("twice of what arrived", TIMEOUT, async || used(&app).await >= 128 * KIB).await;
    assert!(used(&app).await <= 128 * KIB + 2);

    let mut second = Wire::open(app.forebay.public).await;
    second.send(head(&app, &app.key, 700 * KIB) + "{").await;
    let response = second.response().await;
    assert_eq!(response.error_line(), "429 concurrency_limit_exceeded", "more than the budget is announced");
    wire.send(" ".repeat((600 << 10) - 1)).await;
    assert_eq!(wire.response().await.error_line(), "400 invalid_payload", "one body may be larger than the share");
    wait_for_use(&app, 0).await;
}

#[tokio::test]
async fn a_body_that_stalls_ends_before_the_time_for_the_whole_body() {
    let app = TestApp::setup().edge("body_read_timeout = \"3s\"").start().await;
    let mut wire = Wire::open(app.forebay.public).await;
    wire.send(head(&app, &app.key, 700 * KIB) + "{").await;
    let response = wire.response().await;
    assert_eq!(response.error_line(), "408 request_timeout");
    let message = response.json()["error"]["message"].clone();
    assert_eq!(message, "less than 16384 bytes of the body arrived within 1 s");
    wait_for_use(&app, 0).await;
}

#[tokio::test]
async fn a_chunked_body_takes_memory_as_it_grows() {
    let app = TestApp::setup().edge("body_limit = \"1MiB\"\nmemory_budget = \"1MiB\"").start().await;
    let _other = unfinished(&app, &app.key, 400 * KIB).await;
    let mut wire = Wire::open(app.forebay.public).await;
    wire.send(post_head(&app, "transfer-encoding: chunked\r\n")).await;
    let chunk = format!("{:x}\r\n{}\r\n", 64 * KIB, " ".repeat(64 << 10));
    wire.send(&chunk).await;
    wait_until("the first chunk counts", TIMEOUT, async || used(&app).await >= 464 * KIB).await;
    wire.send(chunk.repeat(6)).await;
    assert_eq!(wire.response().await.error_line(), "429 concurrency_limit_exceeded");
    wait_for_use(&app, 400 * KIB).await;
}

#[tokio::test]
async fn nothing_is_taken_for_a_body_without_a_valid_credential() {
    let app = TestApp::setup().edge("body_limit = \"1MiB\"\nmemory_budget = \"1MiB\"").start().await;
    let _most = unfinished(&app, &app.key, 500 * KIB).await;
    let mut stranger = Wire::open(app.forebay.public).await;
    stranger.send(head(&app, "sk-unknown", 1_024 * KIB)).await;
    assert_eq!(stranger.response().await.error_line(), "401 invalid_api_key");
    assert_eq!(used(&app).await, 500 * KIB);
}

#[tokio::test]
async fn a_gzip_body_is_bounded_by_its_ratio_and_large_ones_are_served() {
    let app = TestApp::setup().context_length(1_000_000).start().await;
    let gzip = |text: &str| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let client = app.client().header("content-encoding", "gzip");
    let bomb = gzip(&chat(&"a".repeat(8 << 20)).to_string());
    assert_eq!(error_line(&client.post_bytes("/chat/completions", bomb).await), "413 payload_too_large");
    let members = [gzip(""), gzip(&chat("hi").to_string())].concat();
    assert_eq!(client.post_bytes("/chat/completions", members).await.status_line(), "200 OK");
    let members = gzip("").repeat(100);
    assert_eq!(error_line(&client.post_bytes("/chat/completions", members).await), "400 invalid_payload");
    let lines: String = (0..60_000).map(|line| format!("{line}: the model has served {} calls\n", line * 7)).collect();
    let honest = gzip(&chat(&lines).to_string());
    assert_eq!(client.post_bytes("/chat/completions", honest).await.status_line(), "200 OK");
    wait_for_use(&app, 0).await;
}

#[tokio::test]
async fn a_response_that_is_not_streamed_takes_memory_from_the_budget() {
    let app = TestApp::setup().edge("body_limit = \"1MiB\"\nmemory_budget = \"1MiB\"").start().await;
    let huge = |bytes: usize| Script { huge_bytes: bytes, ..Script::default() };
    app.engine().push(huge(200 << 10));
    assert_eq!(app.chat("hi").await.status_line(), "200 OK");
    app.engine().push(huge(700 << 10));
    assert_eq!(error_line(&app.chat("hi").await), "429 concurrency_limit_exceeded");
    // The client may have the response before its memory is free.
    wait_for_use(&app, 0).await;
    assert_eq!(app.chat("hi").await.status_line(), "200 OK");
    wait_for_use(&app, 0).await;
}

#[tokio::test]
async fn documents_that_a_response_repeats_take_memory_before_it_is_read() {
    let engines = TestApp::start().await;
    let upstream = format!("{{ url = \"{}\", model = \"ranker\", engine = \"tei\" }}", engines.engine().url());
    let model = format!("[[models]]\nid = \"acme/rerank\"\nmodality = \"rerank\"\nupstreams = [ {upstream} ]");
    let little = "body_limit = \"1MiB\"\nmemory_budget = \"1MiB\"";
    let app = TestApp::setup().edge(little).table(&model).start_beside(&engines).await;
    // Twice as many bytes as there are. The engine returns only scores.
    let documents = vec!["x".repeat(1 << 10); 520];
    let call = json!({"model": "acme/rerank", "query": "q", "documents": documents});
    let with = |members: serde_json::Value| {
        let mut body = call.clone();
        body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        body
    };
    let client = app.client();
    let rerank = async |body: serde_json::Value| client.post_json("/rerank", body).await;
    assert_eq!(rerank(call.clone()).await.status_line(), "200 OK");
    assert_eq!(error_line(&rerank(with(json!({"return_documents": true}))).await), "503 server_busy");
    let best = rerank(with(json!({"return_documents": true, "top_n": 1}))).await;
    assert_eq!(best.status_line(), "200 OK");
    assert_eq!(best.json()["results"].as_array().unwrap().len(), 1);
    wait_for_use(&app, 0).await;
}

#[tokio::test]
async fn a_running_stream_keeps_memory_for_what_it_repeats() {
    let app = TestApp::start().await;
    app.engine().push(Script { stall_after: Some(1), chunks: 3, ..Script::default() });
    let tool = json!({"type": "function", "name": "find", "description": "x".repeat(200 << 10)});
    let body = json!({"model": CHAT, "input": "hi", "stream": true, "tools": [tool]});
    let mut stream = app.client().open_stream("/responses", body).await;
    assert_eq!(stream.status, 200);
    while !stream.next_event().await.unwrap().data().unwrap().contains("output_text.delta") {}
    wait_for_use(&app, 256 * KIB).await;
    drop(stream);
    wait_for_use(&app, 0).await;
}

#[tokio::test]
async fn a_stream_ends_if_there_is_no_memory_for_what_it_keeps() {
    let app = TestApp::setup().edge("body_limit = \"1MiB\"\nmemory_budget = \"1MiB\"").start().await;
    let text_of_chunks = "x".repeat(1_100 << 10);
    app.engine().push(Script { chunks: 2, text: text_of_chunks, stall_after: Some(1), ..Script::default() });
    let body = json!({"model": CHAT, "input": "hi", "stream": true});
    let stream = app.client().open_stream("/responses", body).await;
    assert_eq!(stream.status, 200);
    let (events, is_clean) = stream.rest().await;
    assert!(is_clean);
    let last = events.last().unwrap().json();
    let code = text(&last["response"]["error"]["code"]);
    assert_eq!((text(&last["type"]), code), ("response.failed", "server_is_overloaded"));
    assert_eq!(&*app.usage(1).await[0].code, "server_busy");
    wait_for_use(&app, 0).await;
}

#[tokio::test]
async fn stored_responses_take_memory_before_they_are_read() {
    let folder = TempDir::new().unwrap();
    let app = stored_responses::storing(stored_responses::with_key().data_dir(folder.path())).await;
    let key = app.key.clone();
    let small = stored_responses::create(&app.client(), stored_responses::request("hi"), true).await;
    let input = stored_responses::request("x".repeat(400 << 10));
    let large = stored_responses::create(&app.client(), input, true).await;
    assert_eq!(stored_responses::get(&app.client(), &large).await.status_line(), "200 OK");
    wait_for_use(&app, 0).await;
    drop(app);

    let little = "body_limit = \"1MiB\"\nmemory_budget = \"1MiB\"";
    let app = stored_responses::with_key().edge(little).data_dir(folder.path()).start().await;
    let client = app.client_with(&key);
    for path in ["", "/input_items?limit=1"] {
        let read = async |id: &str| client.get(&format!("/responses/{id}{path}")).await;
        assert_eq!(error_line(&read(&large).await), "503 server_busy", "{path}");
        assert_eq!(read(&small).await.status_line(), "200 OK", "{path}");
    }
    let continued = client.post_json("/responses", stored_responses::continuing(&large, "go on")).await;
    assert_eq!(error_line(&continued), "503 server_busy");
    wait_for_use(&app, 0).await;
}

#[tokio::test]
async fn large_bodies_side_by_side_arrive_whole_and_a_broken_one_is_rejected() {
    let app = TestApp::setup().context_length(1_000_000).start().await;
    let mut calls = tokio::task::JoinSet::new();
    for letter in ["a", "b", "c", "d"] {
        let (client, body) = (app.client(), chat(&letter.repeat(2 << 20)).to_string());
        calls.spawn(async move { client.post_bytes("/chat/completions", body).await.status_line() });
        let (client, broken) = (app.client(), chat(&letter.repeat(1 << 20)).to_string().replace('}', "]"));
        calls.spawn(async move { error_line(&client.post_bytes("/chat/completions", broken).await) });
    }
    let mut outcomes = calls.join_all().await;
    outcomes.sort();
    assert_eq!(outcomes[..4], ["200 OK"; 4]);
    assert_eq!(outcomes[4..], ["400 invalid_payload"; 4]);
    let mut received: Vec<usize> = app.engine().calls().iter().map(|call| call.body.len()).collect();
    received.sort_unstable();
    assert!(received.len() == 4 && received[0] > 2 << 20, "{received:?}");
    wait_for_use(&app, 0).await;
}

/// The head of an upload with a form of this length.
fn upload_head(app: &TestApp, length: usize) -> String {
    format!(
        "POST /v1/files HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {}\r\n\
         content-type: multipart/form-data; boundary={BOUNDARY}\r\ncontent-length: {length}\r\n\r\n",
        app.key
    )
}

/// A form up to the content of its file, and what comes after it.
fn form_around_file() -> (String, String) {
    let part = format!("--{BOUNDARY}\r\nContent-Disposition: form-data");
    (
        format!("{part}; name=\"file\"\r\n\r\n"),
        format!("\r\n{part}; name=\"purpose\"\r\n\r\nbatch\r\n--{BOUNDARY}--\r\n"),
    )
}

#[tokio::test]
async fn an_upload_takes_memory_as_it_arrives() {
    const SILENT: u64 = 19;
    let app = TestApp::setup().edge("body_limit = \"1MiB\"\nmemory_budget = \"20MiB\"").start().await;
    let (head, (start, _)) = (upload_head(&app, 4 << 20), form_around_file());
    let mut silent = Vec::new();
    for number in 1..=SILENT {
        let mut wire = Wire::open(app.forebay.public).await;
        wire.send(format!("{head}{start}")).await;
        wait_for_use(&app, number * 64 * KIB).await;
        silent.push(wire);
    }
    let mut wire = Wire::open(app.forebay.public).await;
    wire.send(format!("{head}{start}{}", " ".repeat(100 << 10))).await;
    wait_for_use(&app, SILENT * 64 * KIB + 4 * (start.len() as u64 + 100 * KIB)).await;
    wire.send(" ".repeat(2 << 20)).await;
    wait_for_use(&app, SILENT * 64 * KIB + 4_096 * KIB).await;
    assert_eq!(app.chat("hi").await.status_line(), "200 OK");
    drop((wire, silent));
    wait_for_use(&app, 0).await;
}

#[tokio::test]
async fn an_upload_that_stalls_ends_before_one_that_takes_long() {
    const PIECES: usize = 16;
    let app = TestApp::setup().edge("body_read_timeout = \"3s\"").start().await;
    let (start, end) = form_around_file();
    let piece = " ".repeat(20 << 10);
    let head = upload_head(&app, start.len() + PIECES * piece.len() + end.len());
    let mut stalled = Wire::open(app.forebay.public).await;
    stalled.send(format!("{head}{start}")).await;
    let response = stalled.response().await;
    assert_eq!(response.error_line(), "408 request_timeout");
    let message = response.json()["error"]["message"].clone();
    assert_eq!(message, "less than 16384 bytes of the body arrived within 1 s");
    wait_for_use(&app, 0).await;

    let mut slow = Wire::open(app.forebay.public).await;
    slow.send(format!("{head}{start}")).await;
    for _ in 0..PIECES {
        tokio::time::sleep(Duration::from_millis(250)).await;
        slow.send(&piece).await;
    }
    slow.send(end).await;
    assert_eq!(slow.response().await.status, 200, "a body that is not an upload has 3 s");
}

#[tokio::test]
async fn content_of_files_takes_memory_while_it_is_sent() {
    let app = TestApp::setup().edge("body_limit = \"1MiB\"\nmemory_budget = \"10MiB\"").start().await;
    let file = batches::upload(&app.client(), &"x".repeat(30 << 20)).await;
    wait_for_use(&app, 0).await;
    let path = format!("/v1/files/{file}/content");
    let mut slow = Wire::open(app.forebay.public).await;
    slow.send(format!("GET {path} HTTP/1.1\r\nhost: a\r\nauthorization: Bearer {}\r\n\r\n", app.key)).await;
    wait_for_use(&app, 4 << 20).await;
    let content = async || app.client().get(&format!("/files/{file}/content")).await;
    assert_eq!(error_line(&content().await), "429 concurrency_limit_exceeded");
    drop(slow);
    wait_for_use(&app, 0).await;
    let read = content().await;
    assert_eq!(read.status, 200);
    assert_eq!(read.text().len(), 30 << 20);
    wait_for_use(&app, 0).await;
}

#[tokio::test]
async fn a_call_that_was_kept_alive_needs_no_memory_for_its_request_once_its_engine_responds() {
    let app = TestApp::setup().context_length(200_000).start().await;
    app.engine().push(Script { delay_ms: 3_000, stall_after: Some(1), ..Script::default() });
    let messages = json!([{"role": "user", "content": "x".repeat(100 << 10)}]);
    let body = json!({"model": CHAT, "max_tokens": 64, "stream": true, "messages": messages});
    let mut opened = app.client().header("x-keep-alive", "1").open_stream("/messages", body).await;
    wait_for_use(&app, 256 * KIB).await;
    while text(&opened.next_event().await.unwrap().json()["type"]) != "content_block_delta" {}
    wait_for_use(&app, 0).await;
}
