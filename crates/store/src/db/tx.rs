//! Transactions, and the changes that they publish when they commit.

use super::{Engine, Query, WRITE_TIMEOUT, within};
use crate::change::Change;
use crate::error::StoreError;
use crate::row;
use domain::Timestamp;
use sqlx::any::{Any, AnyRow};
use sqlx::{AssertSqlSafe, Executor, Transaction};
use std::sync::{Arc, OnceLock};
use tokio::sync::OwnedSemaphorePermit;

/// How long changes stay in the log.
const CHANGES_KEPT_MILLIS: i64 = 60 * 60 * 1_000;
/// Old rows of the log are removed once per this number of changes.
const PRUNE_EVERY: i64 = 64;

/// A write transaction. Rolled back unless committed; its changes are published together with what it wrote.
pub struct Tx {
    inner: Transaction<'static, Any>,
    engine: Engine,
    changes: Vec<(Change, Timestamp)>,
    listener: Arc<ChangeListener>,
    /// Lets the next transaction of people queue for a writer when this one ends.
    _turn: Option<OwnedSemaphorePermit>,
}

impl Tx {
    pub(super) fn new(
        inner: Transaction<'static, Any>,
        engine: Engine,
        listener: Arc<ChangeListener>,
        turn: Option<OwnedSemaphorePermit>,
    ) -> Self {
        Self { inner, engine, changes: Vec::new(), listener, _turn: turn }
    }

    pub async fn commit(mut self) -> Result<(), StoreError> {
        // As late as possible, because every publishing transaction takes the same lock.
        let changes = std::mem::take(&mut self.changes);
        if !changes.is_empty() {
            self.publish(&changes).await?;
        }
        let outcome = within(WRITE_TIMEOUT, self.inner.commit()).await;
        // Also after an error: the commit may have succeeded, and a listener only reads again.
        self.listener.notify(&changes);
        outcome
    }

    /// Like [`Tx::commit`], but a lost response is [`StoreError::CommitUnknown`] instead of `Unavailable`.
    pub async fn commit_or_unknown(self) -> Result<(), StoreError> {
        self.commit().await.map_err(|error| match error {
            StoreError::Unavailable(cause) => StoreError::CommitUnknown(cause),
            other => other,
        })
    }

    /// Notifies all nodes of `change` once this transaction is committed.
    pub(crate) fn announce(&mut self, change: Change, now: Timestamp) {
        if !self.changes.iter().any(|(announced, _)| *announced == change) {
            self.changes.push((change, now));
        }
    }

    pub(crate) const fn engine(&self) -> Engine {
        self.engine
    }

    /// Runs a statement and returns the number of affected rows.
    pub(crate) async fn execute(&mut self, query: Query<'_>) -> Result<u64, StoreError> {
        let done = within(WRITE_TIMEOUT, query.execute(&mut *self.inner)).await?;
        Ok(done.rows_affected())
    }

    /// Executes a statement that must change a row; otherwise `noun` with this id is missing.
    pub(crate) async fn execute_one(
        &mut self,
        query: Query<'_>,
        noun: &'static str,
        id: &str,
    ) -> Result<(), StoreError> {
        match self.execute(query).await? {
            0 => Err(StoreError::missing(noun, id)),
            _ => Ok(()),
        }
    }

    /// The number in `column` of the only row; 0 if there is none.
    pub(crate) async fn count(&mut self, query: Query<'_>, column: &str) -> Result<u64, StoreError> {
        self.row(query).await?.map_or(Ok(0), |found| row::count(&found, column))
    }

    pub(crate) async fn rows(&mut self, query: Query<'_>) -> Result<Vec<AnyRow>, StoreError> {
        within(WRITE_TIMEOUT, query.fetch_all(&mut *self.inner)).await
    }

    pub(crate) async fn row(&mut self, query: Query<'_>) -> Result<Option<AnyRow>, StoreError> {
        within(WRITE_TIMEOUT, query.fetch_optional(&mut *self.inner)).await
    }

    /// Runs several statements without arguments.
    pub(super) async fn run(&mut self, statements: &'static str) -> Result<(), StoreError> {
        within(WRITE_TIMEOUT, self.inner.execute(sqlx::raw_sql(statements))).await.map(drop)
    }

    /// Runs several statements without arguments and without a timeout: only for migrations.
    pub(crate) async fn run_script(&mut self, script: &str) -> Result<(), StoreError> {
        let script = script.replace(self.engine.own_line_prefix(), "");
        self.inner.execute(sqlx::raw_sql(AssertSqlSafe(script))).await?;
        Ok(())
    }

    /// Numbers the changes and writes them to the log of [`crate::changes`].
    async fn publish(&mut self, changes: &[(Change, Timestamp)]) -> Result<(), StoreError> {
        let added = i64::try_from(changes.len()).unwrap_or(i64::MAX);
        let count = sqlx::query("UPDATE change_counter SET seq = seq + $1 RETURNING seq").bind(added);
        let counter = self.row(count).await?.ok_or_else(|| row::corrupt("change_counter"))?;
        let last = row::number(&counter, "seq")?;
        for (seq, (change, at)) in (last - added + 1..).zip(changes) {
            let insert = sqlx::query("INSERT INTO changes (seq, kind, subject, at) VALUES ($1, $2, $3, $4)")
                .bind(seq)
                .bind(change.kind())
                .bind(change.subject())
                .bind(at.millis());
            self.execute(insert).await?;
        }
        if let Some((_, now)) = changes.last()
            && last % PRUNE_EVERY < added
        {
            let prune = sqlx::query("DELETE FROM changes WHERE at < $1").bind(now.millis() - CHANGES_KEPT_MILLIS);
            self.execute(prune).await?;
        }
        match self.engine {
            Engine::Sqlite => Ok(()),
            Engine::Postgres => self.execute(sqlx::query("NOTIFY forebay_changes")).await.map(drop),
        }
    }
}

type ChangeCallback = Box<dyn Fn(&Change) + Send + Sync>;

/// The callback for changes that are committed through this store, if one is registered.
#[derive(Default)]
pub(super) struct ChangeListener(OnceLock<ChangeCallback>);

impl ChangeListener {
    /// The first listener stays.
    pub(super) fn set(&self, listener: impl Fn(&Change) + Send + Sync + 'static) {
        let _another_listens = self.0.set(Box::new(listener));
    }

    fn notify(&self, changes: &[(Change, Timestamp)]) {
        let Some(listener) = self.0.get() else { return };
        changes.iter().for_each(|(change, _)| listener(change));
    }
}

impl std::fmt::Debug for ChangeListener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ChangeListener").field(&self.0.get().is_some()).finish()
    }
}
