//! Starting and stopping: health while loading, one clear line when it cannot work, a clean end.

use crate::engine::{Engine, chat_weights, greedy, models, start, with};
use serde_json::json;
use std::fs;
use std::time::Duration;
use testkit::http::Event;

const END: Duration = Duration::from_secs(30);

#[tokio::test]
async fn health_is_503_with_a_reason_until_the_model_is_there() {
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
async fn missing_and_damaged_weights_are_one_line_with_the_path() {
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
        (page, "is no GGUF file"),
        (broken, "damaged"),
    ] {
        let mut child = start(&weights, &folder, &[]);
        assert_eq!(child.wait_for_end(END).await.unwrap().code(), Some(1));
        let told = child.stderr();
        assert!(told.contains(words) && told.contains(&*weights.to_string_lossy()), "{told}");
        assert_eq!(told.lines().count(), 1, "{told}");
    }
}

#[tokio::test]
async fn a_signal_lets_running_answers_end_and_takes_no_others() {
    let mut engine = Engine::chat(&[]).await;
    let call = with(greedy("Tell a story.", 60), json!({"stream": true, "ignore_eos": true}));
    let mut stream = engine.client.open_stream("/v1/chat/completions", call).await;
    stream.next_event().await.unwrap();
    engine.child.signal("TERM").unwrap();
    engine
        .child
        .wait_for("that it stops", END, |child| child.stderr().contains("stopping").then_some(()))
        .await
        .unwrap();
    let address = engine.address;
    let refused = async || tokio::net::TcpStream::connect(address).await.is_err();
    let deadline = std::time::Instant::now() + END;
    while !refused().await {
        assert!(std::time::Instant::now() < deadline, "it still takes connections");
    }
    let (events, clean) = stream.rest().await;
    assert!(clean && events.last().unwrap().is_done());
    assert!(events.iter().any(|event| event.json()["choices"][0]["finish_reason"] == "length"), "{events:?}");
    assert_eq!(engine.child.wait_for_end(END).await.unwrap().code(), Some(0));
}

#[tokio::test]
async fn answers_that_take_too_long_to_end_are_cut() {
    let mut engine = Engine::chat(&["--drain-timeout", "1"]).await;
    let call = with(greedy("Tell a story.", 8000), json!({"stream": true, "ignore_eos": true}));
    let mut stream = engine.client.open_stream("/v1/chat/completions", call).await;
    stream.next_event().await.unwrap();
    engine.child.signal("TERM").unwrap();
    assert_eq!(engine.child.wait_for_end(END).await.unwrap().code(), Some(0));
    let (events, _) = stream.rest().await;
    assert!(!events.iter().any(Event::is_done));
}

#[tokio::test]
async fn converted_weights_are_kept_and_the_models_folder_stays_as_it_was() {
    let engine = Engine::embeddings(&[]).await;
    let cached: Vec<_> = fs::read_dir(engine.folder.path().join("cache")).unwrap().collect();
    assert_eq!(cached.len(), 1);
    let folder = fs::read_dir(models().join("all-minilm-l6-v2")).unwrap();
    assert!(folder.filter_map(Result::ok).all(|entry| entry.path().extension().is_none_or(|kind| kind != "gguf")));
}
