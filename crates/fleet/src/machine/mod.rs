//! Facts about this machine.

pub mod memory_limit;
