//! What engines can do is asked, shown, and decides about calls.

use serde_json::{Value, json};
use testkit::fake_engine::{FakeEngine, Script};

use crate::app::{CHAT, TIMEOUT, TestApp, chat, error_line, text, wait_until};
use crate::console::person::Person;

const UNTOUCHED: &str = "acme/untouched";

/// An engine whose chats cannot have tools and images.
fn limited(version: &str) -> Script {
    let refused = ["tools", "image_url"].map(str::to_owned).to_vec();
    Script { version: Some(version.to_owned()), refused, ..Script::default() }
}

async fn capabilities(app: &TestApp) -> Value {
    app.client().get(&format!("/models/{CHAT}")).await.json()["capabilities"].clone()
}

fn with_tools() -> Value {
    let mut body = chat("hi");
    body["tools"] = json!([{"type": "function", "function": {"name": "get_weather"}}]);
    body
}

#[tokio::test]
async fn what_an_engine_lacks_is_found_shown_and_rejected_until_it_changes() {
    let (mut engine, untouched) = (FakeEngine::start().await, FakeEngine::start().await);
    engine.script(limited("1.0"));
    let (url, other) = (engine.url(), untouched.url());
    let table = format!("[[models]]\nid = \"{UNTOUCHED}\"\nprobe = false\nupstreams = [{{ url = \"{other}\" }}]\n");
    let setup = TestApp::setup().server("probe = true").table(&table);
    let app = setup.chat_upstream("engine = \"vllm\"").start_at(&[url], Vec::new()).await;
    wait_until("the engine was asked", TIMEOUT, async || capabilities(&app).await["chat"] == true).await;

    let known = capabilities(&app).await;
    assert_eq!((&known["tools"], &known["images"]), (&json!(false), &json!(false)), "{known}");
    assert_eq!((&known["embeddings"], &known["native_messages"]), (&json!(true), &json!(true)), "{known}");
    assert!(known.get("logprobs").is_none(), "an engine that ignores a member says nothing: {known}");

    let rejected = app.ask(with_tools()).await;
    assert_eq!(error_line(&rejected), "400 unsupported_parameter tools");
    assert!(text(&rejected.json()["error"]["message"]).contains("it supports: chat, "), "{}", rejected.text());
    let mut without = with_tools();
    without["tool_choice"] = "none".into();
    assert_eq!(error_line(&app.ask(without).await), "400 invalid_value", "what is not needed is left to the engine");
    let mut logprobs = chat("hi");
    logprobs["logprobs"] = true.into();
    assert_eq!(app.ask(logprobs).await.status, 200, "what is not known is never rejected");

    let operator = Person::operator(&app).await;
    let model = operator.read("/api/operator/models/acme%2Ftiny").await;
    let shown = model["capabilities"].as_array().unwrap().iter().find(|one| one["name"] == "tools").unwrap();
    assert_eq!((&shown["support"], &shown["note"]), (&json!("no"), &json!("`tools` is not supported")));
    assert_eq!(
        (&model["probeResult"]["engineVersion"], &model["probeResult"]["isComplete"]),
        (&json!("1.0"), &json!(true))
    );

    let image = json!([{"type": "input_image", "image_url": "data:image/png;base64,iVBORw0KGgo="}]);
    let input = json!([{"role": "user", "content": image}]);
    let rejected = app.client().post_json("/responses", json!({"model": CHAT, "input": input})).await;
    assert_eq!(error_line(&rejected), "400 unsupported_parameter input", "as this API names it");

    engine.stop();
    wait_until("the engine is down", TIMEOUT, async || app.model_status(CHAT).await == "unavailable").await;
    engine.script(Script { version: Some("1.0".to_owned()), ..Script::default() });
    engine.restart();
    wait_until("the engine is up", TIMEOUT, async || app.model_status(CHAT).await == "available").await;
    assert_eq!(app.ask(with_tools()).await.status, 200, "it may have other options now");
    assert!(capabilities(&app).await.get("tools").is_none(), "what it lacked is not known until it was probed");

    let doctor = app.admin_command("doctor --json").output().unwrap();
    assert!(String::from_utf8_lossy(&doctor.stdout).contains("acme/tiny (1.0) can chat"), "{doctor:?}");
    let billed = app.usage(3).await;
    assert!(billed.iter().all(|event| event.model.as_str() == CHAT), "calls of the test alone: {billed:?}");
    assert!(untouched.calls().is_empty(), "its model turns probes off");
}
