//! Tests that guard the whole: one response for every bad credential, and every code documented.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::PathBuf;

use expect_test::expect;

use crate::app::TIMEOUT;
use crate::app::{TestApp, shown, text, wait_until};
use crate::wire::Wire;

/// All routes under `/v1`, and some that do not exist.
const ROUTES: [(&str, &str); 41] = [
    ("POST", "/v1/chat/completions"),
    ("POST", "/v1/chat/completions/"),
    ("POST", "/v1/responses"),
    ("POST", "/v1/responses/input_tokens"),
    ("POST", "/v1/embeddings"),
    ("POST", "/v1/completions"),
    ("POST", "/v1/rerank"),
    ("POST", "/rerank"),
    ("POST", "/v2/rerank"),
    ("POST", "/v1/score"),
    ("POST", "/score"),
    ("POST", "/v1/tokenize"),
    ("POST", "/tokenize"),
    ("POST", "/v1/detokenize"),
    ("POST", "/detokenize"),
    ("GET", "/v1/models"),
    ("HEAD", "/v1/models"),
    ("GET", "/v1/models?modality=chat"),
    ("GET", "/v1/models/acme/tiny"),
    ("GET", "/v1/models/acme%2Ftiny"),
    ("GET", "/v1/models/none"),
    ("GET", "/v1/responses/resp_1"),
    ("DELETE", "/v1/responses/resp_1"),
    ("GET", "/v1/responses/resp_1/input_items"),
    ("POST", "/v1/files"),
    ("GET", "/v1/files"),
    ("GET", "/v1/files/file-1"),
    ("DELETE", "/v1/files/file-1"),
    ("GET", "/v1/files/file-1/content"),
    ("POST", "/v1/batches"),
    ("GET", "/v1/batches"),
    ("GET", "/v1/batches/batch_1"),
    ("POST", "/v1/batches/batch_1/cancel"),
    ("GET", "/v1/chat/completions"),
    ("PUT", "/v1/embeddings"),
    ("DELETE", "/v1/models/acme/tiny"),
    ("OPTIONS", "/v1/models"),
    ("POST", "/v1/nothing"),
    ("GET", "/v1/"),
    ("GET", "/v1"),
    ("PATCH", "/v1/%FF"),
];

/// Header lines for every way in which a credential can be bad.
fn bad_credentials(app: &TestApp) -> Vec<(&'static str, String)> {
    let bearer = |key: &str| format!("authorization: Bearer {key}\r\n");
    let good = &app.key;
    let (start, secret) = good.rsplit_once('-').unwrap();
    let segment = start.strip_prefix("sk-").unwrap();
    let other_segment: String = segment.chars().rev().collect();
    let other_secret: String = secret.chars().rev().collect();
    let mut all = vec![
        ("none", String::new()),
        ("empty", "authorization:\r\n".to_owned()),
        ("scheme alone", "authorization: Bearer\r\n".to_owned()),
        ("no scheme", format!("authorization: {good}\r\n")),
        ("basic", format!("authorization: Basic {good}\r\n")),
        ("another scheme", format!("authorization: Token {good}\r\n")),
        ("garbage", bearer("garbage")),
        ("not text", "authorization: Bearer sk-\u{e9}\r\n".to_owned()),
        ("upper case", bearer(&good.to_uppercase())),
        ("two keys", bearer(&format!("{good} {good}"))),
        ("with a comma", bearer(&format!("{good}, {good}"))),
        ("two headers", bearer(good).repeat(2)),
        ("a good and a bad header", bearer(good) + &bearer("garbage")),
        ("quoted", bearer(&format!("\"{good}\""))),
        ("segment alone", bearer(start)),
        ("unknown segment", bearer(&format!("sk-{other_segment}-{secret}"))),
        ("wrong secret", bearer(&format!("{start}-{other_secret}"))),
        ("short secret", bearer(&format!("{start}-abc"))),
        ("long secret", bearer(&format!("{start}-{}", "a".repeat(1_000)))),
        ("another header", format!("api-key: {good}\r\nx-goog-api-key: {good}\r\n")),
        ("a cookie", format!("cookie: forebay_session={good}\r\n")),
        ("a proxy's header", format!("proxy-authorization: Bearer {good}\r\n")),
    ];
    for verb in ["revoke", "disable", "expire"] {
        let created = app.new_key(verb);
        app.admin(&format!("keys {verb} {}", text(&created["id"])));
        all.push((verb, bearer(text(&created["key"]))));
    }
    all
}

/// A response without the parts that always differ: status, sorted headers, body.
struct Comparable {
    masked: String,
    request_id: String,
    body: String,
}

async fn comparable(app: &TestApp, method: &str, path: &str, credential: &str) -> Comparable {
    let mut wire = Wire::open(app.forebay.public).await;
    let headers = "content-type: multipart/form-data\r\ncontent-length: 8\r\nconnection: close\r\n";
    wire.send(format!("{method} {path} HTTP/1.1\r\nhost: x\r\n{headers}{credential}\r\n12345678")).await;
    let response = if method == "HEAD" { wire.response_without_body().await } else { wire.response().await };
    let lines = response.head.lines().skip(1).filter_map(|line| line.split_once(": "));
    let mut headers: BTreeMap<String, String> =
        lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let request_id = headers.remove("x-request-id").unwrap();
    headers.remove("date").unwrap();
    let masked = format!("{}\n{headers:#?}", response.status_line());
    Comparable { masked, request_id, body: response.text() }
}

#[tokio::test]
async fn every_route_rejects_every_bad_credential_identically() {
    let app = TestApp::setup().table("[limits]\nfailed_credentials_per_minute = 1_000_000").start().await;
    let bad = bad_credentials(&app);
    wait_until("ended keys are refused", TIMEOUT, async || {
        let mut refused = true;
        for (_, credential) in &bad {
            refused &= comparable(&app, "GET", "/v1/models", credential).await.masked.contains(" 401 ");
        }
        refused
    })
    .await;

    let mut ids = HashSet::new();
    let first = comparable(&app, "POST", "/v1/chat/completions", "").await;
    for (method, path) in ROUTES {
        for (name, credential) in &bad {
            let seen = comparable(&app, method, path, credential).await;
            assert_eq!(seen.masked, first.masked, "{method} {path} with {name}");
            assert_eq!(seen.body, if method == "HEAD" { "" } else { &first.body }, "{method} {path} with {name}");
            assert!(ids.insert(seen.request_id), "duplicate request id");
        }
        let good = format!("authorization: Bearer {}\r\n", app.key);
        let seen = comparable(&app, method, path, &good).await;
        assert!(!seen.masked.contains(" 401 "), "{method} {path} with a good key");
    }
    assert!(app.engine().calls().is_empty());
    expect![[r#"
        401 Unauthorized
        content-length: 152
        content-type: application/json
        www-authenticate: Bearer
        x-request-id: req_…

        {"error":{"type":"authentication_error","code":"invalid_api_key","message":"Missing or invalid API key; send `Authorization: Bearer <key>`","param":""}}
    "#]]
    .assert_eq(&shown(&app.stranger().get("/models").await));
}

pub(crate) fn read(path: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The words in backticks.
pub(crate) fn quoted(text: &str) -> impl Iterator<Item = String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned)
}

/// The codes of the table below `## Codes`.
fn documented() -> BTreeSet<String> {
    let page = read("docs/api/errors.md");
    let (_, after) = page.split_once("\n## Codes\n").unwrap();
    let section = after.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with("| ") && line.as_bytes()[2].is_ascii_digit());
    rows.filter_map(|row| quoted(row.split('|').nth(3)?).next()).collect()
}

/// The words in quotes inside the function `code` of these files, the only place for codes.
fn in_source() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let responses = "crates/server/src/surface/openai/responses/error.rs";
    let batches = "crates/server/src/surface/inference/batch_error.rs";
    for path in ["crates/server/src/surface/error.rs", "crates/dataplane/src/error.rs", responses, batches] {
        let source = read(path);
        let (_, function) = source.split_once("fn code(&self) -> &'static str {").unwrap();
        let (body, _) = function.split_once("\n    }\n").unwrap();
        found.extend(body.split('"').skip(1).step_by(2).map(str::to_owned));
    }
    found
}

#[test]
fn every_code_is_documented_and_every_documented_code_exists() {
    let (documented, in_source) = (documented(), in_source());
    assert!(in_source.len() > 10 && documented.len() > 20, "{in_source:?} {documented:?}");
    assert_eq!(in_source, documented);
}
