//! What the surfaces of inference share: the exchange of a request for its response, and errors without an envelope.
//!
//! The order of checks: credential, attempts, route, method, body, and then the call. A surface adds its routes, its
//! errors and its format.

mod error;
mod exchange;
mod storing;

pub(super) use error::{InferenceError, X_SHOULD_RETRY, call_error, call_status};
pub(super) use exchange::{ErrorFormat, Exchange, Prepared};
pub(super) use storing::PendingSave;
