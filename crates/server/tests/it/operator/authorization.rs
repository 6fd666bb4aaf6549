use http::Method;
use serde_json::json;

use crate::app::TestApp;
use crate::console::person::{Person, browser, error_of};

#[tokio::test]
async fn every_route_is_for_the_operator_with_a_csrf_token() {
    let app = TestApp::start().await;
    let (operator, admin) = (Person::operator(&app).await, Person::new(&app, "ada", "admin").await);
    let description = browser(&app).get("/openapi.json").await.json();
    let mut seen = 0;
    for (path, operations) in description["paths"].as_object().unwrap() {
        if !path.starts_with("/api/operator/") {
            continue;
        }
        for method in operations.as_object().unwrap().keys() {
            let (named, body) = (path.replace(['{', '}'], ""), json!({}));
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let by_admin = admin.client().send_json(method.clone(), &named, body.clone()).await;
            assert_eq!(error_of(&by_admin), "403 operator_only", "{method} {path}");
            if method != Method::GET {
                let without_token = operator.reader().send_json(method.clone(), &named, body).await;
                assert_eq!(error_of(&without_token), "403 csrf_failed", "{method} {path}");
            }
            let with_key = browser(&app).key(&app.key).send_json(method.clone(), &named, json!({})).await;
            assert_eq!(error_of(&with_key), "401 not_signed_in", "{method} {path}");
            seen += 1;
        }
    }
    assert!(seen >= 10, "{seen} routes");
}
