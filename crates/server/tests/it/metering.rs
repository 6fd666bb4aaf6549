//! What a call is billed, over every engine that the scripted one imitates, and over llama.cpp's real server: never less
//! than the client got, and what the engine reports where it reports all of it.

use crate::app::{TestApp, chat};
use domain::UsageEvent;
use domain::usage::Certainty;
use serde_json::{Value, json};
use testkit::fake_engine::{FakeEngine, Personality, Script};
use testkit::http::{Client, Event};

/// The tokens of each choice: the calls ask engines not to end before the limit.
const TOKENS: u64 = 6;
const CHOICES: [u64; 2] = [1, 8];

fn call(choices: u64) -> Value {
    let mut body = chat("Count to one hundred.");
    body["n"] = json!(choices);
    body["max_tokens"] = json!(TOKENS);
    body["ignore_eos"] = json!(true);
    body
}

fn streamed(choices: u64) -> Value {
    let mut body = call(choices);
    body["stream"] = json!(true);
    body["stream_options"] = json!({"include_usage": true});
    body
}

/// The script of an engine that generates as the calls ask.
fn script(engine: Personality) -> Script {
    Script { engine, chunks: 2 * TOKENS as usize, finish_reason: "length".into(), ..Script::default() }
}

/// The pieces of text in an event.
fn pieces(event: &Event) -> u64 {
    let chunk = event.json();
    let choices = chunk["choices"].as_array().unwrap().iter();
    choices.filter(|choice| choice["delta"]["content"].as_str().is_some_and(|text| !text.is_empty())).count() as u64
}

fn completion_tokens(value: &Value) -> u64 {
    value["usage"]["completion_tokens"].as_u64().unwrap_or_else(|| panic!("no usage in {value}"))
}

/// A gateway in front of one engine, and how many calls it has had.
struct Gateway {
    app: TestApp,
    calls: usize,
}

impl Gateway {
    fn of(app: TestApp) -> Self {
        Self { app, calls: 0 }
    }

    /// The event of the last call.
    async fn event(&mut self) -> UsageEvent {
        self.calls += 1;
        self.app.usage(self.calls).await.remove(0)
    }

    async fn check(&mut self) {
        for choices in CHOICES {
            self.check_unary(choices).await;
            let events = self.check_stream(choices).await;
            for after in [1, 2, events / 2, events * 3 / 4] {
                self.check_departure(choices, after).await;
            }
        }
    }

    async fn check_unary(&mut self, choices: u64) {
        let response = self.app.ask(call(choices)).await;
        assert_eq!(response.status_line(), "200 OK", "{}", response.text());
        let event = self.event().await;
        assert_eq!(event.tokens.completion, choices * TOKENS, "{event:?}");
        assert_eq!(completion_tokens(&response.json()), event.tokens.completion);
        assert_eq!(response.json()["usage"]["total_tokens"], event.tokens.total());
    }

    /// A stream that is read to its end. Returns its number of events.
    async fn check_stream(&mut self, choices: u64) -> usize {
        let (events, clean) = self.app.open_stream(streamed(choices)).await.rest().await;
        assert!(clean && events.last().unwrap().is_done());
        let event = self.event().await;
        assert_eq!((event.tokens.completion, event.certainty), (choices * TOKENS, Certainty::Exact), "{event:?}");
        let chunks: Vec<Value> = events[..events.len() - 1].iter().map(Event::json).collect();
        let usage: Vec<&Value> = chunks.iter().filter(|chunk| chunk["usage"].is_object()).collect();
        assert_eq!(usage, [chunks.last().unwrap()], "the usage comes once, and last");
        assert_eq!(completion_tokens(usage[0]), event.tokens.completion);
        events.len()
    }

    /// A stream whose client leaves after this many events.
    async fn check_departure(&mut self, choices: u64, after: usize) {
        let mut opened = self.app.open_stream(streamed(choices)).await;
        let mut sent = 0;
        for _ in 0..after {
            sent += pieces(&opened.next_event().await.unwrap());
        }
        drop(opened);
        let event = self.event().await;
        assert!((sent..=choices * TOKENS).contains(&event.tokens.completion), "{sent} pieces: {event:?}");
        assert!(event.tokens.prompt > 0 && event.certainty != Certainty::Void, "{event:?}");
    }
}

#[tokio::test]
async fn every_engine_is_billed_for_what_it_generates() {
    for engine in Personality::ALL {
        let app = TestApp::start().await;
        app.engine().script(script(engine));
        Gateway::of(app).check().await;
    }
}

/// vLLM reports cached tokens only with the last usage of a stream.
#[tokio::test]
async fn the_cached_tokens_of_a_cut_stream_are_an_estimate_where_the_engine_has_a_cache() {
    let app = TestApp::start().await;
    app.engine().script(Script { cached_tokens: Some(4), chunk_delay_ms: 20, ..script(Personality::Vllm) });
    let mut gateway = Gateway::of(app);
    for expected in [Certainty::Exact, Certainty::Estimated] {
        gateway.check_departure(1, 2).await;
        let cut = gateway.app.usage(gateway.calls).await.remove(0);
        assert_eq!((cut.certainty, cut.tokens.cached), (expected, 0), "{cut:?}");
        gateway.check_stream(1).await;
        let whole = gateway.app.usage(gateway.calls).await.remove(0);
        assert_eq!((whole.certainty, whole.tokens.cached), (Certainty::Exact, 4), "{whole:?}");
    }
}

/// The engine may have a full cache from before the gateway started.
#[tokio::test]
async fn the_first_cut_stream_is_an_estimate_where_the_engine_is_known_to_report_cached_tokens() {
    let app = TestApp::setup().chat_upstream("engine = \"vllm\"").start().await;
    app.engine().script(Script { cached_tokens: Some(4), chunk_delay_ms: 20, ..script(Personality::Vllm) });
    let mut gateway = Gateway::of(app);
    gateway.check_departure(1, 2).await;
    let cut = gateway.app.usage(gateway.calls).await.remove(0);
    assert_eq!((cut.certainty, cut.tokens.cached), (Certainty::Estimated, 0), "{cut:?}");
}

#[tokio::test]
async fn a_prompt_that_no_engine_counted_is_estimated_by_the_model() {
    let app = TestApp::start().await;
    let mut body = call(1);
    body["messages"][0]["content"] = "x".repeat(1_000).into();
    // About two bytes per token.
    app.engine().script(Script { prompt_tokens: 500, ..script(Personality::Vllm) });
    for _ in 0..80 {
        assert_eq!(app.ask(body.clone()).await.status, 200);
    }
    app.engine().script(Script { stall_after: Some(0), ..script(Personality::Vllm) });
    let left = tokio::time::timeout(std::time::Duration::from_millis(300), app.ask(body));
    assert!(left.await.is_err(), "the client leaves before the response");
    let event = app.usage(81).await.remove(0);
    assert_eq!(event.certainty, Certainty::Estimated, "{event:?}");
    assert!((470..=530).contains(&event.tokens.prompt), "not a quarter of its bytes: {event:?}");
}

/// How llama.cpp's server reports usage, which the scripted engine imitates.
async fn check_llama_server(url: &str) {
    let client = Client::new(url);
    let unary = client.post_json("/chat/completions", call(2)).await.json();
    assert_eq!(unary["choices"].as_array().unwrap().len(), 2);
    assert_eq!(completion_tokens(&unary), TOKENS, "the usage of one choice");
    assert_eq!(unary["timings"]["predicted_n"], TOKENS);

    let mut request = streamed(2);
    request["stream_options"]["continuous_usage_stats"] = json!(true);
    let events = client.post_json("/chat/completions", request).await.sse_events();
    let chunks: Vec<Value> = events.iter().filter(|event| !event.is_done()).map(Event::json).collect();
    assert_eq!(chunks[0]["choices"][0]["delta"], json!({"role": "assistant", "content": null}));
    let is_usage = |chunk: &Value| chunk["choices"].as_array().unwrap().is_empty();
    assert_eq!(chunks.iter().filter(|chunk| is_usage(chunk)).count(), 2, "{chunks:#?}");
    for pair in chunks.windows(2) {
        let [before, chunk] = pair else { panic!("two chunks") };
        if is_usage(chunk) {
            assert_eq!(completion_tokens(chunk), TOKENS, "the usage of one choice");
            assert!(before["choices"][0]["finish_reason"].is_string(), "after its end: {chunks:#?}");
        } else {
            assert!(chunk["usage"].is_null(), "no running usage");
        }
    }

    let mut request = call(1);
    request["max_tokens"] = json!(1);
    request["n_predict"] = json!(TOKENS);
    request["n_cmpl"] = json!(2);
    let own_members = client.post_json("/chat/completions", request).await.json();
    assert_eq!(own_members["choices"].as_array().unwrap().len(), 2);
    assert_eq!(completion_tokens(&own_members), TOKENS);
}

#[tokio::test]
async fn the_scripted_llama_server_reports_usage_like_the_real_one() {
    let engine = FakeEngine::start().await;
    engine.script(script(Personality::LlamaServer));
    check_llama_server(&engine.url()).await;
}

/// The same, with llama.cpp's own server.
mod real {
    use super::*;

    fn server() -> String {
        std::env::var("FOREBAY_TEST_LLAMA_SERVER").expect("set by scripts/with-llama-server")
    }

    #[tokio::test]
    #[ignore = "needs llama.cpp's server: make test-engines"]
    async fn llama_server_is_billed_for_what_it_generates() {
        Gateway::of(TestApp::setup().start_at(&[server()], Vec::new()).await).check().await;
    }

    #[tokio::test]
    #[ignore = "needs llama.cpp's server: make test-engines"]
    async fn llama_server_reports_usage_as_the_scripted_one_does() {
        check_llama_server(&server()).await;
    }
}
