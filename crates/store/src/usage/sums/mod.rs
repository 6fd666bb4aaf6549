//! Hourly and daily sums of usage, so that a year is read in milliseconds.
//!
//! The transaction that writes an event adds it to both sums. Invariant: an hour equals the sum of its events, and a day
//! the sum of its hours. [`read`] relies on it; [`check`] verifies it.

mod add;
mod amounts;
pub mod check;
pub mod consumers;
mod query;
mod read;

pub(crate) use add::add;
pub use read::{Summed, read};

use domain::Grain;

/// The daily sums of calls that named an end user.
const END_USERS: &str = "usage_end_users";

const fn table(grain: Grain) -> &'static str {
    match grain {
        Grain::Hour => "usage_hours",
        Grain::Day => "usage_days",
    }
}
