//! The machine, the engine, nginx and Forebay, as set up for the benchmark.

pub(crate) mod gateways;
pub(crate) mod host;
pub(crate) mod keys;
pub(crate) mod nginx;
pub(crate) mod process_stat;
pub(crate) mod redis;
