//! Where HTTP comes in: sockets, connections, request ids, bodies and their bounds.
//!
//! One runtime per core, each with its own listening socket on the same port, so that a connection and everything it
//! causes stay on one core. What is asked, and by whom, is the business of the surfaces.

mod answered;
pub(crate) mod body;
pub(crate) mod client_address;
pub(crate) mod clock;
pub(crate) mod connection;
pub(crate) mod cors;
pub(crate) mod deadline;
mod guard;
mod headers;
pub(crate) mod http1;
mod incoming;
pub(crate) mod listener;
mod rate_limit_lines;
pub(crate) mod request_body;
pub(crate) mod request_id;
pub(crate) mod session_cookie;
pub(crate) mod tls;
pub(crate) mod workers;

pub(crate) use answered::Answered;
pub(crate) use body::Body;
pub(crate) use headers::{Head, Headers};
pub(crate) use incoming::Incoming;
