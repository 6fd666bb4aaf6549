//! Malformed and hostile requests.

use http::Method;
use serde_json::json;

use super::person::{Person, browser, error_of};
use crate::app::{TestApp, text};
use crate::wire::Wire;

#[tokio::test]
async fn bodies_other_than_json_objects_are_rejected() {
    let app = TestApp::start().await;
    let person = Person::operator(&app).await;
    let send = async |body: &str| person.client().post_bytes("/api/workspaces", body.to_owned()).await;
    let deep = "[".repeat(10_000);
    for body in ["{", "[]", "null", "\"x\"", "{\"name\":\"a\"}{}", "\u{0}", "{\"name\":\"a\",\"name\":\"b\"}", &deep] {
        assert!(error_of(&send(body).await).starts_with("400 invalid_payload"), "{body:.20}");
    }
    assert_eq!(error_of(&send("").await), "400 invalid_payload name", "an empty body counts as {{}}");
    assert_eq!(error_of(&send("{\"nmae\":\"a\"}").await), "422 invalid_value nmae");
    let not_utf8 = person.client().post_bytes("/api/workspaces", vec![b'{', b'"', 0xff, b'"', b'}']).await;
    assert_eq!(error_of(&not_utf8), "400 invalid_payload");
    let huge = format!("{{\"name\":\"{}\"}}", "x".repeat(300 << 10));
    assert_eq!(error_of(&send(&huge).await), "413 payload_too_large");
    assert_eq!(person.read("/api/workspaces").await["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_body_is_not_waited_for_without_a_session() {
    let app = TestApp::start().await;
    let person = Person::operator(&app).await;
    let announced = |path: &str, cookie: &str| {
        format!("POST {path} HTTP/1.1\r\nhost: test\r\ncookie: {cookie}\r\ncontent-length: 1000\r\n\r\n{{")
    };
    for (path, expected) in [("/api/workspaces", 401), ("/api/x", 404), ("/api/sessions", 405)] {
        for cookie in ["a=b", &format!("forebay_session={}", "x".repeat(43))] {
            let mut wire = Wire::open(app.forebay.public).await;
            wire.send(announced(path, cookie)).await;
            assert_eq!(wire.response().await.status, expected, "{path}");
        }
    }
    for (path, cookie) in [("/api/workspaces", person.cookie.as_str()), ("/api/session", "a=b")] {
        let mut wire = Wire::open(app.forebay.public).await;
        wire.send(announced(path, cookie)).await;
        assert!(wire.is_silent().await, "{path}: the rest of the body is awaited");
    }
}

#[tokio::test]
async fn a_body_that_arrives_late_is_read_with_its_session() {
    let app = TestApp::start().await;
    let person = Person::operator(&app).await;
    let body = json!({"name": "late"}).to_string();
    let mut wire = Wire::open(app.forebay.public).await;
    let head = format!(
        "POST /api/workspaces HTTP/1.1\r\nhost: test\r\ncookie: {}\r\nx-csrf-token: {}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n",
        person.cookie,
        person.csrf,
        body.len()
    );
    wire.send(head).await;
    assert!(wire.is_silent().await);
    wire.send(body).await;
    assert_eq!(wire.response().await.status, 201);
}

#[tokio::test]
async fn the_body_of_a_sign_in_is_small() {
    let app = TestApp::start().await;
    let body = json!({"email": "x".repeat(17 << 10), "password": "x"});
    assert_eq!(error_of(&browser(&app).post_json("/api/session", body).await), "413 payload_too_large");
}

#[tokio::test]
async fn forms_of_other_sites_are_rejected() {
    let app = TestApp::start().await;
    let password = app.forebay.bootstrap()["password"].clone();
    let body = json!({"email": "admin@localhost", "password": password}).to_string();
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx", ""] {
        let response = browser(&app).header("content-type", kind).post_bytes("/api/session", body.clone()).await;
        assert_eq!(error_of(&response), "415 unsupported_media_type", "{kind}");
    }
    let good = browser(&app).header("content-type", "Application/JSON; charset=utf-8");
    assert_eq!(good.post_bytes("/api/session", body).await.status, 200);
}

#[tokio::test]
async fn unknown_paths_and_methods_have_the_envelope_of_the_surface() {
    let app = TestApp::start().await;
    let person = Person::operator(&app).await;
    for path in ["/api", "/api/", "/api/nothing", "/api/workspaces/x/y/z", "/api/../v1/models", "/api/%00", "/api//"] {
        assert_eq!(error_of(&person.get(path).await), "404 not_found", "{path}");
    }
    for id in ["ws_0", "ws_00000000000000000000000000", "key_00000000000000000000000000", "%27", "..", "%FF", "ws_%00"]
    {
        assert_eq!(error_of(&person.get(&format!("/api/workspaces/{id}/keys")).await), "404 not_found", "{id}");
    }
    for (method, path, allow) in [
        (Method::PUT, "/api/session", "GET,HEAD,POST,DELETE"),
        (Method::DELETE, "/api/workspaces", "GET,HEAD,POST"),
        (Method::GET, "/api/session/context", "PUT"),
        (Method::TRACE, "/api/sessions", "GET,HEAD"),
    ] {
        let response = person.client().send(method.clone(), path, Default::default()).await;
        assert_eq!(error_of(&response), "405 method_not_allowed", "{method} {path}");
        let mut allowed: Vec<&str> = response.header("allow").unwrap().split(',').map(str::trim).collect();
        let mut expected: Vec<&str> = allow.split(',').collect();
        allowed.sort_unstable();
        expected.sort_unstable();
        assert_eq!(allowed, expected, "{method} {path}");
    }
    assert_eq!(person.get("/api/workspaces/").await.status, 200, "a trailing slash is accepted");
    let head = person.client().send(Method::HEAD, "/api/workspaces", Default::default()).await;
    assert_eq!((head.status.as_u16(), head.text().as_str()), (200, ""));
}

#[tokio::test]
async fn every_route_needs_a_session() {
    let app = TestApp::start().await;
    let description = browser(&app).get("/openapi.json").await.json();
    let mut seen = 0;
    for (path, operations) in description["paths"].as_object().unwrap() {
        if !path.starts_with("/api/") {
            continue;
        }
        for (method, operation) in operations.as_object().unwrap() {
            let is_public = operation["security"].as_array().is_some_and(|all| all.contains(&json!({})));
            let (named, body) = (path.replace(['{', '}'], ""), json!({}));
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let client = browser(&app).header("cookie", "forebay_session=made-up").header("x-csrf-token", "x");
            let response = client.send_json(method.clone(), &named, body).await;
            if !is_public {
                assert_eq!(error_of(&response), "401 not_signed_in", "{method} {path}");
                seen += 1;
            }
        }
    }
    assert!(seen > 30, "{seen} routes");
}

#[tokio::test]
async fn an_api_key_is_not_accepted() {
    let app = TestApp::start().await;
    let response = app.client().get("/models").await;
    assert_eq!(response.status, 200);
    let with_key = browser(&app).key(&app.key).get("/api/workspaces").await;
    assert_eq!(error_of(&with_key), "401 not_signed_in");
}

#[tokio::test]
async fn header_lines_cannot_be_injected_into_responses_or_records() {
    let app = TestApp::start().await;
    let person = Person::operator(&app).await;
    let mut wire = Wire::open(app.forebay.public).await;
    let request = format!(
        "GET /api/session HTTP/1.1\r\nhost: x\r\nuser-agent: a\tb\r\nx-client-request-id: x\r\n{}: y\r\nconnection: close\r\n\r\n",
        "x-padding-".repeat(3)
    );
    wire.send(request).await;
    assert!(wire.response().await.head.starts_with("HTTP/1.1 200"));
    for line in ["cookie: forebay_session=\u{1}", "x-csrf-token: a\0b"] {
        let mut wire = Wire::open(app.forebay.public).await;
        wire.send(format!("GET /api/session HTTP/1.1\r\nhost: x\r\n{line}\r\nconnection: close\r\n\r\n")).await;
        assert!(wire.response().await.head.starts_with("HTTP/1.1 400"), "{line:?}");
    }
    let huge = person.reader().header("x-huge", &"x".repeat(40 << 10)).get("/api/session").await;
    assert_eq!(error_of(&huge), "431 headers_too_large");
    let workspace = person.make("/api/workspaces", json!({"name": "<script>alert(1)</script> ' OR 1=1 --"})).await;
    assert_eq!(text(&workspace["name"]), "<script>alert(1)</script> ' OR 1=1 --", "a name is stored as it is");
    let shown = person.get("/api/workspaces").await;
    assert_eq!(shown.header("content-type"), Some("application/json"));
    assert_eq!(shown.header("x-content-type-options"), Some("nosniff"));
}
