//! The way to a replica: connections, requests and the bytes that come back.
//!
//! HTTP/1.1 as model servers speak it, and no more: a request whose body is known, and an answer with a length, in
//! chunks, or until the connection closes.

pub mod exchange;
mod head;
pub mod link;
pub mod links;
mod request;

pub use exchange::Exchange;
pub use head::Head;
pub use links::Links;
pub use request::Request;
