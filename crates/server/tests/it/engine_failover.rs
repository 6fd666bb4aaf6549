//! A stream that loses its engine, with the real engine and real weights.
//!
//! The scripted engine proves every cut in `dataplane`; this proves that a real model goes on where it was interrupted.

use std::net::SocketAddr;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::http::{Client, Event};
use testkit::process::{Child, Launch};

use crate::app::{BINARY, TestApp, UPSTREAM_NAME, content, stream_with_usage, wait_until};
use crate::quickstart::{LOADED_WITHIN, models};

/// The small model repeats a text with great certainty. Where it hesitates between two words, a prompt that is computed at
/// once and one that is computed word by word may differ, because the processor rounds differently.
const TEXT: &str = "The old lighthouse keeper climbed the stairs every evening, lit the lamp, wrote the weather into a book, and \
    looked out at the dark sea until the first ships of the morning passed the rocks. His daughter drew maps of the coast, \
    sold them in the village, and saved the money for a boat with a red sail. One winter, the lamp went out in a storm, and \
    both of them carried lanterns down to the beach to show the fishermen the way home.";
/// A small part of the response, so that much of it is left when the engine is killed.
const EVENTS_BEFORE_THE_KILL: usize = 8;

/// An engine that is ready; dropping it kills it.
struct Engine {
    child: Child,
    url: String,
    _folder: TempDir,
}

impl Engine {
    async fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let weights = models().join("smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf").display().to_string();
        let (listen, cache) = (path("listen"), path("cache"));
        let arguments = ["--model", &weights, "--model-name", UPSTREAM_NAME, "--threads", "1"];
        let files = ["--listen-file", &listen, "--cache-dir", &cache];
        let program = Path::new(BINARY).with_file_name("forebay-engine");
        let launch = Launch::new(program).arguments(arguments.into_iter().chain(files));
        let mut child = launch.start("engine", folder.path()).unwrap();
        let address =
            child.wait_for("its address", LOADED_WITHIN, |_| std::fs::read_to_string(&listen).ok()).await.unwrap();
        let client = Client::from(address.trim().parse::<SocketAddr>().unwrap());
        wait_until("the engine is ready", LOADED_WITHIN, async || client.get("/health").await.status == 200).await;
        Self { child, url: format!("http://{}/v1", address.trim()), _folder: folder }
    }
}

fn usages(events: &[Event]) -> Vec<Value> {
    let chunks = events.iter().filter(|event| !event.is_done()).map(Event::json);
    chunks.map(|chunk| chunk["usage"].clone()).filter(|usage| !usage.is_null()).collect()
}

#[tokio::test]
async fn a_killed_engine_does_not_change_the_text_or_the_bill() {
    let mut engines = [Engine::start().await, Engine::start().await];
    let setup = TestApp::setup().model("failover = true").upstream("engine = \"forebay-engine\"");
    let urls = engines.each_ref().map(|engine| engine.url.clone());
    let app = setup.edge("routing_headers = true").start_at(&urls, Vec::new()).await;
    let mut body = stream_with_usage(&format!("Repeat the following text word for word.\n\n{TEXT}"));
    (body["temperature"], body["max_tokens"]) = (json!(0), json!(200));

    let (whole, clean) = app.open_stream(body.clone()).await.rest().await;
    assert!(clean && whole.last().unwrap().is_done(), "{whole:#?}");
    let usage = usages(&whole).remove(0);

    let client = app.client().header("x-forebay-debug", "1");
    let mut stream = client.open_stream("/chat/completions", body).await;
    let replica = stream.headers["x-forebay-replica"].to_str().unwrap().to_owned();
    let serving = (1..=2_usize).find(|number| replica == format!("acme/tiny#{number}")).unwrap();
    let mut events = Vec::new();
    while content(&events).is_empty() || events.len() < EVENTS_BEFORE_THE_KILL {
        events.push(stream.next_event().await.unwrap());
    }
    engines[serving - 1].child.kill();
    let (rest, clean) = stream.rest().await;
    events.extend(rest);
    assert!(clean && events.last().unwrap().is_done(), "{events:#?}");

    assert_eq!(content(&events), content(&whole));
    assert!(content(&whole).len() > TEXT.len() / 2, "{}", content(&whole));
    let continued = usages(&events);
    assert_eq!(continued.len(), 1, "{events:#?}");
    for member in ["prompt_tokens", "completion_tokens"] {
        assert_eq!(continued[0][member], usage[member], "{member}");
    }
    let billed = app.usage(2).await;
    assert_eq!((billed[0].failovers, billed[1].failovers), (1, 0));
    assert_ne!(*billed[0].replica, *replica, "the last replica is recorded");
    let tokens = |at: usize| (billed[at].tokens.prompt, billed[at].tokens.completion);
    assert_eq!(tokens(0), tokens(1));
    assert_eq!(json!(billed[0].tokens.prompt), usage["prompt_tokens"]);
}
