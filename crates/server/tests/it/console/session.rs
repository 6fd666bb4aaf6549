use std::collections::BTreeSet;
use std::time::Duration;

use http::Method;
use serde_json::json;

use super::person::{Person, browser, browser_cookie_of, cookie_of, error_of};
use crate::app::{TIMEOUT, TestApp, text, wait_until};

#[tokio::test]
async fn a_user_signs_in_reads_the_session_and_signs_out() {
    let app = TestApp::start().await;
    let bootstrap = app.forebay.bootstrap();
    let signed_out = browser(&app).get("/api/session").await;
    assert_eq!((signed_out.status.as_u16(), signed_out.text().as_str()), (200, "{\"user\":null}"));

    let credentials = json!({"email": " Admin@LOCALHOST ", "password": bootstrap["password"]});
    let response = browser(&app).post_json("/api/session", credentials).await;
    assert_eq!(response.status, 200);
    assert_eq!(response.header("cache-control"), Some("no-store"));
    assert_eq!(response.headers.get_all("set-cookie").iter().count(), 1);
    let cookie = response.header("set-cookie").unwrap();
    let (pair, attributes) = cookie.split_once("; ").unwrap();
    assert!(pair.starts_with("forebay_session=") && pair.len() == "forebay_session=".len() + 43, "{pair}");
    assert_eq!(attributes, "Path=/; HttpOnly; SameSite=Lax; Max-Age=604800");
    let body = response.json();
    let members: BTreeSet<&str> = body.as_object().unwrap().keys().map(String::as_str).collect();
    let expected = ["user", "organizations", "workspaces", "currentOrganizationId", "currentWorkspaceId", "csrfToken"];
    assert_eq!(members, BTreeSet::from(expected));
    assert_eq!(body["user"]["email"], "admin@localhost");
    assert_eq!(body["user"]["operator"], true);
    assert_eq!(body["currentOrganizationId"], bootstrap["organizationId"]);
    assert_eq!(body["currentWorkspaceId"], bootstrap["workspaceId"]);
    assert_eq!(body["organizations"][0]["role"], "admin");
    assert_eq!(body["workspaces"][0]["id"], bootstrap["workspaceId"]);

    let person = Person::of(&app, &response);
    assert_eq!(person.get("/api/session").await.json(), body, "the token and everything else stay the same");
    let out = person.delete("/api/session").await;
    assert_eq!((out.status.as_u16(), out.text().as_str()), (204, ""));
    assert_eq!(cookie_of(&out), "forebay_session=");
    assert_eq!(person.get("/api/session").await.json(), json!({"user": null}));
    assert_eq!(error_of(&person.get("/api/workspaces").await), "401 not_signed_in");
    let log = app.forebay.child.stdout() + &app.forebay.child.stderr();
    assert!(!log.contains(&person.cookie["forebay_session=".len()..]) && !log.contains(&person.csrf));
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_account_get_the_same_response() {
    let app = TestApp::start().await;
    let mut bodies = BTreeSet::new();
    for email in ["admin@localhost", "unknown@example.com"] {
        let response = browser(&app).post_json("/api/session", json!({"email": email, "password": "wrong"})).await;
        assert_eq!(error_of(&response), "401 bad_credentials");
        assert!(response.headers.get("set-cookie").is_none());
        bodies.insert(response.text());
    }
    assert_eq!(bodies.len(), 1, "{bodies:?}");
}

/// Both must compute one Argon2id hash. The CPU time of the gateway is compared, within a factor of two: unlike the time
/// until the response, it does not depend on what else the machine does.
#[tokio::test]
async fn an_unknown_account_takes_as_long_as_a_known_one() {
    let app = TestApp::start().await;
    let mut spent = [0; 2];
    for _ in 0..8 {
        for (spent, email) in spent.iter_mut().zip(["admin@localhost", "unknown@example.com"]) {
            let before = cpu_ticks(&app);
            let response = browser(&app).post_json("/api/session", json!({"email": email, "password": "wrong"})).await;
            assert_eq!(error_of(&response), "401 bad_credentials");
            *spent += cpu_ticks(&app) - before;
        }
    }
    let [known, unknown] = spent;
    assert!(unknown > known / 2 && known > unknown / 2, "ticks: known {known}, unknown {unknown}");
}

/// CPU time of the gateway since its start, in ticks of the kernel.
fn cpu_ticks(app: &TestApp) -> u64 {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", app.forebay.child.pid())).unwrap();
    let (_, after_name) = stat.rsplit_once(") ").unwrap();
    after_name.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum()
}

#[tokio::test]
async fn guessing_is_blocked_with_retry_after_even_after_a_restart() {
    let mut app = TestApp::start().await;
    let guess = async |app: &TestApp, password: &str| {
        browser(app).post_json("/api/session", json!({"email": "admin@localhost", "password": password})).await
    };
    for _ in 0..10 {
        assert_eq!(error_of(&guess(&app, "wrong").await), "401 bad_credentials");
    }
    let password = text(&app.forebay.bootstrap()["password"]).to_owned();
    for _ in 0..2 {
        let stopped = guess(&app, &password).await;
        assert_eq!(error_of(&stopped), "429 too_many_attempts");
        let wait: u64 = stopped.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=900).contains(&wait), "{wait}");
        app.forebay.restart().await.unwrap();
    }
    let another = browser(&app).post_json("/api/session", json!({"email": "a@b", "password": "wrong"})).await;
    assert_eq!(error_of(&another), "401 bad_credentials", "other accounts are not blocked");
}

#[tokio::test]
async fn guessing_locks_out_neither_other_addresses_nor_known_browsers() {
    let app = TestApp::setup().server("trusted_proxies = [\"127.0.0.0/8\"]").start().await;
    let credentials = json!({"email": "admin@localhost", "password": app.forebay.bootstrap()["password"]});
    let from = |address: &str| browser(&app).header("x-forwarded-for", address);
    let (home, office) = ("198.51.100.1", "203.0.113.9");
    let signed_in = from(home).post_json("/api/session", credentials.clone()).await;
    let shown = from(home).header("cookie", &cookie_of(&signed_in)).get("/api/session").await;
    let known = browser_cookie_of(&shown);
    let attributes = "; Path=/; HttpOnly; SameSite=Lax; Max-Age=15552000";
    assert_eq!(shown.header("set-cookie"), Some(format!("{known}{attributes}").as_str()));
    for _ in 0..10 {
        let wrong = json!({"email": "admin@localhost", "password": "wrong"});
        assert_eq!(error_of(&from(office).post_json("/api/session", wrong).await), "401 bad_credentials");
    }
    let locked_out = from(office).post_json("/api/session", credentials.clone()).await;
    assert_eq!(error_of(&locked_out), "429 too_many_attempts");
    let known_there = from(office).header("cookie", &known).post_json("/api/session", credentials.clone()).await;
    assert_eq!(known_there.status, 200, "the browser has signed in before: {}", known_there.text());
    let both = format!("{}; {known}", cookie_of(&known_there));
    let shown = from(office).header("cookie", &both).get("/api/session").await;
    assert_eq!((shown.status.as_u16(), shown.header("set-cookie")), (200, None), "it keeps the token that it has");
    let unknown = format!("forebay_browser={}", "x".repeat(43));
    let made_up = from(office).header("cookie", &unknown).post_json("/api/session", credentials.clone()).await;
    assert_eq!(error_of(&made_up), "429 too_many_attempts");
    assert_eq!(from(home).post_json("/api/session", credentials).await.status, 200, "another address");
}

#[tokio::test]
async fn changes_need_the_csrf_token_of_the_same_session() {
    let app = TestApp::start().await;
    let one = Person::operator(&app).await;
    let other = Person::operator(&app).await;
    let body = json!({"name": "Labs"});
    let with = |token: &str| one.reader().header("x-csrf-token", token);
    for (client, expected) in [
        (one.reader(), "absent"),
        (with(""), "empty"),
        (with(&other.csrf), "of another session"),
        (with(&one.csrf[1..]), "cut"),
        (with(&format!("{}, {}", one.csrf, one.csrf)), "twice"),
    ] {
        assert_eq!(error_of(&client.post_json("/api/workspaces", body.clone()).await), "403 csrf_failed", "{expected}");
        assert_eq!(error_of(&client.delete("/api/session").await), "403 csrf_failed", "{expected}");
    }
    assert_eq!(one.post("/api/workspaces", body.clone()).await.status, 201);
    assert_eq!(
        one.post("/api/workspaces", body.clone()).await.status,
        201,
        "the token is valid as long as the session"
    );
    one.delete("/api/session").await;
    assert_eq!(error_of(&one.post("/api/workspaces", body).await), "401 not_signed_in", "the session has ended");
}

#[tokio::test]
async fn sessions_are_listed_and_ended_one_by_one() {
    let app = TestApp::start().await;
    let here = Person::operator(&app).await;
    let there = Person::operator(&app).await;
    let bob = Person::new(&app, "bob", "member").await;
    let list = here.read("/api/sessions").await;
    let current: Vec<bool> = list["data"].as_array().unwrap().iter().map(|one| one["current"] == true).collect();
    assert_eq!(current, [false, true], "newest first: {list}");
    assert_eq!(list["data"][0]["address"], "127.0.0.1");
    let path = format!("/api/sessions/{}", text(&list["data"][0]["id"]));
    assert_eq!(error_of(&bob.delete(&path).await), "404 not_found", "sessions of other users count as missing");
    assert_eq!(here.delete(&path).await.status, 204);
    assert_eq!(there.get("/api/session").await.json(), json!({"user": null}));
    assert_eq!(error_of(&here.delete(&path).await), "404 not_found");
}

#[tokio::test]
async fn a_new_sign_in_replaces_the_session_of_the_browser() {
    let app = TestApp::start().await;
    let before = Person::operator(&app).await;
    let credentials = json!({"email": "admin@localhost", "password": app.forebay.bootstrap()["password"]});
    let response = before.reader().post_json("/api/session", credentials).await;
    let after = Person::of(&app, &response);
    assert_ne!((&before.cookie, &before.csrf), (&after.cookie, &after.csrf));
    assert_eq!(before.get("/api/session").await.json(), json!({"user": null}));
    assert_eq!(after.read("/api/sessions").await["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_session_ends_when_it_is_idle() {
    let app = TestApp::setup().table("[sessions]\nidle_timeout = \"2s\"").start().await;
    let person = Person::operator(&app).await;
    wait_until("the session has ended", TIMEOUT, async || {
        tokio::time::sleep(Duration::from_millis(2_100)).await;
        person.get("/api/session").await.json()["user"].is_null()
    })
    .await;
}

#[tokio::test]
async fn a_changed_password_ends_the_other_sessions() {
    let app = TestApp::start().await;
    let (here, there) = (Person::operator(&app).await, Person::operator(&app).await);
    let old = app.forebay.bootstrap()["password"].clone();
    let change = async |current: &serde_json::Value, new: &str| {
        here.put("/api/session/password", json!({"currentPassword": current, "newPassword": new})).await
    };
    assert_eq!(error_of(&change(&json!("wrong"), "a new password").await), "422 invalid_value currentPassword");
    assert_eq!(error_of(&change(&old, "short").await), "422 invalid_value newPassword");
    assert_eq!(change(&old, "a new password").await.status, 204);
    assert_eq!(there.get("/api/session").await.json(), json!({"user": null}));
    assert_eq!(here.get("/api/session").await.json()["user"]["email"], "admin@localhost");
    Person::sign_in(&app, "admin@localhost", "a new password").await;
}

#[tokio::test]
async fn without_an_organization_scoped_routes_are_rejected() {
    let app = TestApp::start().await;
    let person = Person::operator(&app).await;
    let (organization, workspace) = (app.forebay.bootstrap()["organizationId"].clone(), app.workspace());
    let nowhere = person.put("/api/session/context", json!({"organizationId": null, "workspaceId": null})).await;
    assert_eq!((nowhere.status.as_u16(), &nowhere.json()["currentOrganizationId"]), (200, &json!(null)));
    let organization = text(&organization);
    for (method, path) in [
        (Method::GET, "/api/workspaces".to_owned()),
        (Method::POST, "/api/workspaces".to_owned()),
        (Method::GET, format!("/api/workspaces/{workspace}")),
        (Method::PATCH, format!("/api/workspaces/{workspace}")),
        (Method::GET, format!("/api/workspaces/{workspace}/keys")),
        (Method::POST, format!("/api/workspaces/{workspace}/keys")),
        (Method::GET, format!("/api/organizations/{organization}/members")),
        (Method::GET, format!("/api/organizations/{organization}/audit")),
        (Method::POST, format!("/api/organizations/{organization}/invitations")),
    ] {
        let response = person.client().send_json(method.clone(), &path, json!({})).await;
        assert_eq!(error_of(&response), "403 no_organization_context", "{method} {path}");
    }
    let back =
        person.put("/api/session/context", json!({"organizationId": organization, "workspaceId": workspace.as_str()}));
    assert_eq!(back.await.json()["currentWorkspaceId"], workspace.as_str());
    for (context, expected) in [
        (json!({"organizationId": "org_00000000000000000000000000"}), "404 not_found"),
        (json!({"organizationId": "garbage"}), "404 not_found"),
        (json!({"workspaceId": workspace.as_str()}), "422 invalid_value workspaceId"),
        (json!({"organizationId": organization, "workspaceId": "ws_00000000000000000000000000"}), "404 not_found"),
        (json!({"organizationId": 7}), "422 invalid_value organizationId"),
    ] {
        assert_eq!(error_of(&person.put("/api/session/context", context).await), expected);
    }
    assert_eq!(person.read("/api/session").await["currentWorkspaceId"], workspace.as_str());
}

#[tokio::test]
async fn cookies_are_secure_if_the_public_url_is_https() {
    let app = TestApp::setup().server("public_url = \"https://ai.example.com\"").start().await;
    let credentials = json!({"email": "admin@localhost", "password": app.forebay.bootstrap()["password"]});
    let response = browser(&app).post_json("/api/session", credentials).await;
    let cookie = response.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-forebay_session=") && cookie.ends_with("; Secure"), "{cookie}");
    let person = Person::of(&app, &response);
    assert_eq!(person.read("/api/session").await["user"]["email"], "admin@localhost");
    let planted = browser(&app).header("cookie", person.cookie.trim_start_matches("__Host-"));
    assert_eq!(planted.get("/api/session").await.json(), json!({"user": null}));
    assert!(response.header("strict-transport-security").is_none(), "TLS ends at a proxy");
}

#[tokio::test]
async fn a_trusted_proxy_reports_the_address_of_the_client() {
    let app = TestApp::setup().server("trusted_proxies = [\"127.0.0.0/8\"]").start().await;
    let credentials = json!({"email": "admin@localhost", "password": app.forebay.bootstrap()["password"]});
    let proxied = browser(&app).header("x-forwarded-for", "198.51.100.1, 203.0.113.9");
    let person = Person::of(&app, &proxied.post_json("/api/session", credentials).await);
    assert_eq!(person.read("/api/sessions").await["data"][0]["address"], "203.0.113.9");
}

#[tokio::test]
async fn a_flood_of_sign_ins_is_rejected_before_the_store_counts_it() {
    // One per minute, so that nothing is refilled while the test runs.
    let setup = TestApp::setup().table("[limits]\nsign_ins_per_minute = 1");
    let app = setup.server("trusted_proxies = [\"127.0.0.1\"]").start().await;
    let sign_in = async |address: &str, password: &str| {
        let client = browser(&app).header("x-forwarded-for", address);
        client.post_json("/api/session", json!({"email": "admin@localhost", "password": password})).await
    };
    assert_eq!(error_of(&sign_in("192.0.2.1", "wrong").await), "401 bad_credentials");
    let password = text(&app.forebay.bootstrap()["password"]).to_owned();
    for _ in 0..20 {
        let rejected = sign_in("192.0.2.1", &password).await;
        assert_eq!(error_of(&rejected), "429 too_many_attempts");
        let wait: u64 = rejected.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=60).contains(&wait), "{wait}");
    }
    let begin = browser(&app).header("x-forwarded-for", "192.0.2.1").get("/api/session/oidc").await;
    assert_eq!(error_of(&begin), "429 too_many_attempts");
    let elsewhere = sign_in("192.0.2.2", &password).await;
    assert_eq!(elsewhere.status, 200, "the account is not locked: {}", elsewhere.text());
}

#[tokio::test]
async fn a_session_has_a_limit_of_requests() {
    let app = TestApp::setup().table("[limits]\nmanagement_requests_per_minute = 5").start().await;
    let (person, other) = (Person::operator(&app).await, Person::operator(&app).await);
    let mut served = 0;
    let rejected = loop {
        let response = person.get("/api/workspaces").await;
        if response.status == 429 {
            break response;
        }
        assert_eq!(response.status, 200, "{}", response.text());
        served += 1;
        assert!(served < 20, "no 429 after {served} requests");
    };
    assert!(served >= 4, "429 after {served} requests and the sign-in");
    assert_eq!(error_of(&rejected), "429 too_many_attempts");
    assert!(rejected.header("retry-after").is_some());
    assert_eq!(other.get("/api/workspaces").await.status, 200, "another session of the same user");
    assert_eq!(app.chat("hi").await.status, 200);
}

#[tokio::test]
async fn an_organization_has_a_limit_of_changes_for_all_its_keys_and_sessions() {
    // One at once.
    let app = TestApp::setup().table("[limits]\nchanges_per_minute = 5").start().await;
    let (person, other) = (Person::operator(&app).await, Person::operator(&app).await);
    let keys = format!("/api/workspaces/{}/keys", app.workspace());
    let create = async |person: &Person, name: &str| person.post(&keys, json!({"name": name})).await;
    assert_eq!(create(&person, "a").await.status, 201);
    assert_eq!(error_of(&create(&other, "b").await), "429 too_many_attempts");
    let by_key = app.client().post_json("/endpoints", json!({})).await;
    assert_eq!(text(&by_key.json()["extensions"]["code"]), "RATE_LIMIT_EXCEEDED");
    assert_eq!(person.get(&keys).await.status, 200, "reading changes nothing");
    assert_eq!(app.client().get("/endpoints").await.status, 200);
}

#[tokio::test]
async fn invalid_sessions_count_as_invalid_credentials() {
    let app = TestApp::setup().table("[limits]\nfailed_credentials_per_minute = 1").start().await;
    let person = Person::operator(&app).await;
    let guess = async |letter: &str| {
        let client = browser(&app).header("cookie", &format!("forebay_session={}", letter.repeat(43)));
        client.get("/api/workspaces").await
    };
    assert_eq!(error_of(&guess("a").await), "401 not_signed_in");
    assert_eq!(error_of(&guess("b").await), "429 too_many_attempts");
    assert_eq!(person.get("/api/workspaces").await.status, 200, "a session that the node knows");
}
