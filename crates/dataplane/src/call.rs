//! A call: what is asked, by whom, and what it leaves behind.

use crate::probe::Probe;
use crate::refusal::Refusal;
use crate::usage_tap::UsageTap;
use bytes::Bytes;
use domain::Caller;
use fleet::Replica;
use http::{HeaderMap, HeaderName, HeaderValue};
use std::sync::Arc;
use std::time::Duration;

/// Which span of which trace a request belongs to.
pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");

pub struct Call {
    /// The request id, for the model server's log.
    pub request_header: HeaderValue,
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

impl Call {
    /// A replica is about to be asked.
    pub(crate) fn begin_attempt(&mut self, replica: &Arc<Replica>) {
        self.tap.note(|record| record.replica = Some(Arc::clone(replica)));
        if let Some(traceparent) = self.tap.attempt_begins(replica) {
            self.headers.insert(TRACEPARENT, traceparent);
        }
    }
}
