//! Lines that wait for what they cannot begin without, and those that are repeated.

use super::{batch, calls_of_lines, content, create, ended, lines};
use crate::app::{TIMEOUT, TestApp, stream, wait_until};
use domain::Month;
use domain::usage::Certainty;
use serde_json::json;
use sqlx::{Connection as _, SqliteConnection};
use testkit::fake_engine::Script;

#[tokio::test]
async fn a_line_waits_for_quota_that_running_calls_have_only_reserved() {
    let app = TestApp::setup().workspace_limits(1_000_000, 1_000_000, 200).start().await;
    let client = app.client();
    app.engine().push(Script { stall_after: Some(1), ..Script::default() });
    let mut body = stream("hi");
    body["max_tokens"] = json!(1_000);
    let mut running = app.open_stream(body).await;
    assert!(running.next_event().await.is_some(), "it runs, and has reserved all");
    let id = create(&client, &lines(2)).await;
    wait_until("lines have waited again and again", 3 * TIMEOUT, async || {
        calls_of_lines(&app, "quota_exceeded").await >= 8
    })
    .await;
    drop(running);
    let done = ended(&client, &id).await;
    assert_eq!(done["request_counts"], json!({"total": 2, "completed": 2, "failed": 0}), "{done}");
    app.usage(3).await;
}

#[tokio::test]
async fn lines_that_have_not_ended_with_the_window_expire() {
    let app = TestApp::start().await;
    let client = app.client();
    app.engine().script(Script { stall_after: Some(0), ..Script::default() });
    app.engine().push(Script::default());
    let id = create(&client, &lines(20)).await;
    wait_until("one line has ended, and others run", TIMEOUT, async || {
        batch(&client, &id).await["request_counts"]["completed"] == 1 && app.engine().in_flight() >= 4
    })
    .await;
    let file = app.forebay.data_dir.join("forebay.db");
    let mut store = SqliteConnection::connect(&format!("sqlite:{}", file.display())).await.unwrap();
    sqlx::query("UPDATE batches SET expires_at = created_at").execute(&mut store).await.unwrap();
    let done = ended(&client, &id).await;
    assert_eq!((&done["status"], done["expired_at"].is_i64()), (&json!("expired"), true), "{done}");
    assert_eq!(done["request_counts"], json!({"total": 20, "completed": 1, "failed": 19}));
    assert_eq!(content(&client, &done["output_file_id"]).await.len(), 1);
    let errors = content(&client, &done["error_file_id"]).await;
    assert_eq!(errors.len(), 19);
    for line in errors.values() {
        assert_eq!((&line["response"], &line["error"]["code"]), (&json!(null), &json!("batch_expired")), "{line}");
    }
    assert!(app.engine().wait_until_idle(TIMEOUT).await, "the engine is not used any more");
}

#[tokio::test]
async fn an_attempt_that_is_repeated_takes_nothing_of_the_quota() {
    const QUOTA: u64 = 200;
    let app = TestApp::setup().workspace_limits(1_000_000, 1_000_000, QUOTA).start().await;
    app.engine().push(Script { status: Some(500), ..Script::default() });
    let client = app.client();
    let done = ended(&client, &create(&client, &lines(1)).await).await;
    assert_eq!(done["request_counts"], json!({"total": 1, "completed": 1, "failed": 0}), "{done}");
    assert_eq!(app.engine().calls().len(), 2, "the first one has failed");
    let event = app.usage(1).await.remove(0);
    let (store, month) = (app.store().await, Month::of(event.started_at));
    wait_until("only what was billed is gone", TIMEOUT, async || {
        let account = store::quota::account(&store, &app.workspace(), month, QUOTA).await.unwrap();
        (account.used, account.reserved) == (event.tokens.total(), 0)
    })
    .await;
}

#[tokio::test]
async fn a_line_that_asks_for_more_than_an_engine_completes_in_time_runs_once_and_is_billed() {
    let app = TestApp::setup().edge("first_byte_timeout = \"200ms\"").start().await;
    app.engine().push(Script { delay_ms: 60_000, ..Script::default() });
    let client = app.client();
    let done = ended(&client, &create(&client, &lines(1)).await).await;
    assert_eq!(done["request_counts"], json!({"total": 1, "completed": 0, "failed": 1}), "{done}");
    assert_eq!(app.engine().calls().len(), 1);
    let errors = content(&client, &done["error_file_id"]).await;
    let line = &errors["line-0"];
    assert_eq!((&line["response"], &line["error"]["code"]), (&json!(null), &json!("request_timeout")), "{line}");
    assert_eq!(done["status"], "completed", "its window has not ended: {done}");
    let event = app.usage(1).await.remove(0);
    assert_eq!((event.status, event.certainty), (408, Certainty::Estimated));
    assert!(event.tokens.prompt > 0 && event.cost.nanos() > 0, "{event:?}");
}
