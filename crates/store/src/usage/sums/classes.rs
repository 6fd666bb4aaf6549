//! Daily sums of the calls that are not interactive. Their number is in the sums of all calls, too, so what is left of those
//! is interactive.

use super::add::upsert_text;
use super::amounts::{Amounts, COLUMNS};
use crate::db::{Store, Tx};
use crate::error::StoreError;
use crate::row;
use crate::values::chunks;
use domain::usage::Totals;
use domain::{CallClass, Day, Grain, ModelId, Span, UsageEvent, WorkspaceId};
use sqlx::AssertSqlSafe;
use std::collections::BTreeMap;

const TABLE: &str = "usage_classes";
const KEY: &str = "workspace_id, starts_at, class, model";

/// The calls of a class to a model on a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassSum {
    pub day: Day,
    pub class: CallClass,
    pub model: ModelId,
    pub totals: Totals,
}

/// The key of a row: workspace, day, class and model.
type ClassKey<'a> = (&'a str, i64, &'a str, &'a str);

/// Adds the calls that are not interactive, except those to dedicated endpoints, which cost GPU-hours.
pub(super) async fn add_classes(tx: &mut Tx, events: &[&UsageEvent]) -> Result<(), StoreError> {
    // In one order, so that two transactions cannot deadlock.
    let mut sums: BTreeMap<ClassKey<'_>, Totals> = BTreeMap::new();
    let apart = |event: &&&UsageEvent| event.origin.class.yields() && !event.model.is_dedicated();
    for event in events.iter().filter(apart) {
        let day = Grain::Day.start_of(event.started_at).millis();
        let key = (event.caller.workspace.as_str(), day, event.origin.class.as_str(), event.model.as_str());
        *sums.entry(key).or_default() += Totals::from(*event);
    }
    let rows: Vec<_> = sums.into_iter().map(|(key, totals)| (key, Amounts::from(totals))).collect();
    for chunk in chunks(&rows) {
        let mut upsert = sqlx::query(AssertSqlSafe(upsert_text(tx.engine(), TABLE, KEY, chunk.len())));
        for ((workspace, day, class, model), amounts) in chunk {
            upsert = upsert.bind(*workspace).bind(*day).bind(*class).bind(*model);
            for number in amounts.numbers() {
                upsert = upsert.bind(number);
            }
        }
        tx.execute(upsert).await?;
    }
    Ok(())
}

/// The sums of the days of a span that are not zero.
pub async fn read_classes(store: &Store, workspace: &WorkspaceId, span: Span) -> Result<Vec<ClassSum>, StoreError> {
    let text = format!(
        "SELECT starts_at, class, model, {} FROM {TABLE} WHERE workspace_id = $1 AND starts_at >= $2 AND starts_at < $3 \
         ORDER BY starts_at, class, model",
        COLUMNS.join(", ")
    );
    let query = sqlx::query(AssertSqlSafe(text)).bind(workspace.as_str());
    let mut sums = Vec::new();
    for found in store.rows(query.bind(span.from.millis()).bind(span.to.millis())).await? {
        let amounts = Amounts::read(&found)?;
        if amounts.is_zero() {
            continue;
        }
        sums.push(ClassSum {
            day: Day::of(row::moment(&found, "starts_at")?),
            class: row::parsed(&found, "class", CallClass::parse)?,
            model: row::parsed(&found, "model", |text| ModelId::parse(text).ok())?,
            totals: amounts.totals()?,
        });
    }
    Ok(sums)
}
