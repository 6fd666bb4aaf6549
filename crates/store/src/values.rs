//! The text of an INSERT of many rows.

use crate::db::Engine;
use std::fmt::Write;

/// Rows in one statement; SQLite takes 32,766 values.
pub(crate) const ROWS_AT_ONCE: usize = 200;

/// `INSERT INTO table (columns) VALUES (…), (…)`, to be followed by what happens on a conflict.
///
/// SQLite looks every named value up in a list of all of them, so there its values have no names.
pub(crate) fn insert_text(engine: Engine, table: &str, columns: &str, rows: usize) -> String {
    let column_count = columns.split(',').count();
    let mut text = format!("INSERT INTO {table} ({columns}) VALUES ");
    for row in 0..rows {
        text.push_str(if row == 0 { "(" } else { ", (" });
        for column in 1..=column_count {
            text.push_str(if column == 1 { "" } else { ", " });
            match engine {
                Engine::Sqlite => text.push('?'),
                Engine::Postgres => {
                    write!(text, "${}", row * column_count + column).expect("a String takes any text");
                }
            }
        }
        text.push(')');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_its_place() {
        let text = |engine| insert_text(engine, "days", "a, b", 2);
        assert_eq!(text(Engine::Postgres), "INSERT INTO days (a, b) VALUES ($1, $2), ($3, $4)");
        assert_eq!(text(Engine::Sqlite), "INSERT INTO days (a, b) VALUES (?, ?), (?, ?)");
    }
}
