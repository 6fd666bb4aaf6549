//! The request log: usage events and rejected calls, newest first. It contains no prompts.

mod rejected;

pub use rejected::{RejectedCall, insert_rejected};

use super::event;
use crate::db::{Query, Store};
use crate::error::StoreError;
use crate::row;
use domain::usage::Actor;
use domain::{RequestId, Span, Timestamp, UsageEvent, WorkspaceId};
use sqlx::AssertSqlSafe;

pub const MAX_LISTED: u32 = 1_000;

/// Selects calls by their status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusFilter {
    Exactly(u16),
    /// The first digit, such as 4 for 400 to 499.
    Class(u16),
}

/// Selects calls; `None` matches every call.
#[derive(Debug, Clone, Copy)]
pub struct Filter<'a> {
    pub workspace: &'a WorkspaceId,
    pub span: Span,
    pub model: Option<&'a str>,
    pub actor: Option<&'a Actor>,
    pub status: Option<StatusFilter>,
    pub code: Option<&'a str>,
    /// Only calls older than this one.
    pub before: Option<&'a RequestId>,
}

/// One call of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LoggedCall {
    /// It reached a replica.
    Served(UsageEvent),
    Rejected(RejectedCall),
}

impl LoggedCall {
    pub fn request(&self) -> &RequestId {
        match self {
            Self::Served(event) => &event.request,
            Self::Rejected(call) => &call.request,
        }
    }

    pub fn started_at(&self) -> Timestamp {
        match self {
            Self::Served(event) => event.started_at,
            Self::Rejected(call) => call.started_at,
        }
    }
}

const REJECTED: &str = "refused_calls";

/// The newest calls first.
pub async fn list(store: &Store, filter: &Filter<'_>, limit: u32) -> Result<Vec<LoggedCall>, StoreError> {
    let limit = limit.clamp(1, MAX_LISTED);
    let mut calls = Vec::new();
    for table in filter.tables() {
        let text = format!(
            "SELECT * FROM {table} WHERE {} ORDER BY started_at DESC, request_id DESC LIMIT {limit}",
            condition(filter)
        );
        for found in &store.rows(bind(sqlx::query(AssertSqlSafe(text)), filter)).await? {
            calls.push(if table == REJECTED {
                LoggedCall::Rejected(rejected::from_row(found)?)
            } else {
                LoggedCall::Served(event::from_row(found)?)
            });
        }
    }
    calls.sort_unstable_by(|one, other| (other.started_at(), other.request()).cmp(&(one.started_at(), one.request())));
    calls.truncate(limit as usize);
    Ok(calls)
}

/// The number of calls, counting at most `max` served and `max` rejected ones.
pub async fn count(store: &Store, filter: &Filter<'_>, max: u64) -> Result<u64, StoreError> {
    let mut calls = 0;
    for table in filter.tables() {
        let text = format!(
            "SELECT COUNT(*) AS calls FROM (SELECT 1 AS one FROM {table} WHERE {} LIMIT {max}) AS found",
            condition(filter)
        );
        if let Some(found) = store.row(bind(sqlx::query(AssertSqlSafe(text)), filter)).await? {
            calls += row::count(&found, "calls")?;
        }
    }
    Ok(calls)
}

/// The WHERE clause has only the conditions that are set, so that the databases can choose an index.
fn condition(filter: &Filter<'_>) -> String {
    let mut text = "workspace_id = $1 AND started_at >= $2 AND started_at < $3".to_owned();
    let mut next = 4;
    let mut and = |condition: &str, values: usize| {
        text += " AND ";
        for part in condition.split_inclusive('$') {
            text += part;
            if part.ends_with('$') {
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
    if filter.status.is_some() {
        and("status >= $ AND status <= $", 2);
    }
    if filter.code.is_some() {
        and("code = $", 1);
    }
    if filter.before.is_some() {
        and("started_at <= $ AND request_id < $", 2);
    }
    text
}

/// Binds the values of [`condition`].
fn bind<'q>(query: Query<'q>, filter: &Filter<'q>) -> Query<'q> {
    let mut query = query.bind(filter.workspace.as_str()).bind(filter.span.from.millis()).bind(filter.span.to.millis());
    if let Some(model) = filter.model {
        query = query.bind(model);
    }
    if let Some(actor) = filter.actor {
        query = query.bind(actor.as_str());
    }
    match filter.status {
        Some(StatusFilter::Exactly(status)) => query = query.bind(i64::from(status)).bind(i64::from(status)),
        Some(StatusFilter::Class(class)) => {
            query = query.bind(i64::from(class) * 100).bind(i64::from(class) * 100 + 99);
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
        [if self.selects_errors() { "usage_failures" } else { "usage_events" }, REJECTED]
    }

    /// Errors have a small index of their own: every call whose status is not 200 has a code.
    fn selects_errors(&self) -> bool {
        let by_status = match self.status {
            Some(StatusFilter::Exactly(status)) => status != 200,
            Some(StatusFilter::Class(class)) => class != 2,
            None => false,
        };
        by_status || self.code.is_some_and(|code| !code.is_empty())
    }
}
