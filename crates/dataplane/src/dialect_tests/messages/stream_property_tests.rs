//! Every stream of events follows the grammar of Messages, whatever the order and the split of the engine's chunks.

use super::stream_grammar::{Block, read_events};
use super::stream_tests::{options, pass, tool};
use crate::dialect_tests::scripted_engine::{Piece, any_piece, deltas_of, engine_stream, parts};
use proptest::prelude::*;

/// The tool and the arguments of each call.
const CALLS: [(&str, &str); 3] =
    [("f0", r#"{"path":"a\"b","list":[1,2,{"x":null}]}"#), ("f1", "{}"), ("f2", r#"{"text":"é 🙂\n"}"#)];

/// What a client must get, apart from the order of blocks: all text, all thinking, and the calls as they began.
fn summary(blocks: &[Block]) -> (String, String, Vec<Block>) {
    let mut summary = (String::new(), String::new(), Vec::new());
    for block in blocks {
        match block {
            Block::Text(text) => summary.0 += text,
            Block::Thinking(text) => summary.1 += text,
            Block::Tool { .. } => summary.2.push(block.clone()),
        }
    }
    summary
}

fn expected_summary(pieces: &[Piece]) -> (String, String, Vec<Block>) {
    let mut blocks = Vec::new();
    let mut seen = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => blocks.push(Block::Text(text.clone())),
            Piece::Reasoning(text) => blocks.push(Block::Thinking(text.clone())),
            Piece::Tool(index) if !seen.contains(index) => {
                seen.push(*index);
                let (name, input) = CALLS[*index as usize];
                blocks.push(tool(&format!("id{index}"), name, serde_json::from_str(input).unwrap()));
            }
            Piece::Tool(_) => {}
        }
    }
    summary(&blocks)
}

proptest! {
    #[test]
    fn every_order_of_pieces_gives_well_formed_events_with_all_content(
        pieces in prop::collection::vec(any_piece(CALLS.len()), 0..12),
        step in 0_usize..60,
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let text = engine_stream(&deltas_of(&pieces, &CALLS, step), "stop");
        let (events, result) = pass(options(), &parts(&text, &cuts));
        prop_assert!(result.is_ok(), "{:?}", result);
        let (whole, _) = pass(options(), &[text.as_bytes()]);
        prop_assert_eq!(&events, &whole, "the split of bytes changes nothing");
        let (blocks, delta) = read_events(&events);
        prop_assert_eq!(summary(&blocks), expected_summary(&pieces));
        let has_tools = pieces.iter().any(|piece| matches!(piece, Piece::Tool(_)));
        prop_assert_eq!(&delta["delta"]["stop_reason"], if has_tools { "tool_use" } else { "end_turn" });
    }

    #[test]
    fn every_cut_leaves_a_prefix_of_whole_events(
        pieces in prop::collection::vec(any_piece(CALLS.len()), 0..8),
        step in 0_usize..60,
        cut in any::<prop::sample::Index>(),
    ) {
        let text = engine_stream(&deltas_of(&pieces, &CALLS, step), "stop");
        let (whole, _) = pass(options(), &[text.as_bytes()]);
        let (events, _) = pass(options(), &[&text.as_bytes()[..cut.index(text.len())]]);
        prop_assert!(events.is_empty() || events.ends_with("\n\n"));
        let body = events.split("event: message_delta").next().unwrap();
        prop_assert!(whole.starts_with(body), "{}", events);
    }
}
