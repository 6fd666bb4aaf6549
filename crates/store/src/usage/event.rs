//! The row of a usage event: the columns of its two tables, and how an event is read back.
//!
//! Properties that many events share are columns of `usage_kinds` (see [`super::dimensions`]); everything else is in
//! `usage_calls`. The view `usage_events` joins both. A new field of [`UsageEvent`] becomes one line in a list of columns,
//! one in [`READ`] and one in [`from_row`].

use crate::db::{Query, Store};
use crate::error::StoreError;
use crate::row;
use domain::budget::ReservedIn;
use domain::usage::{Actor, CallOrigin, CallSurface, Certainty, Tokens};
use domain::{
    BatchId, CallClass, Caller, EndUser, EndUserId, ModelId, OrganizationId, Price, RequestId, Timestamp, UsageEvent,
    WorkspaceId,
};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use std::sync::Arc;

/// A period is the time that dimensions cover, so that they can be deleted together with their events.
const PERIOD_MILLIS: i64 = 30 * 24 * 3_600_000;
const MAX_LISTED: u32 = 1_000;

/// A column and its value for an event.
pub(super) type Column = (&'static str, for<'a> fn(&'a UsageEvent) -> Value<'a>);

/// The value of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Value<'a> {
    Text(&'a str),
    Number(i64),
    OptionalNumber(Option<i64>),
    OptionalText(Option<&'a str>),
}

/// The columns of `usage_kinds` besides `id`. Their order is the order in which every transaction writes its rows, so
/// that two transactions cannot deadlock.
pub(super) const DIMENSIONS: [Column; 12] = [
    ("workspace_id", |event| Value::Text(event.caller.workspace.as_str())),
    ("actor", |event| Value::Text(event.caller.actor.as_str())),
    ("period", |event| Value::Number(period_of(event.started_at))),
    ("model", |event| Value::Text(event.model.as_str())),
    ("replica", |event| Value::Text(&event.replica)),
    ("streamed", |event| Value::Number(event.streamed.into())),
    ("status", |event| Value::Number(event.status.into())),
    ("certainty", |event| Value::Text(event.certainty.as_str())),
    ("input_per_1m", |event| Value::Number(event.price.input_per_1m.nanos())),
    ("cached_input_per_1m", |event| Value::Number(event.price.cached_input_per_1m.nanos())),
    ("output_per_1m", |event| Value::Number(event.price.output_per_1m.nanos())),
    ("organization_id", |event| Value::Text(event.caller.organization.as_str())),
];

/// The columns of `usage_calls` that events of one group share, besides `kind`, the id of their dimensions. A statement
/// binds them once for all of its events. The code is a column here so that an index finds the errors.
pub(super) const SHARED: [Column; 7] = [
    ("workspace_id", |event| Value::Text(event.caller.workspace.as_str())),
    ("code", |event| Value::Text(&event.code)),
    ("surface", |event| Value::Text(surface_text(&event.origin))),
    ("requested_model", |event| Value::Text(requested_text(&event.origin))),
    ("failovers", |event| Value::Number(event.failovers.into())),
    ("batch_id", |event| Value::Text(event.origin.batch.as_ref().map_or("", BatchId::as_str))),
    ("class", |event| Value::OptionalText(class_text(&event.origin))),
];

/// The columns of `usage_calls` that every event has for itself.
pub(super) const OWN: [Column; 11] = [
    ("started_at", |event| Value::Number(event.started_at.millis())),
    ("request_id", |event| Value::Text(event.request.as_str())),
    ("prompt_tokens", |event| Value::Number(row::to_number(event.tokens.prompt))),
    ("completion_tokens", |event| Value::Number(row::to_number(event.tokens.completion))),
    ("cached_tokens", |event| Value::Number(row::to_number(event.tokens.cached))),
    ("cost", |event| Value::Number(event.cost.nanos())),
    ("first_byte_micros", |event| Value::OptionalNumber(row::to_optional_number(event.first_byte_micros))),
    ("duration_micros", |event| Value::Number(row::to_number(event.duration_micros))),
    ("held_micros", |event| Value::OptionalNumber(row::to_optional_number(event.held_micros))),
    ("sent_micros", |event| Value::OptionalNumber(row::to_optional_number(event.sent_micros))),
    ("end_user", |event| Value::OptionalText(event.end_user.as_ref().map(|one| one.id.as_str()))),
];

/// Empty if unknown.
pub(super) fn surface_text(origin: &CallOrigin) -> &str {
    origin.surface.map_or("", CallSurface::as_str)
}

/// Empty if the client sent the id of the model.
pub(super) fn requested_text(origin: &CallOrigin) -> &str {
    origin.requested_model.as_deref().unwrap_or_default()
}

/// `None` for interactive calls, which most are, so that their rows do not grow.
fn class_text(origin: &CallOrigin) -> Option<&str> {
    (origin.class != CallClass::Interactive).then(|| origin.class.as_str())
}

/// Reads `surface`, `requested_model` and `class` of a row.
pub(super) fn read_origin(found: &AnyRow) -> Result<CallOrigin, StoreError> {
    let requested = row::text(found, "requested_model")?;
    Ok(CallOrigin {
        // A later version may know more surfaces and classes.
        surface: CallSurface::parse(&row::text(found, "surface")?),
        requested_model: (!requested.is_empty()).then(|| requested.into()),
        batch: None,
        class: CallClass::parse(&row::text(found, "class")?).unwrap_or_default(),
    })
}

fn read_batch(found: &AnyRow) -> Result<Option<BatchId>, StoreError> {
    let batch = row::text(found, "batch_id")?;
    if batch.is_empty() { Ok(None) } else { BatchId::parse(&batch).map(Some).map_err(|_| row::corrupt("batch_id")) }
}

/// The number of the 30-day period since 1970 that contains a moment.
pub(super) fn period_of(moment: Timestamp) -> i64 {
    moment.millis() / PERIOD_MILLIS
}

/// `a, b, c`.
pub(super) fn names(columns: &[Column]) -> String {
    columns.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
}

pub(super) fn bind<'q>(query: Query<'q>, columns: &[Column], event: &UsageEvent) -> Query<'q> {
    columns.iter().fold(query, |query, (_, value)| bind_value(query, value(event)))
}

pub(super) fn bind_value<'q>(query: Query<'q>, value: Value<'_>) -> Query<'q> {
    match value {
        Value::Text(text) => query.bind(text),
        Value::Number(number) => query.bind(number),
        Value::OptionalNumber(number) => query.bind(number),
        Value::OptionalText(text) => query.bind(text),
    }
}

/// The columns that [`from_row`] reads. They are named, because a statement that another node has prepared with `*` would
/// fail once an upgrade adds a column to the view.
pub(super) const READ: &str = "request_id, organization_id, workspace_id, actor, model, replica, streamed, status, code, \
     prompt_tokens, completion_tokens, cached_tokens, certainty, input_per_1m, cached_input_per_1m, output_per_1m, cost, \
     started_at, first_byte_micros, duration_micros, held_micros, sent_micros, surface, requested_model, failovers, \
     end_user, batch_id, class";

/// The newest events of a workspace first.
pub async fn list(store: &Store, workspace: &WorkspaceId, limit: u32) -> Result<Vec<UsageEvent>, StoreError> {
    let text = format!(
        "SELECT {READ} FROM usage_events WHERE workspace_id = $1 ORDER BY started_at DESC, request_id DESC LIMIT $2"
    );
    let query = sqlx::query(AssertSqlSafe(text)).bind(workspace.as_str()).bind(i64::from(limit.min(MAX_LISTED)));
    store.rows(query).await?.iter().map(from_row).collect()
}

/// Reads a row of the view `usage_events`.
pub(super) fn from_row(found: &AnyRow) -> Result<UsageEvent, StoreError> {
    let caller = Caller::new(
        row::parsed(found, "organization_id", |text| OrganizationId::parse(text).ok())?,
        row::parsed(found, "workspace_id", |text| WorkspaceId::parse(text).ok())?,
        row::parsed(found, "actor", Actor::parse)?,
    );
    Ok(UsageEvent {
        request: row::parsed(found, "request_id", |text| RequestId::parse(text).ok())?,
        caller: Arc::new(caller),
        model: row::parsed(found, "model", |text| ModelId::parse(text).ok())?,
        replica: row::text(found, "replica")?.into(),
        streamed: row::flag(found, "streamed")?,
        status: row::status(found)?,
        code: row::text(found, "code")?.into(),
        tokens: Tokens {
            prompt: row::count(found, "prompt_tokens")?,
            completion: row::count(found, "completion_tokens")?,
            cached: row::count(found, "cached_tokens")?,
        },
        certainty: row::parsed(found, "certainty", Certainty::parse)?,
        price: Price {
            input_per_1m: row::money(found, "input_per_1m")?,
            cached_input_per_1m: row::money(found, "cached_input_per_1m")?,
            output_per_1m: row::money(found, "output_per_1m")?,
        },
        cost: row::money(found, "cost")?,
        started_at: row::moment(found, "started_at")?,
        first_byte_micros: row::optional_count(found, "first_byte_micros")?,
        duration_micros: row::count(found, "duration_micros")?,
        held_micros: row::optional_count(found, "held_micros")?,
        sent_micros: row::optional_count(found, "sent_micros")?,
        origin: CallOrigin { batch: read_batch(found)?, ..read_origin(found)? },
        failovers: row::small(found, "failovers")?,
        end_user: row::optional_parsed(found, "end_user", EndUserId::parse)?
            .map(|id| Arc::new(EndUser { id, text: None })),
        reserved_in: ReservedIn::default(),
    })
}
