//! Context of every admin command: the store, the defaults, the time, and the output format.

use super::output::{self, Shown};
use control::{Author, Command, CommandError};
use domain::Timestamp;
use domain::workspace::Limits;
use node::clock;
use store::{Page, Store};

pub(super) struct AdminContext<'a> {
    pub(super) store: &'a Store,
    pub(super) defaults: &'a Limits,
    pub(super) now: Timestamp,
    pub(super) json: bool,
}

impl<'a> AdminContext<'a> {
    pub(super) async fn new(store: &'a Store, defaults: &'a Limits, json: bool) -> anyhow::Result<Self> {
        clock::follow(store).await?;
        Ok(Self { store, defaults, now: clock::now(), json })
    }

    /// A change that the operator makes.
    pub(super) const fn command(&self) -> Command<'_> {
        Command { store: self.store, author: &Author::CommandLine, now: self.now }
    }

    pub(super) fn show<T: Shown>(&self, record: &T) -> anyhow::Result<String> {
        if self.json { output::record_as_json(record) } else { output::record_as_lines(record) }
    }

    pub(super) fn show_list<T: Shown>(&self, records: &[T]) -> anyhow::Result<String> {
        if self.json { output::list_as_json(records) } else { output::list_as_table(records) }
    }

    /// The output after a deletion.
    pub(super) fn show_deleted(&self, id: &str) -> anyhow::Result<String> {
        if self.json {
            output::record_as_json(&output::Deleted { id, deleted: true })
        } else {
            Ok(format!("deleted {id}\n"))
        }
    }
}

/// Reads all pages of a list.
pub(super) async fn whole_list<T>(
    read: impl AsyncFn(Page<'_>) -> Result<Vec<T>, CommandError>,
    id: impl Fn(&T) -> &str,
) -> Result<Vec<T>, CommandError> {
    let mut all: Vec<T> = Vec::new();
    loop {
        let cursor = all.last().map(|last| id(last).to_owned()).unwrap_or_default();
        let page = read(Page::after(&cursor, Page::MAX_LIMIT)).await?;
        let is_last = u32::try_from(page.len()).is_ok_and(|count| count < Page::MAX_LIMIT);
        all.extend(page);
        if is_last {
            return Ok(all);
        }
    }
}
