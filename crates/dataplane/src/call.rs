//! A call: what is asked, by whom, and what it leaves behind.

use crate::hold::Seeker;
use crate::probe::Probe;
use crate::refusal::Refusal;
use crate::usage_tap::UsageTap;
use bytes::Bytes;
use domain::Caller;
use fleet::Backend;
use fleet::backend::BackendId;
use http::{HeaderMap, HeaderName};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Which span of which trace a request belongs to.
pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

pub struct Call {
    pub caller: Arc<Caller>,
    pub probe: Probe,
    /// What of the client's headers may reach a model server.
    pub headers: HeaderMap,
    pub tap: UsageTap,
    /// How long after its start the call may wait for a replica of a dedicated endpoint.
    pub hold_timeout: Duration,
    /// How the surface writes a refusal into a stream that has begun.
    pub dress: fn(&Refusal) -> Bytes,
}

impl Call {
    /// The call as one that looks for a place, elsewhere than where it was `tried`.
    pub(crate) fn seeker<'a>(&'a self, tried: &'a [BackendId]) -> Seeker<'a> {
        let until = self.tap.started() + self.hold_timeout;
        Seeker { prefix: self.probe.prefix(), body_bytes: self.probe.body.len(), tried, until }
    }

    /// A replica is about to be asked; returns when that is.
    pub(crate) fn begin_attempt(&mut self, replica: &Arc<Backend>) -> Instant {
        let now = self.tap.sent_to(replica);
        if let Some(traceparent) = self.tap.attempt_begins(replica) {
            self.headers.insert(TRACEPARENT, traceparent);
        }
        now
    }
}
