//! Accepts HTTP connections: sockets, TLS, request ids, bodies and their limits.
//!
//! One runtime per core, each with its own listening socket on the same port, so that a connection and everything it
//! causes stay on one core. Requests are handled by a [`Service`]; routing and authentication are not done here.

mod backlog;
mod body;
pub(crate) mod client_address;
mod connection;
pub(crate) mod cors;
pub(crate) mod deadline;
mod gunzip;
pub(crate) mod heavy_work;
mod http2_stream;
mod incoming;
pub(crate) mod limits;
pub(crate) mod listener;
pub(crate) mod memory_budget;
mod panic_guard;
pub(crate) mod peers;
mod rate_limit_headers;
pub(crate) mod request_body;
pub(crate) mod request_id;
mod response;
mod service;
pub(crate) mod session_cookie;
pub(crate) mod tls;
pub(crate) mod workers;

pub(crate) use backlog::ResponseBacklog;
pub(crate) use body::{Body, Pieces};
pub(crate) use http1::{Headers, RequestHead};
pub(crate) use incoming::Incoming;
pub(crate) use response::EdgeResponse;
pub(crate) use service::Service;
