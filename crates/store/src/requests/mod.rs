//! The request log: usage events, and calls that no replica saw, newest first. No prompt is in it.

mod refused;

pub use refused::{Refused, insert_refused};

use crate::db::{Query, Store};
use crate::error::StoreError;
use crate::row;
use domain::usage::{Actor, Tokens};
use domain::{KeyId, NanoUsd, RequestId, Span, Timestamp, UserId, WorkspaceId};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;

pub const MAX_LISTED: u32 = 1_000;

/// Which statuses are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Statuses {
    Exactly(u16),
    /// Such as 4 for all from 400 to 499.
    Hundred(u16),
}

/// Which calls are asked for; what is absent lets everything through.
#[derive(Debug, Clone, Copy)]
pub struct Filter<'a> {
    pub workspace: &'a WorkspaceId,
    pub span: Span,
    pub model: Option<&'a str>,
    pub actor: Option<&'a Actor>,
    pub statuses: Option<Statuses>,
    pub code: Option<&'a str>,
    /// Only what is older than this one.
    pub before: Option<&'a RequestId>,
}

/// One call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    pub request: RequestId,
    pub actor: Actor,
    /// Empty where the call named no model of ours.
    pub model: String,
    pub status: u16,
    pub code: String,
    pub started_at: Timestamp,
    pub duration_micros: u64,
    pub held_micros: Option<u64>,
    /// Of calls that reached a replica.
    pub served: Option<Served>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Served {
    pub replica: String,
    pub streamed: bool,
    pub tokens: Tokens,
    pub certainty: String,
    pub cost: NanoUsd,
    pub first_byte_micros: Option<u64>,
    pub sent_micros: Option<u64>,
}

const COMMON: &str = "request_id, key_id, user_id, model, status, code, started_at, duration_micros, held_micros";
const OF_EVENTS: &str = "replica, streamed, prompt_tokens, completion_tokens, cached_tokens, certainty, cost, \
     first_byte_micros, sent_micros";

const REFUSED: &str = "refused_calls";

/// The newest first.
pub async fn list(store: &Store, filter: &Filter<'_>, limit: u32) -> Result<Vec<Logged>, StoreError> {
    let limit = limit.clamp(1, MAX_LISTED);
    let columns = format!("{COMMON}, {OF_EVENTS}");
    let mut found = Vec::new();
    for (table, columns) in filter.tables().into_iter().zip([columns.as_str(), COMMON]) {
        let text = format!(
            "SELECT {columns} FROM {table} WHERE {} ORDER BY started_at DESC, request_id DESC LIMIT {limit}",
            condition(filter)
        );
        let rows = store.rows(bound(sqlx::query(AssertSqlSafe(text)), filter)).await?;
        for row in &rows {
            let served = if table == REFUSED { None } else { Some(served(row)?) };
            found.push(logged(row, served)?);
        }
    }
    found.sort_unstable_by(|one, other| (other.started_at, &other.request).cmp(&(one.started_at, &one.request)));
    found.truncate(limit as usize);
    Ok(found)
}

/// How many calls there are; those beyond `most` of each kind are not counted.
pub async fn count(store: &Store, filter: &Filter<'_>, most: u64) -> Result<u64, StoreError> {
    let mut calls = 0;
    for table in filter.tables() {
        let text = format!(
            "SELECT COUNT(*) AS calls FROM (SELECT 1 AS one FROM {table} WHERE {} LIMIT {most}) AS found",
            condition(filter)
        );
        if let Some(found) = store.row(bound(sqlx::query(AssertSqlSafe(text)), filter)).await? {
            calls += row::count(&found, "calls")?;
        }
    }
    Ok(calls)
}

/// Only what is asked for is in the text, so that the databases can see which index helps.
fn condition(filter: &Filter<'_>) -> String {
    let mut text = "workspace_id = $1 AND started_at >= $2 AND started_at < $3".to_owned();
    let mut next = 4;
    let mut and = |condition: &str, values: usize| {
        text += " AND ";
        for piece in condition.split_inclusive('$') {
            text += piece;
            if piece.ends_with('$') {
                text += &next.to_string();
                next += 1;
            }
        }
        debug_assert_eq!(condition.matches('$').count(), values);
    };
    if filter.model.is_some() {
        and("model = $", 1);
    }
    match filter.actor {
        Some(Actor::Key(_)) => and("key_id = $", 1),
        Some(Actor::User(_)) => and("user_id = $", 1),
        None => {}
    }
    match filter.statuses {
        Some(Statuses::Exactly(_) | Statuses::Hundred(_)) => and("status >= $ AND status <= $", 2),
        None => {}
    }
    if filter.code.is_some() {
        and("code = $", 1);
    }
    if filter.before.is_some() {
        and("started_at <= $ AND request_id < $", 2);
    }
    text
}

fn bound<'q>(query: Query<'q>, filter: &Filter<'q>) -> Query<'q> {
    let mut query = query.bind(filter.workspace.as_str()).bind(filter.span.from.millis()).bind(filter.span.to.millis());
    if let Some(model) = filter.model {
        query = query.bind(model);
    }
    if let Some(actor) = filter.actor {
        query = query.bind(actor.as_str());
    }
    match filter.statuses {
        Some(Statuses::Exactly(status)) => query = query.bind(i64::from(status)).bind(i64::from(status)),
        Some(Statuses::Hundred(hundred)) => {
            query = query.bind(i64::from(hundred) * 100).bind(i64::from(hundred) * 100 + 99);
        }
        None => {}
    }
    if let Some(code) = filter.code {
        query = query.bind(code);
    }
    if let Some(before) = filter.before {
        query = query.bind(before.made_at().millis()).bind(before.as_str());
    }
    query
}

impl Filter<'_> {
    fn tables(&self) -> [&'static str; 2] {
        [if self.asks_for_errors() { "usage_failures" } else { "usage_events" }, REFUSED]
    }

    /// Then an index of few rows is enough: whatever is not 200 has a code.
    fn asks_for_errors(&self) -> bool {
        let by_status = match self.statuses {
            Some(Statuses::Exactly(status)) => status != 200,
            Some(Statuses::Hundred(hundred)) => hundred != 2,
            None => false,
        };
        by_status || self.code.is_some_and(|code| !code.is_empty())
    }
}

fn logged(found: &AnyRow, served: Option<Served>) -> Result<Logged, StoreError> {
    let key = row::optional_parsed(found, "key_id", |text| KeyId::parse(text).ok())?.map(Actor::Key);
    let user = row::optional_parsed(found, "user_id", |text| UserId::parse(text).ok())?.map(Actor::User);
    Ok(Logged {
        request: row::parsed(found, "request_id", |text| RequestId::parse(text).ok())?,
        actor: key.or(user).ok_or_else(|| row::corrupt("key_id"))?,
        model: row::text(found, "model")?,
        status: u16::try_from(row::number(found, "status")?).map_err(|_| row::corrupt("status"))?,
        code: row::text(found, "code")?,
        started_at: row::moment(found, "started_at")?,
        duration_micros: row::count(found, "duration_micros")?,
        held_micros: row::optional_count(found, "held_micros")?,
        served,
    })
}

fn served(found: &AnyRow) -> Result<Served, StoreError> {
    Ok(Served {
        replica: row::text(found, "replica")?,
        streamed: row::flag(found, "streamed")?,
        tokens: Tokens {
            prompt: row::count(found, "prompt_tokens")?,
            completion: row::count(found, "completion_tokens")?,
            cached: row::count(found, "cached_tokens")?,
        },
        certainty: row::text(found, "certainty")?,
        cost: row::money(found, "cost")?,
        first_byte_micros: row::optional_count(found, "first_byte_micros")?,
        sent_micros: row::optional_count(found, "sent_micros")?,
    })
}
