//! Moves a stream to another replica after its own was lost. [`crate::failover`] decides whether.

use super::attempt_error::{AttemptError, connection_error};
use super::{Attempt, record_failure};
use crate::body::{KeptCall, Moved, MovedFuture, Resumed};
use crate::error::CallError;
use crate::failover::{Continuation, MAX_FAILOVERS};
use crate::quarantine::Losses;
use crate::resolve::Target;
use crate::response_memory::KeptMemory;
use crate::upstream::Exchange;
use crate::usage_tap::UsageTap;
use crate::{Call, Dataplane};
use bytes::Bytes;
use fleet::Slot;
use fleet::backend::BackendId;
use fleet::endpoints::Condition;
use std::sync::Arc;
use std::time::Instant;

/// The call of a stream that may move.
struct StreamedCall {
    dataplane: Dataplane,
    /// Its tap is open only while the stream moves.
    call: Call,
    target: Target,
    prompt: u64,
    /// Replicas that failed to serve the call.
    tried: Vec<BackendId>,
    failovers: u8,
    memory: KeptMemory,
}

impl Dataplane {
    /// `None` if there is no memory for it. The tap of the call has been taken before.
    pub(super) fn keep(
        &self,
        call: &mut Call,
        target: Target,
        tried: Vec<BackendId>,
        prompt: u64,
    ) -> Option<Box<dyn KeptCall>> {
        let mut memory = KeptMemory::new(self.memory.grant(&call.caller.organization));
        memory.grow_for(call.request.body.len()).ok()?;
        call.request.detach_body();
        // Only translated streams are continued.
        call.request.native = None;
        Some(Box::new(StreamedCall {
            dataplane: self.clone(),
            call: call.detach(),
            target,
            prompt,
            tried,
            failovers: 0,
            memory,
        }))
    }

    /// Sends the request for the rest of a response and waits for its first bytes.
    async fn reopen(&self, attempt: Attempt<'_>, began: Instant) -> Result<(Exchange, Bytes), AttemptError> {
        let limit = self.timeouts.first_byte;
        let opened = async {
            let mut exchange = self.send(attempt).await?;
            match exchange.data().await {
                Some(Ok(first)) => Ok((exchange, first)),
                Some(Err(error)) => Err(connection_error(&error)),
                None => Err(AttemptError::Cut("the stream ended before its first event".into())),
            }
        };
        tokio::time::timeout_at((began + limit).into(), opened)
            .await
            .unwrap_or(Err(AttemptError::Final(CallError::UpstreamTimeout { limit })))
    }
}

impl KeptCall for StreamedCall {
    fn limit(&self, tap: &UsageTap) -> Option<u64> {
        tap.limit().or(self.call.request.estimate.limit())
    }

    fn failovers(&self) -> u8 {
        self.failovers
    }

    fn has_room_for(&mut self, text_bytes: usize) -> bool {
        self.memory.grow_for(self.call.request.body.len() + text_bytes).is_ok()
    }

    fn move_on(mut self: Box<Self>, tap: UsageTap, lost: BackendId, continuation: Continuation) -> MovedFuture {
        self.call.tap = tap;
        self.tried.push(lost);
        if self.failovers > 0 {
            // It has responded before, so the prompt alone did not end the engines.
            let losses = Losses::with_others(self.failovers + 1, self.call.tap.attempt_began());
            self.dataplane.note_losses(&self.call, losses);
        }
        Box::pin(async move {
            let mut cut = self.dataplane.waits.watch_cut();
            let resumed = tokio::select! {
                resumed = self.find_replica(&continuation) => resumed,
                _ = cut.wait_for(|is_cut| *is_cut) => None,
            };
            let tap = std::mem::take(&mut self.call.tap);
            Moved { kept: self, tap, resumed }
        })
    }
}

impl StreamedCall {
    async fn find_replica(&mut self, continuation: &Continuation) -> Option<Resumed> {
        while self.failovers < MAX_FAILOVERS {
            let mut slot = self.pick()?;
            let replica = Arc::clone(slot.replica());
            self.tried.push(replica.id);
            if replica.upstream.engine.is_none() {
                // It may ignore that it is to continue a message, and would repeat all of it.
                continue;
            }
            self.failovers += 1;
            if matches!(self.target, Target::Dedicated(_)) {
                slot.count_prompt(self.prompt);
            }
            let began = self.call.begin_attempt(&replica);
            let secret = &self.dataplane.salt_secret;
            let attempt = Attempt {
                replica: &replica,
                call: &self.call,
                cache_salt: self.target.isolates_cache().then(|| self.call.caller.cache_salt(secret)),
                prompt: self.prompt,
                context_length: self.target.route().model.context_length,
                reasoning_names: self.target.route().model.chat.reasoning_names,
                needs_fresh_connection: true,
                keeps_text: false,
                continuation: Some(continuation),
            };
            match self.dataplane.reopen(attempt, began).await {
                Ok((exchange, first)) => {
                    replica.succeeded();
                    slot.first_event();
                    return Some(Resumed { slot, exchange, first });
                }
                Err(error) => {
                    record_failure(&replica, &error, &self.call.caller);
                    self.call.tap.attempt_failed(error.reason());
                    if matches!(error, AttemptError::Final(_)) {
                        return None;
                    }
                }
            }
        }
        None
    }

    /// A slot at a replica that was not tried, among those that there are now. A stream does not wait for one.
    fn pick(&self) -> Option<Slot> {
        let route = match &self.target {
            Target::Serverless(route) => {
                let table = self.dataplane.routes.table();
                Arc::clone(table.get(route.model.id.as_str()).unwrap_or(route))
            }
            Target::Dedicated(endpoint) => {
                let view = endpoint.view();
                (view.condition == Condition::Serving).then(|| Arc::clone(&view.route))?
            }
        };
        let tenant = self.target.tenant(&self.call.caller, &self.dataplane.salt_secret);
        let search = self.call.slot_search(tenant, &self.tried);
        route.pool.pick(self.call.class, || search.prompt(), search.tried, Instant::now()).ok()
    }
}
