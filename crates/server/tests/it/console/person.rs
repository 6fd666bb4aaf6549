//! A user with a browser.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use testkit::http::{Client, Response};

use crate::app::{TestApp, text};

/// A signed-in browser: its cookie and its CSRF token.
#[derive(Clone)]
pub(crate) struct Person {
    base: Client,
    pub(crate) cookie: String,
    pub(crate) csrf: String,
}

/// A browser without a session.
pub(crate) fn browser(app: &TestApp) -> Client {
    Client::new(app.forebay.public)
}

/// The session cookie that a response sets.
pub(crate) fn cookie_of(response: &Response) -> String {
    only_cookie(response, "forebay_session")
}

/// The cookie of a known browser that a response sets.
pub(crate) fn browser_cookie_of(response: &Response) -> String {
    only_cookie(response, "forebay_browser")
}

fn only_cookie(response: &Response, name: &str) -> String {
    let all = response.headers.get_all("set-cookie").iter().map(|line| line.to_str().unwrap());
    let named: Vec<_> =
        all.filter(|line| line.split('=').next().unwrap().trim_start_matches("__Host-") == name).collect();
    assert_eq!(named.len(), 1, "{named:?}");
    named[0].split(';').next().unwrap().to_owned()
}

/// `status code field` of an error. Checks the envelope, too.
pub(crate) fn error_of(response: &Response) -> String {
    let body = response.json();
    assert!(body["code"].is_string() && body["error"].is_string(), "{body}");
    assert_eq!(response.header("content-type"), Some("application/json"));
    assert!(response.header("x-request-id").is_some_and(|id| id.starts_with("req_")));
    let field = body["field"].as_str().map_or_else(String::new, |field| format!(" {field}"));
    format!("{} {}{field}", response.status.as_u16(), text(&body["code"]))
}

impl Person {
    pub(crate) async fn sign_in(app: &TestApp, email: &str, password: &str) -> Self {
        let response = browser(app).post_json("/api/session", json!({"email": email, "password": password})).await;
        assert_eq!(response.status, 200, "{}", response.text());
        Self::of(app, &response)
    }

    /// The user whom a response has signed in.
    pub(crate) fn of(app: &TestApp, response: &Response) -> Self {
        let csrf = text(&response.json()["csrfToken"]).to_owned();
        Self { base: browser(app), cookie: cookie_of(response), csrf }
    }

    /// The first user: administrator of the first organization, and operator.
    pub(crate) async fn operator(app: &TestApp) -> Self {
        let bootstrap = app.forebay.bootstrap();
        Self::sign_in(app, text(&bootstrap["email"]), text(&bootstrap["password"])).await
    }

    /// The same session at another node.
    pub(crate) fn at(&self, app: &TestApp) -> Self {
        Self { base: browser(app), ..self.clone() }
    }

    /// A new user of the first organization; a member is also added to the first workspace.
    pub(crate) async fn new(app: &TestApp, name: &str, role: &str) -> Self {
        let organization = app.forebay.bootstrap()["organizationId"].clone();
        let workspace = if role == "member" { format!(" --workspace {}", app.workspace()) } else { String::new() };
        Self::of_organization(app, name, &format!("{} --role {role}{workspace}", text(&organization))).await
    }

    /// A new user of any organization, with further flags after its id.
    pub(crate) async fn of_organization(app: &TestApp, name: &str, organization: &str) -> Self {
        let (email, password) = (format!("{name}@example.com"), format!("{name}-password"));
        app.admin(&format!("users create --email {email} --password {password} --organization {organization}"));
        Self::sign_in(app, &email, &password).await
    }

    /// Without the CSRF token.
    pub(crate) fn reader(&self) -> Client {
        self.base.clone().header("cookie", &self.cookie)
    }

    pub(crate) fn client(&self) -> Client {
        self.reader().header("x-csrf-token", &self.csrf)
    }

    pub(crate) async fn get(&self, path: &str) -> Response {
        self.reader().get(path).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Response {
        self.client().post_json(path, body).await
    }

    /// A POST without a body.
    pub(crate) async fn act(&self, path: &str) -> Response {
        self.client().send(Method::POST, path, Bytes::new()).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Response {
        self.client().send_json(Method::PUT, path, body).await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Response {
        self.client().send_json(Method::PATCH, path, body).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Response {
        self.client().delete(path).await
    }

    /// The id of the user.
    pub(crate) async fn id(&self) -> String {
        text(&self.get("/api/session").await.json()["user"]["id"]).to_owned()
    }

    /// The body of a successful response.
    pub(crate) async fn read(&self, path: &str) -> Value {
        let response = self.get(path).await;
        assert_eq!(response.status, 200, "{path}: {}", response.text());
        response.json()
    }

    pub(crate) async fn make(&self, path: &str, body: Value) -> Value {
        let response = self.post(path, body).await;
        assert_eq!(response.status, 201, "{path}: {}", response.text());
        response.json()
    }
}
