//! What requests leave behind: a line in the log, numbers for the operator, and an event for the bill.

pub(crate) mod access_log;
pub(crate) mod metrics;
mod recorder;
pub(crate) mod refusals;
pub(crate) mod traces;
pub(crate) mod usage_writer;

pub(crate) use recorder::Recorder;
