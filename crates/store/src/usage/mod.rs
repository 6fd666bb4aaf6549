//! Usage events from the journal to the dashboards.
//!
//! A [`domain::UsageEvent`] is appended to the [`journal`] when its call ends. A [`UsageWriter`] writes batches of them
//! as rows ([`event`], [`dimensions`]) and, in the same transaction, adds them to the hourly and daily [`sums`], the
//! [`series`] of dashboards and the bill check. The [`requests`] log lists events and rejected calls together.

pub mod budgets;
mod dimensions;
mod event;
pub mod journal;
pub mod leases;
pub mod quota;
pub mod recent;
pub mod requests;
pub mod retention;
pub mod series;
pub mod spend;
pub mod sums;
mod writer;

pub use event::list;
pub use writer::UsageWriter;
