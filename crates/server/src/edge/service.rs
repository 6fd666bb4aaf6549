//! The interface between the edge and what it serves.

use super::{EdgeResponse, Incoming, RequestHead};
use http1::RequestHeadError;
use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;

/// Handles the requests of one core.
pub(crate) trait Service: Send + Sync + 'static {
    fn respond(
        self: Arc<Self>,
        head: RequestHead,
        body: Incoming,
        peer: IpAddr,
    ) -> impl Future<Output = EdgeResponse> + Send;

    /// The response to a request whose head was rejected.
    fn reject_head(&self, error: RequestHeadError, peer: IpAddr) -> EdgeResponse;

    /// The response to a request whose handler panicked.
    fn panicked() -> EdgeResponse;

    /// Periodic housekeeping, called on the thread of the core.
    fn sweep(&self);

    /// Ends open streams with an error event. Called at the end of the drain timeout.
    fn cut_streams(&self);
}
