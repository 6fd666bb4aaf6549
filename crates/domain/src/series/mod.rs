//! Series: calls per minute, hour and day, for dashboards.
//!
//! A call is counted in the minute in which it was received; only its duration is spread over all minutes that it touched.
//! Costs are not part of the series: they come from the sums of usage, which are kept forever.

mod level;
mod metric;
mod step;
mod tally;

use crate::named_enum;
pub use level::Level;
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
        /// Replicas of dedicated endpoints.
        Replica = "replica",
        Code = "code",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not one of model, key, endpoint, replica and code")]
pub struct DivisionError(String);
