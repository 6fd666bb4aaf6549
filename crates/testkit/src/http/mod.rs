//! HTTP/1.1 for tests: exact bytes with [`send`], and a [`Client`] that can read a stream event by event.
//!
//! Test helpers panic with the reason instead of returning errors. Functions named `try_…` return the error, for tests of
//! failures.

mod client;
pub mod form;
mod raw;
pub mod response_reader;
mod sse;

pub use client::{Client, Response};
pub use raw::{RawResponse, connect, send};
pub use sse::{Event, Stream, events_of};
