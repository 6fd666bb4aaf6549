//! The interface between the edge and what it serves.

use crate::{EdgeResponse, Incoming, Relayed, RequestHead};
use http1::RequestHeadError;
use std::future::Future;
use std::net::IpAddr;
use std::sync::Arc;

/// Handles the requests of one core.
pub trait Service: Send + Sync + 'static {
    type Relayed: Relayed;

    fn respond(
        self: Arc<Self>,
        head: RequestHead,
        body: Incoming,
        peer: IpAddr,
    ) -> impl Future<Output = EdgeResponse<Self::Relayed>> + Send;

    /// The response to a request whose head was rejected.
    fn reject_head(&self, error: RequestHeadError, peer: IpAddr) -> EdgeResponse<Self::Relayed>;

    /// What the response to a request whose handler panicked depends on; read of every request, so it is cheap.
    type Envelope: Copy + Send + 'static;

    fn envelope(head: &RequestHead) -> Self::Envelope;

    /// The response to a request whose handler panicked.
    fn panicked(&self, envelope: Self::Envelope) -> EdgeResponse<Self::Relayed>;

    /// Periodic housekeeping, called on the thread of the core.
    fn sweep(&self);

    /// Ends open streams with an error event. Called at the end of the drain timeout.
    fn cut_streams(&self);
}
