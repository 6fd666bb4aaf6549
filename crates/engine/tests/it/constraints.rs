//! Constrained output is valid JSON.

use crate::engine::{Engine, content, greedy, with};
use serde_json::{Value, json};

#[tokio::test]
async fn output_with_a_schema_parses_and_has_its_members_in_order() {
    let engine = Engine::chat(&[]).await;
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "maxLength": 20},
            "age": {"type": "integer", "minimum": 0, "maximum": 120},
            "colour": {"enum": ["red", "green", "blue"]},
        },
        "required": ["name", "age", "colour"],
        "additionalProperties": false,
    });
    let format = json!({"type": "json_schema", "json_schema": {"name": "person", "schema": schema, "strict": true}});
    for seed in 0..3 {
        let settings = json!({"response_format": format, "temperature": 1.0, "seed": seed});
        let response = engine.chat_call(with(greedy("Describe a person as JSON.", 120), settings)).await;
        let person: Value = serde_json::from_str(&content(&response)).unwrap_or_else(|_| panic!("{}", response.text()));
        let names: Vec<&String> = person.as_object().unwrap().keys().collect();
        assert_eq!(names, ["name", "age", "colour"]);
        assert!(person["age"].as_u64().unwrap() <= 120);
        assert_eq!(response.json()["choices"][0]["finish_reason"], "stop");
    }
}

#[tokio::test]
async fn json_object_allows_any_object() {
    let engine = Engine::chat(&[]).await;
    let format = json!({"response_format": {"type": "json_object"}});
    // The examples make the model stop after the object.
    let turn = |country: &str| json!({"role": "user", "content": format!("Give the capital of {country} as JSON.")});
    let given = |city: &str| json!({"role": "assistant", "content": json!({"capital": city}).to_string()});
    let messages = [turn("France"), given("Paris"), turn("Spain"), given("Madrid"), turn("Italy")];
    let response = engine.chat_call(with(with(greedy("", 100), format.clone()), json!({"messages": messages}))).await;
    let object: Value = serde_json::from_str(&content(&response)).unwrap_or_else(|_| panic!("{}", response.text()));
    assert!(object["capital"].is_string(), "{object}");
    assert_eq!(response.json()["choices"][0]["finish_reason"], "stop");
    // Without the format, the response begins with a word.
    let question = greedy("Name the capital city of Japan.", 8);
    assert!(!content(&engine.chat_call(question.clone()).await).contains('{'));
    assert!(content(&engine.chat_call(with(question, format)).await).starts_with('{'));
}

#[tokio::test]
async fn unsupported_schemas_are_rejected() {
    let engine = Engine::chat(&[]).await;
    for (schema, status) in [
        (json!("text"), 422),
        (json!({"type": "nothing"}), 422),
        (json!({"type": "object", "unevaluatedProperties": false}), 422),
    ] {
        let format = json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema}});
        let response = engine.chat_call(with(greedy("hi", 10), json!({"response_format": format}))).await;
        assert_eq!(response.status.as_u16(), status, "{schema} {}", response.text());
        assert_eq!(response.json()["error"]["param"], "response_format.json_schema.schema");
    }
}
