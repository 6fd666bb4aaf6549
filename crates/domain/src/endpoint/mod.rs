//! Dedicated endpoints: reserved GPU capacity that serves one model.
//!
//! The record and its rules, one per file: names ([`EndpointName`]), scaling ([`scaling`]), requests ([`request`]), the state
//! machine ([`state`]), replicas ([`replica`]), and when failed starts are retried or given up ([`failure`]).

pub mod event;
pub mod failure;
mod field_error;
mod generation;
pub mod labels;
mod name;
mod record;
pub mod replica;
pub mod replica_keys;
pub mod request;
pub mod scaling;
mod shape;
pub mod state;

pub use failure::FailureClass;
pub use field_error::{FieldError, FieldErrorCode};
pub use generation::{Generation, IfMatch};
pub use name::{EndpointName, EndpointNameError};
pub use record::Endpoint;
pub use shape::Shape;
pub use state::State;
