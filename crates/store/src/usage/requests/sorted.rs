//! The request log by another order than newest first. Unless by time, every call of the span is read: no index has
//! these orders.

use super::{Filter, LoggedCall, MAX_LISTED, REJECTED, bind, columns, condition, conditions, count_in, read};
use crate::db::Store;
use crate::error::StoreError;
use crate::listing::{Order, SortBy};
use crate::row;
use domain::{RequestId, Timestamp};
use sqlx::AssertSqlSafe;

/// What calls can be sorted by. Rejected calls have no tokens and no cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallColumn {
    StartedAt,
    Duration,
    /// The tokens of prompt and completion.
    Tokens,
    Cost,
}

impl SortBy for CallColumn {
    const ALL: &'static [Self] = &[Self::StartedAt, Self::Duration, Self::Tokens, Self::Cost];

    fn name(self) -> &'static str {
        match self {
            Self::StartedAt => "at",
            Self::Duration => "duration",
            Self::Tokens => "tokens",
            Self::Cost => "cost",
        }
    }
}

/// A saturating sum: absurd counts from a faulty engine must not make the query fail.
const TOKENS: &str = "(CASE WHEN prompt_tokens > 9223372036854775807 - completion_tokens THEN 9223372036854775807 \
     ELSE prompt_tokens + completion_tokens END)";

impl CallColumn {
    fn expression(self, table: &str) -> &'static str {
        match self {
            Self::StartedAt => "started_at",
            Self::Duration => "duration_micros",
            // A bare number in ORDER BY would be the position of a column.
            Self::Tokens | Self::Cost if table == REJECTED => "CAST(0 AS BIGINT)",
            Self::Tokens => TOKENS,
            Self::Cost => "cost",
        }
    }

    /// The value that a call is sorted by.
    pub fn value_of(self, call: &LoggedCall) -> i64 {
        match (self, call) {
            (Self::StartedAt, call) => call.started_at().millis(),
            (Self::Duration, LoggedCall::Served(event)) => row::to_number(event.duration_micros),
            (Self::Duration, LoggedCall::Rejected(call)) => row::to_number(call.duration_micros),
            (Self::Tokens, LoggedCall::Served(event)) => row::to_number(event.tokens.total()),
            (Self::Cost, LoggedCall::Served(event)) => event.cost.nanos(),
            (Self::Tokens | Self::Cost, LoggedCall::Rejected(_)) => 0,
        }
    }
}

/// The last call of a page. Calls of equal value are sorted by their start, then by their id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SortedAfter {
    pub value: i64,
    pub started_at: Timestamp,
    pub request: RequestId,
}

/// The calls of a page. Reads as many calls as [`count_sorted`] counts, unless they are sorted by time.
pub async fn list_sorted(
    store: &Store,
    filter: &Filter,
    Order { by, descending }: Order<CallColumn>,
    after: Option<&SortedAfter>,
    limit: u32,
) -> Result<Vec<LoggedCall>, StoreError> {
    let limit = limit.clamp(1, MAX_LISTED);
    let (comes_after, direction) = if descending { ("<", "DESC") } else { (">", "ASC") };
    let mut calls = Vec::new();
    for table in filter.tables() {
        let value = by.expression(table);
        let first = conditions(filter).len() + 1;
        // The first condition, as in `conditions`.
        let rest = match after {
            Some(_) => format!(
                "({value}, started_at, request_id) {comes_after} (${first}, ${}, ${}) AND ",
                first + 1,
                first + 2
            ),
            None => String::new(),
        };
        let text = format!(
            "SELECT {} FROM {table} WHERE {rest}{} \
             ORDER BY {value} {direction}, started_at {direction}, request_id {direction} LIMIT {limit}",
            columns(table),
            condition(filter)
        );
        let mut query = bind(sqlx::query(AssertSqlSafe(text)), filter);
        if let Some(after) = after {
            query = query.bind(after.value).bind(after.started_at.millis()).bind(after.request.as_str());
        }
        for found in &store.rows(query).await? {
            calls.push(read(table, found)?);
        }
    }
    let place = |call: &LoggedCall| (by.value_of(call), call.started_at());
    calls.sort_unstable_by(|one, other| {
        let order = (place(one), one.request()).cmp(&(place(other), other.request()));
        if descending { order.reverse() } else { order }
    });
    calls.truncate(limit as usize);
    Ok(calls)
}

/// The number of calls that a sorted page reads whatever else the filter selects, counting at most `max` served and `max`
/// rejected ones.
pub async fn count_sorted(store: &Store, filter: &Filter, max: u64) -> Result<u64, StoreError> {
    let all = Filter::all(filter.workspace.clone(), filter.span);
    count_in(store, filter.tables(), &all, max).await
}
