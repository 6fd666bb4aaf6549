//! Makes the calls of lines of batches: the same work as for a request of a client, without a connection.

use super::error::SurfaceError;
use super::inference::{ErrorFormat, Exchange, InferenceError};
use super::route_name::RouteName;
use super::{Body, Surface, anthropic, openai};
use crate::credential::{self, CredentialError};
use bytes::Bytes;
use dataplane::usage_tap::UsageTap;
use domain::batches::BatchEndpoint;
use domain::{CallClass, Caller, Permission, RequestId};
use edge::{Headers, Incoming};
use http::{Method, Uri};
use http_body::Body as _;
use http1::server::RequestBody;
use node::clock;
use std::future::poll_fn;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::Pin;
use std::sync::Arc;
use telemetry::LineRecorder;

/// The call of a line.
pub(crate) struct LineCall {
    pub(crate) endpoint: BatchEndpoint,
    /// `None` if its key is no longer valid, or its user no longer a member.
    pub(crate) caller: Option<Arc<Caller>>,
    pub(crate) request: RequestId,
    pub(crate) body: Bytes,
}

/// A response that is complete.
pub(crate) struct LineResponse {
    pub(crate) status: u16,
    /// Holds its memory of the budget of bodies until it is dropped.
    pub(crate) body: Bytes,
    /// No engine has taken the call, and the reason may pass, see [`dataplane::CallError::may_begin_later`].
    pub(crate) may_begin_later: bool,
}

impl Surface {
    /// Makes the call. Its record is settled at `recorder` when this ends, or is dropped.
    pub(crate) async fn call_line(&self, recorder: Arc<LineRecorder>, line: LineCall) -> LineResponse {
        let LineCall { endpoint, caller, request, body } = line;
        let now = clock::now();
        let (method, uri) = (Method::POST, Uri::from_static(endpoint.as_str()));
        let (mut headers, mut body) = (Headers::default(), Incoming::Http1(RequestBody::Whole(body)));
        let tap = UsageTap::open(recorder, request, RouteName::Batch.as_str(), now);
        let mut exchange = Exchange {
            surface: self,
            format: error_format(endpoint),
            method: &method,
            uri: &uri,
            headers: &mut headers,
            body: &mut body,
            peer: IpAddr::V4(Ipv4Addr::LOCALHOST),
            now,
            tap,
            trace: None,
            rate_limits: None,
            counted: None,
            hidden: Vec::new(),
            class: CallClass::Batch,
            throttled: None,
        };
        let response = match authorized(caller) {
            Ok(caller) => {
                exchange.tap.note(|record| record.caller = Some(Arc::clone(&caller)));
                if endpoint.is_messages() {
                    anthropic::respond_to_line(&mut exchange, caller).await
                } else {
                    openai::respond_to_line(&mut exchange, endpoint, caller).await
                }
            }
            Err(error) => Err(error.into()),
        };
        let may_begin_later = matches!(&response, Err(InferenceError::Call(error)) if error.may_begin_later());
        let response = exchange.finish(response).await.response;
        LineResponse { status: response.status().as_u16(), body: whole(response.into_body()).await, may_begin_later }
    }
}

/// The response to a line whose call panicked.
pub(crate) async fn internal_error(endpoint: BatchEndpoint, request: &RequestId) -> LineResponse {
    let response = (error_format(endpoint).response)(&SurfaceError::Internal.into(), request);
    LineResponse { status: response.status().as_u16(), body: whole(response.into_body()).await, may_begin_later: false }
}

fn error_format(endpoint: BatchEndpoint) -> &'static ErrorFormat {
    if endpoint.is_messages() { &anthropic::ERROR_FORMAT } else { &openai::ERROR_FORMAT }
}

fn authorized(caller: Option<Arc<Caller>>) -> Result<Arc<Caller>, CredentialError> {
    let caller = caller.ok_or(CredentialError::Unauthenticated { cause: "the creator of a batch may not call" })?;
    credential::check_permission(&caller, Permission::Inference)?;
    Ok(caller)
}

/// All of a body. It is not streamed, so it is in memory, in one piece.
async fn whole(mut body: Body) -> Bytes {
    let mut all = Bytes::new();
    while let Some(Ok(frame)) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
        if let Ok(bytes) = frame.into_data() {
            all = if all.is_empty() { bytes } else { [all, bytes].concat().into() };
        }
    }
    all
}
