use std::fs;

use serde_json::json;

use crate::app::TestApp;
use crate::console::person::Person;

const MODELS: &str = "/api/operator/models";

#[tokio::test]
async fn the_catalogue_of_the_store_moves_to_a_file_and_back() {
    let app = TestApp::start().await;
    let operator = Person::operator(&app).await;
    let upstreams =
        json!([{"url": app.engine().url(), "model": "own", "maxInFlight": 7, "native": ["responses", "messages"]}]);
    let flavors =
        json!([{"name": "cpu", "gpuType": "local/cpu", "weights": "/srv/own.gguf", "pricePerGpuHour": "0.05"}]);
    let body = json!({"id": "acme/own", "inputPer1m": "0.10", "upstreams": upstreams, "flavors": flavors});
    operator.make(MODELS, body).await;
    operator.make("/api/operator/aliases", json!({"name": "gpt-*", "model": "acme/own"})).await;
    let before = operator.read(&format!("{MODELS}/acme%2Fown")).await;

    let output = app.try_admin("models export");
    assert!(output.status.success());
    let file = app.forebay.data_dir.join("exported.toml");
    fs::write(&file, &output.stdout).unwrap();
    let import = format!("models import {}", file.display());
    let refused = app.try_admin(&import);
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && error.contains("the store has the model acme/own already"), "{error}");

    assert_eq!(operator.delete("/api/operator/aliases/gpt-*").await.status, 204);
    assert_eq!(operator.delete(&format!("{MODELS}/acme%2Fown")).await.status, 204);
    assert_eq!(app.admin(&import), json!({"models": 1, "aliases": 1}));
    assert_eq!(app.admin(&format!("{import} --replace")), json!({"models": 1, "aliases": 1}));
    crate::app::wait_until("the import is served", crate::app::TIMEOUT, async || {
        operator.get(&format!("{MODELS}/acme%2Fown")).await.json()["version"] == 2
    })
    .await;
    let after = operator.read(&format!("{MODELS}/acme%2Fown")).await;
    for member in ["inputPer1m", "upstreams", "flavors", "usedBy"] {
        assert_eq!(before[member], after[member], "{member}");
    }

    // A disabled model is exported as a comment, and stays disabled.
    let disabled = operator.patch(&format!("{MODELS}/acme%2Fown"), json!({"version": 2, "enabled": false})).await;
    assert_eq!(disabled.status, 200, "{}", disabled.text());
    let exported = String::from_utf8(app.try_admin("models export").stdout).unwrap();
    assert!(exported.starts_with("# Disabled in the store:\n# [[models]]\n"), "{exported}");
    assert!(exported.lines().all(|line| line.is_empty() || line.starts_with('#')), "{exported}");
    assert_eq!(app.admin(&format!("{import} --replace")), json!({"models": 1, "aliases": 1}));
    crate::app::wait_until("the import is known", crate::app::TIMEOUT, async || {
        operator.get(&format!("{MODELS}/acme%2Fown")).await.json()["version"] == 4
    })
    .await;
    assert_eq!(operator.read(&format!("{MODELS}/acme%2Fown")).await["enabled"], false);

    // The models of the server's own file would clash at its next start.
    let refused = app.try_admin(&format!("models import {}", app.forebay.config.display()));
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && error.contains("acme/tiny is in the configuration file"), "{error}");
}

#[tokio::test]
async fn an_import_with_problems_names_all_of_them_and_imports_nothing() {
    let app = TestApp::start().await;
    let operator = Person::operator(&app).await;
    let file = app.forebay.data_dir.join("bad.toml");
    let engine = app.engine().url();
    let text = format!(
        r#"
        [[models]]
        id = "acme/good"
        upstreams = [ {{ url = "{engine}" }} ]
        [[models]]
        id = "acme/tiny"
        upstreams = [ {{ url = "{engine}" }} ]
        [[models]]
        id = "acme/command"
        [[models.flavors]]
        name = "cpu"
        gpu_type = "local/cpu"
        argv = ["sh"]
        "#
    );
    fs::write(&file, text).unwrap();
    let rejected = app.try_admin(&format!("models import {}", file.display()));
    let error = String::from_utf8_lossy(&rejected.stderr).into_owned();
    assert!(!rejected.status.success(), "{error}");
    let problems = [
        "nothing was imported",
        "acme/tiny is in the configuration file",
        "acme/command: flavors[0].argv: is only allowed in the configuration file",
    ];
    for problem in problems {
        assert!(error.contains(problem), "{problem}: {error}");
    }
    assert_eq!(operator.get(&format!("{MODELS}/acme%2Fgood")).await.status, 404);
}
