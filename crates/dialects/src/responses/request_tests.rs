#![expect(clippy::needless_pass_by_value, reason = "callers pass literals")]

use super::reasoning::ReasoningSeal;
use super::{History, ItemReference, ResponseContext, ResponseOptions, ResponsesRequest};
use crate::{NativeHead, Traits, Translation};
use domain::model::ThinkingSwitch;
use domain::usage::Tokens;
use expect_test::expect;
use json::ParseError;
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) const TRAITS: Traits = Traits {
    context_length: 1000,
    thinking: ThinkingSwitch::None,
    merge_system: false,
    is_native: false,
    has_flex: false,
};

fn context(history: History) -> ResponseContext {
    ResponseContext { unique: "1".into(), now: || 7, history, seal: seal(1), stored: None }
}

/// Seals nothing, but keeps workspaces apart.
#[derive(Debug)]
struct OpenSeal {
    workspace: u128,
}

impl ReasoningSeal for OpenSeal {
    fn seal(&self, reasoning: &str) -> String {
        format!("{} {reasoning}.", self.workspace)
    }

    fn open(&self, sealed: &str) -> Option<String> {
        let (workspace, reasoning) = sealed.strip_suffix('.')?.split_once(' ')?;
        (workspace == self.workspace.to_string()).then(|| reasoning.to_owned())
    }
}

/// The seal of a workspace.
pub(super) fn seal(workspace: u128) -> Arc<dyn ReasoningSeal> {
    Arc::new(OpenSeal { workspace })
}

pub(super) fn translate(body: &Value, traits: Traits) -> Result<Translation<ResponseOptions>, ParseError> {
    ResponsesRequest::parse(body.to_string().into())?.into_chat(traits, context(History::default()))
}

/// A request with these members besides the required ones.
pub(super) fn request(members: Value) -> Value {
    let mut body = json!({"model": "m", "input": "hi"});
    body.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    body
}

fn chat_with(members: Value, traits: Traits) -> Value {
    let translation = translate(&request(members), traits).unwrap();
    assert_eq!(translation.invalid, None);
    serde_json::from_slice(&translation.body).unwrap()
}

pub(super) fn chat(members: Value) -> Value {
    chat_with(members, TRAITS)
}

fn messages(input: Value) -> Value {
    chat(json!({"input": input}))["messages"].clone()
}

/// `400 param`, `422 param` or `fine`.
pub(super) fn verdict(members: Value) -> String {
    match translate(&request(members), TRAITS) {
        Err(ParseError::Unreadable(why)) => format!("400 {why}"),
        Err(ParseError::Missing { param } | ParseError::BadName { param, .. }) => format!("400 {param}"),
        Ok(Translation { invalid, .. }) => invalid.map_or("fine".into(), |found| format!("422 {}", found.param)),
    }
}

#[test]
fn a_plain_request() {
    expect![[r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#]]
        .assert_eq(str::from_utf8(&translate(&request(json!({})), TRAITS).unwrap().body).unwrap());
}

#[test]
fn members_become_those_of_chat_and_unknown_ones_are_left_out() {
    let body = chat(json!({
        "instructions": "Be brief.", "temperature": 0.5, "top_p": 0.9, "presence_penalty": 1, "frequency_penalty": -1,
        "top_logprobs": 2, "truncation": "auto", "metadata": {"a": "b"}, "service_tier": "auto", "user": "anna",
        "prompt_cache_key": "session", "parallel_tool_calls": false, "store": false, "n_predict": 9, "background": false,
        "text": {"verbosity": "low"}, "reasoning": {"effort": "high"}, "include": [],
    }));
    expect![[r#"{"model":"m","messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"hi"}],"temperature":0.5,"top_p":0.9,"presence_penalty":1,"frequency_penalty":-1,"logprobs":true,"top_logprobs":2,"prompt_cache_key":"session"}"#]]
    .assert_eq(&body.to_string());
}

#[test]
fn thinking_uses_the_switch_of_the_model() {
    let with = |effort: &str, thinking: ThinkingSwitch| {
        chat_with(json!({"reasoning": {"effort": effort}}), Traits { thinking, ..TRAITS })
    };
    assert_eq!(with("low", ThinkingSwitch::ReasoningEffort)["reasoning_effort"], "low");
    let switch = |effort: &str| with(effort, ThinkingSwitch::EnableThinking)["chat_template_kwargs"].clone();
    assert_eq!(switch("high"), json!({"enable_thinking": true}));
    assert_eq!(switch("none"), json!({"enable_thinking": false}));
}

#[test]
fn formats_of_text() {
    let format = |format: Value| chat(json!({"text": {"format": format}}))["response_format"].clone();
    assert_eq!(format(json!({"type": "text"})), Value::Null);
    assert_eq!(format(json!({"type": "json_object"})), json!({"type": "json_object"}));
    let schema = json!({"type": "json_schema", "name": "n", "schema": {"type": "object"}, "strict": true});
    let expected = json!({"name": "n", "schema": {"type": "object"}, "strict": true});
    assert_eq!(format(schema), json!({"type": "json_schema", "json_schema": expected}));
}

#[test]
fn roles_and_parts() {
    let items = json!([
        {"role": "developer", "content": "Be brief."},
        {"type": "message", "role": "user", "id": "msg_9", "status": "completed", "content": [
            {"type": "input_text", "text": "Look:"},
            {"type": "input_image", "image_url": "data:image/png;base64,AA==", "detail": "auto"}]},
        {"type": "message", "role": "assistant", "content": [
            {"type": "output_text", "text": "A", "annotations": []}, {"type": "refusal", "refusal": "No."}]},
        {"role": "system", "content": [{"type": "input_text", "text": "Now be long."}]},
    ]);
    let expected = json!([
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Look:"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]},
        {"role": "assistant", "content": "A\nNo."},
        {"role": "system", "content": "Now be long."},
    ]);
    assert_eq!(messages(items.clone()), expected);
    let merged = chat_with(json!({"input": items, "instructions": "First."}), Traits { merge_system: true, ..TRAITS });
    assert_eq!(merged["messages"][0]["content"], "First.\nBe brief.\nNow be long.");
    assert_eq!(merged["messages"].as_array().unwrap().len(), 3);
}

#[test]
fn the_items_of_an_input_are_bounded() {
    let found = |count: usize| {
        let items = vec![json!({"role": "user", "content": ""}); count];
        translate(&request(json!({"input": items})), TRAITS).map(|_| ())
    };
    assert_eq!(found(1 << 14), Ok(()));
    let why = "has more than 16384 items, with those of previous responses".into();
    assert_eq!(found((1 << 14) + 1), Err(ParseError::BadName { param: "input".into(), why }));
}

#[test]
fn a_tool_loop_has_one_message_per_turn() {
    let items = json!([
        {"role": "user", "content": "Read both."},
        {"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Reading."}]},
        {"type": "function_call", "id": "fc_1", "call_id": "a", "name": "read", "arguments": "{\"p\":\"x\"}"},
        {"type": "function_call", "call_id": "b", "name": "see", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "a", "output": "text \"x\""},
        {"type": "function_call_output", "call_id": "b", "output": [
            {"type": "input_text", "text": "an image"}, {"type": "input_image", "image_url": "data:image/png;base64,AA=="}]},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "so"}], "encrypted_content": "gAAAA"},
        {"type": "function_call", "call_id": "c", "name": "read", "arguments": ""},
        {"type": "function_call_output", "call_id": "c", "output": ""},
    ]);
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let expected = json!([
        {"role": "user", "content": "Read both."},
        {"role": "assistant", "content": "Reading.", "reasoning_content": "hm",
            "tool_calls": [call("a", "read", "{\"p\":\"x\"}"), call("b", "see", "{}")]},
        {"role": "tool", "tool_call_id": "a", "content": "text \"x\""},
        {"role": "tool", "tool_call_id": "b", "content": "an image"},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}]},
        {"role": "assistant", "content": null, "reasoning_content": "so", "tool_calls": [call("c", "read", "")]},
        {"role": "tool", "tool_call_id": "c", "content": ""},
    ]);
    assert_eq!(messages(items), expected);
}

#[test]
fn our_own_encrypted_reasoning_is_opened_and_foreign_one_is_skipped() {
    let own = seal(1).seal(r#"h\"m"#);
    let thought = |content: &str| {
        let items = json!([{"type": "reasoning", "summary": [], "encrypted_content": content},
            {"role": "assistant", "content": "ok"}, {"role": "user", "content": "go"}]);
        messages(items)[0]["reasoning_content"].clone()
    };
    assert_eq!(thought(&own), "h\"m");
    let of_another_workspace = seal(2).seal("hm");
    for foreign in ["gAAAAABp", "fbr1_***", &own[..own.len() - 1], &of_another_workspace] {
        assert_eq!(thought(foreign), Value::Null, "{foreign}");
    }
}

#[test]
fn stored_items_come_before_the_input_and_replace_references() {
    let body = json!({"model": "m", "previous_response_id": "resp_0", "input": [
        {"type": "item_reference", "id": "fc_1"}, {"type": "function_call_output", "call_id": "a", "output": "done"}]});
    let request = ResponsesRequest::parse(body.to_string().into()).unwrap();
    assert_eq!(request.previous_response_id.as_deref(), Some("resp_0"));
    assert_eq!(request.references(9).unwrap(), [ItemReference { index: 0, id: "fc_1".into() }]);
    assert_eq!(request.references(0).unwrap(), [], "no more than were asked for");
    let stored = json!({"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"});
    let history = History {
        previous: vec![json!({"role": "user", "content": "earlier"}).to_string().into()],
        referenced: [("fc_1".to_owned(), stored.to_string().into())].into(),
    };
    let input: Value = serde_json::from_slice(&request.stored_input(&history, &*seal(1)).unwrap()).unwrap();
    assert_eq!(input[0], stored, "the item, not the reference");
    let translation = request.into_chat(TRAITS, context(history)).unwrap();
    let chat: Value = serde_json::from_slice(&translation.body).unwrap();
    let roles: Vec<&Value> = chat["messages"].as_array().unwrap().iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "assistant", "tool"]);
}

#[test]
fn only_members_that_are_read_are_stored() {
    let pad = "x".repeat(1000);
    let part = |kind: &str| json!({"type": kind, "text": "hi", "pad": pad, "annotations": [pad]});
    let own = seal(1).seal("hm");
    let input = json!([
        {"role": "user", "content": "a", "pad": pad, "arguments": pad, "id": "msg_1"},
        {"type": "message", "role": "user", "content": [part("input_text"), {"type": "input_image", "image_url": "data:,", "detail": pad}]},
        {"type": "message", "role": "assistant", "content": [part("output_text"), {"type": "refusal", "refusal": "no"}]},
        {"type": "reasoning", "content": [part("reasoning_text")], "encrypted_content": pad, "status": pad},
        {"type": "reasoning", "encrypted_content": own, "pad": pad},
        {"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}", "input": pad, "content": pad},
        {"type": "function_call_output", "call_id": "1", "output": [part("input_text")], "content": pad},
        {"type": "custom_tool_call", "call_id": "2", "name": "c", "namespace": "n", "input": "i", "arguments": pad},
        {"type": "custom_tool_call_output", "call_id": "2", "output": "o", "tools": [pad]},
        {"type": "tool_search_call", "call_id": "3", "arguments": {"q": 1}, "name": pad},
        {"type": "tool_search_output", "call_id": "3", "tools": [{"type": "function", "name": "g"}], "output": pad},
        {"type": "additional_tools", "tools": [{"type": "function", "name": "h"}], "role": pad},
    ]);
    let request = ResponsesRequest::parse(json!({"model": "m", "input": input}).to_string().into()).unwrap();
    let stored = request.stored_input(&History::default(), &*seal(1)).unwrap();
    let kept: Value = serde_json::from_slice(&stored).unwrap();
    assert!(!kept.to_string().contains(&pad), "{kept}");
    assert_eq!(chat(json!({"input": kept})), chat(json!({"input": input})), "the model reads the same");
    let of_text = ResponsesRequest::parse(json!({"model": "m", "input": "hi"}).to_string().into()).unwrap();
    let stored = of_text.stored_input(&History::default(), &*seal(1)).unwrap();
    assert_eq!(stored, br#"[{"type":"message","role":"user","content":"hi"}]"#);
}

#[test]
fn invalid_members_are_named() {
    for (members, expected) in [
        (json!({"input": null}), "400 input"),
        (json!({"input": []}), "422 input"),
        (json!({"input": 5}), "422 input"),
        (json!({"input": ["hi"]}), "422 input[0]"),
        (json!({"input": [{"type": "item_reference"}]}), "400 input[0].id"),
        (
            json!({"input": [{"role": "user", "content": "a"}, {"type": "item_reference", "id": null}]}),
            "400 input[1].id",
        ),
        (json!({"input": [{"type": "additional_tools", "tools": []}], "instructions": "a"}), "422 input"),
        (json!({"input": [{"type": "reasoning", "summary": [], "encrypted_content": "gAAAA"}]}), "422 input"),
        (json!({"input": [{"role": "user", "content": "a"}, {"type": "web_search_call"}]}), "400 input[1].type"),
        (json!({"input": [{"role": "critic", "content": "a"}]}), "422 input[0].role"),
        (json!({"input": [{"content": "a"}]}), "400 input[0].role"),
        (
            json!({"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}]}),
            "422 input[0].content[0].type",
        ),
        (json!({"input": [{"type": "function_call", "name": "f", "arguments": "{}"}]}), "400 input[0].call_id"),
        (json!({"input": [{"type": "function_call_output", "call_id": "a"}]}), "400 input[0].output"),
        (json!({"background": true}), "422 background"),
        (json!({"conversation": "conv_1"}), "422 conversation"),
        (json!({"temperature": 3}), "422 temperature"),
        (json!({"max_output_tokens": 0}), "422 max_output_tokens"),
        (json!({"truncation": "always"}), "422 truncation"),
        (json!({"reasoning": {"effort": "huge"}}), "422 reasoning.effort"),
        (json!({"text": {"format": {"type": "json_schema", "name": "n"}}}), "400 text.format.schema"),
        (json!({"tools": [{"type": "function"}]}), "400 tools[0].name"),
        (json!({"tools": {}}), "422 tools"),
        (json!({"tool_choice": "any"}), "422 tool_choice"),
        (json!({"Input": "hi"}), "400 Input"),
        (json!({"include": ["x"], "tools": [], "tool_choice": "auto"}), "fine"),
    ] {
        assert_eq!(verdict(members.clone()), expected, "{members}");
    }
}

#[test]
fn metadata_have_the_bounds_of_openai() {
    let pairs = |count: usize| (0..count).map(|number| (number.to_string(), json!("a"))).collect::<Value>();
    let pair = |name: usize, text: usize| json!({("é".repeat(name)): "é".repeat(text)});
    for (metadata, expected) in [
        (Value::Null, "fine"),
        (pairs(16), "fine"),
        (pairs(17), "422 metadata"),
        (pair(64, 512), "fine"),
        (pair(65, 1), "422 metadata"),
        (pair(1, 513), "422 metadata"),
        (json!({"a": {"b": "c"}}), "422 metadata"),
        (json!(["a"]), "422 metadata"),
    ] {
        assert_eq!(verdict(json!({"metadata": metadata})), expected, "{metadata}");
    }
}

/// The response to a chat message.
pub(super) fn response(members: Value, message: Value, finish: &str) -> Value {
    let options = translate(&request(members), TRAITS).unwrap().options;
    let chat = json!({"choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"completion_tokens_details": {"reasoning_tokens": 3}}});
    let tokens = Tokens { prompt: 9, completion: 5, cached: 4 };
    let translated = super::response::translate(chat.to_string().as_bytes(), &options, tokens).unwrap();
    serde_json::from_slice(&translated).unwrap()
}

#[test]
fn a_response_has_every_member() {
    let text = json!({"role": "assistant", "content": "Hi \"é\""});
    expect![[r#"{"id":"resp_1","object":"response","created_at":7,"model":"m","previous_response_id":null,"instructions":null,"max_output_tokens":null,"max_tool_calls":null,"user":null,"safety_identifier":null,"prompt_cache_key":null,"temperature":1,"top_p":1,"metadata":{},"presence_penalty":0,"frequency_penalty":0,"top_logprobs":0,"tools":[],"tool_choice":"auto","parallel_tool_calls":true,"text":{"format":{"type":"text"}},"reasoning":{"effort":null,"summary":null},"store":false,"truncation":"disabled","background":false,"service_tier":"default","status":"completed","completed_at":7,"incomplete_details":null,"error":null,"output":[{"id":"msg_1_0","type":"message","role":"assistant","content":[{"type":"output_text","text":"Hi \"é\"","annotations":[],"logprobs":[]}],"status":"completed"}],"usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":3},"total_tokens":14}}"#]]
    .assert_eq(&response(json!({}), text, "stop").to_string());
}

#[test]
fn effective_values_are_repeated() {
    let function = json!({"type": "function", "name": "f"});
    let members = json!({"temperature": 0.5, "metadata": {"a": "b"}, "instructions": "Be brief.", "max_output_tokens": 9,
        "tools": [function, {"type": "web_search"}], "tool_choice": "required", "store": true, "truncation": "auto",
        "text": {"format": {"type": "json_schema", "name": "n", "schema": {}}}, "reasoning": {"effort": "low"}});
    let response = response(members.clone(), json!({"content": "x"}), "stop");
    for name in ["temperature", "metadata", "instructions", "max_output_tokens", "tool_choice"] {
        assert_eq!(response[name], members[name], "{name}");
    }
    let tool = json!({"type": "function", "name": "f", "description": null, "parameters": null, "strict": false});
    assert_eq!(response["tools"], json!([tool]));
    let format = json!({"type": "json_schema", "description": null, "name": "n", "schema": {}, "strict": false});
    assert_eq!(response["text"], json!({"format": format}));
    assert_eq!((&response["store"], &response["truncation"]), (&json!(false), &json!("disabled")));
    assert_eq!(response["reasoning"], json!({"effort": "low", "summary": null}));
}

#[test]
fn a_cut_by_length_is_incomplete() {
    let response = response(json!({}), json!({"content": "Hel"}), "length");
    assert_eq!((&response["status"], &response["completed_at"]), (&json!("incomplete"), &Value::Null));
    assert_eq!(response["incomplete_details"], json!({"reason": "max_output_tokens"}));
    assert_eq!(response["output"][0]["status"], "incomplete");
}

#[test]
fn the_flex_tier_is_passed_to_chat_and_named_in_the_response() {
    let flex = json!({"service_tier": "flex"});
    for (members, has_flex, expected) in [
        (&flex, true, "flex"),
        (&flex, false, "default"),
        (&json!({"service_tier": "auto"}), true, "default"),
        (&json!({}), true, "default"),
    ] {
        let translation = translate(&request(members.clone()), Traits { has_flex, ..TRAITS }).unwrap();
        let chat: Value = serde_json::from_slice(&translation.body).unwrap();
        assert_eq!(chat["service_tier"] == "flex", expected == "flex", "{chat}");
        let chat = json!({"choices": [{"index": 0, "message": {"content": "x"}, "finish_reason": "stop"}]}).to_string();
        let response = super::response::translate(chat.as_bytes(), &translation.options, Tokens::default()).unwrap();
        let response: Value = serde_json::from_slice(&response).unwrap();
        assert_eq!(response["service_tier"], expected, "{members}");
    }
}

/// The request that an engine gets which speaks this API; `None` if the request is always translated.
fn native(members: Value, history: History) -> Option<String> {
    let request = ResponsesRequest::parse(request(members).to_string().into()).unwrap();
    let translation = request.into_chat(Traits { is_native: true, ..TRAITS }, context(history)).unwrap();
    let head = NativeHead { model: "up", limit: Some(4), cache_salt: Some("salt") };
    Some(String::from_utf8(translation.native?.pieces(head).concat()).unwrap())
}

#[test]
fn a_native_request_has_only_known_members_as_they_were_written() {
    let members = json!({"store": true, "user": "ann", "safety_identifier": "a", "request_id": "r", "priority": 1,
        "cache_salt": "own", "max_output_tokens": 9, "instructions": "Be brief.", "metadata": {"a": "b"}});
    expect![[r#"{"model":"up","max_output_tokens":4,"cache_salt":"salt","store":false,"input":"hi","instructions":"Be brief.","metadata":{"a":"b"}}"#]]
        .assert_eq(&native(members, History::default()).unwrap());
    assert!(translate(&request(json!({})), TRAITS).unwrap().native.is_none());
}

#[test]
fn a_request_that_only_we_can_read_is_translated() {
    let item = json!({"type": "message", "role": "user", "content": "before"}).to_string();
    let history = History { previous: vec![item.into()], ..History::default() };
    assert_eq!(native(json!({"previous_response_id": "resp_0"}), history), None);
    let sealed = json!([{"type": "reasoning", "summary": [], "encrypted_content": "gAAAA"},
        {"role": "user", "content": "hi"}]);
    assert_eq!(native(json!({"input": sealed}), History::default()), None);
    assert_eq!(native(json!({"tools": [{"type": "web_search"}]}), History::default()), None);
    let stored = ResponseContext { stored: Some(super::FinishedResponse::default()), ..context(History::default()) };
    let parsed = ResponsesRequest::parse(request(json!({})).to_string().into()).unwrap();
    let translation = parsed.into_chat(Traits { is_native: true, ..TRAITS }, stored).unwrap();
    assert!(translation.native.is_none());
}
