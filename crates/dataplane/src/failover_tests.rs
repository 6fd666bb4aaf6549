//! A stream that is cut anywhere and continued by another engine is the stream that was not cut.

use crate::failover::{Continuation, Progress, Verdict, decide};
use crate::request::{Operation, ParsedRequest, chat};
use crate::response::chat_stream::ChatStream;
use bytes::Bytes;
use domain::model::EngineKind;
use domain::usage::{Certainty, Tokens};
use proptest::prelude::*;
use serde_json::Value;
use testkit::fake_engine::{Personality, Script, render_chat};

const PROMPT_TOKENS: u64 = 11;
const ESTIMATED_PROMPT: u64 = 3;
const CHUNKS: usize = 4;

/// An engine, what it says, and the token limit of the call.
#[derive(Debug, Clone)]
struct Case {
    script: Script,
    running_usage: bool,
    limit: Option<u64>,
}

/// What a client got.
#[derive(Debug, PartialEq, Eq)]
struct Received {
    text: String,
    tokens: Tokens,
    /// The usage that the client was shown.
    usage: Value,
}

fn case(engine: Personality, text: &str, running_usage: bool, limit: Option<u64>) -> Case {
    let script = Script {
        engine,
        text: text.into(),
        chunks: CHUNKS,
        prompt_tokens: PROMPT_TOKENS,
        created_per_chunk: true,
        ..Script::default()
    };
    Case { script, running_usage, limit }
}

impl Case {
    fn all() -> impl Iterator<Item = Self> {
        Personality::ALL.into_iter().flat_map(|engine| {
            [false, true].into_iter().flat_map(move |running_usage| {
                let texts = [("Hello ", None), ("a\n\n", Some(9)), ("wörld 🙂", Some(3)), (" ", None)];
                texts.into_iter().map(move |(text, limit)| case(engine, text, running_usage, limit))
            })
        })
    }

    fn request(&self) -> ParsedRequest {
        let limit = self.limit.map_or_else(String::new, |limit| format!(",\"max_tokens\":{limit}"));
        let body = format!(
            r#"{{"model":"acme/tiny","messages":[{{"role":"user","content":"hi"}}],"stream":true,
            "stream_options":{{"include_usage":true}}{limit}}}"#
        );
        chat::parse(body.into()).unwrap()
    }

    fn reports_prompt_at_once(&self) -> bool {
        self.running_usage && self.script.engine != Personality::LlamaServer
    }

    fn kind(&self) -> EngineKind {
        match self.script.engine {
            Personality::Vllm => EngineKind::Vllm,
            Personality::Sglang => EngineKind::Sglang,
            Personality::LlamaServer => EngineKind::LlamaServer,
            Personality::ForebayEngine => EngineKind::ForebayEngine,
        }
    }

    /// The stream of an engine.
    fn respond(&self, request: &ParsedRequest, continuation: Option<&Continuation>) -> Vec<u8> {
        let limit = continuation.and_then(|continuation| continuation.limit);
        let mut edits = request.upstream_edits("tiny", self.running_usage, limit);
        if let Some(continuation) = continuation {
            request.continue_from(&continuation.text, self.kind(), &mut edits);
        }
        let sent: Value = serde_json::from_slice(&edits.apply(&request.body)).unwrap();
        render_chat(&self.script, &sent).unwrap().concat()
    }

    /// The stream to the client if the streams of the engines are cut after these numbers of bytes, one after the other.
    fn run(&self, cuts: &[usize]) -> Received {
        let request = self.request();
        assert!(request.can_be_continued());
        let Operation::Chat { streaming: Some(options) } = &request.operation else { panic!("not a stream") };
        let mut stream = ChatStream::new("acme/tiny", options, 1, ESTIMATED_PROMPT, None);
        stream.keep_text();
        let mut out = Vec::new();
        let mut response = self.respond(&request, None);
        for (failovers, cut) in (0..).zip(cuts.iter().copied().chain([usize::MAX])) {
            let (arrived, is_cut) = (&response[..cut.min(response.len())], cut < response.len());
            out.extend_from_slice(&stream.pass(Bytes::copy_from_slice(arrived)).unwrap());
            if !is_cut || stream.is_done() {
                out.extend_from_slice(&stream.end().unwrap());
                break;
            }
            let verdict = decide(Progress {
                transcript: stream.transcript(),
                is_finished: stream.is_finished(),
                generated: stream.meter.completion(),
                limit: self.limit,
                failovers,
            });
            let continuation = match verdict {
                Verdict::Continue(continuation) => continuation,
                Verdict::End => {
                    out.extend_from_slice(&stream.end_finished().unwrap());
                    break;
                }
                Verdict::EndAtLimit => {
                    out.extend_from_slice(&stream.end_at_limit().unwrap());
                    break;
                }
                Verdict::GiveUp(why) => panic!("{why}"),
            };
            response = self.respond(&request, Some(&continuation));
            stream.resume(continuation.gap, continuation.text.is_empty());
        }
        let (tokens, certainty) = stream.meter.tokens();
        assert!(certainty != Certainty::Void);
        received(&String::from_utf8(out).unwrap(), tokens)
    }
}

/// Reads a stream and checks what every stream must have.
fn received(out: &str, tokens: Tokens) -> Received {
    let events: Vec<&str> = out.split("\n\n").filter_map(|event| event.strip_prefix("data: ")).collect();
    let (last, chunks) = events.split_last().unwrap();
    assert_eq!(*last, "[DONE]");
    let chunks: Vec<Value> = chunks.iter().map(|chunk| serde_json::from_str(chunk).unwrap()).collect();
    let mut received = Received { text: String::new(), tokens, usage: Value::Null };
    let (mut roles, mut ends) = (0, 0);
    for chunk in &chunks {
        assert_eq!((&chunk["id"], &chunk["created"]), (&chunks[0]["id"], &chunks[0]["created"]), "{out}");
        assert_eq!(chunk["model"], "acme/tiny");
        let choice = &chunk["choices"][0];
        received.text += choice["delta"]["content"].as_str().unwrap_or_default();
        roles += usize::from(choice["delta"].get("role").is_some());
        ends += usize::from(choice["finish_reason"].is_string());
        if chunk["choices"].as_array().is_some_and(Vec::is_empty) {
            assert_eq!((ends, &received.usage), (1, &Value::Null), "usage is last, and once: {out}");
            received.usage = chunk["usage"].clone();
        }
    }
    assert!(chunks[0]["choices"][0]["delta"]["role"] == "assistant", "{out}");
    assert_eq!((roles, ends), (1, 1), "{out}");
    received
}

#[test]
fn a_stream_that_is_cut_anywhere_is_the_stream_that_was_not() {
    for case in Case::all() {
        let whole = case.run(&[]);
        assert_eq!(whole.tokens.prompt, PROMPT_TOKENS);
        let length = case.respond(&case.request(), None).len();
        // Every byte for one text of each engine; the cuts between events and inside of them for the others.
        let step = if case.running_usage && case.script.text == "Hello " { 1 } else { 23 };
        for cut in (0..=length).step_by(step) {
            let mut continued = case.run(&[cut]);
            if !case.reports_prompt_at_once() && continued.tokens.prompt == ESTIMATED_PROMPT {
                // The response was complete, and the report of its prompt was lost.
                continued.tokens.prompt = PROMPT_TOKENS;
                continued.usage = whole.usage.clone();
            }
            for name in ["prompt_tokens", "completion_tokens", "total_tokens"] {
                assert_eq!(continued.usage[name], whole.usage[name], "{case:?} cut at {cut}");
            }
            let both = [&continued, &whole].map(|received| (&received.text, received.tokens));
            assert_eq!(both[0], both[1], "{case:?} cut at {cut}");
        }
    }
}

#[test]
fn a_stream_that_is_cut_never_exceeds_its_token_limit() {
    for engine in Personality::ALL {
        // The white space is generated again, which takes one of the tokens that are left.
        let case = case(engine, "a\n\n", true, Some(3));
        let whole = case.run(&[]);
        assert_eq!(whole.tokens.completion, 3);
        let length = case.respond(&case.request(), None).len();
        for cut in (0..=length).step_by(23) {
            let continued = case.run(&[cut]);
            assert!(whole.text.starts_with(&continued.text), "{continued:?} of {case:?} cut at {cut}");
            assert!((2..=3).contains(&continued.tokens.completion), "{continued:?} of {case:?} cut at {cut}");
        }
    }
}

proptest! {
    #[test]
    fn two_cuts_are_as_good_as_one(
        first in 0..900_usize, second in 0..900_usize, engine in 0..4_usize, text in "[a-z \n]{1,6}",
    ) {
        let case = case(Personality::ALL[engine], &text, true, None);
        let (whole, continued) = (case.run(&[]), case.run(&[first, second]));
        prop_assert_eq!(continued.text, whole.text);
        prop_assert_eq!(continued.tokens.completion, whole.tokens.completion);
        if case.reports_prompt_at_once() {
            prop_assert_eq!(continued.tokens, whole.tokens);
        }
    }
}
