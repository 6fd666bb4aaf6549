//! The request log.

use super::person::{Person, error_of};
use crate::app::{CHAT, EMBEDDING, TIMEOUT, TestApp, chat, stream, text, wait_until};
use crate::batches::{create, ended, lines};
use serde_json::{Value, json};
use testkit::fake_engine::Script;

fn ids(page: &Value) -> Vec<String> {
    page["data"].as_array().unwrap().iter().map(|call| text(&call["id"]).to_owned()).collect()
}

/// Four calls: served, streamed, failed and refused; and who looks at them.
async fn called() -> (TestApp, Person, String, Vec<String>) {
    let app = TestApp::start().await;
    let person = Person::new(&app, "mia", "member").await;
    let log = format!("/api/workspaces/{}/requests", app.workspace());
    let mut made = Vec::new();
    let mut note = |response: &testkit::http::Response| made.push(response.header("x-request-id").unwrap().to_owned());
    note(&app.chat("a secret prompt").await);
    note(&app.embed(json!({"model": EMBEDDING, "input": "another secret"})).await);
    app.engine().push(Script { status: Some(500), ..Script::default() });
    note(&app.chat("hi").await);
    note(&app.ask(json!({"model": "acme/none", "messages": []})).await);
    app.events(Script { chunks: 3, ..Script::default() }, stream("hi")).await;
    wait_until("five calls are logged", TIMEOUT, async || ids(&person.read(&log).await).len() == 5).await;
    (app, person, log, made)
}

#[tokio::test]
async fn every_call_is_listed_newest_first_without_prompt_or_response() {
    let (_app, person, log, made) = called().await;
    let page = person.read(&log).await;
    let newest_first: Vec<String> = made.iter().rev().cloned().collect();
    assert_eq!(ids(&page)[1..], newest_first);
    assert_eq!(page["nextCursor"], Value::Null);
    let calls = page["data"].as_array().unwrap();
    let (streamed, refused, failed, served) = (&calls[0], &calls[1], &calls[2], &calls[4]);
    assert_eq!((&streamed["streamed"], &streamed["completionTokens"]), (&json!(true), &json!(3)));
    assert_eq!((&refused["status"], &refused["model"], &refused["replica"]), (&json!(404), &Value::Null, &Value::Null));
    assert_eq!((&failed["status"], &failed["code"]), (&json!(502), &json!("bad_gateway")));
    assert_eq!((&served["model"], &served["status"], &served["code"]), (&json!(CHAT), &json!(200), &json!("")));
    assert!(text(&served["key"]).starts_with("key_") && served["user"].is_null());
    assert!(served["durationMillis"].as_f64().unwrap() >= served["firstByteMillis"].as_f64().unwrap());
    assert!(served["queueMillis"].is_number() && served["holdMillis"].is_null());
    assert!(text(&served["costUsd"]).starts_with("0.0000"));
    assert!(!page.to_string().contains("secret"));
}

#[tokio::test]
async fn the_log_is_filtered_paged_and_exported() {
    let (app, person, log, made) = called().await;
    let find = async |query: &str| ids(&person.read(&format!("{log}?{query}")).await);
    assert_eq!(find("status=404").await, [made[3].clone()]);
    assert_eq!(find("status=5xx").await, [made[2].clone()]);
    assert_eq!(find("code=model_not_found").await, [made[3].clone()]);
    assert_eq!(find(&format!("model={EMBEDDING}")).await, [made[1].clone()]);
    assert_eq!(find("endpoint=none").await, Vec::<String>::new());
    assert_eq!(find("surface=embeddings").await, [made[1].clone()]);
    assert_eq!(find("surface=chat").await.len(), 4);
    assert_eq!(find("surface=messages").await.len(), 0);
    assert_eq!(find(&format!("request={}", made[2])).await, [made[2].clone()]);
    assert_eq!(find(&format!("request={}&minDurationMillis=0", made[3])).await, [made[3].clone()]);
    assert_eq!(find("minDurationMillis=3600000").await.len(), 0);
    let key = text(&person.read(&log).await["data"][0]["key"]).to_owned();
    assert_eq!(find(&format!("key={key}")).await.len(), 5);
    assert_eq!(find("key=usr_00000000010000000000000000").await.len(), 0);
    let second = text(&person.read(&format!("{log}?model={EMBEDDING}")).await["data"][0]["at"]).to_owned();
    assert_eq!(find(&format!("to={second}")).await, [made[0].clone()]);

    let mut seen = Vec::new();
    let mut cursor = String::new();
    loop {
        let page = person.read(&format!("{log}?limit=2&cursor={cursor}")).await;
        seen.extend(ids(&page));
        match page["nextCursor"].as_str() {
            Some(next) => next.clone_into(&mut cursor),
            None => break,
        }
    }
    assert_eq!(seen, ids(&person.read(&log).await));

    let lines = person.get(&format!("{log}?format=jsonl&status=2xx")).await;
    assert_eq!(lines.header("content-type"), Some("application/x-ndjson"));
    let calls: Vec<Value> = lines.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(calls.len(), 3);
    assert_eq!(calls[2], person.read(&log).await["data"][4]);
    let table = person.get(&format!("{log}?format=csv")).await;
    assert_eq!(table.header("content-type"), Some("text/csv; charset=utf-8"));
    assert_eq!(table.header("content-disposition"), Some("attachment; filename=\"requests.csv\""));
    let rows: Vec<String> = table.text().lines().map(str::to_owned).collect();
    assert!(rows[0].starts_with("id,at,model,key,user,status,code,replica,streamed,promptTokens,"), "{}", rows[0]);
    assert_eq!((rows.len(), rows[1].split(',').count()), (6, rows[0].split(',').count()));

    for (query, field) in [
        ("status=abc", "status"),
        ("status=9xx", "status"),
        ("status=42", "status"),
        ("key=unknown", "key"),
        ("from=soon", "from"),
        ("from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z", "to"),
        ("cursor=1-key_00000000010000000000000000", "cursor"),
        ("cursor=req_00000000010000000000000000", "cursor"),
        ("cursor=%22", "cursor"),
        ("sort=colour", "sort"),
        ("sort=-", "sort"),
        ("sort=duration&format=csv", "sort"),
        ("sort=duration&cursor=1-req_00000000010000000000000000", "cursor"),
        ("sort=duration&cursor=1-req_00000000010000000000000000.Q2F0", "cursor"),
        ("limit=0", "limit"),
        ("format=xml", "format"),
        ("model=a/b&endpoint=c", "endpoint"),
        ("code=%00", "code"),
        ("surface=colour", "surface"),
        ("class=colour", "class"),
    ] {
        let response = person.get(&format!("{log}?{query}")).await;
        assert_eq!(error_of(&response), format!("422 invalid_value {field}"), "{query}");
    }
    let other = app.admin("organizations create --name Other");
    let stranger = Person::of_organization(&app, "otto", &format!("{} --role admin", text(&other["id"]))).await;
    assert_eq!(error_of(&stranger.get(&log).await), "404 not_found");
}

#[tokio::test]
async fn the_log_is_sorted_by_duration_tokens_and_cost_page_by_page() {
    let (_app, person, log, made) = called().await;
    for (sort, figure) in [
        ("duration", (|call| call["durationMillis"].as_f64().unwrap()) as fn(&Value) -> f64),
        ("tokens", |call| call["promptTokens"].as_f64().unwrap() + call["completionTokens"].as_f64().unwrap()),
        ("cost", |call| text(&call["costUsd"]).parse().unwrap()),
    ] {
        let (mut seen, mut figures, mut cursor) = (Vec::new(), Vec::new(), String::new());
        loop {
            let page = person.read(&format!("{log}?sort={sort}&limit=2&cursor={cursor}")).await;
            seen.extend(ids(&page));
            figures.extend(page["data"].as_array().unwrap().iter().map(figure));
            match page["nextCursor"].as_str() {
                Some(next) => next.clone_into(&mut cursor),
                None => break,
            }
        }
        assert!(seen.len() == 5 && figures.is_sorted(), "{sort}: {figures:?}");
        let descending = ids(&person.read(&format!("{log}?sort=-{sort}")).await);
        assert!(descending.iter().rev().eq(&seen), "{sort}: {descending:?}");
    }
    let find = async |query: &str| ids(&person.read(&format!("{log}?{query}")).await);
    assert_eq!(find("sort=at").await[..4], made);
    assert_eq!(find("sort=-at").await, find("").await);
    assert_eq!(find(&format!("sort=-cost&request={}", made[1])).await, [made[1].clone()]);
}

#[tokio::test]
async fn the_log_shows_the_class_of_each_call_and_filters_by_it() {
    let app = TestApp::start().await;
    assert_eq!(app.chat("hi").await.status, 200);
    let mut flex = chat("hi");
    flex["service_tier"] = json!("flex");
    assert_eq!(app.ask(flex.clone()).await.status, 200);
    app.engine().push(Script { status: Some(500), ..Script::default() });
    assert_eq!(app.ask(flex).await.status, 502);
    ended(&app.client(), &create(&app.client(), &lines(2)).await).await;
    app.usage(5).await;
    let person = Person::new(&app, "mia", "member").await;
    let log = format!("/api/workspaces/{}/requests", app.workspace());
    let statuses = async |query: &str| {
        let page = person.read(&format!("{log}?{query}")).await;
        let calls = page["data"].as_array().unwrap().iter();
        calls.map(|call| (text(&call["class"]).to_owned(), call["status"].clone())).collect::<Vec<_>>()
    };
    let shown = |class: &str, status: u16| (class.to_owned(), json!(status));
    assert_eq!(statuses("class=interactive").await, [shown("interactive", 200)]);
    assert_eq!(statuses("class=flex").await, [shown("flex", 502), shown("flex", 200)]);
    assert_eq!(statuses("class=flex&status=failed").await, [shown("flex", 502)]);
    assert_eq!(statuses("class=batch").await, [shown("batch", 200), shown("batch", 200)]);
    assert_eq!(statuses("").await.len(), 5);
    let table = person.get(&format!("{log}?format=csv&class=batch")).await.text();
    let rows: Vec<&str> = table.lines().collect();
    assert!(rows.len() == 3 && rows[0].ends_with(",batch,class") && rows[1].ends_with(",batch"), "{table}");

    let rebuilt = app.admin("usage rebuild");
    assert_eq!(rebuilt["rowsCorrected"], 0, "{rebuilt}");
}
