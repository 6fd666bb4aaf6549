//! The addresses of the console: which surface answers, and with which headers. The pages themselves are tested in a
//! browser.

use testkit::http::{Client, Response};

use crate::app::TestApp;

const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

async fn browse(app: &TestApp, path: &str) -> Response {
    Client::new(app.forebay.public).header("accept", BROWSER).get(path).await
}

#[tokio::test]
async fn every_page_is_one_document_that_cannot_be_framed_or_scripted() {
    let app = TestApp::start().await;
    for path in ["/", "/models", "/models/acme/tiny", "/endpoints/new", "/sign-in", "/invitation"] {
        let page = browse(&app, path).await;
        assert_eq!(page.status_line(), "200 OK", "{path}");
        assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"), "{path}");
        assert_eq!(page.header("cache-control"), Some("no-cache"), "{path}");
        assert_eq!(page.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(page.header("referrer-policy"), Some("same-origin"), "{path}");
        let policy = page.header("content-security-policy").unwrap();
        assert!(policy.contains("script-src 'self';") && policy.contains("frame-ancestors 'none'"), "{policy}");
        assert!(page.header("x-request-id").is_some(), "{path}");
    }
}

#[tokio::test]
async fn a_cached_document_is_not_sent_again() {
    let app = TestApp::start().await;
    let first = browse(&app, "/models").await;
    let tag = first.header("etag").unwrap().to_owned();
    let client = Client::new(app.forebay.public).header("accept", BROWSER).header("if-none-match", &tag);
    let again = client.get("/keys").await;
    assert_eq!((again.status.as_u16(), again.text().as_str()), (304, ""), "all pages are the same document");
    assert_eq!(again.header("etag"), Some(tag.as_str()));
}

#[tokio::test]
async fn other_surfaces_return_their_own_not_found_errors() {
    let app = TestApp::start().await;
    assert_eq!(browse(&app, "/v1/nowhere").await.json()["error"]["code"], "invalid_api_key");
    assert_eq!(browse(&app, "/api/nowhere").await.json()["code"], "not_found");
    assert_eq!(browse(&app, "/problems/nowhere").await.status, 404);
    let missing = browse(&app, "/nowhere").await;
    assert_eq!((missing.status.as_u16(), missing.header("content-type")), (404, Some("text/html; charset=utf-8")));
}

#[tokio::test]
async fn a_client_whose_base_url_lacks_v1_gets_json() {
    let app = TestApp::start().await;
    let client = Client::new(app.forebay.public).header("accept", "application/json");
    for path in ["/models", "/nowhere", "/assets/index.js"] {
        let response = client.get(path).await;
        assert_eq!(
            (response.status.as_u16(), &response.json()["error"]["code"]),
            (404, &"route_not_found".into()),
            "{path}"
        );
    }
    let posted = Client::new(app.forebay.public).post_bytes("/chat/completions", "{}").await;
    assert_eq!(posted.json()["error"]["code"], "route_not_found");
}

#[tokio::test]
async fn nothing_outside_the_built_console_can_be_read() {
    let app = TestApp::start().await;
    let client = Client::new(app.forebay.public).header("accept", "application/octet-stream");
    for path in ["/.gitignore", "/.vite/manifest.json", "/../package.json", "/assets/../../package.json", "/assets//x"]
    {
        assert_eq!(client.get(path).await.status, 404, "{path}");
    }
}
