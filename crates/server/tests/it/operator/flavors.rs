//! Flavors of models in the store, and the hardware that they can name.

use serde_json::json;

use crate::app::{TIMEOUT, TestApp, wait_until};
use crate::console::person::{Person, error_of};
use crate::endpoints::create;

const GPU_TYPES: &str = "/api/operator/gpu-types";
const FIT: &str = "/api/operator/flavors/fit";
const MODEL: &str = "/api/operator/models/acme%2Fdedicated";

#[tokio::test]
async fn a_flavor_is_checked_against_the_gpus_of_the_nodes() {
    let slots = "[drivers.process]\nslots = { \"local/cpu\" = 2 }";
    let app = TestApp::setup().table(slots).start().await;
    let operator = Person::operator(&app).await;
    wait_until("the node has reported its slots", TIMEOUT, async || {
        let types = operator.read(GPU_TYPES).await;
        types["data"].as_array().unwrap().iter().any(|line| line["gpuType"] == "local/cpu")
    })
    .await;
    let types = operator.read(GPU_TYPES).await;
    let cpu = types["data"].as_array().unwrap().iter().find(|line| line["gpuType"] == "local/cpu").unwrap();
    assert_eq!((&cpu["driver"], &cpu["nodes"][0]["gpus"]), (&json!("process"), &json!(2)), "{types}");

    let two = operator.read(&format!("{FIT}?gpuType=local/cpu&gpuCount=2")).await;
    assert_eq!((&two["fits"], &two["replicas"], &two["why"]), (&json!(true), &json!(1), &json!(null)), "{two}");
    let three = operator.read(&format!("{FIT}?gpuType=local/cpu&gpuCount=3")).await;
    assert_eq!(three["why"], "a replica needs 3 GPUs on one node, and no node has more than 2");
    let other = operator.read(&format!("{FIT}?gpuType=nvidia/b200")).await;
    assert_eq!((&other["fits"], &other["why"]), (&json!(false), &json!("no node has GPUs of the type nvidia/b200")));
    let cluster = operator.read(&format!("{FIT}?gpuType=nvidia/b200&driver=kubernetes")).await;
    assert_eq!(cluster["fits"], false, "there is no cluster: {cluster}");
    let models = app.forebay.data_dir.join("models");
    std::fs::create_dir_all(&models).unwrap();
    let weights = models.join("x.gguf");
    std::fs::write(&weights, b"GGUF-and-no-more").unwrap();
    let sized = operator.read(&format!("{FIT}?gpuType=local/cpu&weights={}", weights.display())).await;
    assert_eq!((&sized["fits"], &sized["neededMemoryBytes"]), (&json!(true), &json!((256 << 20) + 16)), "{sized}");
    assert_eq!(sized["fewestGpus"], 1, "{sized}");
    let unknown = operator.read(&format!("{FIT}?gpuType=local/cpu&weights=/etc/passwd")).await;
    assert_eq!((&unknown["fits"], &unknown["neededMemoryBytes"]), (&json!(true), &json!(null)), "{unknown}");
    for (query, expected) in [
        ("gpuType=h100", "422 invalid_value gpuType"),
        ("gpuType=local/cpu&gpuCount=0", "422 invalid_value gpuCount"),
        ("gpuType=local/cpu&driver=docker", "422 invalid_value driver"),
    ] {
        assert_eq!(error_of(&operator.get(&format!("{FIT}?{query}")).await), expected, "{query}");
    }
}

#[tokio::test]
async fn flavors_of_the_store_are_offered_changed_and_removed() {
    let app = TestApp::setup().table("[allotment_defaults]\n\"local/cpu\" = 4").start().await;
    let operator = Person::operator(&app).await;
    let flavor = json!({
        "name": "cpu-1x-forebay-engine", "gpuType": "local/cpu", "weights": "/srv/none.gguf", "prefillTarget": 4096,
    });
    let body = json!({"id": "acme/dedicated", "flavors": [flavor]});
    operator.make("/api/operator/models", body).await;
    let client = app.client();
    assert_eq!(create(&client, "mine", 1, json!({"replicas": 1})).await.status, 201);
    let shown = operator.read(MODEL).await;
    assert_eq!(shown["flavors"][0]["prefillTarget"], 4096);
    assert_eq!(shown["usedBy"]["flavors"], json!([{"flavor": "cpu-1x-forebay-engine", "endpoints": 1}]), "{shown}");

    let other = json!([{"name": "cpu-2x", "gpuType": "local/cpu", "gpuCount": 2, "weights": "/srv/none.gguf"}]);
    let changed = operator.patch(MODEL, json!({"version": 1, "flavors": other})).await;
    assert_eq!(changed.json()["flavors"][0]["gpuCount"], 2, "{}", changed.text());
    let offered = client.get("/endpoints/flavors?model=acme/dedicated").await.json();
    assert_eq!(offered["data"].as_array().unwrap().len(), 1, "{offered}");
    assert_eq!(offered["data"][0]["flavor"], "cpu-2x", "{offered}");
    // An endpoint keeps the flavor that it was created with.
    assert_eq!(client.get("/endpoints/mine").await.json()["flavor"], "cpu-1x-forebay-engine");
    let uses = &operator.read(MODEL).await["usedBy"];
    assert_eq!(uses["flavors"], json!([{"flavor": "cpu-1x-forebay-engine", "endpoints": 1}]));

    let image = json!([{"name": "cpu-2x", "gpuType": "local/cpu", "image": "acme/other:1"}]);
    let rejected = operator.patch(MODEL, json!({"version": 2, "flavors": image})).await;
    assert_eq!(error_of(&rejected), "422 invalid_value flavors[0].image");
    let stale = operator.patch(MODEL, json!({"version": 1, "flavors": []})).await;
    assert_eq!(error_of(&stale), "409 version_conflict");
}
