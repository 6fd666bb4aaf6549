//! Dedicated endpoints: reserved GPU capacity that serves one model.
//!
//! Here is the record and what may become of it. The rules are one to a file: how it is called ([`name`]), how it scales
//! ([`scaling`]), how requests say so ([`request`]), how it lives ([`state`]), what its replicas do ([`replica`]) and when
//! a start is given up ([`failure`]).

pub mod event;
pub mod failure;
mod fault;
mod generation;
pub mod labels;
pub mod load;
mod name;
mod record;
pub mod replica;
pub mod request;
pub mod scaling;
mod shape;
pub mod state;

pub use fault::{Fault, FaultCode};
pub use generation::{Generation, IfMatch};
pub use name::{BadName, EndpointName};
pub use record::Endpoint;
pub use shape::Shape;
pub use state::State;
