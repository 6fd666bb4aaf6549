//! The hot path of a call.
//!
//! `infer` shows the order; each step is a file with its name. A call is probed, resolved to a model, admitted, given
//! a replica and relayed, and what it used is settled when the body of its answer ends or is dropped.

pub mod admission;
mod admit;
pub mod answer;
mod body;
mod call;
pub mod edits;
mod hold;
pub mod json;
pub mod keys;
pub mod probe;
mod refusal;
mod relay;
mod resolve;
pub mod trace;
mod upstream;
pub mod usage_tap;

pub use body::AnswerBody;
pub use call::{Call, TRACEPARENT};
pub use refusal::{Refusal, Rejection};

use admission::Admission;
use domain::limits::RateLimitStatus;
use domain::model::CallTimeouts;
use fleet::{Connector, Endpoints, Lease, Routes};
use resolve::Target;
use tokio::sync::watch;
use upstream::Connections;

/// The data plane of one core: it shares the route table with the others, and no connection.
#[derive(Clone)]
pub struct Dataplane {
    routes: Routes,
    endpoints: Endpoints,
    admission: Admission,
    connections: Connections,
    timeouts: CallTimeouts,
    /// Turns true when streams must end.
    cut: watch::Sender<bool>,
}

/// An answer, whole or as it comes.
pub struct Answer {
    pub form: Form,
    /// What is left of the limits by the minute, where they count.
    pub standings: Option<RateLimitStatus>,
    pub body: AnswerBody,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Json,
    EventStream,
}

impl Dataplane {
    pub fn new(
        routes: Routes,
        endpoints: Endpoints,
        connector: Connector,
        timeouts: CallTimeouts,
        admission: Admission,
    ) -> Self {
        Self {
            routes,
            endpoints,
            admission,
            connections: Connections::new(connector),
            timeouts,
            cut: watch::Sender::new(false),
        }
    }

    pub fn routes(&self) -> &Routes {
        &self.routes
    }

    /// Closes connections to replicas that were idle for about a minute. To be called every 15 seconds.
    pub fn sweep(&self) {
        self.connections.pool.sweep();
    }

    /// Ends every stream with an event that says so. The process is about to end.
    pub fn cut_streams(&self) {
        self.cut.send_replace(true);
    }

    /// Answers a call. An answer takes the call's tap along; that of a refused call is the surface's to settle.
    pub async fn infer(&self, call: &mut Call) -> Result<Answer, Refusal> {
        let (target, replica) = self.prepare(call).await?;
        self.relay(target, replica, call).await
    }

    async fn prepare(&self, call: &mut Call) -> Result<(Target, Lease), Refusal> {
        let target = self.resolve(&call.caller, &mut call.probe)?;
        let route = target.route();
        call.tap.note(|record| record.model = Some(route));
        let permit = self.admit(call, &target).await?;
        call.tap.keep(permit);
        let replica = self.hold(&target, call).await?;
        Ok((target, replica))
    }
}
