//! The conversation as templates want it: roles that they know, and content as one text.

use crate::members::Members;
use crate::refusal::Refusal;
use serde_json::{Map, Value};

/// Checks the messages and makes each content a plain string.
pub(super) fn plain(messages: &[Value]) -> Result<Vec<Value>, Refusal> {
    if messages.is_empty() {
        return Err(Refusal::invalid("messages", "must have at least one message"));
    }
    messages.iter().enumerate().map(|(index, message)| plain_message(message, &format!("messages[{index}]"))).collect()
}

fn plain_message(message: &Value, path: &str) -> Result<Value, Refusal> {
    let object = message.as_object().ok_or_else(|| Refusal::invalid(path, "must be an object"))?;
    let members = Members::inside(object, path);
    let role = members.text("role")?.ok_or_else(|| Refusal::Missing { param: members.path("role") })?;
    let role = match role {
        "developer" | "system" => "system",
        "user" | "assistant" | "tool" => role,
        "function" => return Err(Refusal::unsupported(members.path("role"), "use the role `tool`")),
        _ => return Err(members.invalid("role", "must be one of developer, system, user, assistant, tool")),
    };
    let content = match members.get("content") {
        Some(content) => text_of(content, &members.path("content"))?,
        None if role == "assistant" => String::new(),
        None => return Err(Refusal::Missing { param: members.path("content") }),
    };
    let mut plain: Map<String, Value> = object.clone();
    plain.retain(|_, value| !value.is_null());
    plain.insert("role".to_owned(), role.into());
    plain.insert("content".to_owned(), content.into());
    if let Some(calls) = members.list("tool_calls")? {
        let path = members.path("tool_calls");
        let calls = calls.iter().enumerate().map(|(index, call)| plain_call(call, &format!("{path}[{index}]")));
        plain.insert("tool_calls".to_owned(), calls.collect::<Result<_, _>>()?);
    }
    Ok(Value::Object(plain))
}

/// An earlier call of a tool: clients send its arguments as text with JSON in it, templates want the JSON.
fn plain_call(call: &Value, path: &str) -> Result<Value, Refusal> {
    let mut call = call.clone();
    let Some(arguments) = call.pointer_mut("/function/arguments") else {
        return Err(Refusal::Missing { param: format!("{path}.function.arguments") });
    };
    if let Some(text) = arguments.as_str() {
        let read = if text.is_empty() { Ok(Map::new()) } else { serde_json::from_str(text) };
        let problem = "must be a string with a JSON object in it";
        *arguments = Value::Object(read.map_err(|_| Refusal::invalid(format!("{path}.function.arguments"), problem))?);
    }
    Ok(call)
}

/// The text of a content: a string, or the text parts one after another.
fn text_of(content: &Value, path: &str) -> Result<String, Refusal> {
    match content {
        Value::String(text) => Ok(text.clone()),
        Value::Array(parts) => {
            let parts = parts.iter().enumerate().map(|(index, part)| text_of_part(part, &format!("{path}[{index}]")));
            parts.collect()
        }
        _ => Err(Refusal::invalid(path, "must be a string or an array of parts")),
    }
}

fn text_of_part(part: &Value, path: &str) -> Result<String, Refusal> {
    let object = part.as_object().ok_or_else(|| Refusal::invalid(path, "must be an object"))?;
    let members = Members::inside(object, path);
    let text =
        |name| members.text(name)?.map(str::to_owned).ok_or_else(|| Refusal::Missing { param: members.path(name) });
    match members.text("type")? {
        Some("text") => text("text"),
        Some("refusal") => text("refusal"),
        Some(other) => {
            Err(Refusal::unsupported(members.path("type"), format!("this engine reads text, not `{other}`")))
        }
        None => Err(Refusal::Missing { param: members.path("type") }),
    }
}

#[cfg(test)]
mod tests {
    use super::plain;
    use serde_json::json;

    #[test]
    fn parts_become_one_text_and_developers_speak_as_the_system() {
        let parts = json!([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]);
        let messages = [json!({"role": "developer", "content": parts, "name": null}), json!({"role": "assistant"})];
        let expected = [json!({"role": "system", "content": "ab"}), json!({"role": "assistant", "content": ""})];
        assert_eq!(plain(&messages).unwrap(), expected);
    }

    #[test]
    fn templates_get_the_arguments_of_earlier_calls_as_json() {
        let call = |arguments: serde_json::Value| {
            let call = json!({"id": "1", "type": "function", "function": {"name": "f", "arguments": arguments}});
            [json!({"role": "assistant", "content": null, "tool_calls": [call]})]
        };
        let plain_arguments =
            |arguments| plain(&call(arguments)).map(|plain| plain[0]["tool_calls"][0]["function"]["arguments"].clone());
        assert_eq!(plain_arguments(json!("{\"a\": 1}")), Ok(json!({"a": 1})));
        assert_eq!(plain_arguments(json!("")), Ok(json!({})));
        assert_eq!(plain_arguments(json!({"a": 1})), Ok(json!({"a": 1})));
        let refusal = plain_arguments(json!("not json")).unwrap_err();
        assert_eq!(refusal.param(), "messages[0].tool_calls[0].function.arguments");
    }

    #[test]
    fn what_cannot_be_read_is_told_with_its_path() {
        let image = json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}]);
        for (messages, param) in [
            (json!([]), "messages"),
            (json!([{"content": "x"}]), "messages[0].role"),
            (json!([{"role": "king", "content": "x"}]), "messages[0].role"),
            (json!([{"role": "user"}]), "messages[0].content"),
            (image, "messages[0].content[0].type"),
        ] {
            assert_eq!(plain(messages.as_array().unwrap()).unwrap_err().param(), param);
        }
    }
}
