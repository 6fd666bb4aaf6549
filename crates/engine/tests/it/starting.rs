//! Startup and shutdown: health while loading, one-line errors, and a clean exit.

use crate::engine::{Engine, chat_weights, greedy, models, start, with};
use serde_json::json;
use std::fs;
use std::time::Duration;
use testkit::http::Event;

const END_TIMEOUT: Duration = Duration::from_secs(30);

#[tokio::test]
async fn health_is_503_with_a_reason_until_the_model_is_loaded() {
    let engine = Engine::launch(&chat_weights(), &["--model-name", "m"]).await;
    let mut early = Vec::new();
    loop {
        let health = engine.client.get("/health").await;
        if health.status == 200 {
            break;
        }
        early.push((health.status.as_u16(), health.json()["error"]["message"].as_str().unwrap().to_owned()));
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert!(!early.is_empty());
    assert!(early.iter().all(|(status, reason)| *status == 503 && reason.contains("loading")), "{early:?}");
}

#[tokio::test]
async fn weight_errors_are_one_line_with_the_path() {
    let folder = tempfile::tempdir().unwrap();
    let cut = folder.path().join("cut.gguf");
    let whole = fs::read(chat_weights()).unwrap();
    fs::write(&cut, &whole[..whole.len() / 2]).unwrap();
    let page = folder.path().join("page.gguf");
    fs::write(&page, "<html>").unwrap();
    let broken = folder.path().join("broken");
    fs::create_dir(&broken).unwrap();
    for name in ["config.json", "tokenizer.json"] {
        fs::copy(models().join("all-minilm-l6-v2").join(name), broken.join(name)).unwrap();
    }
    fs::write(broken.join("model.safetensors"), [9; 4000]).unwrap();
    for (weights, words) in [
        (folder.path().join("none.gguf"), "there are no weights"),
        (cut, "llama.cpp cannot load"),
        (page, "is not a GGUF file"),
        (broken, "damaged"),
    ] {
        let mut child = start(&weights, &folder, &[]);
        assert_eq!(child.wait_for_end(END_TIMEOUT).await.unwrap().code(), Some(1));
        let output = child.stderr();
        assert!(output.contains(words) && output.contains(&*weights.to_string_lossy()), "{output}");
        assert_eq!(output.lines().count(), 1, "{output}");
    }
}

#[tokio::test]
async fn a_signal_drains_running_calls_and_stops_accepting() {
    let mut engine = Engine::chat(&[]).await;
    let call = with(greedy("Tell a story.", 60), json!({"stream": true, "ignore_eos": true}));
    let mut stream = engine.client.open_stream("/v1/chat/completions", call).await;
    stream.next_event().await.unwrap();
    engine.child.signal("TERM").unwrap();
    engine
        .child
        .wait_for("stopping message", END_TIMEOUT, |child| child.stderr().contains("stopping").then_some(()))
        .await
        .unwrap();
    let address = engine.address;
    let rejects = async || tokio::net::TcpStream::connect(address).await.is_err();
    let deadline = std::time::Instant::now() + END_TIMEOUT;
    while !rejects().await {
        assert!(std::time::Instant::now() < deadline, "it still accepts connections");
    }
    let (events, clean) = stream.rest().await;
    assert!(clean && events.last().unwrap().is_done());
    assert!(events.iter().any(|event| event.json()["choices"][0]["finish_reason"] == "length"), "{events:?}");
    assert_eq!(engine.child.wait_for_end(END_TIMEOUT).await.unwrap().code(), Some(0));
}

#[tokio::test]
async fn calls_are_aborted_after_the_drain_timeout() {
    let mut engine = Engine::chat(&["--drain-timeout", "1"]).await;
    let call = with(greedy("Tell a story.", 8000), json!({"stream": true, "ignore_eos": true}));
    let mut stream = engine.client.open_stream("/v1/chat/completions", call).await;
    stream.next_event().await.unwrap();
    engine.child.signal("TERM").unwrap();
    assert_eq!(engine.child.wait_for_end(END_TIMEOUT).await.unwrap().code(), Some(0));
    let (events, _) = stream.rest().await;
    assert!(!events.iter().any(Event::is_done));
}

#[tokio::test]
async fn converted_weights_are_cached_and_the_model_folder_is_unchanged() {
    let engine = Engine::embeddings(&[]).await;
    let cached: Vec<_> = fs::read_dir(engine.folder.path().join("cache")).unwrap().collect();
    assert_eq!(cached.len(), 1);
    let folder = fs::read_dir(models().join("all-minilm-l6-v2")).unwrap();
    assert!(folder.filter_map(Result::ok).all(|entry| entry.path().extension().is_none_or(|kind| kind != "gguf")));
}
