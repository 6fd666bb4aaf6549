//! Load generators: calls at full speed, calls at a fixed rate, and streams.

pub(crate) mod closed_loop;
pub(crate) mod connection;
pub(crate) mod open_loop;
pub(crate) mod requests;
pub(crate) mod streams;
