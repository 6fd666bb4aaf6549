//! What a scanner would try.

use http::Method;
use serde_json::json;

use super::person::{Person, browser, refusal};
use crate::app::{TestApp, text};
use crate::wire::Wire;

#[tokio::test]
async fn bodies_that_are_no_json_objects_are_refused() {
    let app = TestApp::start().await;
    let person = Person::operator(&app).await;
    let send = async |body: &str| person.client().post_bytes("/api/workspaces", body.to_owned()).await;
    let deep = "[".repeat(10_000);
    for body in ["{", "[]", "null", "\"x\"", "{\"name\":\"a\"}{}", "\u{0}", "{\"name\":\"a\",\"name\":\"b\"}", &deep] {
        assert!(refusal(&send(body).await).starts_with("400 invalid_payload"), "{body:.20}");
    }
    assert_eq!(refusal(&send("").await), "400 invalid_payload name", "nothing is as good as {{}}");
    assert_eq!(refusal(&send("{\"nmae\":\"a\"}").await), "422 invalid_value nmae");
    let not_utf8 = person.client().post_bytes("/api/workspaces", vec![b'{', b'"', 0xff, b'"', b'}']).await;
    assert_eq!(refusal(&not_utf8), "400 invalid_payload");
    let huge = format!("{{\"name\":\"{}\"}}", "x".repeat(300 << 10));
    assert_eq!(refusal(&send(&huge).await), "413 payload_too_large");
    assert_eq!(person.read("/api/workspaces").await["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_form_of_another_site_cannot_speak_to_us() {
    let app = TestApp::start().await;
    let password = app.forebay.bootstrap()["password"].clone();
    let body = json!({"email": "admin@localhost", "password": password}).to_string();
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx", ""] {
        let answer = browser(&app).header("content-type", kind).post_bytes("/api/session", body.clone()).await;
        assert_eq!(refusal(&answer), "415 unsupported_media_type", "{kind}");
    }
    let good = browser(&app).header("content-type", "Application/JSON; charset=utf-8");
    assert_eq!(good.post_bytes("/api/session", body).await.status, 200);
}

#[tokio::test]
async fn unknown_paths_and_methods_have_the_surfaces_own_envelope() {
    let app = TestApp::start().await;
    let person = Person::operator(&app).await;
    for path in ["/api", "/api/", "/api/nothing", "/api/workspaces/x/y/z", "/api/../v1/models", "/api/%00", "/api//"] {
        assert_eq!(refusal(&person.get(path).await), "404 not_found", "{path}");
    }
    for id in ["ws_0", "ws_00000000000000000000000000", "key_00000000000000000000000000", "%27", "..", "%FF", "ws_%00"]
    {
        assert_eq!(refusal(&person.get(&format!("/api/workspaces/{id}/keys")).await), "404 not_found", "{id}");
    }
    for (method, path, allow) in [
        (Method::PUT, "/api/session", "GET,HEAD,POST,DELETE"),
        (Method::DELETE, "/api/workspaces", "GET,HEAD,POST"),
        (Method::GET, "/api/session/context", "PUT"),
        (Method::TRACE, "/api/sessions", "GET,HEAD"),
    ] {
        let answer = person.client().send(method.clone(), path, Default::default()).await;
        assert_eq!(refusal(&answer), "405 method_not_allowed", "{method} {path}");
        let mut allowed: Vec<&str> = answer.header("allow").unwrap().split(',').map(str::trim).collect();
        let mut expected: Vec<&str> = allow.split(',').collect();
        allowed.sort_unstable();
        expected.sort_unstable();
        assert_eq!(allowed, expected, "{method} {path}");
    }
    assert_eq!(person.get("/api/workspaces/").await.status, 200, "a slash at the end is forgiven");
    let head = person.client().send(Method::HEAD, "/api/workspaces", Default::default()).await;
    assert_eq!((head.status.as_u16(), head.text().as_str()), (200, ""));
}

#[tokio::test]
async fn every_route_wants_a_session() {
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
            let answer = client.send_json(method.clone(), &named, body).await;
            if !is_public {
                assert_eq!(refusal(&answer), "401 not_signed_in", "{method} {path}");
                seen += 1;
            }
        }
    }
    assert!(seen > 30, "{seen} routes");
}

#[tokio::test]
async fn an_api_key_opens_nothing_here() {
    let app = TestApp::start().await;
    let answer = app.client().get("/models").await;
    assert_eq!(answer.status, 200);
    let with_key = browser(&app).key(&app.key).get("/api/workspaces").await;
    assert_eq!(refusal(&with_key), "401 not_signed_in");
}

#[tokio::test]
async fn header_lines_do_not_get_into_answers_or_records() {
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
    assert_eq!(refusal(&huge), "431 headers_too_large");
    let workspace = person.make("/api/workspaces", json!({"name": "<script>alert(1)</script> ' OR 1=1 --"})).await;
    assert_eq!(text(&workspace["name"]), "<script>alert(1)</script> ' OR 1=1 --", "a name is a name");
    let shown = person.get("/api/workspaces").await;
    assert_eq!(shown.header("content-type"), Some("application/json"));
    assert_eq!(shown.header("x-content-type-options"), Some("nosniff"));
}
