//! The grammar of the events of Messages, as a strict client reads them.

use serde_json::{Value, json};

/// A block of a message as a client puts it together.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Block {
    Text(String),
    Thinking(String),
    Tool { id: String, name: String, input: Value },
}

/// Checks the grammar of the events and returns the blocks and `message_delta`.
pub(super) fn read_events(text: &str) -> (Vec<Block>, Value) {
    let mut events = Vec::new();
    for event in text.split_terminator("\n\n") {
        let (name, data) = event.split_once('\n').unwrap();
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(name.strip_prefix("event: ").unwrap(), data["type"], "{event}");
        events.push(data);
    }
    assert_eq!(events[0]["type"], "message_start");
    assert_eq!((&events[0]["message"]["id"], &events[0]["message"]["model"]), (&json!("msg_1"), &json!("claude-x")));
    assert_eq!((&events[0]["message"]["content"], &events[0]["message"]["stop_reason"]), (&json!([]), &Value::Null));
    assert_eq!(events[1]["type"], "ping");
    let mut blocks = Vec::new();
    let mut rest = events[2..].iter().filter(|event| event["type"] != "ping").peekable();
    while let Some(start) = rest.next_if(|event| event["type"] == "content_block_start") {
        assert_eq!(start["index"], blocks.len(), "{start}");
        let (mut joined, mut is_signed) = (String::new(), false);
        let opened = &start["content_block"];
        let kind = opened["type"].as_str().unwrap();
        while let Some(event) = rest.next_if(|event| event["type"] == "content_block_delta") {
            assert_eq!(event["index"], blocks.len(), "{event}");
            assert!(!is_signed, "a delta follows the signature: {event}");
            let delta = &event["delta"];
            let text = match (kind, delta["type"].as_str().unwrap()) {
                ("text", "text_delta") => &delta["text"],
                ("thinking", "thinking_delta") => &delta["thinking"],
                ("tool_use", "input_json_delta") => &delta["partial_json"],
                ("thinking", "signature_delta") => {
                    is_signed = true;
                    continue;
                }
                other => panic!("{other:?}"),
            };
            assert_ne!(text, "", "{event}");
            joined += text.as_str().unwrap();
        }
        let stop = rest.next().unwrap();
        assert_eq!((&stop["type"], &stop["index"]), (&json!("content_block_stop"), &start["index"]));
        assert_eq!(is_signed, kind == "thinking", "thinking ends with a signature");
        let member = |name: &str| opened[name].as_str().unwrap().to_owned();
        blocks.push(match kind {
            "text" => Block::Text(joined),
            "thinking" => Block::Thinking(joined),
            _ => {
                assert_eq!(opened["input"], json!({}));
                let input: Value = serde_json::from_str(&joined).unwrap();
                assert!(input.is_object());
                Block::Tool { id: member("id"), name: member("name"), input }
            }
        });
    }
    let delta = rest.next().unwrap().clone();
    assert_eq!(delta["type"], "message_delta");
    assert_eq!(rest.next().unwrap(), &json!({"type": "message_stop"}));
    assert_eq!(rest.next(), None);
    assert!(!blocks.is_empty(), "a message has at least one block");
    (blocks, delta)
}
