//! The quickstart as shipped: the real engine with real weights, run by the gateway.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::json;
use testkit::gateway_config::GatewayConfig;
use testkit::http::Client;
use testkit::process::{Forebay, ForebayLaunch};

use crate::app::{BINARY, TIMEOUT, wait_until};
use crate::engines::{children_of, is_running};
use crate::openai::prefix_cache::other_workspace_key;

pub(crate) const CHAT: &str = "forebay/smollm2-135m-instruct";
const EMBEDDING: &str = "sentence-transformers/all-minilm-l6-v2";
/// Loading weights may take long on a busy machine.
pub(crate) const LOADED_WITHIN: Duration = Duration::from_secs(90);

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Folder of the starter models, downloaded if necessary.
pub(crate) fn models() -> PathBuf {
    let fetched = Command::new(root().join("scripts/fetch-models")).current_dir(root()).status().unwrap();
    assert!(fetched.success(), "the starter models could not be downloaded");
    root().join("data/models")
}

/// Starts the quickstart, with the weights that the script has downloaded.
pub(crate) async fn quickstart() -> (Forebay, Client) {
    let config = std::fs::read_to_string(root().join("config/quickstart.toml")).unwrap();
    let config = GatewayConfig::default().tables(&config.replace("../data/models", models().to_str().unwrap()));
    let forebay = ForebayLaunch::default().binary(BINARY).start(&config.render()).await.unwrap();
    let client = Client::new(format!("http://{}", forebay.public)).key(&forebay.api_key().unwrap());
    (forebay, client)
}

pub(crate) async fn wait_for_model(client: &Client, model: &str, status: &str) {
    wait_until(&format!("{model} is {status}"), LOADED_WITHIN, async || {
        client.get(&format!("/v1/models/{model}")).await.json()["status"] == status
    })
    .await;
}

fn engines_of(forebay: &Forebay) -> Vec<String> {
    children_of(&forebay.child.pid().to_string())
}

#[tokio::test]
async fn the_quickstart_serves_real_models_and_restarts_a_killed_engine() {
    let (mut forebay, client) = quickstart().await;
    wait_for_model(&client, CHAT, "available").await;
    wait_for_model(&client, EMBEDDING, "available").await;
    let question = json!({
        "model": CHAT, "temperature": 0, "max_tokens": 12,
        "messages": [{"role": "user", "content": "Name the capital city of Japan."}],
    });
    let response = client.post_json("/v1/chat/completions", question.clone()).await;
    assert_eq!(response.status, 200, "{}", response.text());
    let text = response.json()["choices"][0]["message"]["content"].as_str().unwrap().to_owned();
    assert!(text.contains("Tokyo"), "{text}");

    let input = json!({"model": EMBEDDING, "input": ["a cat sits on the mat", "a kitten rests on the rug", "the stock market fell"]});
    let vectors = client.post_json("/v1/embeddings", input).await.json();
    let vector =
        |index: usize| -> Vec<f32> { serde_json::from_value(vectors["data"][index]["embedding"].clone()).unwrap() };
    let similarity = |a: usize, b: usize| -> f32 { vector(a).iter().zip(vector(b)).map(|(x, y)| x * y).sum() };
    assert_eq!(vector(0).len(), 384);
    assert!(similarity(0, 1) > similarity(0, 2) + 0.2, "{} against {}", similarity(0, 1), similarity(0, 2));

    let before = engines_of(&forebay);
    assert_eq!(before.len(), 2);
    for child in &before {
        Command::new("kill").args(["-KILL", child]).status().unwrap();
    }
    wait_for_model(&client, CHAT, "unavailable").await;
    wait_for_model(&client, CHAT, "available").await;
    assert_eq!(client.post_json("/v1/chat/completions", question).await.status, 200);

    let children = engines_of(&forebay);
    forebay.child.signal("TERM").unwrap();
    forebay.child.wait_for_end(TIMEOUT).await.unwrap();
    assert!(!children.iter().any(|child| is_running(child)), "an engine outlived the gateway");
}

/// Without salts, a tenant could test guesses of another's prompt by `cached_tokens`.
#[tokio::test]
async fn a_prompt_of_another_workspace_is_not_cached() {
    let (forebay, client) = quickstart().await;
    wait_for_model(&client, CHAT, "available").await;
    let admin = |line: &str| {
        let mut command = Command::new(BINARY);
        command.arg("admin").args(line.split_whitespace()).arg("--json").arg("--config").arg(&forebay.config);
        let output = command.arg("--data-dir").arg(&forebay.data_dir).output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let organization = forebay.bootstrap()["organizationId"].as_str().unwrap().to_owned();
    let other = Client::new(format!("http://{}", forebay.public)).key(&other_workspace_key(admin, &organization));
    let secret = json!({
        "model": CHAT, "temperature": 0, "max_tokens": 1,
        "messages": [{"role": "user", "content": "The code of the vault is 4711. Keep it secret."}],
    });
    let cached = async |client: &Client| {
        let response = client.post_json("/v1/chat/completions", secret.clone()).await;
        assert_eq!(response.status, 200, "{}", response.text());
        response.json()["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap()
    };
    assert_eq!(cached(&client).await, 0);
    assert_eq!(cached(&other).await, 0, "the other workspace learns that the prompt was used");
    assert!(cached(&client).await > 0, "the own workspace reuses it");
    assert!(cached(&other).await > 0);
}

#[tokio::test]
async fn engines_end_when_the_gateway_is_killed() {
    let (mut forebay, client) = quickstart().await;
    wait_for_model(&client, CHAT, "available").await;
    let children = engines_of(&forebay);
    assert!(!children.is_empty());
    forebay.child.kill();
    wait_until("the engines are gone", TIMEOUT, async || !children.iter().any(|child| is_running(child))).await;
}

#[tokio::test]
async fn a_failed_start_of_an_engine_is_logged_with_its_last_output() {
    let config = GatewayConfig::default().model("acme/none", "engine = { weights = \"nowhere.gguf\" }").render();
    let forebay = ForebayLaunch::default().binary(BINARY).start(&config).await.unwrap();
    wait_until("the log says why", TIMEOUT, async || {
        let log = forebay.child.stderr();
        log.contains("the engine of acme/none did not start") && log.contains("nowhere.gguf")
    })
    .await;
    let client = Client::new(format!("http://{}", forebay.public)).key(&forebay.api_key().unwrap());
    assert_eq!(client.get("/v1/models/acme/none").await.json()["status"], "unavailable");
}
