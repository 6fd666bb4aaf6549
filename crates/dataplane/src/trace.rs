//! What a call that is traced hears on its way. What becomes of it is for whoever traces.

use crate::usage_tap::Record;
use fleet::Backend;
use http::HeaderValue;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

/// Moments are told since the call came in. Nothing here may wait.
pub trait Trace: Send + Sync + Debug {
    /// A replica is asked; it gets this as its `traceparent`.
    fn attempt_begins(&self, replica: &Arc<Backend>, at: Duration) -> HeaderValue;

    /// That was in vain, for a reason in one word.
    fn attempt_failed(&self, reason: &'static str, at: Duration);

    /// The call has ended.
    fn settled(&self, record: &Record);
}
