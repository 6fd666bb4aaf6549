//! Reads the tables of a TOML file key by key, and collects problems instead of stopping at the first.
//!
//! A key is known because the code has read it: when a [`Section`] is dropped, keys that were never read are reported as
//! unknown. So there is no second list of keys that could differ from the code. Example: `[edge]` contains `body_limt`;
//! the code reads `hold_timeout`, `body_limit`, …; on drop `body_limt` was not read, and the problem names its line and
//! the keys that were.

use super::problems::Problem;
use super::units;
use std::cell::RefCell;
use std::fmt::Display;
use std::ops::{Range, RangeInclusive};
use std::path::Path;
use std::time::Duration;
use toml_edit::{Item, TableLike};

/// The most characters of the file that a problem quotes.
const SHOWN_VALUE_LEN: usize = 60;

/// Shared by all sections: the text, the environment, and the problems so far.
pub(super) struct Reader<'a> {
    pub(super) text: &'a str,
    pub(super) folder: &'a Path,
    pub(super) environment: &'a dyn Fn(&str) -> Option<String>,
    pub(super) problems: RefCell<Vec<Problem>>,
}

impl Reader<'_> {
    pub(super) fn report(&self, line: Option<usize>, what: String) {
        self.problems.borrow_mut().push(Problem { line, what });
    }

    pub(super) fn line_at(&self, span: Option<Range<usize>>) -> Option<usize> {
        line_of(self.text, span?.start)
    }

    /// An environment variable that is set and not empty.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        (self.environment)(name).filter(|value| !value.is_empty())
    }

    /// Resolves a path relative to the folder of the configuration file.
    pub(super) fn path(&self, text: &str) -> std::path::PathBuf {
        self.folder.join(text)
    }
}

/// The line number, from one, of an offset.
pub(super) fn line_of(text: &str, offset: usize) -> Option<usize> {
    Some(text.as_bytes().get(..offset)?.iter().filter(|byte| **byte == b'\n').count() + 1)
}

/// One table. An absent table reads like an empty one: every key gets its default.
pub(super) struct Section<'a> {
    pub(super) reader: &'a Reader<'a>,
    /// Its name in problems, such as `[edge]`.
    name: String,
    table: Option<&'a dyn TableLike>,
    line: Option<usize>,
    read: RefCell<Vec<String>>,
}

/// A present key with its line.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) item: &'a Item,
    pub(super) line: Option<usize>,
}

impl<'a> Section<'a> {
    pub(super) fn root(reader: &'a Reader<'a>, table: &'a dyn TableLike) -> Self {
        Self { reader, name: String::new(), table: Some(table), line: Some(1), read: RefCell::default() }
    }

    /// Reports a problem with one key of the section.
    pub(super) fn report(&self, line: Option<usize>, key: &str, what: impl Display) {
        let space = if self.name.is_empty() { "" } else { " " };
        self.reader.report(line.or(self.line), format!("{}{space}{key}: {what}", self.name));
    }

    /// Reports a problem with a member at a path such as `upstreams[0].url`, at the line of the innermost part of it that
    /// exists. `why` gets the value as written in the file.
    pub(super) fn report_at(&self, path: &str, why: impl FnOnce(&str) -> String) {
        let (mut table, mut line, mut value) = (self.table, self.line, None);
        for part in path.split('.') {
            let (key, index) = part.split_once('[').unwrap_or((part, ""));
            value = None;
            let Some((name, item)) = table.and_then(|table| table.get_key_value(key)) else { break };
            line = self.reader.line_at(name.span().or_else(|| item.span())).or(line);
            let index = index.trim_end_matches(']').parse::<usize>();
            match index.ok().and_then(|index| tables_of(item)?.into_iter().nth(index)) {
                Some((inner, span)) => (table, line) = (Some(inner), self.reader.line_at(span).or(line)),
                None => (table, value) = (item.as_table_like(), Some(item)),
            }
        }
        let why = why(&value.map_or_else(|| "the value".to_owned(), |item| self.show(item)));
        self.reader.report(line, format!("{} {}: {why}", self.name, path.replace('.', " ")));
    }

    /// The whole table, for code that reports unknown keys itself.
    pub(super) fn whole(&self) -> Option<&'a dyn TableLike> {
        self.free_keys();
        self.table
    }

    /// Adds a label to the section's name in problems, such as a model's id.
    pub(super) fn label(&mut self, label: &str) {
        self.name = format!("{} {label}", self.name);
    }

    pub(super) fn entry(&self, key: &str) -> Option<Entry<'a>> {
        self.mark_read(key);
        let (key, item) = self.table?.get_key_value(key)?;
        Some(Entry { item, line: self.reader.line_at(key.span().or_else(|| item.span())) })
    }

    fn mark_read(&self, key: &str) {
        let mut read = self.read.borrow_mut();
        if !read.iter().any(|known| known == key) {
            read.push(key.to_owned());
        }
    }

    /// Reports a required key that is missing.
    pub(super) fn require(&self, key: &str, example: &str) {
        if self.entry(key).is_none() {
            self.report(None, key, format_args!("is missing, for instance {example}"));
        }
    }

    /// The line of a key; `None` if it is absent.
    pub(super) fn line(&self, key: &str) -> Option<usize> {
        let (key, item) = self.table?.get_key_value(key)?;
        self.reader.line_at(key.span().or_else(|| item.span()))
    }

    pub(super) fn section(&self, key: &str) -> Section<'a> {
        let entry = self.entry(key);
        let table = entry.and_then(|entry| {
            let table = entry.item.as_table_like();
            if table.is_none() {
                self.report(entry.line, key, "is not a table");
            }
            table
        });
        let line = entry.and_then(|entry| entry.line);
        let name = match self.name.strip_suffix(']') {
            None if self.name.is_empty() => format!("[{key}]"),
            Some(parent) if !parent.ends_with(']') => format!("{parent}.{key}]"),
            Some(_) | None => format!("{} {key}", self.name),
        };
        Section { reader: self.reader, name, table, line, read: RefCell::default() }
    }

    /// `[[key]]` tables, or an array of inline tables.
    pub(super) fn sections(&self, key: &str) -> Vec<Section<'a>> {
        let Some(entry) = self.entry(key) else { return Vec::new() };
        let Some(tables) = tables_of(entry.item) else {
            self.report(entry.line, key, "is not a list of tables");
            return Vec::new();
        };
        let make = |(index, (table, span)): (usize, PlacedTable<'a>)| {
            let name = match self.name.as_str() {
                "" => format!("[[{key}]]"),
                parent => format!("{parent} {key}[{index}]"),
            };
            let line = self.reader.line_at(span).or(entry.line);
            Section { reader: self.reader, name, table: Some(table), line, read: RefCell::default() }
        };
        tables.into_iter().enumerate().map(make).collect()
    }

    /// All keys of a section with arbitrary keys.
    pub(super) fn free_keys(&self) -> Vec<(&'a str, Entry<'a>)> {
        let Some(table) = self.table else { return Vec::new() };
        let keys: Vec<&'a str> = table.iter().map(|(key, _)| key).collect();
        keys.into_iter().filter_map(|key| Some((key, self.entry(key)?))).collect()
    }

    fn value<T>(&self, key: &str, expected: &str, read: impl FnOnce(&'a Item) -> Option<T>) -> Option<T> {
        let entry = self.entry(key)?;
        let value = read(entry.item);
        if value.is_none() {
            self.report(entry.line, key, format_args!("{} is not {expected}", self.show(entry.item)));
        }
        value
    }

    pub(super) fn text(&self, key: &str) -> Option<&'a str> {
        self.value(key, "text in quotes", Item::as_str)
    }

    /// A text that `parse` accepts.
    pub(super) fn parsed<T>(&self, key: &str, expected: &str, parse: impl FnOnce(&'a str) -> Option<T>) -> Option<T> {
        self.value(key, expected, |item| item.as_str().and_then(parse))
    }

    pub(super) fn boolean(&self, key: &str) -> Option<bool> {
        self.value(key, "true or false", Item::as_bool)
    }

    pub(super) fn texts(&self, key: &str) -> Option<Vec<&'a str>> {
        self.value(key, "a list of texts in quotes", |item| {
            item.as_array()?.iter().map(|value| value.as_str()).collect()
        })
    }

    pub(super) fn integer(&self, key: &str, range: RangeInclusive<u64>) -> Option<u64> {
        let expected = format!("a whole number from {} to {}", range.start(), range.end());
        self.value(key, &expected, |item| in_range(item, &range))
    }

    /// A number from 0 to 1.
    pub(super) fn ratio(&self, key: &str) -> Option<f64> {
        self.value(key, "a number from 0 to 1", |item| {
            let number = item.as_float().or_else(|| in_range(item, &(0..=1)).map(|whole| whole as f64))?;
            (0.0..=1.0).contains(&number).then_some(number)
        })
    }

    pub(super) fn duration(&self, key: &str, range: RangeInclusive<Duration>) -> Option<Duration> {
        let entry = self.entry(key)?;
        let duration = entry.item.as_str().and_then(units::parse_duration);
        let (from, to) = (units::show_duration(*range.start()), units::show_duration(*range.end()));
        match duration {
            Some(duration) if range.contains(&duration) => return Some(duration),
            Some(_) => {
                self.report(entry.line, key, format_args!("{} is not between {from} and {to}", self.show(entry.item)));
            }
            None => {
                let what = "is not a duration such as \"300s\", \"5m\", \"1h\" or \"250ms\"";
                self.report(entry.line, key, format_args!("{} {what}", self.show(entry.item)));
            }
        }
        None
    }

    pub(super) fn size(&self, key: &str, range: RangeInclusive<u64>) -> Option<u64> {
        let entry = self.entry(key)?;
        let bytes = match entry.item.as_integer() {
            Some(bytes) => u64::try_from(bytes).ok(),
            None => entry.item.as_str().and_then(units::parse_size),
        };
        let (from, to) = (units::show_size(*range.start()), units::show_size(*range.end()));
        match bytes {
            Some(bytes) if range.contains(&bytes) => return Some(bytes),
            Some(_) => {
                self.report(entry.line, key, format_args!("{} is not between {from} and {to}", self.show(entry.item)));
            }
            None => {
                let what = "is not a size such as \"16MiB\", \"64KiB\" or a number of bytes";
                self.report(entry.line, key, format_args!("{} {what}", self.show(entry.item)));
            }
        }
        None
    }

    /// A value as written in the file, truncated.
    pub(super) fn show(&self, item: &Item) -> String {
        let written = item.span().and_then(|span| self.reader.text.get(span)).unwrap_or("the value");
        let first_line = written.lines().next().unwrap_or_default();
        let shown: String = first_line.chars().take(SHOWN_VALUE_LEN).collect();
        if shown.len() < written.len() { format!("{shown}…") } else { shown }
    }
}

/// A table and its position in the file.
type PlacedTable<'a> = (&'a dyn TableLike, Option<Range<usize>>);

/// The tables of a list in either notation; `None` if an element is not a table.
fn tables_of(item: &Item) -> Option<Vec<PlacedTable<'_>>> {
    if let Some(tables) = item.as_array_of_tables() {
        return Some(tables.iter().map(|table| (table as &dyn TableLike, table.span())).collect());
    }
    item.as_array()?.iter().map(|value| Some((value.as_inline_table()? as &dyn TableLike, value.span()))).collect()
}

/// An integer within the range.
pub(super) fn in_range(item: &Item, range: &RangeInclusive<u64>) -> Option<u64> {
    u64::try_from(item.as_integer()?).ok().filter(|number| range.contains(number))
}

/// Reports keys that were never read.
impl Drop for Section<'_> {
    fn drop(&mut self) {
        let Some(table) = self.table else { return };
        let read = self.read.borrow();
        for (key, item) in table.iter().filter(|(key, _)| !read.iter().any(|known| known == key)) {
            let line = self.line(key).or_else(|| self.reader.line_at(item.span()));
            let what = format!("unknown key; known here: {}", read.join(", "));
            self.report(line, key, what);
        }
    }
}
