//! Daily sums of the calls that are not interactive. Their number is in the sums of all calls, too, so what is left of those
//! is interactive.

use super::Sums;
use super::amounts::{Amounts, COLUMNS};
use crate::db::Store;
use crate::error::StoreError;
use crate::row;
use domain::usage::Totals;
use domain::{CallClass, Day, ModelId, Span, WorkspaceId};
use sqlx::AssertSqlSafe;

/// The calls of a class to a model on a day.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClassSum {
    pub day: Day,
    pub class: CallClass,
    pub model: ModelId,
    pub totals: Totals,
}

/// The sums of the days of a span that are not zero.
pub async fn read_classes(store: &Store, workspace: &WorkspaceId, span: Span) -> Result<Vec<ClassSum>, StoreError> {
    let text = format!(
        "SELECT starts_at, class, model, {} FROM {} WHERE workspace_id = $1 AND starts_at >= $2 AND starts_at < $3 \
         ORDER BY starts_at, class, model",
        COLUMNS.join(", "),
        Sums::Classes.table()
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
