//! Long runs of equal characters, which some tokenizers of llama.cpp recurse for, and prompts that cannot fit.

use crate::engine::{CHAT, EMBEDDINGS, Engine, chat_weights, greedy};
use serde_json::{Value, json};
use std::ops::Range;
use std::path::PathBuf;
use tempfile::TempDir;

const RUN: usize = 100_000;
/// Ways to split text into words, of which llama.cpp implements some with regular expressions.
const SPLITTERS: [&str; 7] = ["smollm", "tekken", "gpt-4o", "falcon", "youtu", "minicpm5", EXAONE_MOE];
/// All others that a vocabulary of bytes can have, one for each list of expressions.
const OTHER_SPLITTERS: [&str; 22] = [
    "default",
    "gpt-2",
    "llama-bpe",
    "qwen2",
    "qwen35",
    "kimi-k2",
    "laguna",
    "deepseek-llm",
    "deepseek-coder",
    "deepseek-v3",
    "spark2_5",
    "afmoe",
    "jais-2",
    "bloom",
    "viking",
    "chameleon",
    "granite-embed-multi-97m",
    "tiny_aya",
    "superbpe",
    "bailingmoe",
    "seed-coder",
    "ufakzeka",
];
/// It does not split between words and single spaces.
const EXAONE_MOE: &str = "exaone-moe";
/// Tensors begin at a multiple of this many bytes.
const ALIGNMENT: usize = 32;

/// The place of a text in the metadata.
fn text_of(file: &[u8], key: &str) -> Range<usize> {
    let place = file.windows(key.len()).position(|bytes| bytes == key.as_bytes());
    // The type and the length of the value are between.
    let start = place.expect("the key is in the metadata") + key.len() + 4 + 8;
    let length = u64::from_le_bytes(file[start - 8..start].try_into().unwrap());
    start..start + usize::try_from(length).unwrap()
}

fn set_text(file: &mut Vec<u8>, key: &str, value: &str) {
    let place = text_of(file, key);
    let length = (value.len() as u64).to_le_bytes();
    drop(file.splice(place.start - 8..place.end, length.into_iter().chain(value.bytes())));
}

/// The starter model with another way to split text into words, and a name that keeps the tensors aligned.
fn with_splitter(splitter: &str, folder: &TempDir) -> PathBuf {
    let mut file = std::fs::read(chat_weights()).unwrap();
    let before = file.len();
    set_text(&mut file, "tokenizer.ggml.pre", splitter);
    let padding = before.wrapping_sub(file.len()) % ALIGNMENT;
    let name = "x".repeat(text_of(&file, "general.name").len() + padding);
    set_text(&mut file, "general.name", &name);
    let path = folder.path().join("model.gguf");
    std::fs::write(&path, file).unwrap();
    path
}

fn runs() -> Vec<String> {
    let mut runs: Vec<String> = ["a", "7", ".", " ", "\n", "é"].map(|letter| letter.repeat(RUN)).into();
    // About the longest that are tokenized at all.
    runs.push("b".repeat(262_000));
    runs.push(".".repeat(262_000) + &"\n/".repeat(131_000));
    // About the longest of those that some splitters read again and again.
    runs.push(format!("x{}{}7", "7".repeat(4_000), " ".repeat(4_000)));
    runs
}

/// Whether the splitter reads such a run again and again.
fn is_slow(splitter: &str, run: &str) -> bool {
    matches!((splitter, run.chars().next()), ("superbpe", Some('7')) | ("deepseek-llm" | "jais-2", Some(' ')))
}

#[tokio::test]
async fn long_runs_end_no_engine() {
    tokenize_long_runs(&SPLITTERS).await;
}

/// A part of `make test-slow`.
#[tokio::test]
async fn long_runs_end_no_engine_with_another_splitter() {
    tokenize_long_runs(&OTHER_SPLITTERS).await;
}

async fn tokenize_long_runs(splitters: &[&str]) {
    for splitter in splitters.iter().copied() {
        let folder = tempfile::tempdir().unwrap();
        let weights = with_splitter(splitter, &folder);
        let engine = Engine::launch(&weights, &["--model-name", CHAT]).await;
        engine.until_ready().await;
        for run in runs() {
            let what = (splitter, run.chars().next());
            let counted = engine.client.post_json("/tokenize", greedy(&run, 1)).await;
            if is_slow(splitter, &run) {
                assert_eq!(counted.status, 422, "{what:?}");
                continue;
            }
            assert_eq!(counted.status, 200, "{what:?}: {}", engine.child.stderr());
            assert!(counted.json()["count"].as_u64().unwrap() > 100, "{what:?}");
        }
        let words_status = if splitter == EXAONE_MOE { 422 } else { 200 };
        for (run, expected) in [(".".to_owned() + &"\n/".repeat(500_000), 422), ("a ".repeat(600_000), words_status)] {
            let counted = engine.client.post_json("/tokenize", greedy(&run, 1)).await;
            assert_eq!(counted.status, expected, "{splitter}: {}", engine.child.stderr());
        }
        assert_eq!(engine.client.get("/health").await.status, 200, "{splitter}");
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
