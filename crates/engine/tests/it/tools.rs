//! Tool calls, voluntary and forced.

use crate::engine::{Engine, greedy, with};
use serde_json::{Value, json};
use std::fs;
use tempfile::TempDir;
use testkit::http::Event;

/// The starter model's template has no tools; this one renders them like Hermes and Qwen.
const TEMPLATE: &str = r#"{% if tools %}<|im_start|>system
You may call functions. The functions are:
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}Return each call as <tool_call>{"name": ..., "arguments": ...}</tool_call>.<|im_end|>
{% endif %}{% for message in messages %}<|im_start|>{{ message.role }}
{{ message.content }}{% for call in message.tool_calls %}<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endfor %}<|im_start|>assistant
"#;

struct WithTools {
    engine: Engine,
    _folder: TempDir,
}

impl WithTools {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let template = folder.path().join("tools.jinja");
        fs::write(&template, TEMPLATE).unwrap();
        let engine = Engine::chat(&["--chat-template", template.to_str().unwrap()]).await;
        Self { engine, _folder: folder }
    }

    async fn choice(&self, members: Value) -> Value {
        let response = self.engine.chat_call(with(weather(), members)).await;
        assert_eq!(response.status, 200, "{}", response.text());
        response.json()["choices"][0].clone()
    }

    async fn stream(&self, members: Value) -> Vec<Value> {
        let call = with(with(weather(), members), json!({"stream": true}));
        let (events, clean) = self.engine.client.open_stream("/v1/chat/completions", call).await.rest().await;
        assert!(clean && events.last().unwrap().is_done());
        events[..events.len() - 1].iter().map(Event::json).collect()
    }
}

fn weather() -> Value {
    let parameters = json!({
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 20}, "unit": {"$ref": "#/$defs/unit"}},
        "required": ["city", "unit"],
        "additionalProperties": false,
        "$defs": {"unit": {"enum": ["celsius", "fahrenheit"]}},
    });
    let time = json!({"type": "function", "function": {"name": "get_time"}});
    let weather = json!({"type": "function", "function": {"name": "get_weather", "parameters": parameters}});
    with(greedy("What is the weather in Paris?", 80), json!({"tools": [time, weather]}))
}

/// A conversation with earlier calls that the model continues.
fn earlier_calls() -> Value {
    let call = |city: &str| {
        let arguments = json!({"city": city, "unit": "celsius"}).to_string();
        let function = json!({"name": "get_weather", "arguments": arguments});
        json!([
            {"role": "user", "content": format!("Weather in {city}?")},
            {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function", "function": function}]},
        ])
    };
    let earlier = ["Rome", "Oslo", "Madrid"].map(call);
    let mut messages: Vec<Value> = earlier.iter().flat_map(|turn| turn.as_array().unwrap().clone()).collect();
    messages.push(json!({"role": "user", "content": "Weather in Paris?"}));
    json!({"messages": messages})
}

fn arguments(call: &Value) -> Value {
    serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap()
}

#[tokio::test]
async fn a_forced_call_has_arguments_of_its_schema() {
    let tools = WithTools::start().await;
    let named = json!({"type": "function", "function": {"name": "get_weather"}});
    for seed in 0..3 {
        let choice = tools.choice(json!({"tool_choice": named, "temperature": 1.5, "seed": seed})).await;
        assert_eq!((&choice["finish_reason"], &choice["message"]["content"]), (&json!("tool_calls"), &Value::Null));
        let calls = choice["message"]["tool_calls"].as_array().unwrap();
        assert_eq!(
            (calls.len(), &calls[0]["function"]["name"], &calls[0]["type"]),
            (1, &json!("get_weather"), &json!("function"))
        );
        let arguments = arguments(&calls[0]);
        assert!(["celsius", "fahrenheit"].contains(&arguments["unit"].as_str().unwrap()), "{arguments}");
        assert!(arguments["city"].is_string() && arguments.as_object().unwrap().len() == 2);
    }
    let required = tools.choice(json!({"tool_choice": "required"})).await;
    let name = required["message"]["tool_calls"][0]["function"]["name"].as_str().unwrap();
    assert!(["get_time", "get_weather"].contains(&name), "{required}");
}

#[tokio::test]
async fn a_voluntary_call_is_returned_as_a_call() {
    let tools = WithTools::start().await;
    let choice = tools.choice(earlier_calls()).await;
    let calls = choice["message"]["tool_calls"].as_array().unwrap_or_else(|| panic!("{choice}"));
    assert_eq!(arguments(&calls[0])["city"], "Paris");
    assert_eq!((&choice["finish_reason"], &choice["message"]["content"]), (&json!("tool_calls"), &Value::Null));

    let without = tools.choice(with(earlier_calls(), json!({"tool_choice": "none"}))).await;
    assert!(without["message"].get("tool_calls").is_none() && without["message"]["content"].is_string(), "{without}");
}

#[tokio::test]
async fn streams_send_a_call_once_with_its_index_and_id() {
    let tools = WithTools::start().await;
    for members in [earlier_calls(), json!({"tool_choice": "required"})] {
        let chunks = tools.stream(members).await;
        let calls: Vec<&Value> =
            chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["tool_calls"].as_array()).flatten().collect();
        assert_eq!((calls.len(), &calls[0]["index"]), (1, &json!(0)), "{chunks:?}");
        assert!(calls[0]["id"].as_str().unwrap().starts_with("call_"));
        assert!(arguments(calls[0]).is_object());
        let texts: Vec<&str> =
            chunks.iter().filter_map(|chunk| chunk["choices"][0]["delta"]["content"].as_str()).collect();
        assert_eq!(texts, [""], "the call is not sent as text");
        assert_eq!(chunks.last().unwrap()["choices"][0]["finish_reason"], "tool_calls");
    }
}

#[tokio::test]
async fn invalid_tools_are_rejected_with_the_parameter() {
    let tools = WithTools::start().await;
    let unknown = json!({"type": "function", "function": {"name": "get_weather", "parameters": {"type": "nothing"}}});
    for (members, param) in [
        (json!({"tool_choice": {"type": "function", "function": {"name": "other"}}}), "tool_choice.function.name"),
        (json!({"tool_choice": "required", "tools": [unknown]}), "tools"),
        (json!({"tool_choice": "required", "response_format": {"type": "json_object"}}), "response_format"),
        (json!({"tool_choice": "required", "ignore_eos": true}), "ignore_eos"),
    ] {
        let response = tools.engine.chat_call(with(weather(), members.clone())).await;
        assert_eq!(
            (response.status.as_u16(), response.json()["error"]["param"].as_str()),
            (422, Some(param)),
            "{members}"
        );
    }
}
