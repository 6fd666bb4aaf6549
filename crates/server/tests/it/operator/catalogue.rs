use std::time::Duration;

use serde_json::{Value, json};
use testkit::fake_engine::FakeEngine;

use crate::app::{CHAT, TIMEOUT, TestApp, text, wait_until};
use crate::console::person::{Person, error_of};
use crate::postgres::Database;

const MODELS: &str = "/api/operator/models";
const OWN: &str = "/api/operator/models/acme%2Fown";

fn new_model(engine: &FakeEngine) -> Value {
    json!({
        "id": "acme/own", "name": "Own", "inputPer1m": "0.10", "outputPer1m": "0.40",
        "upstreams": [{"url": engine.url(), "model": "own-q4"}],
    })
}

async fn chat_with(node: &TestApp, key: &str, model: &str) -> u16 {
    let body = json!({"model": model, "messages": [{"role": "user", "content": "hi"}]});
    node.client_with(key).post_json("/chat/completions", body).await.status.as_u16()
}

fn ids(list: &Value) -> Vec<&str> {
    list["data"].as_array().unwrap().iter().map(|model| text(&model["id"])).collect()
}

#[tokio::test]
async fn a_model_is_created_served_changed_and_deleted() {
    let app = TestApp::start().await;
    let operator = Person::operator(&app).await;
    let made = operator.make(MODELS, new_model(app.engine())).await;
    assert_eq!((&made["source"], &made["version"], &made["enabled"]), (&json!("store"), &json!(1), &json!(true)));
    assert_eq!(made["cachedInputPer1m"], "0.10", "defaults are filled in");
    assert_eq!(made["upstreams"][0]["hasKey"], false);
    assert_eq!(chat_with(&app, &app.key, "acme/own").await, 200, "it is served at once");
    assert_eq!(app.engine().calls().last().unwrap().json()["model"], "own-q4");
    let all = operator.read(MODELS).await;
    assert_eq!(ids(&all), ["acme/embed", "acme/own", CHAT]);
    assert_eq!((&all["data"][0]["source"], &all["data"][0]["version"]), (&json!("file"), &Value::Null));

    let changed = operator.patch(OWN, json!({"version": 1, "inputPer1m": "0.20", "name": null})).await;
    assert_eq!(changed.status, 200, "{}", changed.text());
    let changed = changed.json();
    assert_eq!((&changed["inputPer1m"], &changed["name"]), (&json!("0.20"), &json!("acme/own")));
    assert_eq!((&changed["outputPer1m"], &changed["version"]), (&json!("0.40"), &json!(2)), "absent members stay");
    let stale = operator.patch(OWN, json!({"version": 1, "inputPer1m": "0.30"})).await;
    assert_eq!(error_of(&stale), "409 version_conflict");
    assert_eq!(stale.json()["current"]["inputPer1m"], "0.20");
    let prices = format!("{OWN}/prices");
    wait_until("both prices are recorded", TIMEOUT, async || {
        let response = operator.get(&prices).await;
        response.status == 200 && response.json()["data"].as_array().unwrap().len() == 2
    })
    .await;
    let prices = operator.read(&prices).await;
    assert_eq!(prices["data"][0]["validUntil"], prices["data"][1]["validFrom"]);

    let disabled = operator.patch(OWN, json!({"version": 2, "enabled": false})).await.json();
    assert_eq!((&disabled["status"], &disabled["inputPer1m"]), (&json!("disabled"), &json!("0.20")));
    assert_eq!(chat_with(&app, &app.key, "acme/own").await, 404);
    assert_eq!(operator.delete(OWN).await.status, 204);
    assert_eq!(error_of(&operator.delete(OWN).await), "404 not_found");
    let missing = operator.get(OWN).await;
    assert_eq!((missing.status.as_u16(), &missing.json()["error"]), (404, &json!("there is no model `acme/own`")));
    let entries = operator.read("/api/audit?subject=acme%2Fown").await;
    let actions: Vec<&str> = entries["data"].as_array().unwrap().iter().map(|entry| text(&entry["action"])).collect();
    assert_eq!(actions, ["model.delete", "model.change", "model.change", "model.create"]);
}

#[tokio::test]
async fn failover_and_the_prefill_target_are_kept() {
    let app = TestApp::start().await;
    let operator = Person::operator(&app).await;
    let mut body = new_model(app.engine());
    body["failover"] = json!(true);
    assert_eq!(error_of(&operator.post(MODELS, body.clone()).await), "422 invalid_value failover");
    body["upstreams"][0]["engine"] = json!("vllm");
    body["flavors"] =
        json!([{"name": "cpu", "gpuType": "local/cpu", "weights": "/srv/own.gguf", "prefillTarget": 4096}]);
    let made = operator.make(MODELS, body).await;
    assert_eq!((&made["failover"], &made["flavors"][0]["prefillTarget"]), (&json!(true), &json!(4096)), "{made}");
    let changed = operator.patch(OWN, json!({"version": 1, "failover": null})).await.json();
    assert_eq!((&changed["failover"], &changed["flavors"]), (&json!(false), &made["flavors"]), "{changed}");
}

#[tokio::test]
async fn native_apis_of_an_upstream_are_kept() {
    let app = TestApp::start().await;
    let operator = Person::operator(&app).await;
    let mut body = new_model(app.engine());
    body["upstreams"][0]["native"] = json!(["chat"]);
    assert_eq!(error_of(&operator.post(MODELS, body.clone()).await), "422 invalid_value upstreams[0].native");
    body["upstreams"][0]["native"] = json!(["messages", "responses"]);
    let made = operator.make(MODELS, body).await;
    assert_eq!(made["upstreams"][0]["native"], json!(["messages", "responses"]), "{made}");
    let changed = operator.patch(OWN, json!({"version": 1, "inputPer1m": "0.20"})).await.json();
    assert_eq!(changed["upstreams"], made["upstreams"], "{changed}");
}

#[tokio::test]
async fn entries_of_the_file_are_read_only_and_names_are_unique() {
    let alias = format!("[[aliases]]\nname = \"gpt\"\nmodel = \"{CHAT}\"");
    let app = TestApp::setup().table(&alias).start().await;
    let operator = Person::operator(&app).await;
    let of_file = format!("{MODELS}/{}", CHAT.replace('/', "%2F"));
    assert_eq!(error_of(&operator.patch(&of_file, json!({"version": 1})).await), "409 entry_from_file");
    assert_eq!(error_of(&operator.delete(&of_file).await), "409 entry_from_file");
    let mut taken = new_model(app.engine());
    taken["id"] = json!(CHAT);
    assert_eq!(error_of(&operator.post(MODELS, taken).await), "409 name_taken");

    let aliases = "/api/operator/aliases";
    let gpt = json!({"name": "gpt", "model": CHAT});
    assert_eq!(error_of(&operator.post(aliases, gpt).await), "409 name_taken");
    assert_eq!(error_of(&operator.delete(&format!("{aliases}/gpt")).await), "409 entry_from_file");
    operator.make(MODELS, new_model(app.engine())).await;
    let made = operator.make(aliases, json!({"name": "claude-*", "model": "acme/own"})).await;
    assert_eq!(made, json!({"name": "claude-*", "model": "acme/own", "source": "store", "version": 1}));
    assert_eq!(chat_with(&app, &app.key, "claude-x").await, 200);
    let listed = operator.read(aliases).await;
    assert_eq!(listed["data"][0]["source"], "file");
    assert_eq!(
        operator.read(OWN).await["usedBy"],
        json!({"aliases": ["claude-*"], "workspaceAliases": 0, "endpoints": 0, "flavors": []})
    );
    assert_eq!(error_of(&operator.delete(OWN).await), "409 model_in_use");
    let path = format!("{aliases}/claude-*");
    let moved = operator.patch(&path, json!({"version": 1, "model": CHAT})).await;
    assert_eq!(moved.json()["version"], 2, "{}", moved.text());
    let stale = operator.patch(&path, json!({"version": 1, "model": CHAT})).await;
    assert_eq!((error_of(&stale).as_str(), &stale.json()["current"]["version"]), ("409 version_conflict", &json!(2)));
    assert_eq!(operator.delete(&path).await.status, 204);
    assert_eq!(operator.delete(OWN).await.status, 204);
}

#[tokio::test]
async fn invalid_models_are_rejected_with_their_member() {
    let app = TestApp::start().await;
    let operator = Person::operator(&app).await;
    let upstreams = json!([{"url": "http://127.0.0.1:9/v1"}]);
    for (body, expected) in [
        (json!({"upstreams": upstreams}), "400 invalid_payload id"),
        (json!({"id": "acme/own"}), "422 invalid_value upstreams"),
        (json!({"id": "own", "upstreams": upstreams}), "422 invalid_value id"),
        (json!({"id": "dedicated/own", "upstreams": upstreams}), "422 invalid_value id"),
        (json!({"id": "acme/own", "upstreams": [{"url": "ftp://x"}]}), "422 invalid_value upstreams[0].url"),
        (json!({"id": "acme/own", "upstreams": upstreams, "inputPer1m": "x"}), "422 invalid_value inputPer1m"),
        (json!({"id": "acme/own", "upstreams": upstreams, "contextLength": 0}), "422 invalid_value contextLength"),
        // SPEC 2.3: raw weights are under the author's prefix, optimized builds under the operator's.
        (json!({"id": "acme/own", "upstreams": upstreams, "optimized": true}), "422 invalid_value optimized"),
        (json!({"id": "acme/own", "upstreams": upstreams, "colour": 1}), "422 invalid_value colour"),
        (json!({"id": "acme/own", "engine": {"weights": "x.gguf"}}), "422 invalid_value engine.weights"),
        (json!({"id": "acme/own", "engine": {"weights": "/nowhere/x.gguf"}}), "422 invalid_value engine.weights"),
        (json!({"id": "acme/own", "engine": {"weights": "/etc/passwd"}}), "422 invalid_value engine.weights"),
        (
            json!({"id": "acme/own", "flavors": [{"name": "a", "gpuType": "gpu"}]}),
            "422 invalid_value flavors[0].gpuType",
        ),
        (
            json!({"id": "acme/own", "flavors": [{"name": "a", "gpuType": "local/cpu", "argv": ["sh"]}]}),
            "422 invalid_value flavors[0].argv",
        ),
    ] {
        assert_eq!(error_of(&operator.post(MODELS, body.clone()).await), expected, "{body}");
    }
    let twice = r#"{"id":"acme/own","upstreams":[{"url":"http://127.0.0.1:9/v1","url":"http://127.0.0.1:8/v1"}]}"#;
    let rejected = operator.client().post_bytes(MODELS, twice.to_owned()).await;
    assert_eq!(error_of(&rejected), "400 invalid_payload upstreams[0].url");
    assert_eq!(ids(&operator.read(MODELS).await).len(), 2);
}

#[tokio::test]
async fn a_name_in_file_and_store_stops_the_start_and_a_reload_changes_nothing() {
    let mut app = TestApp::start().await;
    let operator = Person::operator(&app).await;
    operator.make(MODELS, new_model(app.engine())).await;
    let own = format!("\n[[models]]\nid = \"acme/own\"\nupstreams = [ {{ url = \"{}\" }} ]\n", app.engine().url());
    let both = format!("{}{own}", app.config);
    app.forebay.write_config(&both).unwrap();
    app.forebay.child.signal("HUP").unwrap();
    wait_until("the reload fails", TIMEOUT, async || {
        app.forebay.child.stderr().contains("the configuration file and the store both have acme/own")
    })
    .await;
    assert_eq!(chat_with(&app, &app.key, "acme/own").await, 200);
    let error = app.forebay.restart().await.unwrap_err().to_string();
    assert!(error.contains("both have acme/own"), "{error}");

    // The store alone, and the file alone.
    let with_mode = |mode: &str| both.replacen("[server]\n", &format!("[server]\ncatalogue = \"{mode}\"\n"), 1);
    app.forebay.write_config(&with_mode("store")).unwrap();
    app.forebay.restart().await.unwrap();
    let operator = Person::operator(&app).await;
    assert_eq!(ids(&operator.read(MODELS).await), ["acme/own"]);
    assert_eq!(operator.read(MODELS).await["data"][0]["source"], "store", "entries survive a restart");
    assert_eq!(chat_with(&app, &app.key, CHAT).await, 404);
    app.forebay.write_config(&with_mode("file")).unwrap();
    app.forebay.restart().await.unwrap();
    let operator = Person::operator(&app).await;
    let state = operator.read("/api/operator/catalogue").await;
    assert_eq!((&state["mode"], &state["writable"]), (&json!("file"), &json!(false)));
    let all = operator.read(MODELS).await["data"].as_array().unwrap().len();
    assert_eq!((&state["models"]["total"], &state["models"]["enabled"]), (&json!(all), &json!(all)));
    let mut other = new_model(app.engine());
    other["id"] = json!("acme/other");
    assert_eq!(error_of(&operator.post(MODELS, other).await), "409 catalogue_read_only");
    assert_eq!(operator.read(OWN).await["source"], "file");
}

#[tokio::test]
async fn every_node_serves_a_change_soon() {
    /// Every node sees a change within a second; the rest is slack for a busy machine.
    const SEEN_WITHIN: Duration = Duration::from_secs(10);
    let database = Database::migrated().await;
    let one = TestApp::setup().store(&database.url).start().await;
    let two = TestApp::setup().store(&database.url).start_beside(&one).await;
    let operator = Person::operator(&one).await;
    operator.make(MODELS, new_model(one.engine())).await;
    wait_until("served", SEEN_WITHIN, async || chat_with(&two, &one.key, "acme/own").await == 200).await;
    assert_eq!(operator.delete(OWN).await.status, 204);
    wait_until("gone", SEEN_WITHIN, async || chat_with(&two, &one.key, "acme/own").await == 404).await;
    drop((one, two));
    database.remove().await;
}
