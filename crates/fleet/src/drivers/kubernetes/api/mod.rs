//! Access to the API server: client, requests with a timeout, mirrors of its objects, and a check for the operator.

pub(in crate::drivers::kubernetes) mod client;
pub(in crate::drivers::kubernetes) mod inspect;
pub(in crate::drivers::kubernetes) mod mirror;
pub(in crate::drivers::kubernetes) mod requests;
