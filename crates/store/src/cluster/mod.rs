//! Nodes that share a store: their heartbeats, their leader, and the change feed between them.

pub mod changes;
pub mod download_requests;
pub mod leader;
pub mod log_requests;
pub mod nodes;
