//! Rows of usage: one per request id, whoever writes it and how often.

use crate::db::{Engine, Query, Store, Tx};
use crate::error::StoreError;
use crate::usage_kinds::{self, Alike};
use crate::values::{insert_alike_text, insert_text, pieces};
use crate::{bill_check, row, series, usage_sums};
use domain::usage::{Actor, Tokens};
use domain::{KeyId, ModelId, NanoUsd, OrganizationId, Price, RequestId, Timestamp, UsageEvent, UserId, WorkspaceId};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use std::collections::HashSet;

const SHARED: &str = "workspace_id, kind, code";
const OWN: &str = "started_at, request_id, prompt_tokens, completion_tokens, cached_tokens, cost, first_byte_micros, \
     duration_micros, held_micros, sent_micros";
/// So many calls that are alike are worth a statement of their own.
const WORTH_SHARING: usize = 8;
const UNLESS_THERE: &str = " ON CONFLICT (workspace_id, started_at, request_id) DO NOTHING";
const MAX_LISTED: u32 = 1_000;

/// A usage event as it is remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recorded {
    pub request: RequestId,
    pub organization: OrganizationId,
    pub workspace: WorkspaceId,
    pub actor: Actor,
    pub model: ModelId,
    pub replica: String,
    pub streamed: bool,
    pub status: u16,
    pub code: String,
    pub tokens: Tokens,
    /// `exact`, `estimated` or `void`.
    pub certainty: String,
    pub price: Price,
    pub cost: NanoUsd,
    pub started_at: Timestamp,
    pub first_byte_micros: Option<u64>,
    pub duration_micros: u64,
    pub held_micros: Option<u64>,
    pub sent_micros: Option<u64>,
}

/// Writes the events that are not there yet, adds them to the sums, and returns them, those that are alike together.
pub async fn insert_batch<'a>(tx: &mut Tx, events: &'a [UsageEvent]) -> Result<Vec<&'a UsageEvent>, StoreError> {
    let sorted = usage_kinds::sort(tx, events).await?;
    let mut inserted: Vec<_> = sorted.iter().flat_map(|alike| &alike.events).copied().collect();
    if !insert_all(tx, &sorted).await? {
        let mut written = insert_some(tx, &sorted).await?;
        inserted.retain(|event| written.remove(event.request.as_str()));
    }
    usage_sums::add(tx, &inserted).await?;
    series::add(tx, &inserted).await?;
    bill_check::add(tx, &inserted).await?;
    Ok(inserted)
}

/// Writes events none of which is there yet, which is the rule. If one is, it writes nothing and returns false: to be
/// told which rows are new costs more than to write them.
async fn insert_all(tx: &mut Tx, sorted: &[Alike<'_>]) -> Result<bool, StoreError> {
    tx.execute(sqlx::query("SAVEPOINT before_events")).await?;
    let (mut written, mut few) = (0, Vec::new());
    for Alike { kind, events } in sorted {
        for piece in pieces(events) {
            if piece.len() < WORTH_SHARING {
                few.extend(with_kind(*kind, piece));
            } else {
                written += tx.execute(insert_alike(tx.engine(), *kind, piece)).await?;
            }
        }
    }
    for piece in pieces(&few) {
        written += tx.execute(insert(tx.engine(), piece, "")).await?;
    }
    let all_new = written == sorted.iter().map(|alike| alike.events.len()).sum::<usize>() as u64;
    let end = if all_new { "RELEASE SAVEPOINT before_events" } else { "ROLLBACK TO SAVEPOINT before_events" };
    tx.execute(sqlx::query(end)).await?;
    Ok(all_new)
}

/// Returns the ids of the rows that were not there.
async fn insert_some(tx: &mut Tx, sorted: &[Alike<'_>]) -> Result<HashSet<String>, StoreError> {
    let events: Vec<_> = sorted.iter().flat_map(|alike| with_kind(alike.kind, &alike.events)).collect();
    let mut written = HashSet::with_capacity(events.len());
    for piece in pieces(&events) {
        for found in tx.rows(insert(tx.engine(), piece, " RETURNING request_id")).await? {
            written.insert(row::text(&found, "request_id")?);
        }
    }
    Ok(written)
}

fn with_kind<'a>(kind: i64, events: &[&'a UsageEvent]) -> impl Iterator<Item = (i64, &'a UsageEvent)> {
    events.iter().map(move |event| (kind, *event))
}

/// Writes events of one kind.
fn insert_alike(engine: Engine, kind: i64, events: &[&UsageEvent]) -> Query<'static> {
    let text = insert_alike_text(engine, "usage_calls", SHARED, OWN, events.len());
    let insert = sqlx::query(AssertSqlSafe(text + UNLESS_THERE));
    bind_shared(events.iter().fold(insert, |insert, event| bind_own(insert, event)), kind, events[0])
}

/// Writes any events.
fn insert(engine: Engine, events: &[(i64, &UsageEvent)], returning: &str) -> Query<'static> {
    let text = insert_text(engine, "usage_calls", &format!("{SHARED}, {OWN}"), events.len());
    let insert = sqlx::query(AssertSqlSafe(text + UNLESS_THERE + returning));
    events.iter().fold(insert, |insert, (kind, event)| bind_own(bind_shared(insert, *kind, event), event))
}

fn bind_shared<'q>(insert: Query<'q>, kind: i64, event: &UsageEvent) -> Query<'q> {
    insert.bind(event.caller.workspace.as_str()).bind(kind).bind(AsRef::<str>::as_ref(&event.code))
}

fn bind_own<'q>(insert: Query<'q>, event: &UsageEvent) -> Query<'q> {
    insert
        .bind(event.started_at.millis())
        .bind(event.request.as_str())
        .bind(row::to_number(event.tokens.prompt))
        .bind(row::to_number(event.tokens.completion))
        .bind(row::to_number(event.tokens.cached))
        .bind(event.cost.nanos())
        .bind(row::to_optional_number(event.first_byte_micros))
        .bind(row::to_number(event.duration_micros))
        .bind(row::to_optional_number(event.held_micros))
        .bind(row::to_optional_number(event.sent_micros))
}

/// The newest events of a workspace first.
pub async fn list(store: &Store, workspace: &WorkspaceId, limit: u32) -> Result<Vec<Recorded>, StoreError> {
    let query = sqlx::query(
        "SELECT * FROM usage_events WHERE workspace_id = $1 ORDER BY started_at DESC, request_id DESC LIMIT $2",
    )
    .bind(workspace.as_str())
    .bind(i64::from(limit.min(MAX_LISTED)));
    store.rows(query).await?.iter().map(recorded).collect()
}

fn recorded(found: &AnyRow) -> Result<Recorded, StoreError> {
    let key = row::optional_parsed(found, "key_id", |text| KeyId::parse(text).ok())?;
    let user = row::optional_parsed(found, "user_id", |text| UserId::parse(text).ok())?;
    let actor = match (key, user) {
        (Some(key), _) => Actor::Key(key),
        (None, Some(user)) => Actor::User(user),
        (None, None) => return Err(StoreError::Corrupt { place: "key_id".into() }),
    };
    Ok(Recorded {
        request: row::parsed(found, "request_id", |text| RequestId::parse(text).ok())?,
        organization: row::parsed(found, "organization_id", |text| OrganizationId::parse(text).ok())?,
        workspace: row::parsed(found, "workspace_id", |text| WorkspaceId::parse(text).ok())?,
        actor,
        model: row::parsed(found, "model", |text| ModelId::parse(text).ok())?,
        replica: row::text(found, "replica")?,
        streamed: row::flag(found, "streamed")?,
        status: u16::try_from(row::number(found, "status")?)
            .map_err(|_| StoreError::Corrupt { place: "status".into() })?,
        code: row::text(found, "code")?,
        tokens: Tokens {
            prompt: row::count(found, "prompt_tokens")?,
            completion: row::count(found, "completion_tokens")?,
            cached: row::count(found, "cached_tokens")?,
        },
        certainty: row::text(found, "certainty")?,
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
    })
}
