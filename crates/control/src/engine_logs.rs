//! Logs of engines on other nodes' machines.

use crate::node_requests::Request;
use serde::{Deserialize, Serialize};

/// The part of a log that is wanted.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LogPart {
    pub name: String,
    /// How much of the end of the log is read.
    pub max_bytes: u64,
    /// Only lines with this text; empty for all.
    pub search: String,
}

impl Request for LogPart {
    const KIND: &'static str = "log";

    /// `None` if the node has no such log.
    type Response = Option<String>;
}
