//! Nodes that share a store: their heartbeats, their leader, and the change feed between them.

pub mod changes;
pub mod leader;
pub mod node_requests;
pub mod nodes;
