//! Limits of a server connection, and why it ended a call.

use super::HeadBudget;
use std::sync::Arc;
use std::time::Duration;

/// Limits of a server connection.
#[derive(Debug, Clone)]
pub struct Limits {
    /// How long a connection may wait for its next request; at most twice as long.
    pub idle: Duration,
    /// From the first byte of a head to its last.
    pub head: Duration,
    /// How long a connection without a request stays when the server stops: the client may just be sending one, most
    /// likely on a new connection.
    pub last_request: Duration,
    /// Memory for incomplete heads, shared with other connections.
    pub heads: Arc<HeadBudget>,
    /// The window in which a client has to take some of a response that waits for it, see [`StallTimer`].
    pub stall: Duration,
    /// From the head of a request to the end of its response; at most an eighth longer.
    pub call: Duration,
}

/// Why the server ended a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cutoff {
    /// The client took too little of the response.
    Stalled,
    /// The client did not keep up, and there was no memory for what waits for it, see [`Backlog`].
    ///
    /// [`Backlog`]: super::Backlog
    NoMemory,
    /// The call took too long.
    TimedOut,
}

/// Precision of the limit on calls: an eighth.
pub const CALL_TICKS: u32 = 8;

impl Limits {
    /// Longer than clients usually keep an unused connection.
    pub const IDLE: Duration = Duration::from_secs(100);
    pub const HEAD: Duration = Duration::from_secs(15);
    pub const LAST_REQUEST: Duration = Duration::from_secs(1);
    /// Long enough for the steps in which sockets report progress, see [`StallTimer`].
    pub const STALL: Duration = Duration::from_secs(120);
    pub const CALL: Duration = Duration::from_secs(3_600);

    /// The usual times.
    pub fn new(heads: Arc<HeadBudget>) -> Self {
        Self {
            idle: Self::IDLE,
            head: Self::HEAD,
            last_request: Self::LAST_REQUEST,
            heads,
            stall: Self::STALL,
            call: Self::CALL,
        }
    }
}
