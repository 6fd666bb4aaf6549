//! The hot path of a call.
//!
//! `infer` shows the order of the steps; each step is a file of the same name. `request` has parsed the body before.
//! The usage of a call is settled when its response body ends or is dropped, see [`usage_tap`].

pub mod admission;
mod admit;
mod alive;
mod body;
mod call;
mod capable;
mod count_tokens;
#[cfg(test)]
mod dialect_tests;
mod error;
mod failover;
#[cfg(test)]
mod failover_tests;
#[cfg(test)]
mod fuzz_tests;
mod hold;
pub mod keys;
pub mod load_exchange;
pub mod quarantine;
pub mod record;
mod relay;
pub mod request;
mod resolve;
mod response;
pub mod response_memory;
mod side_call;
mod tokenize;
pub mod trace;
mod upstream;
pub mod usage_tap;
mod waiting;

pub use body::ResponseBody;
pub use call::{Call, TRACEPARENT};
pub use count_tokens::CountedTokens;
pub use dialects::Dialect;
pub use error::{CallError, ContextOverflow, UpstreamRejection};
pub use tokenize::{Detokenized, TokenizedPrompt};

use admission::Admission;
use background::Turns;
use domain::limits::RateLimitStatus;
use domain::model::CallTimeouts;
use domain::{OrganizationId, SaltSecret};
use fleet::{Connector, Endpoints, Routes};
use quarantine::Quarantine;
use resolve::Target;
use response_memory::BodyMemory;
use std::sync::Arc;
use std::time::Instant;
use upstream::Connections;
use waiting::Waits;

/// The data plane of one core. Cores share the route table, but no connections.
#[derive(Clone)]
pub struct Dataplane {
    routes: Routes,
    endpoints: Endpoints,
    admission: Admission,
    connections: Connections,
    timeouts: CallTimeouts,
    salt_secret: SaltSecret,
    quarantine: Quarantine,
    memory: Arc<dyn BodyMemory>,
    /// For large responses, which are normalized on another thread, one at a time and in turns of organizations.
    normalizing: Turns<OrganizationId>,
    waits: Waits,
}

/// What the data plane of a core is made of.
pub struct DataplaneParts {
    pub routes: Routes,
    pub endpoints: Endpoints,
    pub connector: Connector,
    pub timeouts: CallTimeouts,
    pub admission: Admission,
    pub salt_secret: SaltSecret,
    pub quarantine: Quarantine,
    /// For responses that are not streamed.
    pub memory: Arc<dyn BodyMemory>,
}

/// The response to a call, complete or streamed.
pub struct Response {
    pub format: ResponseFormat,
    /// `None` for dedicated endpoints, which have no rate limits.
    pub rate_limits: Option<RateLimitStatus>,
    /// Set if the call wants to know it.
    pub placement: Option<PlacementNote>,
    pub body: ResponseBody,
}

/// Where a call was sent, for its caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacementNote {
    pub replica: Arc<str>,
    /// Tokens of the prompt that the replica was expected to have cached; `None` if there is only one replica.
    pub cached_estimate: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResponseFormat {
    Json,
    EventStream,
}

impl Dataplane {
    pub fn new(parts: DataplaneParts) -> Self {
        let DataplaneParts { routes, endpoints, connector, timeouts, admission, salt_secret, quarantine, memory } =
            parts;
        Self {
            routes,
            endpoints,
            admission,
            connections: Connections::new(connector),
            timeouts,
            salt_secret,
            quarantine,
            memory,
            normalizing: Turns::new(1),
            waits: Waits::default(),
        }
    }

    pub fn routes(&self) -> &Routes {
        &self.routes
    }

    /// Closes connections to replicas that were idle for about a minute, and forgets lost requests after a minute. To be
    /// called every 15 seconds.
    pub fn sweep(&self) {
        self.connections.pool.sweep();
        self.quarantine.sweep(Instant::now());
    }

    /// Ends every stream with an error event, because the process is about to exit.
    pub fn cut_streams(&self) {
        self.waits.cut();
    }

    /// Serves a call. The response takes the tap of the call with it; after an error the surface settles the tap.
    pub async fn infer(&self, call: &mut Call) -> Result<Response, CallError> {
        let target = self.resolve(call)?;
        self.check_quarantine(call)?;
        self.admit(call, &target).await?;
        if let Some(interval) = call.keep_alive.filter(|_| call.request.is_stream()) {
            return Box::pin(self.serve_alive(call, target, interval)).await;
        }
        self.serve(call, target).await
    }

    async fn serve(&self, call: &mut Call, target: Target) -> Result<Response, CallError> {
        let slot = self.hold(call, &target).await?;
        self.relay(call, target, slot).await
    }
}
