//! Waits for a replica that can serve.
//!
//! A serverless model does not wait: without a healthy replica it is not serving, and says so at once.

use crate::Dataplane;
use crate::refusal::Refusal;
use crate::resolve::Target;
use fleet::{Lease, Unavailable};
use std::time::Instant;

impl Dataplane {
    pub(crate) fn hold(&self, target: &Target, prefix: &[u8]) -> Result<Lease, Refusal> {
        match target {
            Target::Serverless(route) => route
                .pool
                .pick(prefix, None, Instant::now())
                .map_err(|Unavailable| Refusal::NotServing { retry_after_secs: None }),
        }
    }
}
