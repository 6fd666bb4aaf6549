//! Hourly and daily sums of usage, so that a year is read in milliseconds.
//!
//! The transaction that writes an event adds it to the sums. Invariant: an hour equals the sum of its events, a day the sum of
//! its hours, a day of a class the sum of the events of this class, and a day of an end user the sum of the events that named
//! this end user. [`read`] relies on it; [`check`] verifies it.

mod add;
mod amounts;
pub mod check;
mod classes;
pub mod consumers;
mod keys;
mod query;
mod read;

pub(crate) use add::add;
pub use classes::{ClassSum, read_classes};
pub use keys::read_keys;
pub use query::Selection;
pub use read::{Summed, read};

use domain::Grain;

/// A table of sums.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sums {
    /// All calls.
    Of(Grain),
    /// By day, of the calls of classes other than interactive to models of the catalogue.
    Classes,
    /// By day, of the calls that named a known end user.
    EndUsers,
}

impl Sums {
    /// In the order in which they are checked: days are compared with hours.
    pub const ALL: [Self; 4] = [Self::Of(Grain::Hour), Self::Of(Grain::Day), Self::Classes, Self::EndUsers];

    pub const fn grain(self) -> Grain {
        match self {
            Self::Of(grain) => grain,
            Self::Classes | Self::EndUsers => Grain::Day,
        }
    }

    const fn table(self) -> &'static str {
        match self {
            Self::Of(Grain::Hour) => "usage_hours",
            Self::Of(Grain::Day) => "usage_days",
            Self::Classes => "usage_classes",
            Self::EndUsers => "usage_end_users",
        }
    }

    /// The columns of the primary key, in the order of the fields of [`add::SumKey`].
    const fn key(self) -> &'static str {
        match self {
            Self::Of(_) => "workspace_id, starts_at, model, actor",
            Self::Classes => "workspace_id, starts_at, class, model",
            Self::EndUsers => "workspace_id, end_user, starts_at, model, actor",
        }
    }
}
