//! Tools: how they are declared, chosen, called and turned back.

#![expect(clippy::needless_pass_by_value, reason = "callers pass literals")]

use super::request_tests::{TRAITS, chat, request, response, seal, translate, verdict};
use serde_json::{Value, json};
use std::collections::HashSet;

fn tools(tools: Value, choice: Value) -> Value {
    let chat = chat(json!({"tools": tools, "tool_choice": choice}));
    json!([
        chat["tools"]
            .as_array()
            .map(|all| { all.iter().map(|tool| tool["function"]["name"].clone()).collect::<Vec<_>>() }),
        chat["tool_choice"]
    ])
}

#[test]
fn tools_become_functions() {
    let parameters = json!({"type": "object", "properties": {"p": {"type": "string"}}});
    let declared = json!([
        {"type": "function", "name": "read", "description": "Reads.", "parameters": parameters, "strict": true},
        {"type": "custom", "name": "apply_patch", "description": "Patches.",
            "format": {"type": "grammar", "syntax": "lark", "definition": "start: \"x\""}},
        {"type": "web_search"},
        {"type": "tool_search", "execution": "client", "description": "Finds tools.", "parameters": parameters},
        {"type": "tool_search", "execution": "server"},
    ]);
    let translation = translate(&request(json!({"tools": declared})), TRAITS).unwrap();
    assert_eq!(translation.left_out_tools, ["web_search", "tool_search"]);
    let chat: Value = serde_json::from_slice(&translation.body).unwrap();
    let functions: Vec<&Value> = chat["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]).collect();
    assert_eq!(
        functions[0],
        &json!({"name": "read", "description": "Reads.", "parameters": parameters, "strict": true})
    );
    assert_eq!(functions[1]["description"], "Patches.\n\nThe input must match this lark grammar:\nstart: \"x\"");
    assert_eq!(functions[1]["parameters"]["required"], json!(["input"]));
    assert_eq!(functions[2], &json!({"name": "tool_search", "description": "Finds tools.", "parameters": parameters}));
    assert_eq!(functions.len(), 3);
}

#[test]
fn choices_among_tools() {
    let function = |name: &str| json!({"type": "function", "name": name});
    let declared = json!([function("a"), {"type": "custom", "name": "b"},
        {"type": "namespace", "name": "ns", "tools": [function("a"), function("c")]}, {"type": "web_search"}]);
    let forced = |name: &str| json!({"type": "function", "function": {"name": name}});
    let allowed = |tools: Value| json!({"type": "allowed_tools", "mode": "required", "tools": tools});
    let all = json!(["a", "b", "ns__a", "ns__c"]);
    for (choice, expected) in [
        (Value::Null, json!([all, null])),
        (json!("none"), json!([all, "none"])),
        (json!("required"), json!([all, "required"])),
        (function("a"), json!([all, forced("a")])),
        (json!({"type": "custom", "name": "b"}), json!([all, forced("b")])),
        (json!({"type": "function", "name": "c", "namespace": "ns"}), json!([all, forced("ns__c")])),
        (json!({"type": "web_search_preview"}), json!([all, null])),
        (allowed(json!([function("b"), function("c")])), json!([["b", "ns__c"], "required"])),
        (allowed(json!([{"type": "namespace", "name": "ns"}])), json!([["ns__a", "ns__c"], "required"])),
        (allowed(json!([{"type": "image_generation"}])), json!([null, null])),
    ] {
        assert_eq!(tools(declared.clone(), choice.clone()), expected, "{choice}");
    }
    assert_eq!(tools(json!([]), json!("auto")), json!([null, null]));
}

#[test]
fn names_that_collide_get_a_number() {
    let function = |name: &str| json!({"type": "function", "name": name});
    let declared = json!([function("a__b"), {"type": "namespace", "name": "a", "tools": [function("b")]},
        function("x.y"), function("x/y"), function(&"z".repeat(80)), function("a__b")]);
    let long = "z".repeat(64);
    assert_eq!(tools(declared, Value::Null)[0], json!(["a__b", "a__b_2", "x_y", "x_y_2", long]));
}

#[test]
fn as_many_tools_as_are_allowed_may_have_names_that_collide() {
    // Each name is one character that chat does not allow, after a text of any length.
    let functions = |text: &str, count: u32| {
        let names = (0..count).filter_map(|number| char::from_u32(0x4e00 + number));
        names.map(|letter| json!({"type": "function", "name": format!("{text}{letter}")})).collect::<Vec<Value>>()
    };
    for (text, last) in [("", "__1024".to_owned()), (&*"z".repeat(70), format!("{}_1024", "z".repeat(59)))] {
        let named = tools(json!(functions(text, 1024)), Value::Null)[0].clone();
        let names: HashSet<&str> = named.as_array().unwrap().iter().filter_map(Value::as_str).collect();
        assert_eq!((names.len(), &named[1023]), (1024, &json!(last)));
    }
    let many = functions("", 1025);
    assert_eq!(verdict(json!({"tools": many})), "422 tools[1024]");
    let namespace = json!({"type": "namespace", "name": "ns", "tools": [{"type": "function", "name": "f"}]});
    let last_again = [&many[..1024], &many[1023..1024]].concat();
    assert_eq!(verdict(json!({"tools": last_again})), "fine", "it is declared already");
    let one_more = [&many[..1024], &[namespace]].concat();
    assert_eq!(verdict(json!({"tools": one_more})), "422 tools[1024].tools[0]");
}

#[test]
fn tools_of_different_kinds_may_share_a_name() {
    let function = |name: &str| json!({"type": "function", "name": name});
    let custom = json!({"type": "custom", "name": "x"});
    let search = json!({"type": "tool_search", "execution": "client"});
    let declared = json!([function("x"), custom, function("tool_search"), search,
        {"type": "namespace", "name": "ns", "tools": [function("x"), function("y")]}]);
    let forced = |name: &str| json!({"type": "function", "function": {"name": name}});
    let allowed = |tools: Value| json!({"type": "allowed_tools", "mode": "required", "tools": tools});
    let all = json!(["x", "x_2", "tool_search", "tool_search_2", "ns__x", "ns__y"]);
    for (choice, expected) in [
        (function("x"), json!([all, forced("x")])),
        (custom, json!([all, forced("x_2")])),
        (function("tool_search"), json!([all, forced("tool_search")])),
        (json!({"type": "tool_search"}), json!([all, forced("tool_search_2")])),
        (function("y"), json!([all, forced("ns__y")])),
        (allowed(json!([{"type": "tool_search"}])), json!([["tool_search_2"], "required"])),
        (allowed(json!([function("tool_search"), function("y")])), json!([["tool_search", "ns__y"], "required"])),
    ] {
        assert_eq!(tools(declared.clone(), choice.clone()), expected, "{choice}");
    }
    let hosted = json!([function("x"), {"type": "tool_search"}]);
    assert_eq!(tools(hosted, json!({"type": "tool_search"})), json!([["x"], null]));

    let sent = chat(json!({"tools": declared, "input": [
        {"type": "custom_tool_call", "call_id": "a", "name": "x", "input": "a"},
        {"type": "function_call", "call_id": "b", "name": "x", "arguments": "{}"},
        {"type": "tool_search_call", "call_id": "c", "execution": "client", "arguments": {}},
        {"role": "user", "content": "hi"},
    ]}));
    let calls = sent["messages"][0]["tool_calls"].as_array().unwrap();
    let names: Vec<&Value> = calls.iter().map(|call| &call["function"]["name"]).collect();
    assert_eq!(names, ["x_2", "x", "tool_search_2"]);

    let call = |name: &str| json!({"id": name, "function": {"name": name, "arguments": "{}"}});
    let message = json!({"content": null, "tool_calls": [call("x"), call("x_2"), call("tool_search_2")]});
    let response = response(json!({"tools": declared}), message, "tool_calls");
    let types: Vec<&Value> = response["output"].as_array().unwrap().iter().map(|item| &item["type"]).collect();
    assert_eq!(types, ["function_call", "custom_tool_call", "tool_search_call"]);
}

#[test]
fn tools_can_come_in_mid_conversation() {
    let function = |name: &str| json!({"type": "function", "name": name});
    let body = chat(json!({"tools": [function("a")], "input": [
        {"role": "user", "content": "hi"},
        {"type": "additional_tools", "tools": [function("a"), {"type": "namespace", "name": "mcp__x",
            "tools": [function("find"), {"type": "custom", "name": "raw"}]}]},
        {"type": "tool_search_call", "call_id": "s", "execution": "client", "arguments": {"q": "mail"}},
        {"type": "tool_search_output", "call_id": "s", "execution": "client", "tools": [function("mail")]},
        {"type": "custom_tool_call", "call_id": "c", "namespace": "mcp__x", "name": "raw", "input": "a \"b\"\n"},
        {"type": "custom_tool_call_output", "call_id": "c", "output": "ok"},
        {"type": "function_call", "call_id": "g", "namespace": "gone", "name": "f", "arguments": "{}"},
    ]}));
    let names: Vec<&Value> = body["tools"].as_array().unwrap().iter().map(|tool| &tool["function"]["name"]).collect();
    assert_eq!(names, ["a", "mcp__x__find", "mcp__x__raw", "mail"]);
    let called = |place: usize| body["messages"][place]["tool_calls"][0]["function"].clone();
    assert_eq!(called(1), json!({"name": "tool_search", "arguments": "{\"q\":\"mail\"}"}));
    assert_eq!(called(3), json!({"name": "mcp__x__raw", "arguments": "{\"input\":\"a \\\"b\\\"\\n\"}"}));
    assert_eq!(called(5), json!({"name": "gone__f", "arguments": "{}"}));
    assert_eq!(body["messages"][2]["tool_call_id"], "s");
}

#[test]
fn tools_are_turned_back_by_declaration() {
    let tools = json!([{"type": "custom", "name": "patch"}, {"type": "tool_search", "execution": "client"},
        {"type": "namespace", "name": "mcp__x", "tools": [{"type": "function", "name": "a__b"}]}]);
    let call = |name: &str, arguments: &str| json!({"id": name, "function": {"name": name, "arguments": arguments}});
    let calls = [
        call("patch", r#"{"input":"*** \"é\"\n"}"#),
        call("patch", "not json"),
        call("tool_search", r#"{"q":"x"}"#),
        call("mcp__x__a__b", ""),
        call("unknown", "{}"),
        json!({"function": {"name": "unknown", "arguments": "{}"}}),
    ];
    let message = json!({"content": null, "reasoning": "hm", "tool_calls": calls});
    let response = response(json!({"tools": tools, "include": ["reasoning.encrypted_content"]}), message, "tool_calls");
    let mut output = response["output"].as_array().unwrap().clone();
    for item in &mut output {
        item.as_object_mut().unwrap().retain(|name, _| name != "id" && name != "status");
    }
    let sealed = output[0]["encrypted_content"].take();
    let opened = seal(1).open(sealed.as_str().unwrap());
    assert_eq!(opened.as_deref(), Some("hm"));
    let expected = json!([
        {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}],
            "encrypted_content": null},
        {"type": "custom_tool_call", "call_id": "patch", "name": "patch", "input": "*** \"é\"\n"},
        {"type": "custom_tool_call", "call_id": "patch", "name": "patch", "input": "not json"},
        {"type": "tool_search_call", "call_id": "tool_search", "execution": "client", "arguments": {"q": "x"}},
        {"type": "function_call", "call_id": "mcp__x__a__b", "name": "a__b", "namespace": "mcp__x", "arguments": "{}"},
        {"type": "function_call", "call_id": "unknown", "name": "unknown", "arguments": "{}"},
        {"type": "function_call", "call_id": "call_1_5", "name": "unknown", "arguments": "{}"},
    ]);
    assert_eq!(json!(output), expected);
    assert_eq!(response["status"], "completed");
}
