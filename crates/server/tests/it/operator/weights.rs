use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use testkit::fake_hub::{COMMIT, FakeHub, HubFile, Sending};

use super::tiny_hub::{DOWNLOADS, LENGTH, PINNED, REFERENCE, audited, content, file, hub, path_of, until};
use crate::app::{TIMEOUT, TestApp, text, wait_until};
use crate::console::person::{Person, error_of};
use crate::endpoints::create;
use crate::engine_script::write_engine;

const LOOKUP: &str = "/api/operator/weights/lookup";

/// Finds weights in the cache where forebay-engine looks for them.
const FIND_IN_CACHE: &str = r#"IFS=/ read -r owner name path <<<"${weights#hf://}"
repository=$cache/hub/models--$owner--${name%@*}
weights=$repository/snapshots/$(cat "$repository/refs/${name#*@}")/$path"#;

async fn start(hub: &FakeHub) -> (TestApp, Person) {
    let app =
        TestApp::setup().environment("HF_ENDPOINT", &hub.url()).environment("HF_TOKEN", "hf_secret").start().await;
    let operator = Person::operator(&app).await;
    (app, operator)
}

fn cache(app: &TestApp) -> PathBuf {
    app.forebay.data_dir.join("cache")
}

fn cached(app: &TestApp) -> PathBuf {
    cache(app).join(format!("hub/models--acme--tiny/snapshots/{COMMIT}/tiny.gguf"))
}

#[tokio::test]
async fn a_reference_leads_to_models_with_size_license_and_fit() {
    let hub = hub().await;
    let (app, operator) = start(&hub).await;
    let found = operator.post(LOOKUP, json!({"reference": "hf://acme/tiny"})).await.json();
    assert_eq!((&found["license"], &found["architecture"]), (&json!("apache-2.0"), &json!("llama")), "{found}");
    assert_eq!((&found["contextLength"], &found["gated"]), (&json!(8192), &json!(false)));
    let model = &found["models"][0];
    assert_eq!((&model["name"], &model["weights"]), (&json!("tiny.gguf"), &json!(PINNED)), "{model}");
    assert_eq!((&model["bytes"], &model["missingBytes"]), (&json!(LENGTH + 4), &json!(LENGTH + 4)));
    assert_eq!((&model["fits"], &model["download"]), (&json!(true), &Value::Null), "{model}");
    assert!(text(&model["memory"]["why"]).contains("needs about 256."), "{model}");

    hub.add("acme/torch", json!({}), vec![file("model.safetensors", b"x")]);
    let other = operator.post(LOOKUP, json!({"reference": "hf://acme/torch"})).await.json();
    assert!(other["models"] == json!([]) && text(&other["problem"]).contains("vLLM"), "{other}");

    let models = app.forebay.data_dir.join("models");
    fs::create_dir_all(&models).unwrap();
    fs::write(models.join("local.gguf"), content()).unwrap();
    let local = models.join("local.gguf").canonicalize().unwrap();
    let sources = operator.read("/api/operator/weights").await;
    assert_eq!((&sources["hub"], &sources["hasToken"]), (&json!(hub.url()), &json!(true)));
    let listed = Path::new(text(&sources["files"][0]["path"]));
    assert_eq!(listed.canonicalize().unwrap(), local);
    let path = operator.post(LOOKUP, json!({"reference": listed})).await.json();
    assert_eq!((&path["models"][0]["weights"], &path["models"][0]["missingBytes"]), (&json!(listed), &json!(0)));

    for bad in ["", "tiny", "hf://acme", "hf://acme/none", "hf://acme/tiny/README.md", "/etc/passwd"] {
        let response = operator.post(LOOKUP, json!({"reference": bad})).await;
        assert_eq!(error_of(&response), "422 invalid_value reference", "{bad}");
    }
    let requests = hub.requests();
    drop(hub);
    assert!(requests.iter().all(|request| request.has_token), "{requests:?}");
    let response = operator.post(LOOKUP, json!({"reference": "hf://acme/tiny"})).await;
    assert_eq!(error_of(&response), "502 hub_unavailable");
}

#[tokio::test]
async fn an_interrupted_download_resumes_and_its_model_is_served() {
    let (hub, scratch) = (hub().await, tempfile::tempdir().unwrap());
    let engine = write_engine(scratch.path(), FIND_IN_CACHE);
    let setup = TestApp::setup().environment("HF_ENDPOINT", &hub.url()).environment("HF_TOKEN", "hf_secret");
    let app = setup.environment("FOREBAY_ENGINE", engine.to_str().unwrap()).start().await;
    let operator = Person::operator(&app).await;

    hub.set_sending(Sending::CutAfter(100_000));
    let download = operator.make(DOWNLOADS, json!({"reference": REFERENCE})).await;
    assert_eq!((&download["weights"], &download["license"]), (&json!(PINNED), &json!("apache-2.0")));
    let done = until(&operator, &download, "done").await;
    assert_eq!((&done["doneBytes"], &done["bytes"]), (&json!(LENGTH + 4), &json!(LENGTH + 4)));
    assert_eq!(hub.downloads(), [0, 100_000]);
    assert!(hub.requests().iter().all(|request| request.has_token != request.path.starts_with("/storage/")));
    assert_eq!(fs::read(cached(&app)).unwrap(), content());
    let again = operator.make(DOWNLOADS, json!({"reference": REFERENCE})).await;
    assert_eq!((&again["id"], &again["state"]), (&download["id"], &json!("done")), "not downloaded again");

    let engine = json!({"weights": PINNED, "args": ["--threads", "1"]});
    operator.make("/api/operator/models", json!({"id": "acme/here", "engine": engine, "contextLength": 4096})).await;
    let command = operator.read("/api/operator/models/acme%2Fhere").await["commands"][0].clone();
    assert!(command["flavor"].is_null() && command["argv"].to_string().contains("--threads"), "{command}");
    wait_until("the model is available", TIMEOUT, async || app.model_status("acme/here").await == "available").await;
    assert_eq!(operator.read(&path_of(&download)).await["usedBy"], json!(["acme/here"]));
    let in_use = operator.delete(&path_of(&download)).await;
    assert_eq!(error_of(&in_use), "409 weights_in_use");
    assert!(in_use.text().contains("acme/here"), "{}", in_use.text());
    assert_eq!(operator.delete("/api/operator/models/acme%2Fhere").await.status, 204);
    assert_eq!(operator.delete(&path_of(&download)).await.status, 204);
    assert!(!cached(&app).exists());
    assert_eq!(operator.read(DOWNLOADS).await["data"], json!([]));
    assert_eq!(audited(&operator).await, ["weights.delete", "weights.download"]);
}

#[tokio::test]
async fn a_damaged_file_is_refused_and_downloaded_again() {
    let hub = hub().await;
    let (app, operator) = start(&hub).await;
    let damaged = HubFile { sha256: Some("0".repeat(64)), ..file("tiny.gguf", &content()) };
    hub.add("acme/tiny", json!({}), vec![damaged]);
    let download = operator.make(DOWNLOADS, json!({"reference": REFERENCE})).await;
    let failed = until(&operator, &download, "failed").await;
    assert!(text(&failed["error"]).contains("SHA-256"), "{failed}");
    assert_eq!((&failed["doneBytes"], cached(&app).exists()), (&json!(0), false));
    let resumed = operator.act(&format!("{}/resume", path_of(&download))).await;
    assert_eq!(resumed.status, 200, "{}", resumed.text());
    wait_until("the file is downloaded again", TIMEOUT, async || hub.downloads() == [0, 0]).await;
    until(&operator, &download, "failed").await;
}

#[tokio::test]
async fn downloads_that_are_too_large_are_refused_before_they_start() {
    let hub = hub().await;
    let setup = TestApp::setup().environment("HF_ENDPOINT", &hub.url());
    let app = setup.table("[weights]\nmax_download = \"100TiB\"").start().await;
    let operator = Person::operator(&app).await;
    for (bytes, expected) in [(64_u64 << 40, "409 no_disk_space"), (128 << 40, "422 invalid_value reference")] {
        hub.add("acme/tiny", json!({}), vec![HubFile { reported_bytes: Some(bytes), ..file("tiny.gguf", b"GGUF") }]);
        let refused = operator.post(DOWNLOADS, json!({"reference": REFERENCE})).await;
        assert_eq!(error_of(&refused), expected, "{}", refused.text());
        let found = operator.post(LOOKUP, json!({"reference": REFERENCE})).await.json();
        let model = &found["models"][0];
        assert_eq!((&model["fits"], &model["disk"]["fits"]), (&json!(false), &json!(false)), "{model}");
    }
    assert_eq!((hub.downloads(), operator.read(DOWNLOADS).await["data"].clone()), (vec![], json!([])));
    assert!(!cache(&app).join("downloads").exists());
}

#[tokio::test]
async fn a_cancelled_download_keeps_what_arrived_and_resumes() {
    let hub = hub().await;
    let (app, operator) = start(&hub).await;
    hub.set_sending(Sending::HoldAfter(50_000));
    let download = operator.make(DOWNLOADS, json!({"reference": REFERENCE})).await;
    let path = path_of(&download);
    wait_until("bytes arrive", TIMEOUT, async || operator.read(&path).await["doneBytes"] == 50_000).await;
    assert_eq!(error_of(&operator.delete(&path).await), "409 download_active");
    assert_eq!(error_of(&operator.act(&format!("{path}/resume")).await), "409 download_active");
    let cancelled = operator.act(&format!("{path}/cancel")).await.json();
    assert_eq!((&cancelled["state"], &cancelled["doneBytes"]), (&json!("cancelled"), &json!(50_000)), "{cancelled}");
    assert_eq!(error_of(&operator.act(&format!("{path}/cancel")).await), "409 download_inactive");
    hub.set_sending(Sending::Whole);
    assert_eq!(operator.act(&format!("{path}/resume")).await.status, 200);
    until(&operator, &download, "done").await;
    assert_eq!(hub.downloads(), [0, 50_000]);
    assert_eq!(fs::read(cached(&app)).unwrap(), content());
    assert_eq!(error_of(&operator.act(&format!("{path}/resume")).await), "409 download_inactive");
    assert_eq!(error_of(&operator.get(&format!("{DOWNLOADS}/dl_none")).await), "404 not_found");
    let changes = ["weights.resume", "weights.cancel", "weights.download"];
    assert_eq!(audited(&operator).await, changes, "rejected changes are not in it");
}

#[tokio::test]
async fn weights_that_are_requested_twice_at_once_are_downloaded_and_audited_once() {
    let hub = hub().await;
    let (_app, operator) = start(&hub).await;
    let request = || operator.make(DOWNLOADS, json!({"reference": REFERENCE}));
    let (one, other) = tokio::join!(request(), request());
    assert_eq!(one["id"], other["id"]);
    until(&operator, &one, "done").await;
    assert_eq!((hub.downloads().len(), audited(&operator).await), (1, vec!["weights.download".to_owned()]));
}

#[tokio::test]
async fn files_of_an_endpoint_that_keeps_a_deleted_flavor_stay() {
    let hub = hub().await;
    let setup = TestApp::setup().environment("HF_ENDPOINT", &hub.url());
    let app = setup.table("[allotment_defaults]\n\"local/cpu\" = 4").start().await;
    let operator = Person::operator(&app).await;
    let download = operator.make(DOWNLOADS, json!({"reference": REFERENCE})).await;
    let path = path_of(&download);
    until(&operator, &download, "done").await;
    let flavor = json!({"name": "cpu-1x-forebay-engine", "gpuType": "local/cpu", "weights": PINNED});
    operator.make("/api/operator/models", json!({"id": "acme/dedicated", "flavors": [flavor]})).await;
    assert_eq!(create(&app.client(), "mine", 1, json!({"replicas": 1})).await.status, 201);
    assert_eq!(operator.read(&path).await["usedBy"], json!(["acme/dedicated"]));

    let other = json!([{"name": "cpu-2x", "gpuType": "local/cpu", "gpuCount": 2, "weights": "/srv/none.gguf"}]);
    let model = "/api/operator/models/acme%2Fdedicated";
    assert_eq!(operator.patch(model, json!({"version": 1, "flavors": other})).await.status, 200);
    assert_eq!(operator.read(&path).await["usedBy"], json!(["dedicated/mine"]));
    let in_use = operator.delete(&path).await;
    assert_eq!(error_of(&in_use), "409 weights_in_use");
    assert!(in_use.text().contains("dedicated/mine") && cached(&app).exists(), "{}", in_use.text());
    app.client().delete("/endpoints/mine").await;
    let is_unused = async || operator.read(&path).await["usedBy"] == json!([]);
    wait_until("the endpoint is deleted", TIMEOUT, is_unused).await;
    assert_eq!(operator.delete(&path).await.status, 204);
}

#[tokio::test]
async fn a_download_whose_files_were_deleted_is_missing_and_resumes() {
    let hub = hub().await;
    let (app, operator) = start(&hub).await;
    let download = operator.make(DOWNLOADS, json!({"reference": REFERENCE})).await;
    until(&operator, &download, "done").await;
    fs::remove_file(cached(&app)).unwrap();
    let missing = operator.read(DOWNLOADS).await["data"][0].clone();
    assert_eq!((&missing["state"], &missing["doneBytes"]), (&json!("missing"), &json!(0)), "{missing}");
    assert_eq!(operator.act(&format!("{}/resume", path_of(&download))).await.status, 200);
    until(&operator, &download, "done").await;
    assert_eq!(fs::read(cached(&app)).unwrap(), content());
    fs::remove_file(cached(&app)).unwrap();
    until(&operator, &download, "missing").await;
    // An engine may have downloaded them meanwhile.
    fs::write(cached(&app), content()).unwrap();
    let back = until(&operator, &download, "done").await;
    assert_eq!((&back["doneBytes"], hub.downloads().len()), (&json!(LENGTH + 4), 2));
}

#[tokio::test]
async fn a_download_goes_on_after_a_restart() {
    let hub = hub().await;
    let (mut app, operator) = start(&hub).await;
    hub.set_sending(Sending::HoldAfter(50_000));
    let download = operator.make(DOWNLOADS, json!({"reference": REFERENCE})).await;
    let part = cache(&app).join("downloads").join(text(&download["id"])).join("0.part");
    let has_arrived = || fs::metadata(&part).is_ok_and(|found| found.len() == 50_000);
    wait_until("bytes are on the disk", TIMEOUT, async || has_arrived()).await;
    app.forebay.child.kill();
    hub.set_sending(Sending::Whole);
    app.forebay.restart().await.unwrap();
    let operator = Person::operator(&app).await;
    until(&operator, &download, "done").await;
    assert_eq!(hub.downloads(), [0, 50_000]);
    assert_eq!(fs::read(cached(&app)).unwrap(), content());
}
