//! The way of usage events to the store: none lost, none duplicated.

use crate::app::{TIMEOUT, TestApp, chat, content, error_line, stream, wait_until};
use crate::small_disk::{SmallDisk, assert_stored, call_until_rejected};
use domain::usage::Tokens;
use std::time::Duration;
use testkit::fake_engine::Script;
use testkit::http::Client;

#[tokio::test]
async fn a_full_journal_rejects_new_calls_until_the_store_is_back() {
    let app = TestApp::setup().table("[journal]\nmax_bytes = \"4KiB\"").start().await;
    assert_eq!(app.chat("first").await.status_line(), "200 OK");
    let store = app.store().await;
    let lock = store.begin().await.unwrap();
    let mut served = 1;
    let rejected = loop {
        let response = app.chat("more").await;
        if response.status != 200 {
            break response;
        }
        served += 1;
        assert!(served < 100, "the journal has no bound");
    };
    assert_eq!(error_line(&rejected), "503 journal_full");
    assert_eq!(rejected.header("retry-after"), Some("5"));
    let metrics = Client::new(app.forebay.ops).get("/metrics").await.text();
    assert!(metrics.contains("forebay_journal_full 1"), "{metrics}");
    let ready = Client::new(app.forebay.ops).get("/readyz").await;
    assert_eq!(
        (ready.status_line().as_str(), &ready.json()["status"]),
        ("503 Service Unavailable", &"not_ready".into())
    );
    assert_eq!(ready.json()["parts"]["journal"]["status"], "unavailable");
    assert!(ready.text().contains("the journal is full"), "{}", ready.text());
    drop(lock);
    wait_until("served again", TIMEOUT, async || {
        let response = app.chat("again").await;
        served += usize::from(response.status == 200);
        response.status == 200
    })
    .await;
    assert_eq!(app.usage(served).await.len(), served);
}

#[tokio::test]
async fn a_killed_gateway_loses_no_event_and_duplicates_none() {
    let mut app = TestApp::start().await;
    let store = app.store().await;
    let first = app.chat("first").await;
    assert_eq!(first.status_line(), "200 OK");
    // While this lock is held, events can only be in the journal.
    let lock = store.begin().await.unwrap();
    let mut ids = vec![first.header("x-request-id").unwrap().to_owned()];
    for _ in 0..20 {
        let response = app.chat("hi").await;
        assert_eq!(response.status_line(), "200 OK");
        ids.push(response.header("x-request-id").unwrap().to_owned());
    }
    app.engine().push(Script { chunks: 1_500, stall_after: Some(1_200), ..Script::default() });
    let mut open = app.open_stream(stream("long")).await;
    let mut read = String::new();
    while read.len() < 1_100 * "Hello ".len() {
        read += &content(&[open.next_event().await.unwrap()]);
    }
    app.forebay.child.kill();
    drop(lock);
    app.forebay.restart().await.unwrap();
    let events = app.usage(ids.len() + 1).await;
    for id in &ids {
        assert_eq!(events.iter().filter(|event| event.request.as_str() == id).count(), 1, "{id}");
    }
    let interrupted = events.iter().find(|event| event.code == "interrupted").unwrap();
    let Tokens { completion, .. } = interrupted.tokens;
    assert_eq!(completion, 1_024, "charged at its last mark");
    assert_eq!(interrupted.certainty.as_str(), "estimated");
    assert_eq!(app.client().post_json("/chat/completions", chat("hi")).await.status_line(), "200 OK");
}

#[tokio::test]
async fn a_gateway_that_is_stopped_on_a_full_disk_loses_no_usage() {
    let disk = SmallDisk::mount();
    let mut app = disk.place(TestApp::setup()).start().await;
    let first = app.chat("first").await.header("x-request-id").unwrap().to_owned();
    app.usage(1).await;
    // While this lock is held, no event reaches the store, so no space becomes free.
    let store = app.store().await;
    let lock = store.begin().await.unwrap();
    disk.fill();
    let mut served = call_until_rejected(&app, &chat("hi")).await;
    assert!(served.len() > 20, "the space that was set aside is used: {} calls", served.len());
    served.push(first);
    app.forebay.child.signal("TERM").unwrap();
    drop(lock);
    let status = app.forebay.child.wait_for_end(TIMEOUT).await.unwrap();
    assert!(status.success(), "{status}: {}", app.forebay.child.stderr());
    assert_stored(&app, &served).await;
}

#[tokio::test]
async fn a_gateway_that_is_killed_on_a_full_disk_loses_no_usage_and_starts_again() {
    let disk = SmallDisk::mount();
    let mut app = disk.place(TestApp::setup()).start().await;
    let first = app.chat("first").await.header("x-request-id").unwrap().to_owned();
    app.usage(1).await;
    let store = app.store().await;
    let lock = store.begin().await.unwrap();
    disk.fill();
    let mut served = call_until_rejected(&app, &chat("hi")).await;
    served.push(first);
    app.forebay.child.kill();
    drop(lock);
    // The disk stays full until the events of the first run are stored.
    app.forebay.restart().await.unwrap();
    assert_stored(&app, &served).await;
    disk.free();
    wait_until("served again", TIMEOUT, async || app.chat("again").await.status == 200).await;
}

#[tokio::test]
async fn events_that_cannot_be_written_reach_the_store_from_memory() {
    let disk = SmallDisk::mount();
    let mut app = disk.place(TestApp::setup()).start().await;
    let first = app.chat("first").await.header("x-request-id").unwrap().to_owned();
    app.usage(1).await;
    let store = app.store().await;
    let lock = store.begin().await.unwrap();
    disk.take_space_of_journal();
    let mut served = call_until_rejected(&app, &chat("hi")).await;
    served.push(first);
    let metrics = Client::new(app.forebay.ops).get("/metrics").await.text();
    let unwritten = metrics.lines().find(|line| line.starts_with("forebay_journal_unwritten_bytes ")).unwrap();
    assert_ne!(unwritten, "forebay_journal_unwritten_bytes 0");
    app.forebay.child.signal("TERM").unwrap();
    drop(lock);
    let status = app.forebay.child.wait_for_end(TIMEOUT).await.unwrap();
    assert!(status.success(), "{status}: {}", app.forebay.child.stderr());
    assert_stored(&app, &served).await;
}

#[tokio::test]
async fn a_gateway_that_loses_usage_says_which_and_fails() {
    let disk = SmallDisk::mount();
    let mut app = disk.place(TestApp::setup()).start().await;
    app.chat("first").await;
    app.usage(1).await;
    let store = app.store().await;
    let _lock = store.begin().await.unwrap();
    disk.take_space_of_journal();
    let served = call_until_rejected(&app, &chat("hi")).await;
    app.forebay.child.signal("TERM").unwrap();
    // It waits for the store as long as it may.
    let status = app.forebay.child.wait_for_end(Duration::from_secs(60)).await.unwrap();
    let said = [app.forebay.child.stderr(), app.forebay.child.stdout()].concat();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("usage events are lost"), "{said}");
    assert!(served.iter().any(|id| said.contains(id.as_str())), "none of {served:?} in {said}");
}
