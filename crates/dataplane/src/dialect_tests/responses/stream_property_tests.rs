//! Every stream of events follows the grammar of Responses, whatever the order and the split of the engine's chunks.

use super::stream_grammar::read_events;
use super::stream_tests::{options, pass};
use crate::dialect_tests::scripted_engine::{Piece, any_piece, deltas_of, engine_stream, parts};
use proptest::prelude::*;
use serde_json::{Value, json};

/// The tool and the arguments of each call.
const CALLS: [(&str, &str); 4] = [
    ("f0", r#"{"path":"a\"b","list":[1,2,{"x":null}]}"#),
    ("f1", r#"{"input":"é 🙂\n\"x\""}"#),
    ("tool_search", r#"{"q":"x"}"#),
    ("f__x", "{}"),
];

/// What a client must get, apart from the order: all text, all reasoning, and the calls as they began.
fn expected_summary(pieces: &[Piece]) -> (String, String, Vec<String>) {
    let mut summary = (String::new(), String::new(), Vec::new());
    for piece in pieces {
        match piece {
            Piece::Text(text) => summary.0 += text,
            Piece::Reasoning(text) => summary.1 += text,
            Piece::Tool(index) => {
                let name = ["f0", "f1", "null", "x"][*index as usize];
                let call = format!("id{index} {name}");
                if !summary.2.contains(&call) {
                    summary.2.push(call);
                }
            }
        }
    }
    summary
}

fn summary(output: &[Value]) -> (String, String, Vec<String>) {
    let mut summary = (String::new(), String::new(), Vec::new());
    for item in output {
        let text = item["content"][0]["text"].as_str().unwrap_or_default();
        match item["type"].as_str().unwrap() {
            "message" => summary.0 += text,
            "reasoning" => summary.1 += text,
            _ => {
                let name = item["name"].as_str().unwrap_or("null");
                summary.2.push(format!("{} {name}", item["call_id"].as_str().unwrap()));
            }
        }
    }
    summary
}

proptest! {
    #[test]
    fn every_order_of_pieces_gives_well_formed_events_with_all_content(
        pieces in prop::collection::vec(any_piece(CALLS.len()), 0..12),
        step in 0_usize..60,
        summarizes in any::<bool>(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let members = if summarizes { json!({"reasoning": {"summary": "auto"}}) } else { json!({}) };
        let text = engine_stream(&deltas_of(&pieces, &CALLS, step), "stop");
        let (events, result) = pass(options(members.clone()), &parts(&text, &cuts));
        prop_assert!(result.is_ok(), "{:?}", result);
        let (whole, _) = pass(options(members), &[text.as_bytes()]);
        prop_assert_eq!(&events, &whole, "the split of bytes changes nothing");
        let last = read_events(&events);
        prop_assert_eq!(&last["type"], "response.completed");
        let output = last["response"]["output"].as_array().unwrap();
        prop_assert_eq!(summary(output), expected_summary(&pieces));
        for item in output.iter().filter(|item| item["type"] == "function_call" && item["name"] == "f0") {
            prop_assert_eq!(item["arguments"].as_str(), Some(CALLS[0].1));
        }
        for item in output.iter().filter(|item| item["type"] == "custom_tool_call") {
            prop_assert_eq!(item["input"].as_str(), Some("é 🙂\n\"x\""));
        }
    }

    #[test]
    fn every_cut_leaves_a_prefix_of_whole_events(
        pieces in prop::collection::vec(any_piece(CALLS.len()), 0..8),
        step in 0_usize..60,
        cut in any::<prop::sample::Index>(),
    ) {
        let text = engine_stream(&deltas_of(&pieces, &CALLS, step), "stop");
        let (whole, _) = pass(options(json!({})), &[text.as_bytes()]);
        let (events, _) = pass(options(json!({})), &[&text.as_bytes()[..cut.index(text.len())]]);
        prop_assert!(events.is_empty() || events.ends_with("\n\n"));
        let body = events.split("event: response.completed").next().unwrap();
        prop_assert!(whole.starts_with(body), "{}", events);
    }
}
