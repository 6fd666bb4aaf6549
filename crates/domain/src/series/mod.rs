//! Series: calls per minute, hour and day, for dashboards.
//!
//! A call is counted in the minute in which it was received; only its duration is spread over all minutes that it touched.
//! Costs are not part of the series: they come from the sums of usage, which are kept forever.

mod metric;
mod step;
mod tally;

use crate::named_enum;
pub use metric::{Metric, MetricError, Unit};
pub use step::{MAX_POINTS, Points, Resolution, Step, StepError};
pub use tally::{Tally, Timing, spread};

named_enum! {
    /// The property by which a series is divided.
    pub enum Division or DivisionError {
        Model = "model",
        /// A key, or a user in the Playground.
        Key = "key",
        /// Dedicated endpoints only.
        Endpoint = "endpoint",
        Code = "code",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not one of model, key, endpoint and code")]
pub struct DivisionError(String);

/// Rows are stored at four levels of detail, so that a query reads only the rows it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    Workspace,
    Model,
    Key,
    ModelAndKey,
}

impl Level {
    pub const ALL: [Self; 4] = [Self::Workspace, Self::Model, Self::Key, Self::ModelAndKey];

    /// The level that distinguishes models and actors as required.
    pub const fn with(models: bool, actors: bool) -> Self {
        match (models, actors) {
            (false, false) => Self::Workspace,
            (true, false) => Self::Model,
            (false, true) => Self::Key,
            (true, true) => Self::ModelAndKey,
        }
    }

    /// Whether rows are per model.
    pub const fn has_models(self) -> bool {
        matches!(self, Self::Model | Self::ModelAndKey)
    }

    /// Whether rows are per key or user.
    pub const fn has_actors(self) -> bool {
        matches!(self, Self::Key | Self::ModelAndKey)
    }

    /// The value of the column `level`.
    pub const fn number(self) -> i64 {
        match self {
            Self::Workspace => 0,
            Self::Model => 1,
            Self::Key => 2,
            Self::ModelAndKey => 3,
        }
    }
}
