//! Compares the sums with the rows they are sums of, and corrects them while nodes are running.
//!
//! Hours are compared with events, days with hours. A difference is read by one statement, so it is consistent; writers
//! add the same amount to both sides, so the difference stays constant until it is subtracted. Only a second check at the
//! same time must be excluded.

use super::add::{SumKey, add_amounts};
use super::amounts::Amounts;
use super::query::query;
use crate::db::{Engine, Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::grouping::Dimension;
use domain::span::{Piece, Source};
use domain::{Grain, Span, Timestamp, WorkspaceId};
use sqlx::any::AnyRow;

const BY: [Dimension; 2] = [Dimension::Model, Dimension::Key];
/// Of two checks that find the same difference, only one may subtract it.
const POSTGRES_LOCK: &str = "SELECT pg_advisory_xact_lock(7023110002)";

/// The workspace after `last` that has events or sums, or the first one if `None`. It may be deleted already.
pub async fn next_workspace(store: &Store, last: Option<&WorkspaceId>) -> Result<Option<WorkspaceId>, StoreError> {
    let query = sqlx::query(
        "SELECT MIN(id) AS next_id FROM (SELECT MIN(workspace_id) AS id FROM usage_calls WHERE workspace_id > $1 \
         UNION ALL SELECT MIN(workspace_id) FROM usage_hours WHERE workspace_id > $1 \
         UNION ALL SELECT MIN(workspace_id) FROM usage_days WHERE workspace_id > $1) AS found",
    );
    match store.row(query.bind(last.map_or("", WorkspaceId::as_str))).await? {
        Some(found) => row::optional_parsed(&found, "next_id", |text| WorkspaceId::parse(text).ok()),
        None => Ok(None),
    }
}

/// The first hour or day at or after `from` in which the workspace has events or sums.
pub async fn next_start(
    store: &Store,
    workspace: &WorkspaceId,
    grain: Grain,
    from: Timestamp,
) -> Result<Option<Timestamp>, StoreError> {
    let query = sqlx::query(match grain {
        Grain::Hour => {
            "SELECT MIN(at) AS next_at FROM (SELECT MIN(starts_at) AS at FROM usage_hours \
             WHERE workspace_id = $1 AND starts_at >= $2 UNION ALL SELECT MIN(started_at) FROM usage_calls \
             WHERE workspace_id = $1 AND started_at >= $2) AS found"
        }
        Grain::Day => {
            "SELECT MIN(at) AS next_at FROM (SELECT MIN(starts_at) AS at FROM usage_days \
             WHERE workspace_id = $1 AND starts_at >= $2 UNION ALL SELECT MIN(starts_at) FROM usage_hours \
             WHERE workspace_id = $1 AND starts_at >= $2) AS found"
        }
    });
    let Some(found) = store.row(query.bind(workspace.as_str()).bind(from.millis())).await? else { return Ok(None) };
    Ok(row::optional_moment(&found, "next_at")?.map(|moment| grain.start_of(moment)))
}

/// Compares one hour or day, corrects the differences, and returns the number of corrected rows.
pub async fn correct(
    store: &Store,
    workspace: &WorkspaceId,
    grain: Grain,
    starts_at: Timestamp,
) -> Result<u64, StoreError> {
    let pieces = sides(grain, starts_at);
    if differences(&store.rows(query(workspace, &pieces, &BY)).await?)?.is_empty() {
        return Ok(0);
    }
    let mut tx = store.begin().await?;
    lock_out_other_checks(&mut tx).await?;
    let found = differences(&tx.rows(query(workspace, &pieces, &BY)).await?)?;
    let mut corrections: Vec<_> = found
        .iter()
        .map(|Difference { model, actor, excess }| {
            (SumKey { workspace: workspace.as_str(), starts_at: starts_at.millis(), model, actor }, -*excess)
        })
        .collect();
    corrections.sort_unstable_by_key(|(key, _)| *key);
    add_amounts(&mut tx, grain, &corrections).await?;
    tx.commit().await?;
    Ok(corrections.len() as u64)
}

async fn lock_out_other_checks(tx: &mut Tx) -> Result<(), StoreError> {
    match tx.engine() {
        Engine::Sqlite => Ok(()), // its write transactions exclude each other already
        Engine::Postgres => tx.execute(sqlx::query(POSTGRES_LOCK)).await.map(drop),
    }
}

/// A sum, minus the rows it is the sum of.
fn sides(grain: Grain, starts_at: Timestamp) -> [Piece; 2] {
    let span = Span { from: starts_at, to: Timestamp::from_millis(starts_at.millis() + grain.millis()) };
    let parts = match grain {
        Grain::Hour => Source::Events,
        Grain::Day => Source::Sums(Grain::Hour),
    };
    [Piece::plus(Source::Sums(grain), span), Piece::minus(parts, span)]
}

/// The amounts by which the row of a model and an actor is too high; negative if it is too low.
struct Difference {
    model: String,
    actor: String,
    excess: Amounts,
}

fn differences(found: &[AnyRow]) -> Result<Vec<Difference>, StoreError> {
    let mut differing = Vec::new();
    for found in found {
        let excess = Amounts::read(found)?;
        if !excess.is_zero() {
            differing.push(Difference { model: row::text(found, "model")?, actor: row::text(found, "actor")?, excess });
        }
    }
    Ok(differing)
}
