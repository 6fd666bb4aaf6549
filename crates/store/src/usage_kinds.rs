//! What calls have in common: who called what, where, how and at which price. It is written once and has a number.
//!
//! Numbers are drawn and not counted, so that none is given out twice. A number that is remembered is that of its kind as
//! long as it is there; each batch looks whether it is, since retention or a store that was set back may have taken it.

use crate::db::{Query, Tx};
use crate::error::StoreError;
use crate::row;
use crate::values::{pieces, values_text};
use domain::{NanoUsd, Price, Timestamp, UsageEvent};
use sqlx::AssertSqlSafe;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

const COLUMNS: &str = "workspace_id, actor, period, model, replica, streamed, status, certainty, input_per_1m, \
     cached_input_per_1m, output_per_1m, organization_id";
const VALUES: &str = "$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13";
/// A kind is of one period, so that it can be cleared away together with its calls.
const PERIOD_MILLIS: i64 = 30 * 24 * 3_600_000;
/// How many numbers are remembered at most.
const MOST_KNOWN: usize = 16_384;
/// So large are numbers. Whoever draws one that is taken is refused by the store, and draws another.
const NUMBER_BITS: u32 = 48;

/// The order of the members is the order in which every transaction writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kind<'a> {
    workspace: &'a str,
    actor: &'a str,
    period: i64,
    model: &'a str,
    replica: &'a str,
    streamed: bool,
    status: u16,
    certainty: &'a str,
    price: [NanoUsd; 3],
    organization: &'a str,
    /// It is alike, too, but stands with the calls: who asks for errors shall find them.
    code: &'a str,
}

/// Calls of one kind.
pub(crate) struct Alike<'a> {
    pub kind: i64,
    pub events: Vec<&'a UsageEvent>,
}

impl<'a> Kind<'a> {
    fn of(event: &'a UsageEvent) -> Self {
        let Price { input_per_1m, cached_input_per_1m, output_per_1m } = event.price;
        Self {
            workspace: event.caller.workspace.as_str(),
            actor: event.caller.actor.as_str(),
            period: period_of(event.started_at),
            model: event.model.as_str(),
            replica: &event.replica,
            streamed: event.streamed,
            status: event.status,
            certainty: event.certainty.as_str(),
            price: [input_per_1m, cached_input_per_1m, output_per_1m],
            organization: event.caller.organization.as_str(),
            code: &event.code,
        }
    }

    /// All that the number stands for.
    fn name(&self) -> String {
        let Self { workspace, actor, period, model, replica, streamed, status, certainty, price, organization, .. } =
            self;
        let mut name = format!("{workspace} {actor} {period} {streamed} {status} {certainty} {organization}");
        for price in price {
            write!(name, " {}", price.nanos()).expect("a String takes any text");
        }
        // Neither has a line break in it.
        write!(name, "\n{model}\n{replica}").expect("a String takes any text");
        name
    }

    fn insert(&self, number: i64) -> Query<'static> {
        // The update changes nothing; without it, no row that was there would be returned.
        let text = format!(
            "INSERT INTO usage_kinds ({COLUMNS}, id) VALUES ({VALUES}) ON CONFLICT ({COLUMNS}) \
             DO UPDATE SET period = excluded.period RETURNING id"
        );
        let insert = sqlx::query(AssertSqlSafe(text))
            .bind(self.workspace.to_owned())
            .bind(self.actor.to_owned())
            .bind(self.period)
            .bind(self.model.to_owned())
            .bind(self.replica.to_owned())
            .bind(i64::from(self.streamed))
            .bind(i64::from(self.status))
            .bind(self.certainty.to_owned());
        let insert = self.price.iter().fold(insert, |insert, price| insert.bind(price.nanos()));
        insert.bind(self.organization.to_owned()).bind(number)
    }
}

fn draw() -> Result<i64, StoreError> {
    let random = getrandom::u64().map_err(|error| StoreError::Unavailable(Box::new(error)))?;
    Ok((random >> (u64::BITS - NUMBER_BITS)).cast_signed())
}

/// Counted since 1970.
pub(crate) fn period_of(moment: Timestamp) -> i64 {
    moment.millis() / PERIOD_MILLIS
}

/// As [`Kind`] tells them apart. Mostly both share one caller, one model and one replica, and nothing has to be read.
fn are_alike(one: &UsageEvent, other: &UsageEvent) -> bool {
    one.caller == other.caller
        && one.model == other.model
        && one.replica == other.replica
        && (one.streamed, one.status, one.certainty) == (other.streamed, other.status, other.certainty)
        && one.code == other.code
        && one.price == other.price
        && period_of(one.started_at) == period_of(other.started_at)
}

/// Calls that are alike together, and each in one order, whatever the order of the batch.
pub(crate) async fn sort<'a>(tx: &mut Tx, events: &'a [UsageEvent]) -> Result<Vec<Alike<'a>>, StoreError> {
    let mut kinds: BTreeMap<Kind<'_>, Vec<&UsageEvent>> = BTreeMap::new();
    for alike in events.chunk_by(are_alike) {
        kinds.entry(Kind::of(&alike[0])).or_default().extend(alike);
    }
    let names: Vec<String> = kinds.keys().map(Kind::name).collect();
    if !are_there(tx, &names).await? {
        tx.kinds.forget();
    }
    let mut sorted = Vec::with_capacity(kinds.len());
    for ((kind, mut events), name) in kinds.into_iter().zip(names) {
        events.sort_unstable_by_key(|event| (event.started_at, &event.request));
        sorted.push(Alike { kind: number_of(tx, kind, name).await?, events });
    }
    Ok(sorted)
}

/// Whether all of these whose numbers are remembered are in the store.
async fn are_there(tx: &mut Tx, names: &[String]) -> Result<bool, StoreError> {
    let numbers: BTreeSet<i64> = names.iter().filter_map(|name| tx.kinds.number(name)).collect();
    let numbers: Vec<i64> = numbers.into_iter().collect();
    let mut there = 0;
    for piece in pieces(&numbers) {
        let text = format!(
            "SELECT COUNT(*) AS there FROM usage_kinds WHERE id IN ({})",
            values_text(tx.engine(), 1, piece.len())
        );
        let query = piece.iter().fold(sqlx::query(AssertSqlSafe(text)), |query, number| query.bind(*number));
        let found = tx.row(query).await?.ok_or_else(|| row::corrupt("usage_kinds"))?;
        there += row::count(&found, "there")?;
    }
    Ok(there == numbers.len() as u64)
}

async fn number_of(tx: &mut Tx, kind: Kind<'_>, name: String) -> Result<i64, StoreError> {
    if let Some(number) = tx.kinds.number(&name) {
        return Ok(number);
    }
    let found = tx.row(kind.insert(draw()?)).await?.ok_or_else(|| row::corrupt("usage_kinds"))?;
    let number = row::number(&found, "id")?;
    tx.kinds.found.insert(name, number);
    Ok(number)
}

/// Numbers of transactions that were committed; all transactions share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known(Arc<Mutex<HashMap<String, i64>>>);

impl Known {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, i64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a transaction knows: also what is there for good only once it is committed.
#[derive(Debug)]
pub(crate) struct Numbers {
    known: Known,
    found: BTreeMap<String, i64>,
}

impl Numbers {
    pub(crate) fn new(known: &Known) -> Self {
        Self { known: known.clone(), found: BTreeMap::new() }
    }

    fn number(&self, name: &str) -> Option<i64> {
        self.found.get(name).copied().or_else(|| self.known.lock().get(name).copied())
    }

    fn forget(&mut self) {
        self.known.lock().clear();
        self.found.clear();
    }

    /// The transaction is committed.
    pub(crate) fn keep(self) {
        if self.found.is_empty() {
            return;
        }
        let mut known = self.known.lock();
        if known.len() + self.found.len() > MOST_KNOWN {
            known.clear();
        }
        known.extend(self.found.into_iter().take(MOST_KNOWN));
    }
}
