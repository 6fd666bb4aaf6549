//! Stores a response before its end is sent, so that the client can continue it at once, on any node.
//!
//! A response that could not be stored says so: its `store` is false.

use crate::surface::response_memory::ContentGrant;
use bytes::Bytes;
use control::responses::{CompletedResponse, NotStored, ResponseStorage};
use dataplane::ResponseBody;
use dialects::responses::FinishedResponse;
use domain::Caller;
use edge::memory_budget::MemoryGrant;
use edge::request_body::BodyBounds;
use http_body::{Body, Frame, SizeHint};
use node::clock;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// A response that will be stored when it is complete.
pub(in crate::surface) struct PendingSave {
    pub(in crate::surface) storage: ResponseStorage,
    /// The runtime that owns the store's connections.
    pub(in crate::surface) background: Handle,
    pub(in crate::surface) caller: Arc<Caller>,
    pub(in crate::surface) id: String,
    /// The response that it continues.
    pub(in crate::surface) previous: Option<String>,
    /// Its own input, as a JSON array.
    pub(in crate::surface) input: Vec<u8>,
    pub(in crate::surface) finished: FinishedResponse,
    /// The memory of the input, which is kept until the response is complete.
    pub(in crate::surface) memory: MemoryGrant,
    pub(in crate::surface) bounds: BodyBounds,
}

impl PendingSave {
    fn start(self: Box<Self>, response: Bytes) -> JoinHandle<Result<(), NotStored>> {
        let Self { storage, background, caller, id, previous, input, finished: _, mut memory, bounds } = *self;
        background.spawn(async move {
            let completed = CompletedResponse { id: id.clone(), previous, input: input.into(), response };
            let content = ContentGrant { memory: &mut memory, bounds: &bounds };
            let saved = storage.save(&caller, completed, clock::now(), &content).await;
            drop(memory);
            if let Err(error) = &saved {
                tracing::debug!(response.id = %id, %error, "a response is not stored");
            }
            saved
        })
    }

    /// Stores a response that is not streamed. A streamed one is still to be stored.
    pub(super) async fn store_whole(self: Box<Self>, body: &mut ResponseBody) -> Option<Box<Self>> {
        let ResponseBody::Whole { bytes, .. } = body else { return Some(self) };
        let finished = self.finished.clone();
        if let Some(response) = finished.get() {
            let saved = self.start(response.clone()).await;
            if !is_stored(&saved) {
                *bytes = finished.unstored();
            }
        }
        None
    }
}

fn is_stored(saved: &Result<Result<(), NotStored>, tokio::task::JoinError>) -> bool {
    matches!(saved, Ok(Ok(())))
}

/// A body from a model.
type ModelBody = Box<dyn Body<Data = Bytes, Error = Infallible> + Send + Unpin>;

/// A streamed response. Its end is held back until the response is stored.
pub(super) struct StoringBody {
    body: ModelBody,
    state: State,
}

enum State {
    /// `None` only while the state changes.
    Running(Option<Box<PendingSave>>),
    Saving {
        save: JoinHandle<Result<(), NotStored>>,
        held: Bytes,
        finished: FinishedResponse,
    },
    Stored,
    Unstored(FinishedResponse),
}

impl StoringBody {
    pub(super) fn new(body: ModelBody, save: Box<PendingSave>) -> Self {
        Self { body, state: State::Running(Some(save)) }
    }

    fn poll_bytes(&mut self, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
        loop {
            match &mut self.state {
                State::Running(pending) => {
                    let Some(bytes) = ready!(poll_body(&mut self.body, cx)) else { return Poll::Ready(None) };
                    let response = pending.as_ref().and_then(|save| save.finished.get().cloned());
                    let Some((response, pending)) = response.and_then(|found| Some((found, pending.take()?))) else {
                        return Poll::Ready(Some(bytes));
                    };
                    let finished = pending.finished.clone();
                    self.state = State::Saving { save: pending.start(response), held: bytes, finished };
                }
                State::Saving { save, held, finished } => {
                    let saved = ready!(Pin::new(save).poll(cx));
                    let (held, finished) = (std::mem::take(held), finished.clone());
                    if is_stored(&saved) {
                        self.state = State::Stored;
                        return Poll::Ready(Some(held));
                    }
                    let held = finished.unstored_events(&held).unwrap_or(held);
                    self.state = State::Unstored(finished);
                    return Poll::Ready(Some(held));
                }
                State::Stored => return poll_body(&mut self.body, cx),
                State::Unstored(finished) => {
                    let bytes = ready!(poll_body(&mut self.body, cx));
                    return Poll::Ready(bytes.map(|bytes| finished.unstored_events(&bytes).unwrap_or(bytes)));
                }
            }
        }
    }
}

fn poll_body(body: &mut ModelBody, cx: &mut Context<'_>) -> Poll<Option<Bytes>> {
    Pin::new(body).poll_frame(cx).map(|frame| frame.map(|Ok(frame)| frame.into_data().unwrap_or_default()))
}

impl Body for StoringBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.get_mut().poll_bytes(cx).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        !matches!(self.state, State::Saving { .. }) && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::default()
    }
}
