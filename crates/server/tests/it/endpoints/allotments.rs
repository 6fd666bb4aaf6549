//! The ledger: commitments and the allotment.

use serde_json::json;

use super::{act, committed, create, exceeded, new_endpoint, patch, problem, setup};
use crate::app::{TestApp, text};
use crate::console::person::{Person, error_of};

fn organization(app: &TestApp) -> String {
    text(&app.forebay.bootstrap()["organizationId"]).to_owned()
}

#[tokio::test]
async fn the_worked_example_row_by_row() {
    let app = setup(16).start().await;
    let client = app.client();
    let operator = Person::operator(&app).await;
    let cap = format!("/api/organizations/{}/allotments/local%2Fcpu", organization(&app));

    let a = create(&client, "a", 4, json!({"replicas": 2})).await;
    assert_eq!((a.status.as_u16(), committed(&client).await), (201, 8), "{}", a.text());
    let b = create(&client, "b", 1, json!({"minReplicas": 1, "maxReplicas": 4})).await;
    assert_eq!((b.status.as_u16(), committed(&client).await), (201, 12));
    let d = create(&client, "d", 2, json!({"minReplicas": 0, "maxReplicas": 3})).await;
    assert_eq!(exceeded(&d), [16, 12, 18, 2]);
    assert!(text(&d.json()["detail"]).starts_with("Creating d needs 2 more local/cpu GPUs"));
    let d = create(&client, "d", 2, json!({"minReplicas": 0, "maxReplicas": 2})).await;
    assert_eq!((d.status.as_u16(), committed(&client).await), (201, 16));

    assert_eq!(exceeded(&patch(&client, "b", json!({"maxReplicas": 5})).await), [16, 16, 17, 1]);
    assert_eq!(client.get("/endpoints/b").await.json()["maxReplicas"], 4);
    assert_eq!(patch(&client, "b", json!({"maxReplicas": 2})).await.status, 200);
    assert_eq!(committed(&client).await, 14);
    assert_eq!(exceeded(&patch(&client, "a", json!({"replicas": 3})).await), [16, 14, 18, 2]);
    assert_eq!(patch(&client, "b", json!({"minReplicas": 0})).await.status, 200);
    assert_eq!(committed(&client).await, 14);

    let suspended = act(&client, "/endpoints/a/suspend").await;
    assert_eq!((suspended.status.as_u16(), committed(&client).await), (200, 6));
    assert_eq!(suspended.json()["state"], "suspended");
    assert_eq!(patch(&client, "a", json!({"replicas": 3})).await.status, 200);
    assert_eq!(committed(&client).await, 6);
    assert_eq!(exceeded(&act(&client, "/endpoints/a/resume").await), [16, 6, 18, 2]);
    assert_eq!(client.get("/endpoints/a").await.json()["state"], "suspended");
    let resumed = client.post_json("/endpoints/a/resume", json!({"replicas": 2})).await;
    assert_eq!((resumed.status.as_u16(), committed(&client).await), (200, 14), "{}", resumed.text());

    let cut = operator.put(&cap, json!({"allotment": 10})).await;
    assert_eq!(cut.status, 200, "{}", cut.text());
    let line = &client.get("/endpoints/allotments").await.json()["data"][0];
    let expected =
        json!({"gpuType": "local/cpu", "allotment": 10, "committed": 14, "headroom": -4, "utilization": 1.4});
    assert_eq!(*line, expected);
    assert_eq!(cut.json(), expected);
    assert_eq!(patch(&client, "b", json!({"maxReplicas": 1})).await.status, 200);
    assert_eq!(committed(&client).await, 13);
    assert_eq!(exceeded(&create(&client, "e", 1, json!({"replicas": 1})).await), [10, 13, 14, 4]);

    assert_eq!(operator.put(&cap, json!({"allotment": 16})).await.status, 200);
    let (f, g) = (create(&client, "f", 3, json!({"replicas": 1})), create(&client, "g", 3, json!({"replicas": 1})));
    let (f, g) = tokio::join!(f, g);
    let (good, bad) = if f.status == 201 { (f, g) } else { (g, f) };
    assert_eq!(good.status, 201);
    assert_eq!(exceeded(&bad), [16, 16, 19, 3]);

    let switched = patch(&client, "a", json!({"minReplicas": 1, "maxReplicas": 1})).await;
    assert_eq!((switched.status.as_u16(), committed(&client).await), (200, 12));
    assert!(switched.json()["replicas"].is_null());
    let deleted = client.delete("/endpoints/a").await;
    assert_eq!((deleted.status.as_u16(), committed(&client).await), (202, 8));
}

#[tokio::test]
async fn fifty_creates_at_once_commit_exactly_the_cap() {
    let app = setup(10).start().await;
    let mut tasks = tokio::task::JoinSet::new();
    for number in 0..50 {
        let client = app.client();
        let body = new_endpoint(&format!("e{number}"), 1, json!({"replicas": 1}));
        tasks.spawn(async move {
            loop {
                let response = client.post_json("/endpoints", body.clone()).await;
                if response.status != 503 {
                    return response;
                }
                assert_eq!(response.header("retry-after"), Some("2"), "{}", response.text());
            }
        });
    }
    let responses = tasks.join_all().await;
    let created = responses.iter().filter(|response| response.status == 201).count();
    assert_eq!(created, 10);
    for refused in responses.iter().filter(|response| response.status != 201) {
        let [allotment, committed, projected, need] = exceeded(refused);
        assert_eq!((allotment, projected, need), (10, committed + 1, committed + 1 - 10));
    }
    assert_eq!(committed(&app.client()).await, 10);
}

#[tokio::test]
async fn flavors_that_do_not_fit_are_marked_and_not_hidden() {
    let app = setup(3).start().await;
    let client = app.client();
    create(&client, "a", 1, json!({"replicas": 1})).await;
    let body = client.get(&format!("/endpoints/flavors?model={}", super::MODEL)).await.json();
    let expected: Vec<_> = body["data"].as_array().unwrap().iter().map(|line| &line["replicasThatFit"]).collect();
    assert_eq!(expected, [2, 1, 0, 0, 2]);
    assert_eq!(body["data"][2]["fits"], false);
    assert_eq!(body["data"][0]["pricePerGpuHour"], "0.05");
    assert_eq!((&body["object"], &body["nextCursor"]), (&json!("list"), &json!(null)));
}

#[tokio::test]
async fn only_the_operator_sets_caps() {
    let app = setup(4).start().await;
    let path = format!("/api/organizations/{}/allotments", organization(&app));
    let (operator, admin) = (Person::operator(&app).await, Person::new(&app, "ada", "admin").await);
    let line = json!({"gpuType": "local/cpu", "allotment": 4, "committed": 0, "headroom": 4, "utilization": 0.0});
    let list = json!({"data": [line], "nextCursor": null});
    assert_eq!(operator.read(&path).await, list);
    assert_eq!(admin.read(&path).await, list);
    let set = format!("{path}/local%2Fcpu");
    assert_eq!(error_of(&admin.put(&set, json!({"allotment": 9})).await), "403 operator_only");
    assert_eq!(error_of(&operator.put(&set, json!({})).await), "400 invalid_payload allotment");
    assert_eq!(error_of(&operator.put(&set, json!({"allotment": -1})).await), "422 invalid_value allotment");
    assert_eq!(error_of(&operator.put(&set, json!({"allotment": 1_000_001})).await), "422 invalid_value allotment");
    assert_eq!(error_of(&operator.put(&format!("{path}/cpu"), json!({"allotment": 9})).await), "404 not_found");
    assert_eq!(operator.put(&set, json!({"allotment": 9})).await.json()["allotment"], 9);
    assert_eq!(operator.put(&set, json!({"allotment": null})).await.json()["allotment"], 4);
    let other = app.admin("organizations create --name Other");
    let elsewhere = format!("/api/organizations/{}/allotments", text(&other["id"]));
    assert_eq!(error_of(&admin.get(&elsewhere).await), "404 not_found");
    assert_eq!(operator.read(&elsewhere).await["data"][0]["allotment"], 4);
}

#[tokio::test]
async fn an_unavailable_ledger_is_not_reported_as_full() {
    let app = setup(4).start().await;
    let client = app.client();
    create(&client, "a", 1, json!({"replicas": 1})).await;
    let store = app.store().await;
    let writing = store.begin().await.unwrap();
    let response = create(&client, "b", 1, json!({"replicas": 1})).await;
    assert_eq!(problem(&response), "503 GPU_ALLOTMENT_UNAVAILABLE", "{}", response.text());
    assert_eq!(response.header("retry-after"), Some("2"));
    assert_eq!(response.json()["extensions"].as_object().unwrap().len(), 1);
    for path in ["/endpoints", "/endpoints/a", "/endpoints/a/events", "/endpoints/allotments"] {
        assert_eq!(client.get(path).await.status, 200, "{path}");
    }
    drop(writing);
    assert_eq!(create(&client, "b", 1, json!({"replicas": 1})).await.status, 201);
}
