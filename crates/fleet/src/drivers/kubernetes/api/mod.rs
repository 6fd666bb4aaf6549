//! Access to the API server: the client, requests with a timeout, and mirrors of its objects.

pub(in crate::drivers::kubernetes) mod client;
pub(in crate::drivers::kubernetes) mod inspect;
pub(in crate::drivers::kubernetes) mod mirror;
pub(in crate::drivers::kubernetes) mod requests;
