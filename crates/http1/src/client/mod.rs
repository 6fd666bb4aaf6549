//! Client connections: a request whose body is known, and a response with a length, in chunks, or until the connection
//! closes.
//!
//! A connection is driven by the task that uses it. Dropping it closes it at once, which cancels the request.
//! [`Pool`] and [`Exchange`] reuse connections; [`send_once`] uses one for a single call.

mod connection;
mod exchange;
#[cfg(test)]
mod fuzz_tests;
mod once;
mod pieces;
mod pool;
mod request;

pub use connection::{Connection, SendError};
pub use exchange::{CollectError, Exchange, ExchangeError};
pub use once::{OnceError, OnceResponse, send_once};
pub use pieces::{Collected, Pieces};
pub use pool::Pool;
pub use request::Request;
