//! What other nodes must hear about: a log of changes, written by the transaction that makes them.
//!
//! The numbers have no gaps and follow the order of commits, because every announcing transaction holds the one row of
//! `change_counter` until its end. So a reader that remembers the last number misses nothing, and a reader that was away
//! for longer than the log reaches back notices that, too. PostgreSQL also sends a notice, to save the wait; SQLite's
//! log is polled, since another process (`forebay admin`) may write it.

use crate::db::{Engine, Store, Tx, within};
use crate::error::StoreError;
use crate::row;
use domain::{EndpointId, OrganizationId, Segment, Timestamp, UserId, WorkspaceId};
use sqlx::any::AnyRow;
use sqlx::postgres::PgListener;
use std::time::Duration;

const CHANNEL: &str = "forebay_changes";
const MAX_AT_ONCE: i64 = 1_000;
const KEPT_MILLIS: i64 = 60 * 60 * 1_000;
/// Old rows are removed once in so many changes.
const PRUNE_EVERY: i64 = 64;
const LISTEN_PATIENCE: Duration = Duration::from_secs(2);

/// What was created, changed or removed; who hears of it reads it again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Key(Segment),
    Workspace(WorkspaceId),
    Organization(OrganizationId),
    User(UserId),
    Endpoint(EndpointId),
    /// Changes were missed, or written by a newer program: nothing that was read before may be trusted.
    Everything,
}

impl Change {
    const fn kind(&self) -> &'static str {
        match self {
            Self::Key(_) => "key",
            Self::Workspace(_) => "workspace",
            Self::Organization(_) => "organization",
            Self::User(_) => "user",
            Self::Endpoint(_) => "endpoint",
            Self::Everything => "everything",
        }
    }

    fn subject(&self) -> &str {
        match self {
            Self::Key(segment) => segment.as_str(),
            Self::Workspace(id) => id.as_str(),
            Self::Organization(id) => id.as_str(),
            Self::User(id) => id.as_str(),
            Self::Endpoint(id) => id.as_str(),
            Self::Everything => "",
        }
    }

    fn read(kind: &str, subject: &str) -> Self {
        let known = match kind {
            "key" => Segment::parse(subject).map(Self::Key),
            "workspace" => WorkspaceId::parse(subject).ok().map(Self::Workspace),
            "organization" => OrganizationId::parse(subject).ok().map(Self::Organization),
            "user" => UserId::parse(subject).ok().map(Self::User),
            "endpoint" => EndpointId::parse(subject).ok().map(Self::Endpoint),
            _ => None,
        };
        known.unwrap_or(Self::Everything)
    }
}

/// Numbers and writes the announcements of a transaction that is about to commit.
pub(crate) async fn publish(tx: &mut Tx, announcements: &[(Change, Timestamp)]) -> Result<(), StoreError> {
    let added = i64::try_from(announcements.len()).unwrap_or(i64::MAX);
    let count = sqlx::query("UPDATE change_counter SET seq = seq + $1 RETURNING seq").bind(added);
    let counter = tx.row(count).await?.ok_or_else(no_counter)?;
    let last = row::number(&counter, "seq")?;

    for (seq, (change, at)) in (last - added + 1..).zip(announcements) {
        let insert = sqlx::query("INSERT INTO changes (seq, kind, subject, at) VALUES ($1, $2, $3, $4)")
            .bind(seq)
            .bind(change.kind())
            .bind(change.subject())
            .bind(at.millis());
        tx.execute(insert).await?;
    }
    if let Some((_, now)) = announcements.last()
        && last % PRUNE_EVERY < added
    {
        let prune = sqlx::query("DELETE FROM changes WHERE at < $1").bind(now.millis() - KEPT_MILLIS);
        tx.execute(prune).await?;
    }
    match tx.engine() {
        Engine::Sqlite => Ok(()),
        Engine::Postgres => tx.execute(sqlx::query("NOTIFY forebay_changes")).await.map(drop),
    }
}

/// Changes in the order of their commits, from the moment the feed was made.
pub struct ChangeFeed {
    store: Store,
    seen: i64,
    listener: Option<PgListener>,
}

impl Store {
    /// A feed of the changes from now on.
    pub async fn changes(&self) -> Result<ChangeFeed, StoreError> {
        let query = sqlx::query("SELECT seq FROM change_counter");
        let counter = self.row(query).await?.ok_or_else(no_counter)?;
        Ok(ChangeFeed { store: self.clone(), seen: row::number(&counter, "seq")?, listener: None })
    }
}

impl ChangeFeed {
    /// Returns what is new as soon as it is known, or nothing after `patience`, or sooner: a notice may come late.
    ///
    /// After an error the feed is still good: the next call starts where the last good one ended. Dropping the future
    /// loses nothing.
    pub async fn next(&mut self, patience: Duration) -> Result<Vec<Change>, StoreError> {
        let outcome = self.look_and_wait(patience).await;
        if outcome.is_err() {
            self.listener = None;
        }
        outcome
    }

    async fn look_and_wait(&mut self, patience: Duration) -> Result<Vec<Change>, StoreError> {
        self.listen().await?;
        let waiting = self.read().await?;
        if !waiting.is_empty() {
            return Ok(waiting);
        }
        let noticed = self.wait(patience).await;
        let found = self.read().await?;
        if !noticed && !found.is_empty() {
            self.listener = None; // a notice should have come, so the listening connection may be dead
        }
        Ok(found)
    }

    /// Listens before it reads: what is committed in between is then noticed.
    async fn listen(&mut self) -> Result<(), StoreError> {
        let Some(notices) = self.store.notices() else { return Ok(()) };
        if self.listener.is_none() {
            let mut listener = PgListener::connect_with(notices).await?;
            within(LISTEN_PATIENCE, listener.listen(CHANNEL)).await?;
            listener.eager_reconnect(false);
            self.listener = Some(listener);
        }
        Ok(())
    }

    /// Whether a notice ended the wait.
    async fn wait(&mut self, patience: Duration) -> bool {
        let Some(listener) = &mut self.listener else {
            tokio::time::sleep(patience).await;
            return false;
        };
        match tokio::time::timeout(patience, listener.try_recv()).await {
            Ok(Ok(Some(_notice))) => true,
            Ok(Ok(None) | Err(_)) => {
                self.listener = None; // the connection is gone; whether the store is, the next read will tell
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
            self.seen = newest; // pruned while we were away, or another database took its place
            return Ok(vec![Change::Everything]);
        }
        let mut found = Vec::with_capacity(rows.len());
        for row in &rows {
            found.push(Change::read(&row::text(row, "kind")?, &row::text(row, "subject")?));
        }
        let last = rows.last().map_or(Ok(newest), |last| row::number(last, "seq"))?;
        self.seen = last;
        Ok(found)
    }
}

fn no_counter() -> StoreError {
    StoreError::Corrupt { place: "change_counter".into() }
}
