//! Many concurrent streams.

use std::sync::Arc;
use std::time::Duration;

use domain::WorkspaceId;
use serde_json::json;
use tokio::task::JoinSet;

use crate::app::{TestApp, content, stream, text, wait_until};

const STREAMS: usize = 2_000;
const WORKSPACES: usize = 4;
/// Long enough that all streams are open before the first one ends.
const CHUNK_DELAY_MS: u64 = 5_000;
const OPEN_TIMEOUT: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_thousand_concurrent_streams_all_complete_and_are_all_metered() {
    let app = Arc::new(TestApp::start().await);
    let bootstrap = app.forebay.bootstrap();
    let mut workspaces = Vec::new();
    for index in 0..WORKSPACES {
        let organization = text(&bootstrap["organizationId"]);
        let workspace = app.admin(&format!("workspaces create --organization {organization} --name w{index}"));
        let key = app.admin(&format!("keys create --workspace {} --name a", text(&workspace["id"])));
        workspaces.push((WorkspaceId::parse(text(&workspace["id"])).unwrap(), text(&key["key"]).to_owned()));
    }

    let mut streams = JoinSet::new();
    for index in 0..STREAMS {
        let (app, key) = (Arc::clone(&app), workspaces[index % WORKSPACES].1.clone());
        streams.spawn(async move {
            let mut body = stream(&format!("prompt {index}"));
            let word = format!("stream {index} é🙂 ");
            body["fake"] = json!({"text": word, "chunks": 3, "chunk_delay_ms": CHUNK_DELAY_MS});
            let opened = app.client_with(&key).open_stream("/chat/completions", body).await;
            assert_eq!(opened.status, 200);
            let (events, clean) = opened.rest().await;
            assert!(clean && events.last().unwrap().is_done(), "stream {index}: {events:#?}");
            assert_eq!(content(&events), word.repeat(3), "stream {index}");
        });
    }
    wait_until("all streams are open", OPEN_TIMEOUT, async || app.engine().in_flight() == STREAMS).await;
    let mut complete = 0;
    while let Some(ended) = streams.join_next().await {
        ended.unwrap();
        complete += 1;
    }
    assert_eq!(complete, STREAMS);
    for (workspace, _) in &workspaces {
        let events = app.usage_of(workspace, STREAMS / WORKSPACES).await;
        assert!(events.iter().all(|event| event.certainty.as_str() == "exact" && event.tokens.completion == 3));
    }
}
