//! Nodes live by the clock of the store, whatever their machines show.

use domain::{Month, Timestamp};
use store::quota;

use crate::app::{TIMEOUT, TestApp, error_line, wait_until};
use crate::postgres::Database;

const CAP: u64 = 500;

/// Serves chats until the quota is spent. Returns their tokens.
async fn spend(app: &TestApp) -> u64 {
    let mut tokens = 0;
    loop {
        let response = app.chat("hi").await;
        if response.status != 200 {
            assert_eq!(error_line(&response), "429 quota_exceeded");
            return tokens;
        }
        tokens += response.json()["usage"]["total_tokens"].as_u64().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_month_of_the_quota_is_that_of_the_store_on_every_node() {
    let database = Database::migrated().await.with_own_clock().await;
    // Years away from the clocks of the nodes.
    let june = Timestamp::parse("2041-06-15T12:00:00Z").unwrap();
    let month = Month::of(june);
    database.set_clock(june).await;
    let setup = || TestApp::setup().store(&database.url).workspace_limits(1_000_000, 1_000_000_000, CAP);
    let first = setup().start().await;
    let mut second = setup().start_beside(&first).await;
    first.key.clone_into(&mut second.key);
    let (store, workspace) = (first.store().await, first.workspace());
    let used = async |month: Month| quota::account(&store, &workspace, month, CAP).await.unwrap().used;

    let tokens = spend(&first).await + spend(&second).await;
    assert!(tokens > 0);
    wait_until("counted in the store's month", TIMEOUT, async || used(month).await == tokens).await;

    database.set_clock(month.end()).await;
    for app in [&first, &second] {
        let before = used(month.next()).await;
        wait_until("served in the new month", TIMEOUT, async || app.chat("hi").await.status == 200).await;
        wait_until("counted in the new month", TIMEOUT, async || used(month.next()).await > before).await;
    }
    assert_eq!(used(month).await, tokens, "the old month is closed");
    store.close().await;
    drop((first, second));
    database.remove().await;
}
