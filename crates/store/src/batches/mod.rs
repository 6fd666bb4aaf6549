//! Batches: their records, their lines and their results.
//!
//! A line is a row of `batch_lines` until it ends, and one of `batch_results` then. The transaction that moves it also writes
//! its usage event, so a line has exactly one result and at most one event, however often it ran.

pub mod files;
mod lines;
mod record;
mod results;

pub use files::StoredContent;
pub use lines::{
    ClaimedLine, Deferral, NewLine, QueuedLines, claim, clear_lines, defer, end_waiting, insert_lines, lines_exceed,
    queued, release, renew,
};
pub use record::{
    BatchQuery, MAX_LISTED, OpenBatch, cancel, delete, disown, fail, find, find_any, finish, insert, insert_open, list,
    list_all, open, own, remove_old, start, start_finalizing,
};
pub use results::{EndedLine, LineResult, clear_ended, end_lines, results};
