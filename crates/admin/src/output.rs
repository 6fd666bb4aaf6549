//! Output of records: aligned columns, or JSON as in `/api`.

use serde::Serialize;
use serde_json::Value;

const BETWEEN_COLUMNS: &str = "  ";

/// A record that can be shown.
pub(super) trait Shown: Serialize {
    /// The members shown as columns, in this order.
    const COLUMNS: &'static [&'static str];
}

#[derive(Serialize)]
struct List<'a, T> {
    data: &'a [T],
    #[serde(rename = "nextCursor")]
    next_cursor: Option<&'a str>,
}

/// A deleted record, as JSON.
#[derive(Serialize)]
pub(super) struct Deleted<'a> {
    pub(super) id: &'a str,
    pub(super) deleted: bool,
}

pub(super) fn record_as_json(record: &impl Serialize) -> anyhow::Result<String> {
    Ok(serde_json::to_string(record)? + "\n")
}

pub(super) fn list_as_json<T: Shown>(records: &[T]) -> anyhow::Result<String> {
    record_as_json(&List { data: records, next_cursor: None })
}

/// One line per member that is not null.
pub(super) fn record_as_lines<T: Shown>(record: &T) -> anyhow::Result<String> {
    let value = serde_json::to_value(record)?;
    let rows = T::COLUMNS.iter().filter(|name| value.get(name).is_some_and(|member| !member.is_null()));
    Ok(align(&rows.map(|name| vec![(*name).to_owned(), cell(&value[name])]).collect::<Vec<_>>()))
}

/// A header and one line per record.
pub(super) fn list_as_table<T: Shown>(records: &[T]) -> anyhow::Result<String> {
    let mut rows = vec![T::COLUMNS.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>()];
    for record in records {
        let value = serde_json::to_value(record)?;
        rows.push(T::COLUMNS.iter().map(|name| cell(&value[name])).collect());
    }
    Ok(align(&rows))
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(cell).collect::<Vec<_>>().join(","),
        Value::Object(members) => members.values().map(cell).collect::<Vec<_>>().join(":"),
    }
}

/// Aligns rows of cells; the first row is the header. An empty cell is shown as a dash.
pub(super) fn table(mut rows: Vec<Vec<String>>) -> String {
    for cell in rows.iter_mut().flatten().filter(|cell| cell.is_empty()) {
        "-".clone_into(cell);
    }
    align(&rows)
}

fn align(rows: &[Vec<String>]) -> String {
    let column_count = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..column_count).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
        text.push_str(cells.collect::<Vec<_>>().join(BETWEEN_COLUMNS).trim_end());
        text.push('\n');
    }
    text
}
