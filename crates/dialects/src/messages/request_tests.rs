#![expect(clippy::needless_pass_by_value, reason = "callers pass literals")]

use super::{MessageOptions, MessagesRequest};
use crate::{NativeHead, Traits, Translation};
use domain::model::ThinkingSwitch;
use domain::usage::Tokens;
use expect_test::expect;
use json::ParseError;
use proptest::prelude::*;
use serde_json::{Value, json};

const TRAITS: Traits = Traits {
    context_length: 1000,
    thinking: ThinkingSwitch::None,
    merge_system: false,
    is_native: false,
    has_flex: false,
};

fn translate(body: &Value, traits: Traits) -> Result<Translation<MessageOptions>, ParseError> {
    MessagesRequest::parse(body.to_string().into())?.into_chat(traits, "msg_1".into())
}

/// A request with these members besides the required ones.
fn request(members: Value) -> Value {
    let mut body = json!({"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]});
    body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    body
}

fn chat_with(members: Value, traits: Traits) -> Value {
    let translation = translate(&request(members), traits).unwrap();
    assert_eq!(translation.invalid, None);
    serde_json::from_slice(&translation.body).unwrap()
}

fn chat(members: Value) -> Value {
    chat_with(members, TRAITS)
}

fn messages(messages: Value) -> Value {
    chat(json!({"messages": messages}))["messages"].clone()
}

#[test]
fn a_plain_request() {
    expect![[r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#]]
        .assert_eq(str::from_utf8(&translate(&request(json!({})), TRAITS).unwrap().body).unwrap());
}

#[test]
fn members_become_those_of_chat_and_unknown_ones_are_left_out() {
    let body = chat(json!({
        "stream": true, "temperature": 0.5, "top_p": 0.9, "top_k": 40, "stop_sequences": ["a", "\n"],
        "metadata": {"user_id": "anna"}, "system": "Be brief.", "context_management": {"edits": []}, "n_predict": 9,
        "thinking": {"type": "adaptive"}, "output_config": {"effort": "high"}, "service_tier": "auto",
    }));
    expect![[r#"{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"hi"}],"stream":true,"stream_options":{"include_usage":true},"temperature":0.5,"top_p":0.9,"top_k":40,"stop":["a","\n"],"user":"55579b557896d0ce1764c47fed644f9b35f58bad620674af23f356d80ed0c503"}"#]]
    .assert_eq(&body.to_string());
}

#[test]
fn system_prompts_are_joined_without_the_billing_header() {
    let system = json!([
        {"type": "text", "text": "x-anthropic-billing-header: cc_version=1; cch=abc"},
        {"type": "text", "text": "One.", "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "Two."},
    ]);
    let chat_messages = chat(json!({"system": system}))["messages"].clone();
    assert_eq!(chat_messages[0], json!({"role": "system", "content": "One.\nTwo."}));

    let inner = json!({"system": "One.", "messages": [
        {"role": "user", "content": "hi"}, {"role": "system", "content": [{"type": "text", "text": "Two."}]},
        {"role": "assistant", "content": "ok"}]});
    let roles = |body: &Value| -> Vec<String> {
        let all = body["messages"].as_array().unwrap().iter();
        all.map(|message| message["role"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(roles(&chat(inner.clone())), ["system", "user", "system", "assistant"]);
    let merged = chat_with(inner, Traits { merge_system: true, ..TRAITS });
    assert_eq!(roles(&merged), ["system", "user", "assistant"]);
    assert_eq!(merged["messages"][0]["content"], "One.\nTwo.");
}

#[test]
fn a_tool_loop() {
    let history = json!([
        {"role": "user", "content": [{"type": "text", "text": "Read both."}]},
        {"role": "assistant", "content": [
            {"type": "thinking", "thinking": "hm", "signature": "x"}, {"type": "redacted_thinking", "data": "x"},
            {"type": "text", "text": "Sure."},
            {"type": "tool_use", "id": "a", "name": "read", "input": {"path": "\"x\""}},
            {"type": "tool_use", "id": "b", "name": "read", "input": {}}]},
        {"role": "user", "content": [
            {"type": "text", "text": "And now?"},
            {"type": "tool_result", "tool_use_id": "a", "content": [
                {"type": "text", "text": "1"}, {"type": "text", "text": "2"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}]},
            {"type": "tool_result", "tool_use_id": "b", "is_error": true, "content": "no such file"},
            {"type": "tool_result", "tool_use_id": "c"}]},
    ]);
    let expected = json!([
        {"role": "user", "content": "Read both."},
        {"role": "assistant", "content": "Sure.", "reasoning_content": "hm", "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "read", "arguments": r#"{"path":"\"x\""}"#}},
            {"id": "b", "type": "function", "function": {"name": "read", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "a", "content": "1\n2"},
        {"role": "tool", "tool_call_id": "b", "content": "Error: no such file"},
        {"role": "tool", "tool_call_id": "c", "content": ""},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
        {"role": "user", "content": "And now?"},
    ]);
    assert_eq!(messages(history), expected);
}

/// The JSON text with all small letters inside of strings escaped.
fn escaped(json: &Value) -> String {
    let mut is_inside = false;
    let escape = |letter: char| {
        is_inside ^= letter == '"';
        match letter {
            'a'..='z' if is_inside => format!("\\u{:04x}", u32::from(letter)),
            _ => letter.to_string(),
        }
    };
    json.to_string().chars().map(escape).collect()
}

#[test]
fn escapes_change_nothing() {
    let image = json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}});
    let body = request(json!({
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "hi"}, image]},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm"}, {"type": "tool_use", "id": "a", "name": "read", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "is_error": true, "content": [image]}]},
            {"role": "system", "content": "Go on."},
        ],
        "tools": [{"name": "read", "description": "reads", "input_schema": {}}],
        "tool_choice": {"type": "tool", "name": "read", "disable_parallel_tool_use": true},
        "thinking": {"type": "disabled"}, "output_config": {"effort": "high"}, "stop_sequences": ["end"],
        "metadata": {"user_id": "anna"}, "stream": true,
    }));
    let traits = Traits { thinking: ThinkingSwitch::ReasoningEffort, ..TRAITS };
    let chats = [body.to_string(), escaped(&body)].map(|text| {
        let translation = MessagesRequest::parse(text.into()).unwrap().into_chat(traits, "msg_1".into()).unwrap();
        assert_eq!(translation.invalid, None);
        serde_json::from_slice::<Value>(&translation.body).unwrap()
    });
    assert_eq!(chats[0], chats[1]);
    assert_eq!(chats[0]["messages"].as_array().unwrap().len(), 6);
}

#[test]
fn a_user_id_that_appears_twice_is_invalid() {
    let body = r#"{"model":"m","max_tokens":5,"messages":[{"role":"user","content":"hi"}],
        "metadata":{"user_id":"a","user_id":"b"}}"#;
    let translation = MessagesRequest::parse(body.into()).unwrap().into_chat(TRAITS, "msg_1".into()).unwrap();
    assert_eq!(translation.invalid.unwrap().param, "metadata.user_id");
}

#[test]
fn images_keep_their_place_among_the_text() {
    let content = json!([{"type": "text", "text": "This:"},
        {"type": "image", "source": {"type": "url", "url": "https://a/b.png"}}, {"type": "text", "text": "What is it?"}]);
    let body = request(json!({"messages": [{"role": "user", "content": content}]}));
    let translation = translate(&body, TRAITS).unwrap();
    let chat: Value = serde_json::from_slice(&translation.body).unwrap();
    let expected = json!([{"type": "text", "text": "This:"},
        {"type": "image_url", "image_url": {"url": "https://a/b.png"}}, {"type": "text", "text": "What is it?"}]);
    assert_eq!(chat["messages"][0]["content"], expected);
    assert_eq!(translation.remote_media.as_deref(), Some("messages[0].content[1].source.url"));
}

#[test]
fn tools_and_their_choice() {
    let schema = json!({"type": "object", "properties": {}});
    let tools = json!([{"name": "read", "description": "Reads", "input_schema": schema, "defer_loading": true},
        {"type": "web_search_20250305", "name": "web_search"}, {"type": "custom", "name": "w", "input_schema": {}}]);
    for (choice, expected) in [
        (Value::Null, json!([null, null])),
        (json!({"type": "auto"}), json!(["auto", null])),
        (json!({"type": "any", "disable_parallel_tool_use": true}), json!(["required", false])),
        (json!({"type": "none"}), json!(["none", null])),
        (json!({"type": "tool", "name": "w"}), json!([{"type": "function", "function": {"name": "w"}}, null])),
    ] {
        let body = request(json!({"tools": tools, "tool_choice": choice}));
        let translation = translate(&body, TRAITS).unwrap();
        assert_eq!(translation.left_out_tools, ["web_search_20250305"]);
        let chat: Value = serde_json::from_slice(&translation.body).unwrap();
        assert_eq!(json!([chat["tool_choice"], chat["parallel_tool_calls"]]), expected);
        let functions = json!([
            {"type": "function", "function": {"name": "read", "description": "Reads", "parameters": schema}},
            {"type": "function", "function": {"name": "w", "parameters": {}}}]);
        assert_eq!(chat["tools"], functions);
    }
    let only_server_tools =
        json!({"tools": [{"type": "bash_20250124", "name": "bash"}], "tool_choice": {"type": "any"}});
    let body = chat(only_server_tools);
    assert!(body.get("tools").is_none() && body.get("tool_choice").is_none());
}

#[test]
fn thinking_becomes_the_switch_of_the_model() {
    let switched = |switch, members: Value| {
        let body = chat_with(members, Traits { thinking: switch, ..TRAITS });
        format!("{} {}", body["reasoning_effort"], body["chat_template_kwargs"])
    };
    let enabled = json!({"thinking": {"type": "enabled", "budget_tokens": 1024}});
    let adaptive = json!({"thinking": {"type": "adaptive"}, "output_config": {"effort": "max"}});
    let disabled = json!({"thinking": {"type": "disabled"}});
    for (switch, expected) in [
        (ThinkingSwitch::None, ["null null"; 4]),
        (ThinkingSwitch::ReasoningEffort, ["\"low\" null", "\"max\" null", "\"none\" null", "null null"]),
        (
            ThinkingSwitch::EnableThinking,
            [
                r#"null {"enable_thinking":true}"#,
                r#"null {"enable_thinking":true}"#,
                r#"null {"enable_thinking":false}"#,
                "null null",
            ],
        ),
    ] {
        let all = [&enabled, &adaptive, &disabled, &json!({})];
        assert_eq!(all.map(|members| switched(switch, members.clone())), expected);
    }
    let omitted = json!({"thinking": {"type": "adaptive", "display": "omitted"}});
    assert!(translate(&request(omitted), TRAITS).unwrap().options.omits_thinking);
}

#[test]
fn a_format_becomes_the_response_format() {
    let schema = json!({"type": "object"});
    let body = chat(json!({"output_config": {"format": {"type": "json_schema", "schema": schema}}}));
    let expected =
        json!({"type": "json_schema", "json_schema": {"name": "response", "schema": schema, "strict": true}});
    assert_eq!(body["response_format"], expected);
}

fn problem(members: Value) -> String {
    match translate(&request(members), TRAITS) {
        Err(ParseError::Missing { param }) => format!("missing {param}"),
        Err(other) => format!("{other:?}"),
        Ok(translation) => translation.invalid.map_or("none".into(), |invalid| format!("invalid {}", invalid.param)),
    }
}

#[test]
fn problems_name_the_member_of_the_client() {
    let block =
        |block: Value| json!({"messages": [{"role": "user", "content": [{"type": "text", "text": "x"}, block]}]});
    let assistant = |block: Value| json!({"messages": [{"role": "assistant", "content": [block]}]});
    for (members, expected) in [
        (json!({"max_tokens": null}), "missing max_tokens"),
        (json!({"model": null}), "missing model"),
        (json!({"messages": null}), "missing messages"),
        (json!({"model": 1}), "invalid model"),
        (json!({"max_tokens": 0}), "invalid max_tokens"),
        (json!({"max_tokens": "9"}), "invalid max_tokens"),
        (json!({"messages": []}), "invalid messages"),
        (json!({"messages": "hi"}), "invalid messages"),
        (json!({"messages": [1]}), "invalid messages[0]"),
        (json!({"messages": [{"content": "x"}]}), "missing messages[0].role"),
        (json!({"messages": [{"role": "user"}]}), "missing messages[0].content"),
        (json!({"messages": [{"role": "tool", "content": "x"}]}), "invalid messages[0].role"),
        (json!({"messages": [{"role": "user", "content": 1}]}), "invalid messages[0].content"),
        (block(json!({"type": "document", "source": {}})), "invalid messages[0].content[1].type"),
        (
            block(json!({"type": "tool_use", "id": "a", "name": "f", "input": {}})),
            "invalid messages[0].content[1].type",
        ),
        (block(json!({"text": "x"})), "missing messages[0].content[1].type"),
        (block(json!({"type": "text"})), "missing messages[0].content[1].text"),
        (block(json!({"type": "image"})), "missing messages[0].content[1].source"),
        (block(json!({"type": "image", "source": {"type": "file"}})), "invalid messages[0].content[1].source.type"),
        (
            block(json!({"type": "image", "source": {"type": "base64", "data": "x"}})),
            "missing messages[0].content[1].source.media_type",
        ),
        (block(json!({"type": "tool_result"})), "missing messages[0].content[1].tool_use_id"),
        (
            block(json!({"type": "tool_result", "tool_use_id": "a", "content": [{"type": "document"}]})),
            "invalid messages[0].content[1].content[0].type",
        ),
        (
            assistant(json!({"type": "tool_use", "id": "a", "name": "f", "input": 1})),
            "invalid messages[0].content[0].input",
        ),
        (assistant(json!({"type": "tool_use", "name": "f", "input": {}})), "missing messages[0].content[0].id"),
        (assistant(json!({"type": "tool_use", "id": "a", "name": "f g"})), "invalid messages[0].content[0].name"),
        (json!({"system": 1}), "invalid system"),
        (json!({"system": [{"type": "image"}]}), "invalid system[0].type"),
        (json!({"tools": [{"input_schema": {}}]}), "missing tools[0].name"),
        (json!({"tools": [{"name": "a b", "input_schema": {}}]}), "invalid tools[0].name"),
        (json!({"tools": [{"name": "a"}]}), "missing tools[0].input_schema"),
        (json!({"tool_choice": {"type": "tool"}}), "missing tool_choice.name"),
        (json!({"tool_choice": {"type": "some"}}), "invalid tool_choice.type"),
        (json!({"temperature": 3}), "invalid temperature"),
        (json!({"stop_sequences": ["1", "2", "3", "4", "5"]}), "invalid stop_sequences"),
        (json!({"stop_sequences": [1]}), "invalid stop_sequences[0]"),
        (json!({"thinking": {"type": "much"}}), "invalid thinking.type"),
        (json!({"output_config": {"format": {"type": "json_schema"}}}), "missing output_config.format.schema"),
        (json!({"stream": "yes"}), "invalid stream"),
        (json!({"service_tier": 1}), "invalid service_tier"),
        (json!({"service_tier": "priority"}), "none"),
        (json!({"service_tier": null}), "none"),
        (json!({"metadata": null, "tools": null, "system": null, "thinking": null}), "none"),
        (json!({"metadata": {"user_id": null, "x": 1}, "betas": 1, "anthropic_version": "x"}), "none"),
    ] {
        assert_eq!(problem(members.clone()), expected, "{members}");
    }
}

fn any_block() -> impl Strategy<Value = Value> {
    let text = "[a-z\"\\\\\né🙂]{0,6}";
    prop_oneof![
        text.prop_map(|text| json!({"type": "text", "text": text})),
        text.prop_map(|text| json!({"type": "thinking", "thinking": text, "signature": ""})),
        ("[a-z]{1,3}", text)
            .prop_map(|(id, text)| json!({"type": "tool_use", "id": id, "name": "f", "input": {"x": text}})),
        ("[a-z]{1,3}", text).prop_map(|(id, text)| json!({"type": "tool_result", "tool_use_id": id, "content": text})),
        Just(json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA=="}})),
    ]
}

proptest! {
    /// All texts, calls and results arrive, in order, and the chat request needs no further checks.
    #[test]
    fn every_turn_arrives_whole(
        turns in prop::collection::vec((any::<bool>(), prop::collection::vec(any_block(), 0..6)), 1..5),
    ) {
        let is_written = |block: &Value| block["type"] == "tool_use" || block["type"] == "thinking";
        let is_received = |block: &Value| block["type"] == "tool_result" || block["type"] == "image";
        let mut sent = Vec::new();
        let (mut calls, mut results) = (Vec::new(), Vec::new());
        for (is_user, blocks) in turns {
            let fits = |block: &Value| if is_user { !is_written(block) } else { !is_received(block) };
            let blocks: Vec<Value> = blocks.into_iter().filter(fits).collect();
            calls.extend(blocks.iter().filter(|block| block["type"] == "tool_use").cloned());
            results.extend(blocks.iter().filter(|block| block["type"] == "tool_result").cloned());
            sent.push(json!({"role": if is_user { "user" } else { "assistant" }, "content": blocks}));
        }
        let chat_messages = messages(Value::Array(sent));
        let all = chat_messages.as_array().unwrap();
        let arrived = all.iter().filter_map(|message| message["tool_calls"].as_array()).flatten();
        let arrived: Vec<Value> = arrived
            .map(|call| {
                let input: Value = serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
                json!({"type": "tool_use", "id": call["id"], "name": call["function"]["name"], "input": input})
            })
            .collect();
        prop_assert_eq!(arrived, calls);
        let received = all.iter().filter(|message| message["role"] == "tool");
        let received: Vec<Value> = received
            .map(|message| json!({"type": "tool_result", "tool_use_id": message["tool_call_id"], "content": message["content"]}))
            .collect();
        prop_assert_eq!(received, results);
    }

    #[test]
    fn no_input_panics(body in r#"(\{"model":"m","max_tokens":5,"messages":\[)?[\{\}\[\]":,a-z0-9\\]{0,60}"#) {
        if let Ok(request) = MessagesRequest::parse(body.into()) {
            let _ = request.into_chat(TRAITS, String::new());
        }
    }
}

#[test]
fn the_flex_tier_is_passed_to_chat_and_named_in_the_usage() {
    for (tier, has_flex, expected) in
        [("flex", true, json!("flex")), ("flex", false, Value::Null), ("auto", true, Value::Null)]
    {
        let traits = Traits { has_flex, ..TRAITS };
        let translation = translate(&request(json!({"service_tier": tier})), traits).unwrap();
        let chat: Value = serde_json::from_slice(&translation.body).unwrap();
        assert_eq!(chat["service_tier"], expected, "{tier}");
        let chat = json!({"choices": [{"index": 0, "message": {"content": "x"}, "finish_reason": "stop"}]}).to_string();
        let message = super::response::translate(chat.as_bytes(), &translation.options, Tokens::default()).unwrap();
        let message: Value = serde_json::from_slice(&message).unwrap();
        assert_eq!(message["usage"]["service_tier"], expected, "{tier}");
    }
}

/// The request that an engine gets which speaks this API; `None` if the request is always translated.
fn native(members: Value) -> Option<String> {
    let translation = translate(&request(members), Traits { is_native: true, ..TRAITS }).unwrap();
    let head = NativeHead { model: "up", limit: Some(4), cache_salt: None };
    Some(String::from_utf8(translation.native?.pieces(head).concat()).unwrap())
}

#[test]
fn a_native_request_has_only_known_members_as_they_were_written() {
    let members = json!({"system": "Be brief.", "metadata": {"user_id": "ann"}, "x": 1, "kv_transfer_params": {},
        "cache_salt": "s", "temperature": null, "stream": true, "top_k": 3, "service_tier": "auto",
        "tools": [{"name": "read", "input_schema": {"type": "object"}}]});
    expect![[r#"{"model":"up","max_tokens":4,"messages":[{"role":"user","content":"hi"}],"system":"Be brief.","stream":true,"top_k":3,"tools":[{"name":"read","input_schema":{"type":"object"}}]}"#]]
        .assert_eq(&native(members).unwrap());
    assert!(translate(&request(json!({})), TRAITS).unwrap().native.is_none());
}

#[test]
fn a_native_system_prompt_has_no_billing_header() {
    let header = json!({"type": "text", "text": "x-anthropic-billing-header: cch=1"});
    let text = json!({"type": "text", "text": "Be brief."});
    for (system, expected) in [
        (json!([header, text]), json!([text])),
        (json!([text, header, header]), json!([text])),
        (json!([header]), json!([])),
        (json!([text, text]), json!([text, text])),
    ] {
        let sent: Value = serde_json::from_str(&native(json!({"system": system})).unwrap()).unwrap();
        assert_eq!(sent["system"], expected);
    }
}

#[test]
fn a_request_with_tools_of_the_vendor_is_translated() {
    assert_eq!(native(json!({"tools": [{"type": "web_search_20250305", "name": "web_search"}]})), None);
}
