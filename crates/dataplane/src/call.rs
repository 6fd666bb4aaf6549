//! A call: what is asked, by whom, and what it leaves behind.

use crate::probe::Probe;
use crate::refusal::Refusal;
use crate::usage_tap::UsageTap;
use bytes::Bytes;
use domain::Caller;
use http::HeaderMap;
use std::sync::Arc;
use std::time::Duration;

pub struct Call {
    pub caller: Arc<Caller>,
    pub probe: Probe,
    /// What of the client's headers may reach a model server.
    pub headers: HeaderMap,
    pub tap: UsageTap,
    /// How long the call may wait for a replica of a dedicated endpoint.
    pub hold_timeout: Duration,
    /// How the surface writes a refusal into a stream that has begun.
    pub dress: fn(&Refusal) -> Bytes,
}
