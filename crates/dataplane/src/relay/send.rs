//! Writes the request of a call to a replica.

use super::Attempt;
use super::attempt_error::{AttemptError, connect_error, send_error, status_error};
use crate::quarantine::RunningAttempt;
use crate::request::{Operation, RerankOptions, ScoreForm};
use crate::upstream::{Connection, Exchange};
use crate::{Call, Dataplane};
use bytes::{Bytes, BytesMut};
use dialects::{NativeHead, NativeRequest};
use domain::model::{NativeApi, Upstream};
use fleet::Backend;
use http::StatusCode;
use http1::ResponseHead;
use http1::client::Request;
use json::edits::Edits;
use std::convert::Infallible;

/// The maximum size of an error body.
const MAX_ERROR_BYTES: usize = 64 << 10;
/// Smaller requests are copied into one buffer, which is cheaper than a vectored write.
const COPY_BELOW: usize = 16 << 10;
/// Enough for the head of nearly every request.
const HEAD_CAPACITY: usize = 512;

impl Dataplane {
    /// Sends the request and checks the head of the response.
    pub(super) async fn send(&self, attempt: Attempt<'_>) -> Result<Exchange, AttemptError> {
        let request = self.upstream_request(attempt);
        let Attempt { replica, call, prompt, .. } = attempt;
        let connection = match attempt.needs_fresh_connection {
            true => Box::pin(self.connections.open(replica)).await,
            false => self.connections.get(replica).await,
        };
        let connection = connection.map_err(|error| connect_error(&error))?;
        let on_written = || call.tap.prompt_was_sent(prompt);
        let (head, mut exchange) = self.write(replica, connection, request, on_written).await?;
        if head.status != StatusCode::OK {
            let native = attempt.native().map(|(native, _)| native.api);
            return Err(self.rejection(&head, &mut exchange, native, attempt.context_length).await);
        }
        if call.request.asks_for_stream() != head.is_event_stream() || head.is_encoded {
            return Err(AttemptError::Bad(format!("unexpected response type {}", head.media_type)));
        }
        Ok(exchange)
    }

    /// Sends a request of our own about a call, which begins with `head`. `None` if the replica does not serve it.
    pub(crate) async fn ask(
        &self,
        attempt: &RunningAttempt<'_>,
        head: &[u8],
        body: Vec<Bytes>,
    ) -> Result<Option<Exchange>, AttemptError> {
        let (head, exchange) = self.write_side_call(attempt, head, body).await?;
        if head.status == StatusCode::INTERNAL_SERVER_ERROR {
            return Err(AttemptError::Bad("status 500".into()));
        }
        Ok((head.status == StatusCode::OK && !head.is_encoded).then_some(exchange))
    }

    /// Like [`Self::ask`], but a rejection by the engine is an error for the client.
    pub(crate) async fn ask_or_reject(
        &self,
        attempt: &RunningAttempt<'_>,
        head: &[u8],
        body: Vec<Bytes>,
        context_length: u64,
    ) -> Result<Exchange, AttemptError> {
        let (head, mut exchange) = self.write_side_call(attempt, head, body).await?;
        if head.status != StatusCode::OK {
            return Err(self.rejection(&head, &mut exchange, None, context_length).await);
        }
        if head.is_encoded {
            return Err(AttemptError::Bad("an encoded response".into()));
        }
        Ok(exchange)
    }

    async fn write_side_call(
        &self,
        attempt: &RunningAttempt<'_>,
        head: &[u8],
        body: Vec<Bytes>,
    ) -> Result<(ResponseHead, Exchange), AttemptError> {
        let replica = attempt.replica;
        let mut start = self.connections.pool.take_buffer(HEAD_CAPACITY);
        start.extend_from_slice(head);
        write_call_headers(attempt.call, body.iter().map(Bytes::len).sum(), &mut start);
        let connection = self.connections.get(replica).await.map_err(|error| connect_error(&error))?;
        let on_written = || attempt.side_call_was_written();
        self.write(replica, connection, Request { start, rest: body }, on_written).await
    }

    /// The meaning of a response with another status than 200.
    async fn rejection(
        &self,
        head: &ResponseHead,
        exchange: &mut Exchange,
        native: Option<NativeApi>,
        context_length: u64,
    ) -> AttemptError {
        let unmetered = |_| Ok::<_, Infallible>(());
        let body = exchange.collect(MAX_ERROR_BYTES, self.timeouts.idle, unmetered).await.unwrap_or_default();
        status_error(head, &body, native, context_length)
    }

    /// Writes a request and waits for the head of its response.
    async fn write(
        &self,
        replica: &Backend,
        mut connection: Connection,
        request: Request,
        on_written: impl Fn(),
    ) -> Result<(ResponseHead, Exchange), AttemptError> {
        let mut sent = connection.send(&request, &on_written).await;
        if let Err(error) = &sent
            && connection.was_used
            && !error.is_written
        {
            // The replica closed an idle connection just as it was taken, and cannot have acted on the request.
            connection = Box::pin(self.connections.open(replica)).await.map_err(|error| connect_error(&error))?;
            sent = connection.send(&request, &on_written).await;
        }
        self.connections.pool.put_back_buffer(request.start);
        let head = sent.map_err(|error| send_error(&error, connection.was_used))?;
        Ok((head, self.connections.exchange(connection, replica)))
    }

    /// The request as it is sent: the head, and the client's body with our edits.
    fn upstream_request(&self, attempt: Attempt<'_>) -> Request {
        if let Some((native, limit)) = attempt.native() {
            return self.native_request(attempt, native, limit);
        }
        let Attempt { replica, call, cache_salt, continuation, .. } = attempt;
        let engine = &replica.upstream.engine;
        let limit = continuation.map_or_else(|| call.tap.limit(), |continuation| continuation.limit);
        let mut edits: Edits<'_> = call.request.edits_for(&replica.upstream, limit);
        match (engine, continuation) {
            (Some(engine), Some(continuation)) => call.request.continue_from(&continuation.text, *engine, &mut edits),
            (Some(engine), None) => call.request.continue_prompt(*engine, &mut edits),
            (None, _) => {}
        }
        if let (Some(engine), Some(salt)) = (engine, cache_salt) {
            call.request.isolate_cache(*engine, salt, &mut edits);
        }
        if replica.upstream.priority_scheduling && call.class.yields() {
            call.request.prioritize(call.class, &mut edits);
        }
        call.request.name_texts(replica.upstream.rerank_api, &mut edits);
        let body = &call.request.body;
        let length = edits.length(body.len());
        let is_small = body.len() < COPY_BELOW;
        let mut start = self.connections.pool.take_buffer(HEAD_CAPACITY + if is_small { length } else { 0 });
        start.extend_from_slice(match call.request.operation {
            Operation::Chat { .. } => &replica.template.chat,
            Operation::Completions(_) => &replica.template.completions,
            Operation::Embeddings(_) => &replica.template.embeddings,
            Operation::Rerank(RerankOptions { form: ScoreForm::Rerank { .. }, .. }) => &replica.template.rerank,
            Operation::Rerank(RerankOptions { form: ScoreForm::Score, .. }) => &replica.template.score,
        });
        write_call_headers(call, length, &mut start);
        if is_small {
            edits.write_to(body, &mut start);
            return Request { start, rest: Vec::new() };
        }
        Request { start, rest: edits.pieces(body) }
    }

    /// The request for an engine that speaks the client's API itself.
    fn native_request(&self, attempt: Attempt<'_>, native: &NativeRequest, limit: u64) -> Request {
        let Attempt { replica, call, cache_salt, .. } = attempt;
        let Upstream { model, engine, .. } = &replica.upstream;
        let cache_salt = cache_salt.filter(|_| engine.is_some_and(|engine| native.api.has_salt(engine)));
        let body = native.pieces(NativeHead { model, limit: Some(limit), cache_salt });
        let length: usize = body.iter().map(Bytes::len).sum();
        let is_small = length < COPY_BELOW;
        let mut start = self.connections.pool.take_buffer(HEAD_CAPACITY + if is_small { length } else { 0 });
        start.extend_from_slice(match native.api {
            NativeApi::Messages => &replica.template.messages,
            NativeApi::Responses => &replica.template.responses,
        });
        write_call_headers(call, length, &mut start);
        if is_small {
            body.iter().for_each(|piece| start.extend_from_slice(piece));
            return Request { start, rest: Vec::new() };
        }
        Request { start, rest: body }
    }
}

/// Writes the headers that differ between calls, and the end of the head.
fn write_call_headers(call: &Call, length: usize, text: &mut BytesMut) {
    for (name, value) in &call.headers {
        text.extend_from_slice(name.as_str().as_bytes());
        text.extend_from_slice(b": ");
        text.extend_from_slice(value.as_bytes());
        text.extend_from_slice(b"\r\n");
    }
    text.extend_from_slice(b"x-request-id: ");
    text.extend_from_slice(call.tap.request_id().as_bytes());
    text.extend_from_slice(b"\r\ncontent-length: ");
    text.extend_from_slice(itoa::Buffer::new().format(length).as_bytes());
    text.extend_from_slice(b"\r\n\r\n");
}
