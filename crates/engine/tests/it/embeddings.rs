//! Vectors: those of the published pipeline, in the order of the inputs, in both encodings.

use crate::engine::{EMBEDDINGS, Engine};
use base64::Engine as _;
use serde::Deserialize;
use serde_json::{Value, json};

/// Made by `tests/reference/make.py`, which says how.
const REFERENCE: &str = include_str!("../reference/all-minilm-l6-v2.json");

#[derive(Deserialize)]
struct Reference {
    text: String,
    tokens: u64,
    vector: Vec<f32>,
}

async fn ask(engine: &Engine, members: Value) -> (u16, Value) {
    let mut call = json!({"model": EMBEDDINGS});
    call.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    let answer = engine.client.post_json("/v1/embeddings", call).await;
    (answer.status.as_u16(), answer.json())
}

async fn vectors(engine: &Engine, input: Value) -> Vec<Vec<f32>> {
    let (status, body) = ask(engine, json!({"input": input})).await;
    assert_eq!(status, 200, "{body}");
    let data = body["data"].as_array().unwrap();
    data.iter().map(|record| serde_json::from_value(record["embedding"].clone()).unwrap()).collect()
}

fn similarity(left: &[f32], right: &[f32]) -> f32 {
    left.iter().zip(right).map(|(left, right)| left * right).sum()
}

#[tokio::test]
async fn vectors_equal_those_of_the_published_pipeline() {
    let engine = Engine::embeddings(&[]).await;
    let references: Vec<Reference> = serde_json::from_str(REFERENCE).unwrap();
    let texts: Vec<&str> = references.iter().map(|reference| reference.text.as_str()).collect();
    let together = vectors(&engine, json!(texts)).await;
    for (reference, vector) in references.iter().zip(&together) {
        assert_eq!(vector.len(), 384);
        let furthest =
            reference.vector.iter().zip(vector).map(|(left, right)| (left - right).abs()).fold(0.0, f32::max);
        // llama.cpp has GELU from a table of 16-bit floats where PyTorch computes it: the fourth digit may differ.
        assert!(furthest < 5e-4, "{:?}: {furthest}", reference.text);
        assert!(similarity(&reference.vector, vector) > 0.999_995, "{:?}", reference.text);
        let (_, alone) = ask(&engine, json!({"input": reference.text})).await;
        assert_eq!(alone["usage"]["prompt_tokens"], reference.tokens, "{:?}", reference.text);
    }
}

#[tokio::test]
async fn paraphrases_are_closer_than_strangers() {
    let engine = Engine::embeddings(&[]).await;
    let texts = json!(["How do I reset my password?", "I forgot my login and need a new one.", "Bake it for an hour."]);
    let [question, paraphrase, stranger] = vectors(&engine, texts).await.try_into().unwrap();
    let (near, far) = (similarity(&question, &paraphrase), similarity(&question, &stranger));
    assert!(near > 0.5 && far < 0.2, "{near} {far}");
    assert!((similarity(&question, &question) - 1.0).abs() < 1e-5);
}

#[tokio::test]
async fn base64_holds_the_same_numbers() {
    let engine = Engine::embeddings(&[]).await;
    let floats = vectors(&engine, json!("hello")).await.remove(0);
    let (_, body) = ask(&engine, json!({"input": ["hello"], "encoding_format": "base64"})).await;
    let text = body["data"][0]["embedding"].as_str().unwrap();
    let bytes = base64::engine::general_purpose::STANDARD.decode(text).unwrap();
    let decoded: Vec<f32> = bytes.chunks(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect();
    assert_eq!(decoded, floats);
}

#[tokio::test]
async fn many_inputs_come_back_in_order() {
    let engine = Engine::embeddings(&[]).await;
    let texts: Vec<String> = (0..200).map(|index| format!("sentence number {index}")).collect();
    let together = vectors(&engine, json!(texts)).await;
    assert_eq!(together.len(), 200);
    for index in [0, 63, 64, 199] {
        let alone = vectors(&engine, json!(texts[index])).await.remove(0);
        assert!(similarity(&alone, &together[index]) > 0.9999, "{index}");
    }
}

#[tokio::test]
async fn what_cannot_be_embedded_is_refused_with_the_member() {
    let engine = Engine::embeddings(&[]).await;
    for (members, status, param) in [
        (json!({"input": [1, 2, 3]}), 422, "input"),
        (json!({"input": [[1, 2]]}), 422, "input"),
        (json!({"input": []}), 422, "input"),
        (json!({"input": ["a", ""]}), 422, "input[1]"),
        (json!({}), 400, "input"),
        (json!({"input": "x", "dimensions": 100}), 422, "dimensions"),
        (json!({"input": "x", "encoding_format": "hex"}), 422, "encoding_format"),
        (json!({"input": "word ".repeat(600)}), 400, "input"),
    ] {
        let (found, body) = ask(&engine, members.clone()).await;
        assert_eq!((found, body["error"]["param"].as_str()), (status, Some(param)), "{members} {body}");
    }
    let (status, _) = ask(&engine, json!({"input": "x", "dimensions": 384})).await;
    assert_eq!(status, 200);
}
