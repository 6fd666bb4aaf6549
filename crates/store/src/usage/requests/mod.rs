//! The request log: usage events and rejected calls, newest first. It contains no prompts.

mod errors;
mod rejected;
mod sorted;

pub use errors::{ErrorCount, count_errors};
pub use rejected::{RejectedCall, insert_rejected};
pub use sorted::{CallColumn, SortedAfter, count_sorted, list_sorted};

use super::event::{self, Value};
use crate::db::{Query, Store};
use crate::error::StoreError;
use crate::row;
use domain::batches::COMPLETION_WINDOW_MILLIS;
use domain::usage::{Actor, CLIENT_GONE, CallSurface};
use domain::{CallClass, EndUserId, RequestId, Span, Timestamp, UsageEvent, WorkspaceId};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use std::time::Duration;

pub const MAX_LISTED: u32 = 1_000;
/// How much earlier than its id a call may start.
const ID_PRECISION_MILLIS: i64 = 1_000;
/// How much later than its id a call may start, with an hour to spare: ids of lines have the time of their batch.
const MAX_LINE_AGE_MILLIS: i64 = COMPLETION_WINDOW_MILLIS + 3_600_000;

/// Selects calls by their status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatusFilter {
    Exactly(u16),
    /// The first digit, such as 4 for 400 to 499, but not calls left by their clients.
    Class(u16),
    /// Rejected and broken, also after a status of 200, but not left by their clients.
    Failed,
}

/// Selects calls; `None` matches every call.
#[derive(Debug, Clone)]
pub struct Filter {
    pub workspace: WorkspaceId,
    pub span: Span,
    pub model: Option<String>,
    pub actor: Option<Actor>,
    pub status: Option<StatusFilter>,
    pub code: Option<String>,
    pub surface: Option<CallSurface>,
    pub class: Option<CallClass>,
    pub end_user: Option<EndUserId>,
    pub request: Option<RequestId>,
    /// Only calls that took at least this long.
    pub min_duration: Option<Duration>,
    /// Only calls that come after the one with this start and id.
    pub before: Option<(Timestamp, RequestId)>,
}

impl Filter {
    /// Every call of a workspace in a span.
    pub fn all(workspace: WorkspaceId, span: Span) -> Self {
        Self {
            workspace,
            span,
            model: None,
            actor: None,
            status: None,
            code: None,
            surface: None,
            class: None,
            end_user: None,
            request: None,
            min_duration: None,
            before: None,
        }
    }
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
pub async fn list(store: &Store, filter: &Filter, limit: u32) -> Result<Vec<LoggedCall>, StoreError> {
    let limit = limit.clamp(1, MAX_LISTED);
    let mut calls = Vec::new();
    for table in filter.tables() {
        let text = format!(
            "SELECT {} FROM {table} WHERE {} ORDER BY started_at DESC, request_id DESC LIMIT {limit}",
            columns(table),
            condition(filter)
        );
        for found in &store.rows(bind(sqlx::query(AssertSqlSafe(text)), filter)).await? {
            calls.push(read(table, found)?);
        }
    }
    calls.sort_unstable_by(|one, other| (other.started_at(), other.request()).cmp(&(one.started_at(), one.request())));
    calls.truncate(limit as usize);
    Ok(calls)
}

/// What [`read`] needs of a table.
fn columns(table: &str) -> &'static str {
    if table == REJECTED { rejected::COLUMNS } else { event::READ }
}

fn read(table: &str, found: &AnyRow) -> Result<LoggedCall, StoreError> {
    Ok(if table == REJECTED {
        LoggedCall::Rejected(rejected::from_row(found)?)
    } else {
        LoggedCall::Served(event::from_row(found)?)
    })
}

/// The number of calls, counting at most `max` served and `max` rejected ones.
pub async fn count(store: &Store, filter: &Filter, max: u64) -> Result<u64, StoreError> {
    count_in(store, filter.tables(), filter, max).await
}

async fn count_in(store: &Store, tables: [&str; 2], filter: &Filter, max: u64) -> Result<u64, StoreError> {
    let mut calls = 0;
    for table in tables {
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

/// Only the conditions that are set, so that the databases can choose an index. Each compares a column with one value.
/// SQLite reads its index within the first bounds of a column, so the narrow ones come before those of the span.
fn conditions(filter: &Filter) -> Vec<(&'static str, Value<'_>)> {
    let mut all = Vec::new();
    if let Some((started_at, request)) = &filter.before {
        // Older, or of the same moment with a smaller id. `$1` is the moment because it is the first of all.
        all.extend([
            ("started_at <=", Value::Number(started_at.millis())),
            ("CASE WHEN started_at < $1 THEN '' ELSE request_id END <", Value::Text(request.as_str())),
        ]);
    }
    if let Some(request) = &filter.request {
        // The id is made when the call or its batch starts; an index begins with the time, none with the id.
        let made_at = request.made_at();
        all.push(("started_at >=", Value::Number(made_at.plus_millis(-ID_PRECISION_MILLIS).millis())));
        all.push(("started_at <=", Value::Number(made_at.plus_millis(MAX_LINE_AGE_MILLIS).millis())));
        all.push(("request_id =", Value::Text(request.as_str())));
    }
    all.extend([
        ("workspace_id =", Value::Text(filter.workspace.as_str())),
        ("started_at >=", Value::Number(filter.span.from.millis())),
        ("started_at <", Value::Number(filter.span.to.millis())),
    ]);
    all.extend(filter.model.as_deref().map(|model| ("model =", Value::Text(model))));
    all.extend(filter.actor.as_ref().map(|actor| match actor {
        Actor::Key(key) => ("key_id =", Value::Text(key.as_str())),
        Actor::User(user) => ("user_id =", Value::Text(user.as_str())),
    }));
    let not_cancelled = ("code <>", Value::Text(CLIENT_GONE));
    let statuses = |lowest, highest| [("status >=", Value::Number(lowest)), ("status <=", Value::Number(highest))];
    match filter.status {
        Some(StatusFilter::Exactly(status)) => all.extend(statuses(i64::from(status), i64::from(status))),
        Some(StatusFilter::Class(class)) => {
            all.extend(statuses(i64::from(class) * 100, i64::from(class) * 100 + 99));
            if class == 4 {
                all.push(not_cancelled);
            }
        }
        Some(StatusFilter::Failed) => all.push(not_cancelled),
        None => {}
    }
    all.extend(filter.code.as_deref().map(|code| ("code =", Value::Text(code))));
    all.extend(filter.surface.map(|surface| ("surface =", Value::Text(surface.as_str()))));
    all.extend(filter.class.map(|class| ("class =", Value::Text(class.as_str()))));
    all.extend(filter.end_user.as_ref().map(|end_user| ("end_user =", Value::Text(end_user.as_str()))));
    if let Some(least) = filter.min_duration {
        let micros = i64::try_from(least.as_micros()).unwrap_or(i64::MAX);
        all.push(("duration_micros >=", Value::Number(micros)));
    }
    all
}

/// The conditions as SQL, with numbered placeholders.
fn condition(filter: &Filter) -> String {
    let numbered = (1..).zip(conditions(filter)).map(|(number, (comparison, _))| format!("{comparison} ${number}"));
    numbered.collect::<Vec<_>>().join(" AND ")
}

fn bind<'q>(query: Query<'q>, filter: &'q Filter) -> Query<'q> {
    conditions(filter).into_iter().fold(query, |query, (_, value)| event::bind_value(query, value))
}

impl Filter {
    fn tables(&self) -> [&'static str; 2] {
        [if self.selects_errors() { "usage_failures" } else { "usage_events" }, REJECTED]
    }

    /// Errors have a small index of their own: every call whose status is not 200 has a code.
    fn selects_errors(&self) -> bool {
        let by_status = match self.status {
            Some(StatusFilter::Exactly(status)) => status != 200,
            Some(StatusFilter::Class(class)) => class != 2,
            Some(StatusFilter::Failed) => true,
            None => false,
        };
        by_status || self.code.as_ref().is_some_and(|code| !code.is_empty())
    }
}
