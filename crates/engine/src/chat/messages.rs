//! Normalizes messages for chat templates: known roles, and content as one string.

use crate::error::RequestError;
use crate::members::Members;
use serde_json::{Map, Value};

/// Validates the messages and converts each content to a string.
pub(super) fn normalize(messages: &[Value]) -> Result<Vec<Value>, RequestError> {
    if messages.is_empty() {
        return Err(RequestError::invalid("messages", "must have at least one message"));
    }
    messages
        .iter()
        .enumerate()
        .map(|(index, message)| normalize_message(message, &format!("messages[{index}]")))
        .collect()
}

fn normalize_message(message: &Value, path: &str) -> Result<Value, RequestError> {
    let object = message.as_object().ok_or_else(|| RequestError::invalid(path, "must be an object"))?;
    let members = Members::inside(object, path);
    let role = members.text("role")?.ok_or_else(|| RequestError::Missing { param: members.path("role") })?;
    let role = match role {
        "developer" | "system" => "system",
        "user" | "assistant" | "tool" => role,
        "function" => return Err(RequestError::unsupported(members.path("role"), "use the role `tool`")),
        _ => return Err(members.invalid("role", "must be one of developer, system, user, assistant, tool")),
    };
    let content = match members.get("content") {
        Some(content) => text_of(content, &members.path("content"))?,
        None if role == "assistant" => String::new(),
        None => return Err(RequestError::Missing { param: members.path("content") }),
    };
    let mut plain: Map<String, Value> = object.clone();
    plain.retain(|_, value| !value.is_null());
    plain.insert("role".to_owned(), role.into());
    plain.insert("content".to_owned(), content.into());
    if let Some(calls) = members.list("tool_calls")? {
        let path = members.path("tool_calls");
        let calls = calls.iter().enumerate().map(|(index, call)| normalize_call(call, &format!("{path}[{index}]")));
        plain.insert("tool_calls".to_owned(), calls.collect::<Result<_, _>>()?);
    }
    Ok(Value::Object(plain))
}

/// Parses the arguments of an earlier tool call: clients send a string with JSON, templates expect the JSON.
fn normalize_call(call: &Value, path: &str) -> Result<Value, RequestError> {
    let mut call = call.clone();
    let Some(arguments) = call.pointer_mut("/function/arguments") else {
        return Err(RequestError::Missing { param: format!("{path}.function.arguments") });
    };
    if let Some(text) = arguments.as_str() {
        let read = if text.is_empty() { Ok(Map::new()) } else { serde_json::from_str(text) };
        let problem = "must be a string containing a JSON object";
        *arguments =
            Value::Object(read.map_err(|_| RequestError::invalid(format!("{path}.function.arguments"), problem))?);
    }
    Ok(call)
}

/// Text of a content: a string, or concatenated text parts.
fn text_of(content: &Value, path: &str) -> Result<String, RequestError> {
    match content {
        Value::String(text) => Ok(text.clone()),
        Value::Array(parts) => {
            let parts = parts.iter().enumerate().map(|(index, part)| text_of_part(part, &format!("{path}[{index}]")));
            parts.collect()
        }
        _ => Err(RequestError::invalid(path, "must be a string or an array of parts")),
    }
}

fn text_of_part(part: &Value, path: &str) -> Result<String, RequestError> {
    let object = part.as_object().ok_or_else(|| RequestError::invalid(path, "must be an object"))?;
    let members = Members::inside(object, path);
    let text = |name| {
        members.text(name)?.map(str::to_owned).ok_or_else(|| RequestError::Missing { param: members.path(name) })
    };
    match members.text("type")? {
        Some("text") => text("text"),
        Some("refusal") => text("refusal"),
        Some(other) => Err(RequestError::unsupported(
            members.path("type"),
            format!("this engine only supports text, not `{other}`"),
        )),
        None => Err(RequestError::Missing { param: members.path("type") }),
    }
}

#[cfg(test)]
mod tests {
    use super::normalize;
    use serde_json::json;

    #[test]
    fn parts_are_joined_and_developer_becomes_system() {
        let parts = json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
        let messages = [json!({"role": "developer", "content": parts, "name": null}), json!({"role": "assistant"})];
        let expected = [json!({"role": "system", "content": "ab"}), json!({"role": "assistant", "content": ""})];
        assert_eq!(normalize(&messages).unwrap(), expected);
    }

    #[test]
    fn arguments_of_earlier_calls_become_json() {
        let call = |arguments: serde_json::Value| {
            let call = json!({"id": "1", "type": "function", "function": {"name": "f", "arguments": arguments}});
            [json!({"role": "assistant", "content": null, "tool_calls": [call]})]
        };
        let plain_arguments = |arguments| {
            normalize(&call(arguments)).map(|plain| plain[0]["tool_calls"][0]["function"]["arguments"].clone())
        };
        assert_eq!(plain_arguments(json!("{\"a\": 1}")), Ok(json!({"a": 1})));
        assert_eq!(plain_arguments(json!("")), Ok(json!({})));
        assert_eq!(plain_arguments(json!({"a": 1})), Ok(json!({"a": 1})));
        let error = plain_arguments(json!("not json")).unwrap_err();
        assert_eq!(error.param(), "messages[0].tool_calls[0].function.arguments");
    }

    #[test]
    fn errors_contain_the_path() {
        let image = json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}]);
        for (messages, param) in [
            (json!([]), "messages"),
            (json!([{"content": "x"}]), "messages[0].role"),
            (json!([{"role": "king", "content": "x"}]), "messages[0].role"),
            (json!([{"role": "user"}]), "messages[0].content"),
            (image, "messages[0].content[0].type"),
        ] {
            assert_eq!(normalize(messages.as_array().unwrap()).unwrap_err().param(), param);
        }
    }
}
