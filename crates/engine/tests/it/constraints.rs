//! Answers that must be JSON are JSON.

use crate::engine::{Engine, content, greedy, with};
use serde_json::{Value, json};

#[tokio::test]
async fn an_answer_with_a_schema_parses_and_has_its_members_in_order() {
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
        let answer = engine.ask(with(greedy("Describe a person as JSON.", 120), settings)).await;
        let person: Value = serde_json::from_str(&content(&answer)).unwrap_or_else(|_| panic!("{}", answer.text()));
        let names: Vec<&String> = person.as_object().unwrap().keys().collect();
        assert_eq!(names, ["name", "age", "colour"]);
        assert!(person["age"].as_u64().unwrap() <= 120);
        assert_eq!(answer.json()["choices"][0]["finish_reason"], "stop");
    }
}

#[tokio::test]
async fn any_json_object_will_do_for_json_object() {
    let engine = Engine::chat(&[]).await;
    let call =
        with(greedy("Give the capital of France as JSON.", 200), json!({"response_format": {"type": "json_object"}}));
    let answer = engine.ask(call).await;
    let text = content(&answer);
    assert!(text.starts_with('{'), "{text}");
    if answer.json()["choices"][0]["finish_reason"] == "stop" {
        assert!(serde_json::from_str::<Value>(&text).unwrap().is_object());
    }
}

#[tokio::test]
async fn a_schema_that_cannot_be_kept_is_refused() {
    let engine = Engine::chat(&[]).await;
    for (schema, status) in [
        (json!("text"), 422),
        (json!({"type": "nothing"}), 422),
        (json!({"type": "object", "unevaluatedProperties": false}), 422),
    ] {
        let format = json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema}});
        let answer = engine.ask(with(greedy("hi", 10), json!({"response_format": format}))).await;
        assert_eq!(answer.status.as_u16(), status, "{schema} {}", answer.text());
        assert_eq!(answer.json()["error"]["param"], "response_format.json_schema.schema");
    }
}
