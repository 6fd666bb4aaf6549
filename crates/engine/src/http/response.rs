//! Response bodies and headers.

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use serde::Serialize;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

/// Events for a client. Dropping it cancels their generation.
pub(super) trait EventStream: Send {
    /// The bytes of the next event; `None` at the end.
    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>>;
}

/// A complete body, or a stream of events.
pub(super) enum ResponseBody {
    Complete(Full<Bytes>),
    Events(Box<dyn EventStream>),
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.get_mut() {
            Self::Complete(body) => Pin::new(body).poll_frame(context),
            Self::Events(stream) => stream.poll_event(context).map(|event| event.map(|bytes| Ok(Frame::data(bytes)))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Complete(body) => body.is_end_stream(),
            Self::Events(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Complete(body) => body.size_hint(),
            Self::Events(_) => SizeHint::default(),
        }
    }
}

pub(super) type HttpResponse = Response<ResponseBody>;

pub(super) fn json(status: StatusCode, value: &impl Serialize) -> HttpResponse {
    let text = serde_json::to_vec(value).unwrap_or_default();
    complete(status, "application/json", text.into())
}

pub(super) fn text(status: StatusCode, content_type: &'static str, text: String) -> HttpResponse {
    complete(status, content_type, text.into())
}

pub(super) fn events(stream: impl EventStream + 'static) -> HttpResponse {
    let mut response = Response::new(ResponseBody::Events(Box::new(stream)));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream; charset=utf-8"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

fn complete(status: StatusCode, content_type: &'static str, body: Bytes) -> HttpResponse {
    let mut response = Response::new(ResponseBody::Complete(Full::new(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
