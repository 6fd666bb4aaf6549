//! Sums of usage by the hour and by the day, kept beside the events so that a year is read in milliseconds.
//!
//! The transaction that writes an event adds it to both sums, so at every committed moment an hour equals its events
//! and a day its hours. [`read`] relies on that, and [`check`] shows that it is so.

mod add;
mod amounts;
pub mod check;
mod query;
mod read;

pub(crate) use add::add;
pub use read::{Summed, read};

use domain::Grain;

const fn table(grain: Grain) -> &'static str {
    match grain {
        Grain::Hour => "usage_hours",
        Grain::Day => "usage_days",
    }
}
