//! Long runs of equal characters, which some tokenizers of llama.cpp recurse for, and prompts that cannot fit.

use crate::engine::{CHAT, EMBEDDINGS, Engine, chat_weights, greedy};
use serde_json::{Value, json};
use std::path::PathBuf;
use tempfile::TempDir;

const RUN: usize = 100_000;
/// Ways to split text into words, of which llama.cpp implements some with regular expressions. All names have the length of
/// the starter model's own, so that they can be put in its place.
const SPLITTERS: [&str; 4] = ["smollm", "tekken", "gpt-4o", "falcon"];

/// The starter model with another way to split text into words.
fn with_splitter(splitter: &str, folder: &TempDir) -> PathBuf {
    let mut file = std::fs::read(chat_weights()).unwrap();
    let key = b"tokenizer.ggml.pre";
    let at = file.windows(key.len()).position(|bytes| bytes == key).expect("the key is in the metadata") + key.len();
    // The type and the length of the value are between.
    let value = at + 4 + 8;
    assert_eq!(&file[value..value + splitter.len()], b"smollm");
    file[value..value + splitter.len()].copy_from_slice(splitter.as_bytes());
    let path = folder.path().join("model.gguf");
    std::fs::write(&path, file).unwrap();
    path
}

fn runs() -> Vec<String> {
    let mut runs: Vec<String> = ["a", "7", ".", " ", "\n", "é"].map(|letter| letter.repeat(RUN)).into();
    // About the longest that is tokenized at all.
    runs.push("b".repeat(262_000));
    runs
}

#[tokio::test]
async fn long_runs_end_no_engine() {
    for splitter in SPLITTERS {
        let folder = tempfile::tempdir().unwrap();
        let weights = with_splitter(splitter, &folder);
        let engine = Engine::launch(&weights, &["--model-name", CHAT]).await;
        engine.until_ready().await;
        for run in runs() {
            let what = (splitter, run.chars().next());
            let counted = engine.client.post_json("/tokenize", greedy(&run, 1)).await;
            assert_eq!(counted.status, 200, "{what:?}: {}", engine.child.stderr());
            assert!(counted.json()["count"].as_u64().unwrap() > 100, "{what:?}");
        }
    }
}

#[tokio::test]
async fn long_runs_end_no_engine_for_embeddings() {
    let engine = Engine::embeddings(&[]).await;
    for run in runs() {
        let body = json!({"model": EMBEDDINGS, "input": run});
        let response = engine.client.post_json("/v1/embeddings", body).await;
        assert!([200, 400].contains(&response.status.as_u16()), "{}", response.text());
    }
    assert_eq!(engine.client.get("/health").await.status, 200);
}

#[tokio::test]
async fn a_prompt_that_cannot_fit_is_rejected_by_its_length() {
    let engine = Engine::chat(&["--ctx", "1024"]).await;
    let code = |body: Value| {
        let client = engine.client.clone();
        async move { client.post_json("/v1/chat/completions", body).await.json()["error"]["code"].clone() }
    };
    assert_eq!(code(greedy(&"word ".repeat(1 << 20), 1)).await, "context_length_exceeded");
    let mut many = greedy("hi", 1);
    many["messages"] = vec![many["messages"][0].clone(); 1_025].into();
    assert_eq!(code(many).await, "context_length_exceeded");
    let engine = Engine::chat(&[]).await;
    let error = engine.chat_call(greedy(&"a".repeat(300_000), 1)).await.json()["error"].clone();
    assert_eq!((&error["code"], &error["param"]), (&json!("invalid_value"), &json!("messages")));
}
