//! The bound on schemas in requests of other APIs.

use super::fuzz_tests::{messages, responses};
use serde_json::{Value, json};

/// The member that is too large, or `fine`.
fn rejected(is_messages: bool, members: &Value) -> String {
    let mut body = json!({"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "a"}]});
    if !is_messages {
        body = json!({"model": "m", "input": "a"});
    }
    body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    let body = body.to_string();
    let translated = if is_messages { messages(body.as_bytes()) } else { responses(body.as_bytes()) };
    translated.unwrap().0.invalid.map_or_else(|| "fine".into(), |invalid| invalid.param)
}

#[test]
fn schemas_have_a_bound_in_every_api() {
    let large = json!({"type": "object", "title": "x".repeat(300_000)});
    let format = json!({"type": "json_schema", "name": "a", "schema": large});
    let tool = json!({"type": "function", "name": "a", "parameters": large});
    for (choice, expected) in [(json!("auto"), "fine"), (json!("required"), "tools")] {
        assert_eq!(rejected(false, &json!({"tools": [tool], "tool_choice": choice})), expected);
    }
    assert_eq!(rejected(false, &json!({"text": {"format": format}})), "text.format");

    let format = json!({"type": "json_schema", "schema": large});
    let tool = json!({"name": "a", "input_schema": large});
    for (choice, expected) in [("auto", "fine"), ("any", "tools")] {
        assert_eq!(rejected(true, &json!({"tools": [tool], "tool_choice": {"type": choice}})), expected);
    }
    let named = json!({"type": "tool", "name": "a"});
    assert_eq!(rejected(true, &json!({"tools": [tool], "tool_choice": named})), "tools");
    assert_eq!(rejected(true, &json!({"output_config": {"format": format}})), "output_config.format");
}
