//! The way to a replica: connections, requests and the bytes that come back.

pub mod exchange;
pub mod link;
pub mod links;
pub mod outgoing;

pub use exchange::Exchange;
pub use links::Links;
pub use outgoing::Outgoing;
