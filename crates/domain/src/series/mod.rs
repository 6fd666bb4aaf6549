//! Series: what calls did, by the minute, the hour and the day, for dashboards.
//!
//! A call is counted in the minute in which it was received; only the time it was under way is spread over all that it
//! touched. Costs are not here: they are sums of usage, which are kept apart and for ever.

mod metric;
mod step;
mod tally;

pub use metric::{BadMetric, Metric, Unit};
pub use step::{BadStep, MAX_POINTS, Points, Resolution, Step};
pub use tally::{Tally, Timing, spread};

/// What a series is divided by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Division {
    Model,
    /// Who called: a key, or a user in the Playground.
    Key,
    /// Dedicated endpoints only.
    Endpoint,
    Code,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not one of model, key, endpoint and code")]
pub struct BadDivision(String);

impl Division {
    const ALL: [Self; 4] = [Self::Model, Self::Key, Self::Endpoint, Self::Code];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Key => "key",
            Self::Endpoint => "endpoint",
            Self::Code => "code",
        }
    }

    pub fn parse(text: &str) -> Result<Self, BadDivision> {
        let known = Self::ALL.into_iter().find(|division| division.as_str() == text);
        known.ok_or_else(|| BadDivision(text.chars().take(64).collect()))
    }
}

/// Rows are kept for four ways of looking, so that each is read without the others' rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    Workspace,
    Model,
    Key,
    ModelAndKey,
}

impl Level {
    pub const ALL: [Self; 4] = [Self::Workspace, Self::Model, Self::Key, Self::ModelAndKey];

    /// The level whose rows tell models and callers apart just as needed.
    pub const fn that_tells(models: bool, callers: bool) -> Self {
        match (models, callers) {
            (false, false) => Self::Workspace,
            (true, false) => Self::Model,
            (false, true) => Self::Key,
            (true, true) => Self::ModelAndKey,
        }
    }

    pub const fn tells_models(self) -> bool {
        matches!(self, Self::Model | Self::ModelAndKey)
    }

    pub const fn tells_callers(self) -> bool {
        matches!(self, Self::Key | Self::ModelAndKey)
    }

    /// How it is written down.
    pub const fn number(self) -> i64 {
        match self {
            Self::Workspace => 0,
            Self::Model => 1,
            Self::Key => 2,
            Self::ModelAndKey => 3,
        }
    }
}
