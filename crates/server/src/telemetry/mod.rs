//! Records of requests: a line in the access log, metrics, traces, and a usage event for the bill.

pub(crate) mod access_log;
pub(crate) mod metrics;
mod recorder;
pub(crate) mod rejections;
pub(crate) mod traces;

pub(crate) use recorder::Recorder;
