//! Documents sorted by how well they match, and scores of pairs.

use domain::usage::CallSurface;
use serde_json::{Value, json};
use testkit::fake_engine::Script;
use testkit::http::{Client, Response};

use crate::app::{CHAT, TestApp, error_line, text};
use crate::console::person::Person;

const MODEL: &str = "acme/rerank";

/// A gateway with a model for comparisons at an engine of this kind.
async fn start(engine: &str) -> TestApp {
    start_at(engine, "input_per_1m = \"2.00\"").await
}

async fn start_at(engine: &str, prices: &str) -> TestApp {
    let engines = TestApp::start().await;
    let url = engines.engine().url();
    let upstream = format!("{{ url = \"{url}\", model = \"ranker\"{engine} }}");
    let model = format!("[[models]]\nid = \"{MODEL}\"\nmodality = \"rerank\"\n{prices}\nupstreams = [ {upstream} ]");
    let mut app = TestApp::setup().table(&model).start_beside(&engines).await;
    app.engines = engines.engines;
    app
}

async fn compare(app: &TestApp, path: &str, members: Value) -> Response {
    compare_with(app, &app.key, path, members).await
}

async fn compare_with(app: &TestApp, key: &str, path: &str, members: Value) -> Response {
    let mut body = json!({"model": MODEL});
    body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    Client::new(format!("http://{}", app.forebay.public)).key(key).post_json(path, body).await
}

fn indices(response: &Response) -> Vec<u64> {
    let results = response.json()["results"].as_array().unwrap().clone();
    results.iter().map(|result| result["index"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn documents_are_sorted_at_engines_of_both_kinds_and_billed_by_tokens() {
    for (engine, path, name) in [("", "/v1/rerank", "documents"), (", engine = \"tei\"", "/rerank", "texts")] {
        let app = start(engine).await;
        let documents = json!(["a", {"text": "long", "id": 7}, "mid"]);
        let call = json!({"query": "q", "documents": documents, "top_n": 2, "return_documents": true, "priority": 1});
        for (route, has_documents) in [("/v1/rerank", true), ("/rerank", true), ("/v2/rerank", false)] {
            let response = compare(&app, route, call.clone()).await;
            assert_eq!(indices(&response), [1, 2], "{}", response.text());
            let first = &response.json()["results"][0];
            assert_eq!(first["relevance_score"], 4);
            assert_eq!(first.get("document"), has_documents.then_some(&json!({"text": "long"})), "{route}");
            assert_eq!(response.json()["meta"]["billed_units"]["search_units"], 1);
            assert_eq!(response.json()["model"], MODEL);
        }
        let sent = &app.engine().calls()[0];
        assert_eq!((sent.path.as_str(), &sent.json()[name]), (path, &json!(["a", "long", "mid"])));
        assert_eq!((&sent.json()["model"], sent.json().get("top_n")), (&json!("ranker"), None));
        let all = compare(&app, "/v1/rerank", json!({"query": "q", "documents": ["a", "bb"], "top_n": 0})).await;
        assert_eq!(indices(&all), [1, 0]);
        let events = app.usage(4).await;
        assert!(events.iter().all(|event| event.origin.surface == Some(CallSurface::Rerank)));
        assert!(events.iter().all(|event| event.tokens.prompt > 0 && event.tokens.completion == 0), "{events:?}");
    }
}

#[tokio::test]
async fn a_search_costs_a_fixed_amount_and_a_score_does_not() {
    const SEARCH: i64 = 2_000_000;
    let of_searches = "per_1k_searches = \"2.00\"";
    for (prices, nanos_per_token) in
        [(of_searches.to_owned(), 0), (format!("input_per_1m = \"2.00\"\n{of_searches}"), 2_000)]
    {
        let app = start_at("", &prices).await;
        let search = json!({"query": "q", "documents": ["a", "b"]});
        for path in ["/v1/rerank", "/v2/rerank", "/rerank"] {
            assert_eq!(compare(&app, path, search.clone()).await.status_line(), "200 OK", "{path}");
        }
        let score = compare(&app, "/v1/score", json!({"text_1": "a", "text_2": "b"})).await;
        assert_eq!(score.status_line(), "200 OK");
        app.engine().push(Script { raw_body: Some("{".to_owned()), ..Script::default() });
        assert_eq!(error_line(&compare(&app, "/v1/rerank", search).await), "502 bad_gateway");
        for event in app.usage(5).await {
            let is_search = event.origin.surface == Some(CallSurface::Rerank) && event.status == 200;
            let tokens = nanos_per_token * i64::try_from(event.tokens.prompt).unwrap();
            assert_eq!(event.cost.nanos(), tokens + if is_search { SEARCH } else { 0 }, "{event:?}");
        }
        let model = app.client().get(&format!("/models/{MODEL}")).await.json();
        assert_eq!(model["pricing"]["per_1k_searches"], "2.00", "{model}");
    }
}

#[tokio::test]
async fn flex_calls_pay_the_price_of_batches() {
    let prices = "input_per_1m = \"2.00\"\nper_1k_searches = \"2.00\"\nbatch_discount = \"0.5\"";
    let app = start_at("", prices).await;
    for (path, members) in [
        ("/v1/rerank", json!({"query": "q", "documents": ["a", "b"]})),
        ("/v1/score", json!({"text_1": "a", "text_2": "b"})),
    ] {
        for tier in ["flex", "default"] {
            let mut call = members.clone();
            call["service_tier"] = json!(tier);
            let response = compare(&app, path, call).await;
            assert_eq!(response.status_line(), "200 OK", "{path}: {}", response.text());
            let named = response.json().get("service_tier").cloned();
            assert_eq!(named, (tier == "flex").then(|| json!("flex")), "{path}");
        }
    }
    let costs = app.usage(4).await.into_iter().map(|event| {
        let search = if event.origin.surface == Some(CallSurface::Rerank) { 2_000_000 } else { 0 };
        let normal = 2_000 * i64::try_from(event.tokens.prompt).unwrap() + search;
        assert!([normal, normal / 2].contains(&event.cost.nanos()), "{event:?}");
        event.cost.nanos() < normal
    });
    assert_eq!(costs.filter(|is_cheaper| *is_cheaper).count(), 2);
    assert!(app.engine().calls().iter().all(|call| call.json().get("service_tier").is_none()));
}

#[tokio::test]
async fn a_budget_that_does_not_pay_for_one_search_rejects_it() {
    let app = start_at("", "per_1k_searches = \"2.00\"").await;
    let search = json!({"query": "q", "documents": ["a"]});
    for (budget, expected) in [("0.001999999", "429 budget_exceeded"), ("0.002", "200 OK")] {
        let made =
            app.admin(&format!("keys create --workspace {} --name {budget} --budget total={budget}", app.workspace()));
        let key = text(&made["key"]);
        let response = compare_with(&app, key, "/v1/rerank", search.clone()).await;
        match expected {
            "200 OK" => assert_eq!(response.status_line(), expected, "{}", response.text()),
            rejected => assert_eq!(error_line(&response), rejected),
        }
        let score = compare_with(&app, key, "/v1/score", json!({"text_1": "a", "text_2": "b"})).await;
        assert_eq!(score.status_line(), "200 OK", "a score costs nothing here");
    }
    let events = app.usage(3).await;
    assert_eq!(events.iter().map(|event| event.cost.nanos()).sum::<i64>(), 2_000_000, "{events:?}");
}

/// What is sent is written from scratch, so the places of these members in the client's body mean nothing there.
#[tokio::test]
async fn calls_that_name_an_end_user_are_served() {
    let app = start("").await;
    let operator = Person::operator(&app).await;
    let keys = format!("/api/workspaces/{}/keys", app.workspace());
    let key = operator.make(&keys, json!({"name": "shared", "trustsEndUser": true})).await;
    let client = Client::new(format!("http://{}", app.forebay.public)).key(text(&key["key"]));
    let named = json!({"user": "ada", "safety_identifier": "ada", "metadata": {"user_id": "ada"}, "model": MODEL});
    for (path, members) in [
        ("/v1/rerank", json!({"query": "q", "documents": ["a", "b"]})),
        ("/v2/rerank", json!({"query": "q", "documents": ["a", "b"]})),
        ("/v1/score", json!({"text_1": "a", "text_2": "b"})),
    ] {
        let mut body = named.clone();
        body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        assert_eq!(client.post_json(path, body).await.status_line(), "200 OK", "{path}");
        let sent = app.engine().calls().last().unwrap().json();
        assert!(sent.get("user").is_none() && sent.get("metadata").is_none(), "{sent}");
    }
    let events = app.usage(3).await;
    assert!(events.iter().all(|event| event.end_user.is_some()), "{events:?}");
}

#[tokio::test]
async fn scores_of_every_request_shape_are_a_list() {
    let shapes = [("queries", "documents"), ("queries", "items"), ("data_1", "data_2"), ("text_1", "text_2")];
    for engine in ["", ", engine = \"tei\""] {
        let app = start(engine).await;
        for (one, others) in shapes {
            let call = json!({one: "q", others: ["bb", "a"], "priority": 1, "cache_salt": "x"});
            let response = compare(&app, "/v1/score", call).await.json();
            let scores: Vec<&Value> =
                response["data"].as_array().unwrap().iter().map(|entry| &entry["score"]).collect();
            assert_eq!((scores, &response["object"]), (vec![&json!(2), &json!(1)], &json!("list")), "{one}");
        }
        let sent: Vec<Value> = app.engine().calls().iter().map(|call| call.json()).collect();
        assert!(sent.iter().all(|body| body.as_object().unwrap().len() == 3), "unknown members are left out: {sent:?}");
        let events = app.usage(4).await;
        assert!(events.iter().all(|event| event.origin.surface == Some(CallSurface::Score)));
    }
}

#[tokio::test]
async fn errors_name_what_is_wrong() {
    let app = start(", engine = \"tei\"").await;
    for (path, members, expected) in [
        ("/v1/rerank", json!({"documents": ["a"]}), "400 missing_parameter query"),
        ("/v1/rerank", json!({"query": "q", "documents": [{}]}), "422 invalid_value documents[0]"),
        ("/v1/rerank", json!({"query": "q", "documents": ["a"], "model": CHAT}), "422 invalid_value model"),
        (
            "/v1/rerank",
            json!({"query": "q", "documents": ["a"], "max_tokens_per_doc": 5}),
            "422 invalid_value max_tokens_per_doc",
        ),
        ("/v1/score", json!({"queries": ["a", "b"], "documents": ["c", "d"]}), "422 invalid_value queries"),
    ] {
        assert_eq!(error_line(&compare(&app, path, members).await), expected);
    }
    assert!(app.engine().calls().is_empty());
    for body in ["[]", r#"[{"index":7,"score":1}]"#, "{"] {
        app.engine().push(Script { raw_body: Some(body.to_owned()), ..Script::default() });
        let response = compare(&app, "/v2/rerank", json!({"query": "q", "documents": ["a"]})).await;
        assert_eq!(error_line(&response), "502 bad_gateway", "{body}");
    }
}
