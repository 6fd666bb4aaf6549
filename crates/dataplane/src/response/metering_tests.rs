//! Metering over every engine: nothing is billed short, wherever the client leaves.

use super::TokenMeter;
use super::chat::normalize;
use super::chat_stream::ChatStream;
use crate::request::StreamOptions;
use bytes::Bytes;
use domain::model::ReasoningNames;
use domain::usage::{Certainty, Tokens};
use serde_json::{Value, json};
use testkit::fake_engine::{Personality, Script, UsageFault, render_chat};

const PROMPT_TOKENS: u64 = 11;
const CHUNKS: usize = 9;

/// One combination of engine and request.
#[derive(Debug, Clone)]
struct Case {
    script: Script,
    choices: u64,
    running_usage: bool,
}

impl Case {
    fn all() -> impl Iterator<Item = Self> {
        let flags = || [false, true].into_iter();
        // At its limit, vLLM ends a choice with its last text.
        let endings =
            Personality::ALL.map(|engine| (engine, "stop")).into_iter().chain([(Personality::Vllm, "length")]);
        endings.flat_map(move |(engine, finish_reason)| {
            [1, 8].into_iter().flat_map(move |choices| {
                flags().flat_map(move |running_usage| {
                    flags().flat_map(move |uneven| {
                        [0, 1].into_iter().map(move |hidden_tokens| {
                            let script = Script {
                                engine,
                                uneven,
                                hidden_tokens,
                                finish_reason: finish_reason.to_owned(),
                                chunks: CHUNKS,
                                prompt_tokens: PROMPT_TOKENS,
                                ..Script::default()
                            };
                            Self { script, choices, running_usage }
                        })
                    })
                })
            })
        })
    }

    fn with_fault(mut self, fault: UsageFault) -> Self {
        self.script.usage_fault = Some(fault);
        self
    }

    fn request(&self, stream: bool) -> Value {
        let mut request = json!({"n": self.choices});
        if stream {
            request["stream"] = json!(true);
            request["stream_options"] = json!({"include_usage": true, "continuous_usage_stats": self.running_usage});
        }
        request
    }

    fn events(&self) -> Vec<Bytes> {
        render_chat(&self.script, &self.request(true)).unwrap()
    }

    /// The tokens that the engine generates in all.
    fn generated(&self) -> u64 {
        let chunks = |index| CHUNKS as u64 - if self.script.uneven { index } else { 0 };
        (0..self.choices).map(|index| chunks(index) + self.script.hidden_tokens).sum()
    }

    fn reports_while_running(&self) -> bool {
        self.running_usage && self.script.engine != Personality::LlamaServer
    }
}

/// The stream to a client, and how much text was in it.
struct Client {
    stream: ChatStream,
    pieces: u64,
    usage: Vec<Value>,
    done: bool,
}

impl Client {
    fn of(case: &Case) -> Self {
        let mut options = StreamOptions::default();
        options.usage = true;
        let stream = ChatStream::new("acme/tiny", &options, case.choices, 10, None);
        Self { stream, pieces: 0, usage: Vec::new(), done: false }
    }

    fn pass(&mut self, event: &Bytes) {
        let written = self.stream.pass(event.clone()).unwrap();
        for line in std::str::from_utf8(&written).unwrap().lines().filter_map(|line| line.strip_prefix("data: ")) {
            if line == "[DONE]" {
                self.done = true;
                continue;
            }
            let chunk: Value = serde_json::from_str(line).unwrap();
            let choices = chunk["choices"].as_array().unwrap();
            let has_text = |choice: &&Value| choice["delta"]["content"].as_str().is_some_and(|text| !text.is_empty());
            self.pieces += choices.iter().filter(has_text).count() as u64;
            if choices.is_empty() {
                self.usage.push(chunk["usage"].clone());
            }
        }
    }

    fn tokens(&self) -> (Tokens, Certainty) {
        self.stream.meter.tokens()
    }
}

/// The three counts of a usage object, which must be integers.
fn counts(usage: &Value) -> (u64, u64, u64) {
    let count = |name: &str| usage[name].as_u64().unwrap_or_else(|| panic!("{name} in {usage}"));
    (count("prompt_tokens"), count("completion_tokens"), count("total_tokens"))
}

#[test]
fn a_stream_is_never_billed_below_what_was_sent_wherever_the_client_leaves() {
    for case in Case::all() {
        let mut client = Client::of(&case);
        let mut before = 0;
        for event in case.events() {
            client.pass(&event);
            let (tokens, certainty) = client.tokens();
            assert!(tokens.completion >= client.pieces, "{tokens:?} for {} pieces: {case:?}", client.pieces);
            assert!(tokens.completion <= case.generated(), "{tokens:?}: {case:?}");
            assert!(tokens.completion >= before, "{tokens:?} after {before}: {case:?}");
            before = tokens.completion;
            if case.reports_while_running() && client.pieces > 0 {
                assert_eq!((tokens.prompt, certainty), (PROMPT_TOKENS, Certainty::Exact), "{case:?}");
            }
        }
        assert!(client.done);
    }
}

#[test]
fn a_complete_stream_is_billed_as_the_engine_reports() {
    for case in Case::all() {
        let mut client = Client::of(&case);
        case.events().iter().for_each(|event| client.pass(event));
        let expected = Tokens { prompt: PROMPT_TOKENS, completion: case.generated(), cached: 0 };
        assert_eq!(client.tokens(), (expected, Certainty::Exact), "{case:?}");
        let [usage] = &client.usage[..] else { panic!("one chunk with usage: {:?}, {case:?}", client.usage) };
        assert_eq!(counts(usage), (expected.prompt, expected.completion, expected.total()), "{case:?}");
    }
}

#[test]
fn a_stream_with_odd_usage_is_billed_by_its_text_and_stays_valid() {
    for case in Case::all().flat_map(|case| UsageFault::ALL.map(|fault| case.clone().with_fault(fault))) {
        let mut client = Client::of(&case);
        for event in case.events() {
            client.pass(&event);
            let (tokens, _) = client.tokens();
            assert!((client.pieces..=case.generated()).contains(&tokens.completion), "{tokens:?}: {case:?}");
        }
        let (tokens, certainty) = client.tokens();
        let [usage] = &client.usage[..] else { panic!("one chunk with usage: {:?}, {case:?}", client.usage) };
        assert_eq!(counts(usage), (tokens.prompt, tokens.completion, tokens.total()), "{case:?}");
        let is_known = matches!(
            case.script.usage_fault,
            Some(UsageFault::Floats | UsageFault::NullTotal | UsageFault::NoTotal) | None
        );
        let expected = if is_known { Certainty::Exact } else { Certainty::Estimated };
        assert_eq!(certainty, expected, "{case:?}");
        if is_known {
            assert_eq!(tokens.completion, case.generated(), "{case:?}");
        }
    }
}

#[test]
fn a_unary_response_is_billed_for_all_of_its_choices() {
    let faults = || UsageFault::ALL.into_iter().map(Some).chain([None]);
    for case in Case::all().filter(|case| !case.running_usage) {
        for fault in faults() {
            let mut case = case.clone();
            case.script.usage_fault = fault;
            let body = render_chat(&case.script, &case.request(false)).unwrap().remove(0);
            let mut meter = TokenMeter::new(10);
            let response = normalize(&body, "acme/tiny", case.choices, ReasoningNames::Both, &mut meter).unwrap();
            let (tokens, certainty) = meter.tokens();
            let response: Value = serde_json::from_slice(&response).unwrap();
            assert_eq!(counts(&response["usage"]), (tokens.prompt, tokens.completion, tokens.total()), "{case:?}");
            let is_known =
                matches!(fault, None | Some(UsageFault::Floats | UsageFault::NullTotal | UsageFault::NoTotal));
            let of_one_choice = case.script.engine == Personality::LlamaServer && case.choices > 1;
            assert_eq!(certainty == Certainty::Exact, is_known && !of_one_choice, "{certainty:?}: {case:?}");
            if is_known && !of_one_choice {
                assert_eq!(tokens.completion, case.generated(), "{case:?}");
            }
            let without_hidden = case.generated() - case.script.hidden_tokens * case.choices;
            assert!(tokens.completion >= without_hidden, "{tokens:?}: {case:?}");
            let mut gathered = Client::of(&case).stream;
            let written = gathered.pass_whole(&body).unwrap();
            assert_eq!(gathered.meter.tokens(), (tokens, certainty), "the same as a stream: {case:?}");
            let mut large = Client::of(&case).stream;
            assert_eq!(large.pass_large(&body).unwrap(), written, "{case:?}");
            let shown = std::str::from_utf8(&written).unwrap().lines().filter_map(|line| line.strip_prefix("data: "));
            let shown: Vec<Value> = shown.filter_map(|line| serde_json::from_str(line).ok()).collect();
            let [_, usage] = &shown[..] else { panic!("{shown:?}: {case:?}") };
            assert_eq!(counts(&usage["usage"]), (tokens.prompt, tokens.completion, tokens.total()), "{case:?}");
        }
    }
}

#[test]
fn choices_that_end_at_the_limit_have_as_many_tokens_as_the_first() {
    let script = Script {
        engine: Personality::LlamaServer,
        text: "a somewhat longer word".into(),
        finish_reason: "length".into(),
        ..Script::default()
    };
    let body = render_chat(&script, &json!({"n": 3})).unwrap().remove(0);
    let mut meter = TokenMeter::new(10);
    normalize(&body, "acme/tiny", 3, ReasoningNames::Both, &mut meter).unwrap();
    assert_eq!((meter.tokens().0.completion, meter.tokens().1), (9, Certainty::Estimated));
}

#[test]
fn usage_of_all_choices_on_the_last_chunk_is_not_that_of_one() {
    let script = Script { usage_on_last_content_chunk: true, chunks: 4, ..Script::default() };
    let case = Case { script, choices: 3, running_usage: false };
    let mut client = Client::of(&case);
    case.events().iter().for_each(|event| client.pass(event));
    assert_eq!(client.tokens().0.completion, 12);
}

#[test]
fn a_sum_after_running_sums_is_not_added_up_again() {
    let chunk = |index: u32, tokens: u32, finish: &str| {
        Bytes::from(format!(
            "data: {{\"choices\":[{{\"index\":{index},\"delta\":{{\"content\":\"x\"}},\"finish_reason\":{finish}}}],\
             \"usage\":{{\"prompt_tokens\":5,\"completion_tokens\":{tokens}}}}}\n\n"
        ))
    };
    let case = Case { script: Script::default(), choices: 2, running_usage: true };
    let mut client = Client::of(&case);
    for (index, tokens, finish) in [(0, 1, "null"), (1, 2, "null"), (0, 3, "\"stop\""), (1, 4, "\"stop\"")] {
        client.pass(&chunk(index, tokens, finish));
        assert!(client.tokens().0.completion >= client.pieces);
    }
    assert_eq!(client.tokens().1, Certainty::Estimated, "these may be counts of single choices");
    client.pass(&Bytes::from_static(
        b"data: {\"choices\":[],\"usage\":{\"prompt_tokens\":5,\"completion_tokens\":4}}\n\ndata: [DONE]\n\n",
    ));
    assert_eq!(client.tokens(), (Tokens { prompt: 5, completion: 4, cached: 0 }, Certainty::Exact));
}

#[test]
fn only_the_first_choice_finds_the_prompt_in_the_cache() {
    let event = |text: &str| Bytes::from(format!("data: {text}\n\n"));
    let finish = |index: u32| {
        event(&format!(r#"{{"choices":[{{"index":{index},"delta":{{"content":"x"}},"finish_reason":"stop"}}]}}"#))
    };
    let usage = |cached: u32| {
        event(&format!(
            r#"{{"choices":[],"usage":{{"prompt_tokens":30,"completion_tokens":1,"prompt_tokens_details":{{"cached_tokens":{cached}}}}}}}"#
        ))
    };
    let case = Case { script: Script::default(), choices: 2, running_usage: false };
    let mut client = Client::of(&case);
    let start = event(r#"{"choices":[{"index":1,"delta":{"content":"y"}}]}"#);
    for event in [start, finish(0), usage(4), finish(1), usage(29), event("[DONE]")] {
        client.pass(&event);
    }
    assert_eq!(client.tokens().0, Tokens { prompt: 30, completion: 3, cached: 4 });
    assert_eq!(client.usage[0]["prompt_tokens_details"]["cached_tokens"], 4);
}

#[test]
fn the_final_count_of_a_single_choice_is_exact_though_there_were_more_pieces() {
    let case = Case { script: Script::default(), choices: 1, running_usage: false };
    let counted_for = |final_count: u64| {
        let mut client = Client::of(&case);
        let content = r#"{"choices":[{"index":0,"delta":{"content":"x"}}]}"#;
        let finish = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
        let usage = format!(
            r#"{{"choices":[],"usage":{{"prompt_tokens":5,"completion_tokens":{final_count},"total_tokens":9}}}}"#
        );
        for event in [content, content, content, content, finish, &usage, "[DONE]"] {
            client.pass(&Bytes::from(format!("data: {event}\n\n")));
        }
        let (tokens, certainty) = client.tokens();
        (tokens.completion, certainty)
    };
    assert_eq!(counted_for(3), (3, Certainty::Exact));
    assert_eq!(counted_for(1), (4, Certainty::Estimated), "not believed");
}
