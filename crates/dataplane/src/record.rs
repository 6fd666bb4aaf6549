//! The record of one call, handed to the sink when the call ends.

use domain::usage::{Certainty, Tokens};
use domain::{CallClass, Caller, EndUser, NanoUsd, RequestId, Timestamp, named_enum};
use fleet::{Backend, Route};
use std::sync::Arc;
use std::time::Duration;

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Served,
    /// An error before the first byte of the response.
    Rejected {
        status: u16,
        code: &'static str,
    },
    /// An error after the first byte of the response.
    Interrupted {
        code: &'static str,
    },
    ClientGone,
}

named_enum! {
    /// Why a stream did not continue after its replica failed.
    pub enum NotContinued {
        /// An engine cannot continue such a response.
        NotPossible = "not_possible",
        NoReplica = "no_replica",
        TooOften = "too_often",
    }
}

/// What happened when the replica of a stream was lost, at a model with failover.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Failovers {
    /// How often the stream went on.
    pub continued: u8,
    /// Why it did not in the end; `None` if it did, or never lost its replica.
    pub not_continued: Option<NotContinued>,
}

/// Everything that logs, metrics and usage need to know of a call.
#[derive(Debug)]
pub struct CallRecord {
    pub request: RequestId,
    pub client_request: Option<Box<str>>,
    /// The route of the surface, such as `chat`.
    pub route: &'static str,
    pub caller: Option<Arc<Caller>>,
    /// The person behind the caller, if a trusted key names one.
    pub end_user: Option<Arc<EndUser>>,
    pub model: Option<Arc<Route>>,
    /// Decides the price.
    pub class: CallClass,
    /// What the call costs beside its tokens if it is a search, else zero.
    pub search_price: NanoUsd,
    /// The name that the client sent, if it is an alias of the model.
    pub requested_model: Option<Box<str>>,
    /// The last replica that the call was sent to.
    pub replica: Option<Arc<Backend>>,
    pub streamed: bool,
    pub started_at: Timestamp,
    /// From the start until the call was first sent to a replica.
    pub sent: Option<Duration>,
    /// From the start until the first byte of the response.
    pub first_byte: Option<Duration>,
    /// How long the call waited for a replica of a dedicated endpoint, or for room if it is a flex call. `None` if it did not
    /// wait.
    pub held: Option<Duration>,
    pub duration: Duration,
    pub outcome: Outcome,
    pub tokens: Tokens,
    pub certainty: Certainty,
    pub failovers: Failovers,
    /// The cause of an error, for our log only.
    pub cause: Option<String>,
}

impl CallRecord {
    pub(crate) fn new(request: RequestId, route: &'static str, now: Timestamp) -> Self {
        Self {
            request,
            client_request: None,
            route,
            caller: None,
            end_user: None,
            model: None,
            class: CallClass::default(),
            search_price: NanoUsd::ZERO,
            requested_model: None,
            replica: None,
            streamed: false,
            started_at: now,
            sent: None,
            first_byte: None,
            held: None,
            duration: Duration::ZERO,
            outcome: Outcome::ClientGone,
            tokens: Tokens::default(),
            certainty: Certainty::Void,
            failovers: Failovers::default(),
            cause: None,
        }
    }
}
