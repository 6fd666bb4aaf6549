//! Change feed: a log of changes, written by the transactions that make them, read by all nodes.
//!
//! Sequence numbers have no gaps and follow the order of commits, because every publishing transaction holds the one row
//! of `change_counter` until its end (see [`crate::Tx`]). A reader that remembers the last number misses nothing, and a
//! reader that was away for longer than the log reaches back notices the gap. Example: the feed has seen 7, the counter
//! says 12. If the oldest row after 7 is 8, rows 8 to 12 are the new changes. If it is 10, rows were pruned and the feed
//! returns [`Change::Everything`].
//!
//! PostgreSQL also sends a notification, which saves the wait. SQLite's log is polled, since another process
//! (`forebay admin`) may write to it.

use crate::change::Change;
use crate::db::{READ_TIMEOUT, Store, within};
use crate::error::StoreError;
use crate::row;
use sqlx::any::AnyRow;
use sqlx::postgres::PgListener;
use std::time::Duration;

const CHANNEL: &str = "forebay_changes";
const MAX_AT_ONCE: i64 = 1_000;

/// Changes in the order of their commits, from the moment the feed was opened.
pub struct ChangeFeed {
    store: Store,
    seen: i64,
    listener: Option<PgListener>,
    /// The last read found nothing more, and later changes are notified or found by the next poll.
    is_caught_up: bool,
}

impl Store {
    /// Opens a feed of the changes from now on.
    pub async fn changes(&self) -> Result<ChangeFeed, StoreError> {
        let query = sqlx::query("SELECT seq FROM change_counter");
        let counter = self.row(query).await?.ok_or_else(no_counter)?;
        let seen = row::number(&counter, "seq")?;
        Ok(ChangeFeed { store: self.clone(), seen, listener: None, is_caught_up: false })
    }
}

impl ChangeFeed {
    /// Returns new changes as soon as they are known. The list is empty after `timeout`, or earlier if a notification
    /// came late.
    ///
    /// After an error the feed is still usable: the next call continues where the last successful one ended. Cancel-safe.
    pub async fn next(&mut self, timeout: Duration) -> Result<Vec<Change>, StoreError> {
        let was_caught_up = std::mem::take(&mut self.is_caught_up);
        let outcome = self.read_or_wait(timeout, was_caught_up).await;
        match &outcome {
            Ok(found) => self.is_caught_up = found.is_empty(),
            Err(_) => self.listener = None,
        }
        outcome
    }

    async fn read_or_wait(&mut self, timeout: Duration, was_caught_up: bool) -> Result<Vec<Change>, StoreError> {
        let is_new = self.listen().await?;
        if is_new || !was_caught_up {
            let found = self.read().await?;
            if !found.is_empty() {
                return Ok(found);
            }
        }
        let notified = self.wait(timeout).await;
        let found = self.read().await?;
        if !notified && !found.is_empty() {
            self.listener = None; // no notification came for these changes: the listening connection may be dead
        }
        Ok(found)
    }

    /// Called before reading, so that a change committed in between is still notified. Returns whether the connection is new, so
    /// that changes before it were not notified.
    async fn listen(&mut self) -> Result<bool, StoreError> {
        let Some(notices) = self.store.notices() else { return Ok(false) };
        if self.listener.is_some() {
            return Ok(false);
        }
        let mut listener = PgListener::connect_with(notices).await?;
        within(READ_TIMEOUT, listener.listen(CHANNEL)).await?;
        listener.eager_reconnect(false);
        self.listener = Some(listener);
        Ok(true)
    }

    /// Returns whether a notification ended the wait.
    async fn wait(&mut self, timeout: Duration) -> bool {
        let Some(listener) = &mut self.listener else {
            tokio::time::sleep(timeout).await;
            return false;
        };
        match tokio::time::timeout(timeout, listener.try_recv()).await {
            Ok(Ok(Some(_notice))) => true,
            Ok(Ok(None) | Err(_)) => {
                self.listener = None; // the connection is closed; the next read shows whether the store is down
                false
            }
            Err(_elapsed) => false,
        }
    }

    async fn read(&mut self) -> Result<Vec<Change>, StoreError> {
        let query = sqlx::query(
            "SELECT counter.seq AS newest, log.seq AS seq, log.kind AS kind, log.subject AS subject \
             FROM change_counter counter LEFT JOIN changes log ON log.seq > $1 \
             ORDER BY log.seq LIMIT $2",
        );
        let rows = self.store.rows(query.bind(self.seen).bind(MAX_AT_ONCE)).await?;
        let newest = row::number(rows.first().ok_or_else(no_counter)?, "newest")?;
        if newest == self.seen {
            return Ok(Vec::new());
        }
        let follows = |row: &AnyRow| Ok::<_, StoreError>(row::optional_number(row, "seq")? == Some(self.seen + 1));
        let complete = match rows.first() {
            Some(first) => follows(first)?,
            None => false,
        };
        if !complete {
            self.seen = newest; // rows were pruned meanwhile, or the database was replaced
            return Ok(vec![Change::Everything]);
        }
        let mut found = Vec::with_capacity(rows.len());
        for row in &rows {
            found.push(Change::parse(&row::text(row, "kind")?, &row::text(row, "subject")?));
        }
        self.seen = rows.last().map_or(Ok(newest), |last| row::number(last, "seq"))?;
        Ok(found)
    }
}

fn no_counter() -> StoreError {
    row::corrupt("change_counter")
}
