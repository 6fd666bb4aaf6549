//! Every stream of events follows the grammar of Messages, whatever the order and the split of the engine's chunks.

use super::stream_grammar::{Block, read_events};
use super::stream_tests::{options, pass, tool};
use crate::translate::scripted_engine::{arguments, call, engine_stream};
use proptest::prelude::*;
use serde_json::{Value, json};

/// One piece of a response as an engine may send it.
#[derive(Debug, Clone)]
enum Piece {
    Text(String),
    Thinking(String),
    /// The number of the call; its arguments are cut into pieces in order.
    Tool(u64),
}

/// The arguments of each call.
const INPUTS: [&str; 3] = [r#"{"path":"a\"b","list":[1,2,{"x":null}]}"#, "{}", r#"{"text":"é 🙂\n"}"#];

fn any_piece() -> impl Strategy<Value = Piece> {
    prop_oneof![
        "[a-z\"é🙂\\\\]{0,4}".prop_map(Piece::Text),
        "[a-z\n]{0,3}".prop_map(Piece::Thinking),
        (0..INPUTS.len() as u64).prop_map(Piece::Tool),
        (0..INPUTS.len() as u64).prop_map(Piece::Tool),
    ]
}

/// The deltas of the pieces: each piece of a call has some of its arguments, and what is left comes last.
fn deltas_of(pieces: &[Piece], step: usize) -> Vec<Value> {
    let mut rest: [Vec<char>; INPUTS.len()] = INPUTS.map(|input| input.chars().collect());
    let mut is_begun = [false; INPUTS.len()];
    let mut deltas = vec![json!({"role": "assistant", "content": ""})];
    let mut take = |index: u64, count: usize| {
        let place = index as usize;
        let left = &mut rest[place];
        let taken: String = left.drain(..count.min(left.len())).collect();
        match std::mem::replace(&mut is_begun[place], true) {
            false => call(index, &format!("id{index}"), &format!("f{index}"), &taken),
            true => arguments(index, &taken),
        }
    };
    let mut calls = Vec::new();
    for piece in pieces {
        deltas.push(match piece {
            Piece::Text(text) => json!({"content": text}),
            Piece::Thinking(text) => json!({"reasoning": text}),
            Piece::Tool(index) => {
                calls.push(*index);
                take(*index, step)
            }
        });
    }
    calls.sort_unstable();
    calls.dedup();
    deltas.extend(calls.into_iter().map(|index| take(index, usize::MAX)));
    deltas
}

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
            Piece::Thinking(text) => blocks.push(Block::Thinking(text.clone())),
            Piece::Tool(index) if !seen.contains(index) => {
                seen.push(*index);
                let input = serde_json::from_str(INPUTS[*index as usize]).unwrap();
                blocks.push(tool(&format!("id{index}"), &format!("f{index}"), input));
            }
            Piece::Tool(_) => {}
        }
    }
    summary(&blocks)
}

proptest! {
    #[test]
    fn every_order_of_pieces_gives_well_formed_events_with_all_content(
        pieces in prop::collection::vec(any_piece(), 0..12),
        step in 0_usize..60,
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let text = engine_stream(&deltas_of(&pieces, step), "stop");
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(text.len() + 1)).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let parts: Vec<&[u8]> = cuts.windows(2).map(|pair| &text.as_bytes()[pair[0]..pair[1]]).collect();
        let (events, result) = pass(options(), &parts);
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
        pieces in prop::collection::vec(any_piece(), 0..8),
        step in 0_usize..60,
        cut in any::<prop::sample::Index>(),
    ) {
        let text = engine_stream(&deltas_of(&pieces, step), "stop");
        let (whole, _) = pass(options(), &[text.as_bytes()]);
        let (events, _) = pass(options(), &[&text.as_bytes()[..cut.index(text.len())]]);
        prop_assert!(events.is_empty() || events.ends_with("\n\n"));
        let body = events.split("event: message_delta").next().unwrap();
        prop_assert!(whole.starts_with(body), "{}", events);
    }
}
