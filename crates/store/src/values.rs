//! The SQL text of an INSERT of many rows, and of lists of values.

use crate::db::Engine;
use std::fmt::Write;

/// Rows in the largest statement; SQLite allows 32,766 values.
const MAX_ROWS: usize = 256;

/// Splits rows into chunks whose sizes are powers of two, the largest first. A few statement texts then cover any number
/// of rows, and the database keeps them prepared. Example: 7 rows become chunks of 4, 2 and 1.
pub(crate) fn chunks<T>(mut rows: &[T]) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let size = rows.len().min(MAX_ROWS).checked_ilog2()?;
        let (chunk, rest) = rows.split_at(1 << size);
        rows = rest;
        Some(chunk)
    })
}

/// `INSERT INTO table (columns) VALUES (…), (…)`, to be followed by an ON CONFLICT clause.
pub(crate) fn insert_text(engine: Engine, table: &str, columns: &str, rows: usize) -> String {
    format!("INSERT INTO {table} ({columns}) {}", values_text(engine, count(columns), rows))
}

/// Like [`insert_text`], for rows that have the same values in the `shared` columns. Those are bound once, after all others.
pub(crate) fn insert_shared_text(engine: Engine, table: &str, shared: &str, own: &str, rows: usize) -> String {
    let first = rows * count(own) + 1;
    let shared_values: String = (first..first + count(shared)).map(|number| format!("${number}, ")).collect();
    format!("INSERT INTO {table} ({shared}, {own}) {}", rows_text(engine, &shared_values, count(own), rows))
}

/// The placeholders of a list of values, such as `$2, $3`, for `IN (…)`.
pub(crate) fn places(first: usize, count: usize) -> String {
    (first..first + count).map(|number| format!("${number}")).collect::<Vec<_>>().join(", ")
}

/// `VALUES (…), (…)`.
pub(crate) fn values_text(engine: Engine, columns: usize, rows: usize) -> String {
    rows_text(engine, "", columns, rows)
}

/// SQLite searches a list of all named parameters for each of them, so only the shared ones have names there.
fn rows_text(engine: Engine, shared: &str, columns: usize, rows: usize) -> String {
    let mut text = String::from("VALUES ");
    for row in 0..rows {
        text.push_str(if row == 0 { "(" } else { ", (" });
        text.push_str(shared);
        for column in 0..columns {
            text.push_str(if column == 0 { "" } else { ", " });
            match engine {
                Engine::Sqlite => text.push('?'),
                Engine::Postgres => {
                    write!(text, "${}", row * columns + column + 1).expect("writing to a String cannot fail");
                }
            }
        }
        text.push(')');
    }
    text
}

fn count(columns: &str) -> usize {
    columns.split(',').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_a_placeholder() {
        let text = |engine| insert_text(engine, "days", "a, b", 2);
        assert_eq!(text(Engine::Postgres), "INSERT INTO days (a, b) VALUES ($1, $2), ($3, $4)");
        assert_eq!(text(Engine::Sqlite), "INSERT INTO days (a, b) VALUES (?, ?), (?, ?)");
    }

    #[test]
    fn shared_values_are_bound_after_all_others() {
        let text = |engine| insert_shared_text(engine, "days", "a, b", "c", 2);
        assert_eq!(text(Engine::Postgres), "INSERT INTO days (a, b, c) VALUES ($3, $4, $1), ($3, $4, $2)");
        assert_eq!(text(Engine::Sqlite), "INSERT INTO days (a, b, c) VALUES ($3, $4, ?), ($3, $4, ?)");
    }

    #[test]
    fn rows_are_split_into_powers_of_two() {
        let sizes = |rows: usize| chunks(&vec![(); rows]).map(<[()]>::len).collect::<Vec<_>>();
        assert_eq!(sizes(0), [0; 0]);
        assert_eq!(sizes(7), [4, 2, 1]);
        assert_eq!(sizes(600), [256, 256, 64, 16, 8]);
    }
}
