//! Records of requests: a line in the access log, metrics, traces, and a usage event for the bill.

pub mod access_log;
pub mod metrics;
mod recorder;
pub mod rejections;
pub mod traces;

pub use recorder::{LineRecorder, Recorder, SettledLine};
