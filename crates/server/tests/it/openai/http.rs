//! HTTP details: bodies, headers, connections, CORS.

use std::io::Write as _;
use std::time::{Duration, Instant};

use expect_test::expect;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::Method;
use testkit::fake_engine::Script;
use testkit::http::Client;

use crate::app::{TIMEOUT, TestApp, chat, content, error_line, headers_but_ids, stream, wait_until};
use crate::wire::{Wire, get, post, post_head};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn http_1_0_gets_a_response_without_chunks() {
    let app = TestApp::start().await;
    for (body, is_stream) in [(chat("hi"), false), (stream("hi"), true)] {
        let request = String::from_utf8(post(&app, "", body.to_string())).unwrap().replace("HTTP/1.1", "HTTP/1.0");
        let mut wire = Wire::open(app.forebay.public).await;
        wire.send(request).await;
        let response = wire.response().await;
        assert_eq!(response.status, 200, "{}", response.head);
        assert!(response.header("transfer-encoding").is_none(), "{}", response.head);
        assert!(response.text().contains("Hello "));
        assert!(!is_stream || response.text().ends_with("data: [DONE]\n\n"), "{}", response.text());
        assert!(wire.is_closed().await);
    }
}

#[tokio::test]
async fn pipelined_requests_get_their_responses_in_order() {
    let app = TestApp::start().await;
    app.engine().push(Script { text: "first".to_owned(), chunks: 1, delay_ms: 100, ..Script::default() });
    app.engine().push(Script { text: "second".to_owned(), chunks: 1, ..Script::default() });
    let mut both = post(&app, "", chat("1").to_string());
    both.extend(post(&app, "", stream("2").to_string()));
    both.extend(get(&app, "/v1/models/none").into_bytes());
    let mut wire = Wire::open(app.forebay.public).await;
    wire.send(both).await;
    assert!(wire.response().await.text().contains("first"));
    assert!(wire.response().await.text().contains("second"));
    assert_eq!(wire.response().await.error_line(), "404 model_not_found");
}

#[tokio::test]
async fn a_chunked_request_is_accepted() {
    let app = TestApp::start().await;
    let body = chat("hi").to_string();
    let mut wire = Wire::open(app.forebay.public).await;
    wire.send(post_head(&app, "transfer-encoding: chunked\r\n")).await;
    for piece in body.as_bytes().chunks(7) {
        let piece = String::from_utf8(piece.to_vec()).unwrap();
        wire.send(format!("{:x};x=y\r\n{piece}\r\n", piece.len())).await;
    }
    wire.send("0\r\nx-trailer: 1\r\n\r\n").await;
    assert_eq!(wire.response().await.status, 200);
    assert_eq!(app.engine().calls()[0].json()["messages"], chat("hi")["messages"]);
    assert_eq!(app.engine().calls()[0].header("transfer-encoding"), None);
}

#[tokio::test]
async fn a_client_that_waits_for_continue_gets_it_or_an_error() {
    let app = TestApp::setup().edge("body_limit = \"1KiB\"").start().await;
    let body = chat("hi").to_string();
    let mut wire = Wire::open(app.forebay.public).await;
    wire.send(post_head(&app, &format!("content-length: {}\r\nexpect: 100-continue\r\n", body.len()))).await;
    wire.wait_for("HTTP/1.1 100 Continue\r\n\r\n").await;
    wire.send(&body).await;
    assert_eq!(wire.response().await.status, 200);

    // 2 GB are announced and none is sent: the error must not wait for them.
    let mut wire = Wire::open(app.forebay.public).await;
    wire.send(post_head(&app, "content-length: 2000000000\r\nexpect: 100-continue\r\n")).await;
    let response = wire.response().await;
    assert!(!response.head.contains("100 Continue"));
    assert_eq!(response.error_line(), "413 payload_too_large");
    let mut wire = Wire::open(app.forebay.public).await;
    let head = post_head(&app, "content-length: 2000000000\r\nexpect: 100-continue\r\n").replace("Bearer", "Basic");
    wire.send(head).await;
    assert_eq!(wire.response().await.error_line(), "401 invalid_api_key");
}

#[tokio::test]
async fn an_upgrade_is_ignored_and_the_request_served() {
    let app = TestApp::start().await;
    let upgrade = "connection: Upgrade, HTTP2-Settings\r\nupgrade: h2c\r\nhttp2-settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n";
    let mut wire = Wire::open(app.forebay.public).await;
    wire.send(post(&app, upgrade, chat("hi").to_string())).await;
    let response = wire.response().await;
    assert_eq!(response.status_line(), "HTTP/1.1 200 OK");
    assert!(response.text().contains("Hello "));
}

#[tokio::test]
async fn gzip_is_decompressed_up_to_the_limit() {
    let app = TestApp::setup().edge("body_limit = \"64KiB\"").start().await;
    let client = app.client().header("content-encoding", "gzip");
    let response = client.post_bytes("/chat/completions", gzip(chat("zipped").to_string().as_bytes())).await;
    assert_eq!(response.status_line(), "200 OK");
    let call = &app.engine().calls()[0];
    assert_eq!(
        (call.json()["messages"][0]["content"].as_str(), call.header("content-encoding")),
        (Some("zipped"), None)
    );

    let bomb = gzip(chat(&"a".repeat(10 << 20)).to_string().as_bytes());
    assert!(bomb.len() < 64 << 10);
    assert_eq!(error_line(&client.post_bytes("/chat/completions", bomb).await), "413 payload_too_large");
    let plain = chat("hi").to_string();
    assert_eq!(error_line(&client.post_bytes("/chat/completions", plain).await), "400 invalid_payload");
    let cut = gzip(chat("hi").to_string().as_bytes());
    let cut = cut[..cut.len() / 2].to_vec();
    assert_eq!(error_line(&client.post_bytes("/chat/completions", cut).await), "400 invalid_payload");
}

#[tokio::test]
async fn unsupported_types_and_encodings_are_a_415() {
    let app = TestApp::start().await;
    for (name, value) in [
        ("content-encoding", "br"),
        ("content-encoding", "gzip, gzip"),
        ("content-encoding", "deflate"),
        ("content-type", "multipart/form-data; boundary=x"),
        ("content-type", "application/octet-stream"),
        ("content-type", "image/png"),
    ] {
        let response = app.client().header(name, value).post_json("/chat/completions", chat("hi")).await;
        assert_eq!(error_line(&response), "415 unsupported_media_type", "{name}: {value}");
    }
    for value in [
        "application/json; charset=utf-8",
        "Application/JSON",
        "application/x-www-form-urlencoded",
        "text/plain",
        "application/problem+json",
    ] {
        let response = app.client().header("content-type", value).post_json("/chat/completions", chat("hi")).await;
        assert_eq!(response.status_line(), "200 OK", "{value}");
    }
}

#[tokio::test]
async fn too_many_headers_are_a_431() {
    let app = TestApp::start().await;
    let mut wire = Wire::open(app.forebay.public).await;
    let padding = format!("x-padding: {}\r\n", "a".repeat(20 << 10));
    wire.send(post(&app, &padding, chat("hi").to_string())).await;
    assert_eq!(wire.response().await.status, 200, "20 KiB are fine");
    let padding = format!("x-padding: {}\r\n", "a".repeat(33 << 10));
    wire.send(post(&app, &padding, chat("hi").to_string())).await;
    assert_eq!(wire.response().await.error_line(), "431 headers_too_large");
    wire.send(get(&app, "/v1/models")).await;
    assert_eq!(wire.response().await.status, 200, "the connection stays open");
    // All of it is read before the response: a reset because of unread bytes would lose the response.
    let endless = post_head(&app, &format!("x-padding: {}", "a".repeat(1 << 20)));
    wire.send(&endless.as_bytes()[..256 << 10]).await;
    assert_eq!(wire.response().await.error_line(), "431 headers_too_large", "and the connection ends at the limit");
    assert!(wire.is_closed().await);
}

#[tokio::test]
async fn contradictory_lengths_are_a_400() {
    let app = TestApp::start().await;
    for headers in [
        "content-length: 5\r\ncontent-length: 6\r\n",
        "content-length: -1\r\n",
        "content-length: five\r\n",
        "content-length: 99999999999999999999\r\n",
    ] {
        let mut wire = Wire::open(app.forebay.public).await;
        wire.send_until_closed(post_head(&app, headers).as_bytes()).await;
        // SPEC 7.2: the envelope is on every 4xx, also where no route is known.
        assert_eq!(wire.response().await.error_line(), "400 malformed_head", "{headers}");
        assert!(wire.is_closed().await);
    }
    let mut wire = Wire::open(app.forebay.public).await;
    wire.send_until_closed(b"INVALID\r\n\r\n").await;
    assert_eq!(wire.response().await.status, 400);
    assert!(app.engine().calls().is_empty());
}

#[tokio::test]
async fn a_rejected_head_has_an_id_and_is_logged_and_counted_by_reason() {
    let app = TestApp::start().await;
    for (head, status, code) in [
        ("GET / HTTP/1.1\nHost: h\n\n", 400, "malformed_head"),
        ("GET / HTTP/1.1\r\n\r\n", 400, "malformed_head"),
        ("GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n", 400, "malformed_head"),
        ("GET / HTTP/4.0\r\nhost: a\r\n\r\n", 505, "unsupported_version"),
    ] {
        let mut wire = Wire::open(app.forebay.public).await;
        wire.send_until_closed(head.as_bytes()).await;
        let response = wire.response().await;
        assert_eq!(response.error_line(), format!("{status} {code}"), "{head:?}");
        let id = response.header("x-request-id").unwrap().to_owned();
        wait_until("the log line", TIMEOUT, async || app.forebay.child.stdout().contains(&id)).await;
        let log = app.forebay.child.stdout();
        let line = log.lines().find(|line| line.contains(&id)).unwrap();
        assert!(line.contains(&format!("\"code\":\"{code}\"")) && line.contains("from 127.0.0.1"), "{line}");
    }
    let page = Client::new(app.forebay.ops).get("/metrics").await.text();
    for (status, code, count) in [(400, "malformed_head", 3), (505, "unsupported_version", 1)] {
        let labels = format!("route=\"unreadable\",workspace=\"\",model=\"\",status=\"{status}\",code=\"{code}\"");
        assert!(page.contains(&format!("forebay_requests_total{{{labels}}} {count}\n")), "{page}");
    }
}

#[tokio::test]
async fn a_body_that_does_not_arrive_is_a_408_and_affects_no_other_client() {
    let app = TestApp::setup().edge("body_read_timeout = \"200ms\"").start().await;
    let mut slow = Wire::open(app.forebay.public).await;
    slow.send(post_head(&app, "content-length: 100\r\n")).await;
    slow.send("{").await;
    assert_eq!(app.chat("meanwhile").await.status_line(), "200 OK");
    let response = slow.response().await;
    assert_eq!(response.error_line(), "408 request_timeout");
    assert_eq!(response.header("retry-after"), Some("1"));
}

#[tokio::test]
async fn an_incomplete_body_reaches_no_engine() {
    let app = TestApp::start().await;
    let mut wire = Wire::open(app.forebay.public).await;
    wire.send(post_head(&app, "content-length: 1000\r\n")).await;
    wire.send("{\"model\":").await;
    drop(wire);
    assert_eq!(app.chat("next").await.status_line(), "200 OK");
    assert_eq!(app.engine().calls().len(), 1);
}

#[tokio::test]
async fn a_body_past_the_limit_is_a_413_while_the_client_still_sends() {
    let app = TestApp::setup().edge("body_limit = \"64KiB\"").start().await;
    let huge = vec![b' '; 8 << 20];
    for headers in [format!("content-length: {}\r\n", huge.len()), "transfer-encoding: chunked\r\n".to_owned()] {
        let mut wire = Wire::open(app.forebay.public).await;
        wire.send(post_head(&app, &headers)).await;
        if headers.starts_with("transfer") {
            wire.send(format!("{:x}\r\n", huge.len())).await;
        }
        // A reset here would lose the response, and clients would report the reset.
        wire.send(&huge).await;
        if headers.starts_with("transfer") {
            wire.send("\r\n0\r\n\r\n").await;
        }
        assert_eq!(wire.response().await.error_line(), "413 payload_too_large", "{headers}");
    }
    let exact = chat("hi").to_string();
    let exact = format!("{exact}{}", " ".repeat((64 << 10) - exact.len()));
    assert_eq!(app.client().post_bytes("/chat/completions", exact.clone()).await.status_line(), "200 OK");
    let response = app.client().post_bytes("/chat/completions", exact + " ").await;
    assert_eq!(error_line(&response), "413 payload_too_large");
}

#[tokio::test]
async fn a_connection_stays_open_after_errors_and_streams() {
    let app = TestApp::start().await;
    let mut wire = Wire::open(app.forebay.public).await;
    for _ in 0..2 {
        wire.send(post(&app, "", "invalid")).await;
        assert_eq!(wire.response().await.error_line(), "400 invalid_payload");
        wire.send(get(&app, "/v1/nothing")).await;
        assert_eq!(wire.response().await.error_line(), "404 route_not_found");
        wire.send(get(&app, "/v1/models").replace("Bearer", "Basic")).await;
        assert_eq!(wire.response().await.error_line(), "401 invalid_api_key");
        wire.send(post(&app, "content-type: image/png\r\n", chat("hi").to_string())).await;
        assert_eq!(wire.response().await.error_line(), "415 unsupported_media_type");
        wire.send(post(&app, "", stream("hi").to_string())).await;
        assert!(wire.response().await.text().ends_with("data: [DONE]\n\n"));
        app.engine().push(Script { cut_after: Some(1), ..Script::default() });
        wire.send(post(&app, "", stream("hi").to_string())).await;
        assert!(wire.response().await.text().contains("bad_gateway"));
        app.engine().push(Script { status: Some(500), ..Script::default() });
        wire.send(post(&app, "", chat("hi").to_string())).await;
        assert_eq!(wire.response().await.error_line(), "502 bad_gateway");
    }
    assert!(wire.is_silent().await);
}

#[tokio::test]
async fn idle_connections_affect_no_other_client() {
    let app = TestApp::start().await;
    let mut idle = Vec::new();
    for _ in 0..200 {
        let mut wire = Wire::open(app.forebay.public).await;
        wire.send("POST /v1/chat/comp").await;
        idle.push(wire);
    }
    let started = Instant::now();
    assert_eq!(app.chat("hi").await.status_line(), "200 OK");
    assert!(started.elapsed() < Duration::from_secs(5), "{:?}", started.elapsed());
}

#[tokio::test]
async fn cors_allows_preflights_and_reading_errors() {
    let app = TestApp::setup().server("cors_origins = [\"https://app.example.com\"]").start().await;
    let browser = app.stranger().header("origin", "https://app.example.com");
    let preflight = browser.clone().header("access-control-request-method", "POST");
    let preflight = preflight.header("access-control-request-headers", "authorization,content-type,x-stainless-lang");
    let response = preflight.send(Method::OPTIONS, "/chat/completions", bytes::Bytes::new()).await;
    assert_eq!((response.status_line().as_str(), response.body.len()), ("204 No Content", 0));
    let lines: Vec<String> =
        headers_but_ids(&response).iter().map(|(name, value)| format!("{name}: {value}")).collect();
    expect![[r#"
        access-control-allow-headers: authorization,content-type,x-stainless-lang
        access-control-allow-methods: GET, POST, PUT, PATCH, DELETE, OPTIONS
        access-control-allow-origin: https://app.example.com
        access-control-expose-headers: x-request-id, retry-after, x-ratelimit-limit-requests, x-ratelimit-limit-tokens, x-ratelimit-remaining-requests, x-ratelimit-remaining-tokens, x-ratelimit-reset-requests, x-ratelimit-reset-tokens
        access-control-max-age: 86400
        vary: Origin
        x-request-id: req_…"#]]
    .assert_eq(&lines.join("\n"));

    let with_key = browser.clone().header("authorization", &format!("Bearer {}", app.key));
    for response in [
        browser.get("/models").await,
        with_key.get("/models").await,
        with_key.get("/nothing").await,
        with_key.post_json("/chat/completions", stream("hi")).await,
    ] {
        assert_eq!(response.header("access-control-allow-origin"), Some("https://app.example.com"));
        assert!(response.header("access-control-expose-headers").unwrap().contains("x-request-id"));
        assert_eq!(response.header("vary"), Some("Origin"));
        assert_eq!(response.header("access-control-allow-credentials"), None);
    }
    let elsewhere = app.client().header("origin", "https://evil.example.com");
    assert_eq!(elsewhere.get("/models").await.header("access-control-allow-origin"), None);
}

#[tokio::test]
async fn a_preflight_from_an_unknown_origin_allows_nothing() {
    for setup in [TestApp::setup(), TestApp::setup().server("cors_origins = [\"https://app.example.com\"]")] {
        let app = setup.start().await;
        let preflight = app.stranger().header("origin", "https://evil.example.com");
        let preflight = preflight.header("access-control-request-method", "POST");
        let response = preflight.send(Method::OPTIONS, "/chat/completions", bytes::Bytes::new()).await;
        assert_eq!(response.header("access-control-allow-origin"), None);
    }
}

#[tokio::test]
async fn every_response_has_its_own_request_id_and_never_that_of_the_client() {
    let app = TestApp::start().await;
    let client = app.client().header("x-request-id", "mine").header("x-client-request-id", "theirs");
    let mut ids = std::collections::HashSet::new();
    for path in ["/models", "/models/none", "/nothing"] {
        for _ in 0..5 {
            let response = client.get(path).await;
            assert!(ids.insert(response.header("x-request-id").unwrap().to_owned()));
        }
    }
    assert!(ids.iter().all(|id| id.starts_with("req_")));
}

#[tokio::test]
async fn an_event_stream_arrives_in_complete_events() {
    let app = TestApp::start().await;
    app.engine().push(Script { chunks: 5, chunk_delay_ms: 2, split: Some(20), ..Script::default() });
    let mut opened = app.open_stream(stream("hi")).await;
    let mut whole = Vec::new();
    while let Some(bytes) = opened.next_bytes().await.unwrap() {
        assert!(bytes.ends_with(b"\n\n"), "half an event: {bytes:?}");
        whole.extend_from_slice(&bytes);
    }
    assert_eq!(content(&testkit::http::events_of(&whole)), "Hello ".repeat(5));
}

#[tokio::test]
async fn unusual_requests_get_a_plain_response() {
    let app = TestApp::start().await;
    let key = &app.key;
    for (start, expected) in [
        ("GET http://elsewhere.example/v1/models HTTP/1.1", 200),
        ("GET /v1/models/../models HTTP/1.1", 404),
        ("GET //v1/models HTTP/1.1", 404),
        ("GET /V1/models HTTP/1.1", 404),
        ("GET / HTTP/1.1", 200),
        ("OPTIONS * HTTP/1.1", 404),
        ("TRACE /v1/models HTTP/1.1", 405),
        ("BREW /v1/models HTTP/1.1", 405),
        ("GET /v1/models#part HTTP/1.1", 200),
    ] {
        let mut wire = Wire::open(app.forebay.public).await;
        wire.send(format!("{start}\r\nhost: x\r\nauthorization: Bearer {key}\r\n\r\n")).await;
        assert_eq!(wire.response().await.status, expected, "{start}");
    }
}

#[tokio::test]
async fn a_request_hidden_in_a_body_is_never_served() {
    let app = TestApp::start().await;
    let hidden = get(&app, "/v1/models");
    let both = format!("content-length: {}\r\ntransfer-encoding: chunked\r\n", hidden.len() + 5);
    let mut wire = Wire::open(app.forebay.public).await;
    wire.send_until_closed(format!("{}0\r\n\r\n{hidden}", post_head(&app, &both)).as_bytes()).await;
    assert_eq!(wire.response().await.status, 400, "an empty body, or a rejected head");
    assert!(wire.is_closed().await, "the rest cannot be attributed to a request");
}
