//! Nodes that share a store: their heartbeats, their leader, and the change feed between them.

mod change;
pub mod changes;
pub mod leader;
pub mod nodes;

pub use change::Change;
