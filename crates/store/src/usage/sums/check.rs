//! Compares the sums with the rows they are sums of, and corrects them while nodes are running.
//!
//! Hours are compared with events, days with hours, and those of classes and of end users with events. A difference is read by
//! one statement, so it is consistent; writers add the same amount to both sides, so the difference stays constant until it is
//! subtracted. Only a second check at the same time must be excluded.

use super::Sums;
use super::add::{SumKey, add_amounts};
use super::amounts::Amounts;
use super::query::{Selection, query};
use crate::db::{Engine, Store, Tx};
use crate::error::StoreError;
use crate::row;
use domain::span::{EndUserRows, Piece, Source};
use domain::{Grain, Span, Timestamp, WorkspaceId};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

/// Held while a difference is subtracted: only one of two checks that find it may do so.
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

/// The first hour or day at or after `from` in which the workspace has sums, or what they are compared with.
pub async fn next_start(
    store: &Store,
    workspace: &WorkspaceId,
    sums: Sums,
    from: Timestamp,
) -> Result<Option<Timestamp>, StoreError> {
    let (parts, at) = match sums {
        Sums::Of(Grain::Hour) => ("usage_calls", "started_at"),
        Sums::Of(Grain::Day) => ("usage_hours", "starts_at"),
        // Every day with events has a sum of all calls, which are checked before.
        Sums::Classes | Sums::EndUsers => ("usage_days", "starts_at"),
    };
    let text = format!(
        "SELECT MIN(at) AS next_at FROM (SELECT MIN(starts_at) AS at FROM {} WHERE workspace_id = $1 AND starts_at >= $2 \
         UNION ALL SELECT MIN({at}) FROM {parts} WHERE workspace_id = $1 AND {at} >= $2) AS found",
        sums.table()
    );
    let query = sqlx::query(AssertSqlSafe(text));
    let Some(found) = store.row(query.bind(workspace.as_str()).bind(from.millis())).await? else { return Ok(None) };
    Ok(row::optional_moment(&found, "next_at")?.map(|moment| sums.grain().start_of(moment)))
}

/// Compares one hour or day, corrects the differences, and returns the number of corrected rows.
pub async fn correct(
    store: &Store,
    workspace: &WorkspaceId,
    sums: Sums,
    starts_at: Timestamp,
) -> Result<u64, StoreError> {
    let (selection, pieces, by) = (Selection::all(workspace), sides(sums, starts_at), columns(sums));
    if differences(sums, &store.rows(query(selection, &pieces, by)).await?)?.is_empty() {
        return Ok(0);
    }
    let mut tx = store.begin().await?;
    lock_out_other_checks(&mut tx).await?;
    let found = differences(sums, &tx.rows(query(selection, &pieces, by)).await?)?;
    let (workspace, starts_at) = (workspace.as_str(), starts_at.millis());
    let mut corrections: Vec<_> = found
        .iter()
        .map(|Difference { end_user, class, model, actor, excess }| {
            let (end_user, class, actor) = (end_user.as_deref(), class.as_deref(), actor.as_deref());
            (SumKey { workspace, end_user, starts_at, class, model, actor }, -*excess)
        })
        .collect();
    corrections.sort_unstable_by_key(|(key, _)| *key);
    add_amounts(&mut tx, sums, &corrections).await?;
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
fn sides(sums: Sums, starts_at: Timestamp) -> [Piece; 2] {
    let span = Span { from: starts_at, to: Timestamp::from_millis(starts_at.millis() + sums.grain().millis()) };
    let (whole, parts) = match sums {
        Sums::Of(grain @ Grain::Hour) => (Source::Sums(grain), Source::Events),
        Sums::Of(grain @ Grain::Day) => (Source::Sums(grain), Source::Sums(Grain::Hour)),
        Sums::Classes => (Source::Classes, Source::EventsOfClasses),
        Sums::EndUsers => (Source::EndUsers(EndUserRows::Named), Source::EventsOfEndUsers),
    };
    [Piece::plus(whole, span), Piece::minus(parts, span)]
}

/// What distinguishes the rows of an hour or day.
const fn columns(sums: Sums) -> &'static [&'static str] {
    match sums {
        Sums::Of(_) => &["model", "actor"],
        Sums::Classes => &["class", "model"],
        Sums::EndUsers => &["end_user", "model", "actor"],
    }
}

/// The amounts by which a row is too high; negative if it is too low. Columns that its table does not have are `None`.
struct Difference {
    end_user: Option<String>,
    class: Option<String>,
    model: String,
    actor: Option<String>,
    excess: Amounts,
}

fn differences(sums: Sums, found: &[AnyRow]) -> Result<Vec<Difference>, StoreError> {
    let mut differing = Vec::new();
    for found in found {
        let excess = Amounts::read(found)?;
        if !excess.is_zero() {
            let text = |column| columns(sums).contains(&column).then(|| row::text(found, column)).transpose();
            differing.push(Difference {
                end_user: text("end_user")?,
                class: text("class")?,
                model: row::text(found, "model")?,
                actor: text("actor")?,
                excess,
            });
        }
    }
    Ok(differing)
}
