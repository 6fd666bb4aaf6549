//! Callbacks of a traced call.

use crate::record::CallRecord;
use fleet::Backend;
use http::HeaderValue;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

/// Receives the events of one call, each with its time since the call started. Must not block.
pub trait Trace: Send + Sync + Debug {
    /// The call is sent to a replica, with the returned `traceparent`.
    fn attempt_begins(&self, replica: &Arc<Backend>, at: Duration) -> HeaderValue;

    /// The attempt failed; the reason is one word.
    fn attempt_failed(&self, reason: &'static str, at: Duration);

    /// The call has ended.
    fn settled(&self, record: &CallRecord);
}
