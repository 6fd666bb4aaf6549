//! How to talk to an engine of any kind: its command line, health, metrics, token counters and failures.
//!
//! Both drivers and the pools use it. Nothing here starts or stops a process.

mod client;
pub(crate) mod command;
pub(crate) mod environment;
pub(crate) mod failure;
mod family;
#[cfg(test)]
mod fuzz_tests;
mod health;
mod load;
mod metric_names;
mod metrics;
pub mod options;
pub(crate) mod prometheus;
pub mod token_counters;

pub use command::{BuiltInEngine, CommandError};
pub use failure::{Failure, FailureClass};
pub use family::Family;
pub use health::{PROBE_PERIOD, ProbeResult, ProbeStreak, Readiness};
pub use load::{EngineLoad, EngineMetrics, LoadError};
pub(crate) use metrics::read as read_load;
pub use token_counters::TokenCounters;

use domain::model::Modality;
use outbound::Address;

/// An engine that listens at an address.
pub(crate) struct Engine {
    pub(crate) address: Address,
    pub(crate) family: Family,
    /// The model name it expects in requests.
    pub(crate) model: String,
    pub(crate) modality: Modality,
    /// Its key, which every request has.
    pub(crate) key: Option<String>,
}
