//! Tokens per replica and hour, as billed (`replica_hours`) and as counted by the engines (`engine_hours`).

use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use crate::values::{chunks, insert_text};
use domain::bill_check::{TokenCounts, growth};
use domain::{Grain, OrganizationId, Span, Timestamp, UsageEvent};
use sqlx::AssertSqlSafe;
use sqlx::any::AnyRow;
use std::collections::BTreeMap;

/// Most hours in one list.
pub const MAX_LISTED: usize = 20_000;
/// An hour counts as read to its end if the last reading was at most this long before it.
const MAX_UNREAD_MILLIS: u64 = 60_000;

/// A reading of an engine's counters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterReading {
    pub replica: String,
    /// The node that runs the engine; empty for a model server that all nodes share.
    pub source: String,
    pub model: String,
    pub counters: TokenCounts,
    /// Whether the prompt counter includes cached tokens.
    pub counts_cached: bool,
    pub at: Timestamp,
}

/// Billed and counted tokens of one replica in one hour.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hour {
    pub replica: String,
    pub model: String,
    pub hour: Timestamp,
    pub billed: TokenCounts,
    /// The part of the billed prompt tokens that engines found in their caches.
    pub cached: u64,
    /// `None` if the engine was not read in that hour.
    pub counted: Option<Counted>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    pub tokens: TokenCounts,
    pub counts_cached: bool,
    /// When the engine was last read in that hour.
    pub read_until: Timestamp,
}

impl Hour {
    /// False if the engine stopped within the hour or could not be read at its end: some of its tokens may be missing.
    pub fn is_read_to_its_end(&self) -> bool {
        let end = self.hour.plus_millis(Grain::Hour.millis());
        self.counted.is_some_and(|counted| end.millis_since(counted.read_until) <= MAX_UNREAD_MILLIS)
    }
}

/// Adds new events to the hour in which they ended, because an engine counts a call by its end.
pub(crate) async fn add(tx: &mut Tx, events: &[&UsageEvent]) -> Result<(), StoreError> {
    let mut hours: BTreeMap<(&str, i64), (&str, [u64; 4])> = BTreeMap::new();
    for event in events {
        let ended_at = event.started_at.plus_millis(i64::try_from(event.duration_micros / 1_000).unwrap_or(i64::MAX));
        let key = (event.replica.as_ref(), Grain::Hour.start_of(ended_at).millis());
        let (_, sums) = hours.entry(key).or_insert((event.model.as_str(), [0; 4]));
        let amounts = [1, event.tokens.prompt, event.tokens.completion, event.tokens.cached];
        sums.iter_mut().zip(amounts).for_each(|(sum, amount)| *sum = sum.saturating_add(amount));
    }
    let rows: Vec<_> = hours.into_iter().collect();
    for chunk in chunks(&rows) {
        let columns = "replica, hour, model, requests, prompt_tokens, completion_tokens, cached_tokens";
        let text = insert_text(tx.engine(), "replica_hours", columns, chunk.len());
        let sums = ["requests", "prompt_tokens", "completion_tokens", "cached_tokens"].map(capped_sum);
        let text = format!("{text} ON CONFLICT (replica, hour) DO UPDATE SET {}", sums.join(", "));
        let mut upsert = sqlx::query(AssertSqlSafe(text));
        for ((replica, hour), (model, sums)) in chunk {
            upsert = upsert.bind(*replica).bind(*hour).bind(*model);
            for sum in sums {
                upsert = upsert.bind(row::to_number(*sum));
            }
        }
        tx.execute(upsert).await?;
    }
    Ok(())
}

/// A saturating sum: absurd counts from a faulty engine must not make the insert fail and block all other events.
fn capped_sum(column: &str) -> String {
    let max = i64::MAX;
    format!(
        "{column} = CASE WHEN replica_hours.{column} > {max} - excluded.{column} THEN {max} \
         ELSE replica_hours.{column} + excluded.{column} END"
    )
}

/// Records the growth of an engine's counters since the last reading.
///
/// The first reading of an engine that a node runs counts in full, since the counters started at zero with it. The
/// first reading of a shared model server only sets the baseline. A reading older than the last one is ignored.
pub async fn read_counters(tx: &mut Tx, reading: &CounterReading) -> Result<(), StoreError> {
    let lock = sqlx::query(
        "INSERT INTO engine_counters (replica, source, prompt_tokens, completion_tokens, read_at) \
         VALUES ($1, $2, 0, 0, -1) ON CONFLICT (replica, source) DO UPDATE SET read_at = engine_counters.read_at \
         RETURNING prompt_tokens, completion_tokens, read_at",
    )
    .bind(reading.replica.as_str())
    .bind(reading.source.as_str());
    let before = tx.rows(lock).await?;
    let before = before.first().ok_or_else(|| row::corrupt("engine_counters"))?;
    let last_at = row::number(before, "read_at")?;
    if reading.at.millis() <= last_at {
        return Ok(());
    }
    let has_baseline = last_at >= 0 || !reading.source.is_empty();
    let grown = |column, now| Ok::<u64, StoreError>(growth(row::count(before, column)?, now));
    let counted = if has_baseline {
        let TokenCounts { prompt, completion } = reading.counters;
        TokenCounts { prompt: grown("prompt_tokens", prompt)?, completion: grown("completion_tokens", completion)? }
    } else {
        TokenCounts::default()
    };
    let update = sqlx::query(
        "UPDATE engine_counters SET prompt_tokens = $3, completion_tokens = $4, read_at = $5 \
         WHERE replica = $1 AND source = $2",
    )
    .bind(reading.replica.as_str())
    .bind(reading.source.as_str())
    .bind(row::to_number(reading.counters.prompt))
    .bind(row::to_number(reading.counters.completion))
    .bind(reading.at.millis());
    tx.execute(update).await?;
    add_counted(tx, reading, counted).await
}

async fn add_counted(tx: &mut Tx, reading: &CounterReading, counted: TokenCounts) -> Result<(), StoreError> {
    let upsert = sqlx::query(
        "INSERT INTO engine_hours (replica, hour, model, prompt_tokens, completion_tokens, counts_cached, read_until) \
         VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (replica, hour) DO UPDATE SET \
         prompt_tokens = engine_hours.prompt_tokens + excluded.prompt_tokens, \
         completion_tokens = engine_hours.completion_tokens + excluded.completion_tokens, \
         read_until = excluded.read_until",
    )
    .bind(reading.replica.as_str())
    .bind(Grain::Hour.start_of(reading.at).millis())
    .bind(reading.model.as_str())
    .bind(row::to_number(counted.prompt))
    .bind(row::to_number(counted.completion))
    .bind(i64::from(reading.counts_cached))
    .bind(reading.at.millis());
    tx.execute(upsert).await.map(drop)
}

/// All hours that begin in a span, newest first; of one organization's endpoints, or of all engines if `None`.
pub async fn list(
    store: &Store,
    organization: Option<&OrganizationId>,
    span: Span,
    limit: usize,
) -> Result<Vec<Hour>, StoreError> {
    let of_organization = match organization {
        Some(_) => "AND k.replica IN (SELECT replica_id FROM replica_holds WHERE organization_id = $4)",
        None => "",
    };
    let text = format!(
        "SELECT k.replica, k.hour, COALESCE(b.model, e.model) AS model, COALESCE(b.prompt_tokens, 0) AS billed_prompt, \
         COALESCE(b.completion_tokens, 0) AS billed_completion, COALESCE(b.cached_tokens, 0) AS cached, \
         e.prompt_tokens AS counted_prompt, e.completion_tokens AS counted_completion, e.counts_cached, e.read_until \
         FROM (SELECT replica, hour FROM replica_hours WHERE hour >= $1 AND hour < $2 \
         UNION SELECT replica, hour FROM engine_hours WHERE hour >= $1 AND hour < $2) AS k \
         LEFT JOIN replica_hours b ON b.replica = k.replica AND b.hour = k.hour \
         LEFT JOIN engine_hours e ON e.replica = k.replica AND e.hour = k.hour \
         WHERE 1 = 1 {of_organization} ORDER BY k.hour DESC, k.replica LIMIT $3"
    );
    let mut query = sqlx::query(AssertSqlSafe(text))
        .bind(span.from.millis())
        .bind(span.to.millis())
        .bind(i64::try_from(limit.min(MAX_LISTED + 1)).unwrap_or(i64::MAX));
    if let Some(organization) = organization {
        query = query.bind(organization.as_str());
    }
    store.rows(query).await?.iter().map(read_hour).collect()
}

/// The nodes that ran engines, as `(replica, node)`: those that were read at `from` or later.
pub async fn nodes(store: &Store, from: Timestamp) -> Result<Vec<(String, String)>, StoreError> {
    let query = sqlx::query(
        "SELECT replica, source FROM engine_counters WHERE source <> '' AND read_at >= $1 \
         ORDER BY replica, source LIMIT $2",
    );
    let query = query.bind(from.millis()).bind(i64::try_from(MAX_LISTED).unwrap_or(i64::MAX));
    let pair = |found: &AnyRow| Ok::<_, StoreError>((row::text(found, "replica")?, row::text(found, "source")?));
    store.rows(query).await?.iter().map(pair).collect()
}

fn read_hour(found: &AnyRow) -> Result<Hour, StoreError> {
    let counted = match row::optional_count(found, "counted_prompt")? {
        None => None,
        Some(prompt) => Some(Counted {
            tokens: TokenCounts { prompt, completion: row::count(found, "counted_completion")? },
            counts_cached: row::flag(found, "counts_cached")?,
            read_until: row::moment(found, "read_until")?,
        }),
    };
    Ok(Hour {
        replica: row::text(found, "replica")?,
        model: row::text(found, "model")?,
        hour: row::moment(found, "hour")?,
        billed: TokenCounts {
            prompt: row::count(found, "billed_prompt")?,
            completion: row::count(found, "billed_completion")?,
        },
        cached: row::count(found, "cached")?,
        counted,
    })
}
