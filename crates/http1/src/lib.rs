//! HTTP/1.1 over any byte stream: a server connection and a client connection, each driven by the task that uses it.
//!
//! The crate knows nothing of the program around it. Sockets, TLS and routing belong to its users. The README lists
//! which parts of RFC 9112 are implemented.

mod bulk;
pub mod client;
pub mod framing;
#[cfg(test)]
mod fuzz_tests;
mod headers;
mod large_buffer;
mod request_head;
mod response_head;
pub mod server;
pub mod timers;

pub use headers::{Headers, RequestHead};
pub use large_buffer::LargeBuffer;
pub use request_head::RequestHeadError;
pub use response_head::{ResponseHead, ResponseHeadError};
