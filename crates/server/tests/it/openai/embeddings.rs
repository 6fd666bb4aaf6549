//! Embeddings in the requested encoding.

use expect_test::expect;
use serde_json::{Value, json};
use testkit::fake_engine::{EmbedAs, Script, embedding_of};

use crate::app::{CHAT, EMBEDDING, TestApp, error_line, shown};

fn floats(value: &Value) -> Vec<f32> {
    serde_json::from_value(value.clone()).unwrap()
}

/// Decodes little-endian numbers in base64 as clients do, without a library.
fn from_base64(value: &Value) -> Vec<f32> {
    let mut bits = 0_u32;
    let mut bit_count = 0;
    let mut bytes = Vec::new();
    for letter in value.as_str().unwrap().bytes().filter(|letter| *letter != b'=') {
        let digit = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            other => panic!("{other} is not base64"),
        };
        bits = bits << 6 | u32::from(digit);
        bit_count += 6;
        if bit_count >= 8 {
            bit_count -= 8;
            bytes.push(u8::try_from(bits >> bit_count & 0xFF).unwrap());
        }
    }
    bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().unwrap())).collect()
}

#[tokio::test]
async fn an_input_becomes_a_vector() {
    let app = TestApp::start().await;
    let response = app.embed(json!({"model": EMBEDDING, "input": "hi", "dimensions": 2})).await;
    expect![[r#"
        200 OK
        content-length: 159
        content-type: application/json
        x-ratelimit-limit-requests: 1000000
        x-ratelimit-limit-tokens: 1000000000
        x-ratelimit-remaining-requests: …
        x-ratelimit-remaining-tokens: …
        x-ratelimit-reset-requests: …
        x-ratelimit-reset-tokens: …
        x-request-id: req_…

        {"object":"list","data":[{"object":"embedding","index":0,"embedding":[-0.0546875,-0.875]}],"model":"acme/embed","usage":{"prompt_tokens":10,"total_tokens":10}}
    "#]]
    .assert_eq(&shown(&response));
    assert_eq!(app.engine().calls()[0].path, "/v1/embeddings");
}

#[tokio::test]
async fn all_four_forms_of_input_reach_the_engine_unchanged() {
    let app = TestApp::start().await;
    for (input, vectors) in [
        (json!("text"), vec![json!("text")]),
        (json!(["a", "b", "c"]), vec![json!("a"), json!("b"), json!("c")]),
        (json!([1, 2, 3]), vec![json!([1, 2, 3])]),
        (json!([[1, 2], [3]]), vec![json!([1, 2]), json!([3])]),
    ] {
        app.engine().forget_calls();
        let response = app.embed(json!({"model": EMBEDDING, "input": input})).await.json();
        let data = response["data"].as_array().unwrap();
        assert_eq!(data.len(), vectors.len(), "{response}");
        for (index, (entry, of)) in data.iter().zip(&vectors).enumerate() {
            assert_eq!(entry["index"], index);
            assert_eq!(floats(&entry["embedding"]), embedding_of(of, 8));
        }
        assert_eq!(app.engine().calls()[0].json()["input"], input);
    }
}

#[tokio::test]
async fn vectors_have_the_requested_encoding_even_if_the_engine_sends_another() {
    let app = TestApp::start().await;
    let expected = embedding_of(&json!("hi"), 8);
    for engine_sends in [None, Some(EmbedAs::Float), Some(EmbedAs::Base64)] {
        for requested in [None, Some("float"), Some("base64")] {
            app.engine().push(Script { embed_as: engine_sends, ..Script::default() });
            let body = json!({"model": EMBEDDING, "input": "hi", "encoding_format": requested});
            let response = app.embed(body).await.json();
            let embedding = &response["data"][0]["embedding"];
            let vector = if requested == Some("base64") { from_base64(embedding) } else { floats(embedding) };
            assert_eq!(vector, expected, "requested {requested:?}, engine sent {engine_sends:?}: {response}");
        }
    }
}

#[tokio::test]
async fn dimensions_are_obeyed_or_rejected() {
    let app = TestApp::start().await;
    let body = json!({"model": EMBEDDING, "input": "hi", "dimensions": 5});
    assert_eq!(floats(&app.embed(body.clone()).await.json()["data"][0]["embedding"]).len(), 5);
    app.engine().push(Script { dimensions_ignored: true, ..Script::default() });
    assert_eq!(error_line(&app.embed(body).await), "422 invalid_value dimensions");
}

#[tokio::test]
async fn a_response_without_vectors_is_not_passed_on() {
    let app = TestApp::start().await;
    for body in [r#"{"object":"list","data":[],"model":"m"}"#, r#"{"error":{"message":"no"}}"#, "[]", "{"] {
        app.engine().push(Script { raw_body: Some(body.to_owned()), ..Script::default() });
        let response = app.embed(json!({"model": EMBEDDING, "input": "hi"})).await;
        assert_eq!(error_line(&response), "502 bad_gateway", "{body}");
    }
}

#[tokio::test]
async fn a_model_serves_one_modality() {
    let app = TestApp::start().await;
    let response = app.embed(json!({"model": CHAT, "input": "hi"})).await;
    assert_eq!(error_line(&response), "422 invalid_value model");
    let response = app.ask(json!({"model": EMBEDDING, "messages": [{"role": "user", "content": "hi"}]})).await;
    assert_eq!(error_line(&response), "422 invalid_value model");
    let message = "`model` names a model for embeddings, not for chat; it supports: embeddings";
    assert_eq!(response.json()["error"]["message"], message);
    assert!(app.engine().calls().is_empty());
}
