//! The response body of a traced call. Reads attributes in passing and leaves the bytes unchanged.

use super::call_trace::CallTrace;
use super::response::ResponseDetails;
use bytes::Bytes;
use dataplane::{ResponseBody, ResponseFormat};
use http_body::{Body, Frame, SizeHint};
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

pub struct TracedBody {
    body: ResponseBody,
    format: ResponseFormat,
    response: ResponseDetails,
    trace: Arc<CallTrace>,
}

impl TracedBody {
    pub fn new(body: ResponseBody, format: ResponseFormat, trace: Arc<CallTrace>) -> Self {
        Self { body, format, response: ResponseDetails::new(trace.with_content()), trace }
    }
}

impl Body for TracedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let traced = self.get_mut();
        let polled = Pin::new(&mut traced.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(bytes) = frame.data_ref()
        {
            match traced.format {
                ResponseFormat::Json => traced.response.read_whole(bytes),
                ResponseFormat::EventStream => traced.response.read_stream(bytes),
            }
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for TracedBody {
    fn drop(&mut self) {
        self.trace.record_response(std::mem::take(&mut self.response));
    }
}
