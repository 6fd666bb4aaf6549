//! Keeps the connection of a streamed call alive until its engine begins to respond.
//!
//! Balancers cut connections on which nothing is sent for a minute, and a cold start or a long prompt can take longer. A
//! call that has no response soon is begun without it: its client gets the first events of its API, and a ping per interval.
//! Until the engine's first event the call can still wait, fail and move to another replica; its failure is an event then,
//! because the status was sent.

use crate::body::{AliveBody, ServedFuture};
use crate::error::CallError;
use crate::resolve::Target;
use crate::response_memory::KeptMemory;
use crate::{Call, Dataplane, Response, ResponseBody, ResponseFormat};
use dialects::Dialect;
use domain::usage::Tokens;
use std::time::{Duration, Instant};

/// How long a call of an API whose streams have first events keeps its status: enough for an engine that rejects it.
const OPENING: Duration = Duration::from_millis(500);

impl Dataplane {
    pub(crate) async fn serve_alive(
        &self,
        call: &mut Call,
        target: Target,
        interval: Duration,
    ) -> Result<Response, CallError> {
        // The events of an engine that speaks the client's API would begin the response again.
        call.request.native = None;
        let route = target.route();
        let prompt = call.request.prompt_tokens(route.model.context_length, route.pool.prompt_ratio());
        let rate_limits = call.tap.rate_limits();
        let opening = match call.dialect {
            Dialect::Chat => interval,
            Dialect::Messages(_) | Dialect::Responses(_) => OPENING,
        };
        call.tap.kept_alive_from(Instant::now() + opening);
        let mut serving = self.serve_detached(call.detach(), target);
        let mut served = tokio::time::timeout(opening, &mut serving).await.ok();
        let mut memory = KeptMemory::new(self.memory.grant(&call.caller.organization));
        if served.is_none() && memory.grow_for(call.request.kept_bytes()).is_err() {
            // From here on, the request is kept by its response, for which there is no memory.
            served = Some(serving.as_mut().await);
        }
        if let Some((response, tap)) = served {
            call.tap = tap;
            return response;
        }
        let tokens = Tokens { prompt, ..Tokens::default() };
        let body = AliveBody::new(serving, call, tokens, interval, memory);
        let body = ResponseBody::Alive(Box::new(body));
        Ok(Response { format: ResponseFormat::EventStream, rate_limits, placement: None, body })
    }

    /// Serves a call that its response takes with it. Fails when the process is about to exit.
    fn serve_detached(&self, mut call: Call, target: Target) -> ServedFuture {
        let (dataplane, mut cut) = (self.clone(), self.waits.watch_cut());
        Box::pin(async move {
            let response = tokio::select! {
                response = dataplane.serve(&mut call, target) => response,
                _ = cut.wait_for(|is_cut| *is_cut) => {
                    Err(CallError::BadGateway { cause: "the gateway is shutting down".into() })
                }
            };
            (response, call.tap)
        })
    }
}
