//! Accepts HTTP connections: sockets, TLS, request ids, bodies and their limits.
//!
//! One runtime per core, each with its own listening socket on the same port, so that a connection and everything it
//! causes stay on one core. Requests are handled by a [`Service`]; routing and authentication are not done here.

mod backlog;
mod body;
mod body_error;
pub mod client_address;
mod connection;
pub mod cors;
pub mod deadline;
mod gunzip;
pub mod heavy_work;
mod http2_stream;
mod incoming;
pub mod limits;
pub mod listener;
pub mod memory_budget;
mod panic_guard;
pub mod peers;
mod rate_limit_headers;
pub mod request_body;
pub mod request_id;
mod response;
mod service;
pub mod throttle;
pub mod tls;
pub mod workers;

pub use backlog::ResponseBacklog;
pub use body::{Body, Pieces, Relayed};
pub use http1::{Headers, RequestHead};
pub use incoming::Incoming;
pub use response::EdgeResponse;
pub use service::Service;
