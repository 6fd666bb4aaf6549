//! The grammar of the events of Responses, as a strict client reads them.

use serde_json::{Value, json};
use std::collections::BTreeMap;

/// An item as a client puts it together from deltas.
#[derive(Debug, Default)]
struct Built {
    added: Value,
    text: String,
    summary: String,
    has_part: bool,
    is_text_done: bool,
    is_part_done: bool,
    done: Option<Value>,
}

/// Checks the grammar of the events and returns the last one.
pub(super) fn read_events(text: &str) -> Value {
    let mut items: BTreeMap<u64, Built> = BTreeMap::new();
    let mut last = Value::Null;
    for (number, event) in text.split_terminator("\n\n").filter(|event| !event.starts_with(':')).enumerate() {
        let (name, data) = event.split_once('\n').unwrap();
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        let name = name.strip_prefix("event: ").unwrap();
        assert_eq!((name, number as u64), (data["type"].as_str().unwrap(), data["sequence_number"].as_u64().unwrap()));
        assert!(last["response"]["status"].is_null() || last["response"]["status"] == "in_progress", "after the end");
        match (number, name) {
            (0, "response.created") | (1, "response.in_progress") => {
                assert_eq!(data["response"]["status"], "in_progress");
                assert_eq!(data["response"]["output"], json!([]));
            }
            (0 | 1, _) => panic!("{event}"),
            (_, "response.completed" | "response.incomplete" | "response.failed") => {
                assert_eq!(name.strip_prefix("response."), data["response"]["status"].as_str());
                let output = data["response"]["output"].as_array().unwrap();
                assert_eq!(output.len(), items.len());
                for (item, (index, built)) in output.iter().zip(&items) {
                    assert!(name == "response.failed" || Some(item) == built.done.as_ref(), "{index} {item}");
                }
            }
            _ => read_item_event(name, &data, &mut items),
        }
        last = data;
    }
    last
}

fn read_item_event(name: &str, data: &Value, items: &mut BTreeMap<u64, Built>) {
    let index = data["output_index"].as_u64().unwrap();
    if name == "response.output_item.added" {
        assert_eq!(index, items.len() as u64, "places follow each other");
        let is_call = |item: &Value| item["type"].as_str().unwrap().ends_with("_call");
        let may_be_open = |item: &Value| is_call(item) && is_call(&data["item"]);
        let is_alone = items.values().all(|item| item.done.is_some() || may_be_open(&item.added));
        assert!(is_alone, "only calls are open at the same time");
        items.insert(index, Built { added: data["item"].clone(), ..Built::default() });
        return;
    }
    let built = items.get_mut(&index).expect("the item was added");
    assert!(built.done.is_none(), "{name} after the item is done");
    let kind = built.added["type"].as_str().unwrap().to_owned();
    if name == "response.output_item.done" {
        let item = data["item"].clone();
        for member in ["id", "type", "call_id", "name", "namespace"] {
            assert_eq!(item[member], built.added[member]);
        }
        match kind.as_str() {
            "message" | "reasoning" => {
                assert!(built.is_text_done && built.is_part_done);
                assert_eq!(item["content"][0]["text"], built.text);
            }
            "function_call" => assert!(built.is_text_done && item["arguments"] == built.text),
            "custom_tool_call" => assert!(built.is_text_done && item["input"] == built.text),
            _ => assert!(item["arguments"].is_object()),
        }
        if let Some(summary) = item["summary"][0]["text"].as_str() {
            assert_eq!(summary, built.summary);
        }
        built.done = Some(item);
        return;
    }
    assert_eq!(data["item_id"], built.added["id"]);
    let delta = || data["delta"].as_str().unwrap();
    match (kind.as_str(), name.strip_prefix("response.").unwrap()) {
        ("message" | "reasoning", "content_part.added") => {
            assert!(!std::mem::replace(&mut built.has_part, true));
        }
        ("message", "output_text.delta") | ("reasoning", "reasoning_text.delta") => {
            assert!(built.has_part && !built.is_text_done && !delta().is_empty());
            built.text += delta();
        }
        ("message", "output_text.done") | ("reasoning", "reasoning_text.done") => {
            assert_eq!(data["text"], built.text);
            assert!(!std::mem::replace(&mut built.is_text_done, true));
        }
        ("message" | "reasoning", "content_part.done") => {
            assert_eq!(data["part"]["text"], built.text);
            assert!(built.is_text_done && !std::mem::replace(&mut built.is_part_done, true));
        }
        ("reasoning", "reasoning_summary_text.delta") => built.summary += delta(),
        ("reasoning", "reasoning_summary_text.done") => assert_eq!(data["text"], built.summary),
        ("reasoning", "reasoning_summary_part.added" | "reasoning_summary_part.done") => {
            assert_eq!(data["part"]["text"], built.summary);
        }
        ("function_call", "function_call_arguments.delta") | ("custom_tool_call", "custom_tool_call_input.delta") => {
            built.text += delta();
        }
        ("function_call", "function_call_arguments.done") => {
            assert_eq!(data["arguments"], built.text);
            built.is_text_done = true;
        }
        ("custom_tool_call", "custom_tool_call_input.done") => {
            assert_eq!(data["input"], built.text);
            built.is_text_done = true;
        }
        other => panic!("{other:?}"),
    }
}
