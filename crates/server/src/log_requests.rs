//! Responds to other nodes that ask for logs of this machine, through the store.

use crate::clock;
use fleet::logs::MachineLogs;
use std::time::Duration;
use store::{Store, StoreError, log_requests};

/// How often a node looks for requests of others.
pub(crate) const ANSWER_PERIOD: Duration = Duration::from_secs(1);

/// Answers the requests of other nodes.
pub(crate) async fn answer(logs: &MachineLogs, store: &Store, node: &str) -> Result<(), StoreError> {
    for request in log_requests::list_open(store, node).await? {
        let text = logs.read(&request.name, request.max_bytes, &request.search).await;
        let mut tx = store.begin().await?;
        log_requests::respond(&mut tx, &request.id, text.as_deref(), clock::now()).await?;
        tx.commit().await?;
    }
    Ok(())
}
