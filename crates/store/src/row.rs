//! Conversions between columns and domain types. A value that does not parse is [`StoreError::Corrupt`].

use crate::error::StoreError;
use domain::{MonthlyBudget, NanoUsd, OnBudget, Timestamp};
use sqlx::Row;
use sqlx::any::AnyRow;

pub(crate) fn text(row: &AnyRow, column: &str) -> Result<String, StoreError> {
    Ok(row.try_get(column)?)
}

pub(crate) fn optional_text(row: &AnyRow, column: &str) -> Result<Option<String>, StoreError> {
    Ok(row.try_get(column)?)
}

pub(crate) fn bytes(row: &AnyRow, column: &str) -> Result<Vec<u8>, StoreError> {
    Ok(row.try_get(column)?)
}

/// A text column that must parse, such as an id.
pub(crate) fn parsed<T>(row: &AnyRow, column: &str, parse: impl Fn(&str) -> Option<T>) -> Result<T, StoreError> {
    let text: String = row.try_get(column)?;
    parse(&text).ok_or_else(|| corrupt(column))
}

pub(crate) fn optional_parsed<T>(
    row: &AnyRow,
    column: &str,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<T>, StoreError> {
    let text: Option<String> = row.try_get(column)?;
    text.map(|text| parse(&text).ok_or_else(|| corrupt(column))).transpose()
}

pub(crate) fn number(row: &AnyRow, column: &str) -> Result<i64, StoreError> {
    Ok(row.try_get(column)?)
}

pub(crate) fn optional_number(row: &AnyRow, column: &str) -> Result<Option<i64>, StoreError> {
    Ok(row.try_get(column)?)
}

pub(crate) fn moment(row: &AnyRow, column: &str) -> Result<Timestamp, StoreError> {
    Ok(Timestamp::from_millis(number(row, column)?))
}

pub(crate) fn optional_moment(row: &AnyRow, column: &str) -> Result<Option<Timestamp>, StoreError> {
    Ok(optional_number(row, column)?.map(Timestamp::from_millis))
}

pub(crate) fn count(row: &AnyRow, column: &str) -> Result<u64, StoreError> {
    u64::try_from(number(row, column)?).map_err(|_| corrupt(column))
}

/// A count that fits 32 bits.
pub(crate) fn small(row: &AnyRow, column: &str) -> Result<u32, StoreError> {
    u32::try_from(number(row, column)?).map_err(|_| corrupt(column))
}

pub(crate) fn optional_small(row: &AnyRow, column: &str) -> Result<Option<u32>, StoreError> {
    optional_number(row, column)?.map(|value| u32::try_from(value).map_err(|_| corrupt(column))).transpose()
}

pub(crate) fn optional_count(row: &AnyRow, column: &str) -> Result<Option<u64>, StoreError> {
    optional_number(row, column)?.map(|value| u64::try_from(value).map_err(|_| corrupt(column))).transpose()
}

pub(crate) fn flag(row: &AnyRow, column: &str) -> Result<bool, StoreError> {
    Ok(number(row, column)? != 0)
}

pub(crate) fn money(row: &AnyRow, column: &str) -> Result<NanoUsd, StoreError> {
    Ok(NanoUsd::from_nanos(number(row, column)?))
}

/// The columns `monthly_usd` and `own_monthly_usd`.
pub(crate) fn monthly_budget(row: &AnyRow) -> Result<MonthlyBudget, StoreError> {
    let amount = |column| Ok::<_, StoreError>(optional_number(row, column)?.map(NanoUsd::from_nanos));
    Ok(MonthlyBudget { operator: amount("monthly_usd")?, administrators: amount("own_monthly_usd")? })
}

/// The column `on_budget`.
pub(crate) fn on_budget(row: &AnyRow) -> Result<OnBudget, StoreError> {
    Ok(optional_parsed(row, "on_budget", OnBudget::parse)?.unwrap_or_default())
}

/// `NULL` for the default.
pub(crate) fn from_on_budget(on_budget: OnBudget) -> Option<&'static str> {
    (on_budget != OnBudget::default()).then_some(on_budget.as_str())
}

/// An HTTP status.
pub(crate) fn status(row: &AnyRow) -> Result<u16, StoreError> {
    u16::try_from(number(row, "status")?).map_err(|_| corrupt("status"))
}

/// Saturating: a count beyond the range of a column is stored as the maximum.
pub(crate) fn to_number(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

pub(crate) fn to_optional_number(count: Option<u64>) -> Option<i64> {
    count.map(to_number)
}

pub(crate) fn to_optional_millis(moment: Option<Timestamp>) -> Option<i64> {
    moment.map(Timestamp::millis)
}

pub(crate) fn corrupt(column: &str) -> StoreError {
    StoreError::Corrupt { place: column.to_owned() }
}
