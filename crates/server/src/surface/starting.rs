//! The surfaces of a node that waits for the store at its start: pages, and 503 for all that needs the store.

use super::error::SurfaceError;
use super::{Envelope, add_strict_transport, head_rejection, is_below, is_inference, page};
use crate::surface::{Body, EdgeResponse};
use dataplane::ResponseBody;
use domain::RequestId;
use edge::cors::Cors;
use edge::request_body;
use edge::request_id::RequestIds;
use edge::{Incoming, RequestHead, Service};
use http::Response;
use http1::RequestHeadError;
use node::clock;
use std::net::IpAddr;
use std::sync::Arc;

pub(crate) struct StartingSurface {
    pub ids: Arc<RequestIds>,
    pub cors: Cors,
    /// Problems link to pages there.
    pub console_url: String,
    pub strict_transport: bool,
}

impl Service for StartingSurface {
    type Relayed = ResponseBody;

    async fn respond(self: Arc<Self>, head: RequestHead, mut body: Incoming, _: IpAddr) -> EdgeResponse {
        let id = self.ids.next(clock::now());
        let origin = self.cors.allowed(&head.headers);
        let mut response = if Cors::is_preflight(&head) {
            Cors::preflight(&head.headers)
        } else {
            self.choose(&head, &mut body, &id).await
        };
        if self.strict_transport && !is_inference(&head) {
            add_strict_transport(&mut response);
        }
        if let Some(origin) = origin {
            Cors::add(response.headers_mut(), origin);
        }
        EdgeResponse { request_id: Some(id), ..response.into() }
    }

    fn reject_head(&self, error: RequestHeadError, _: IpAddr) -> EdgeResponse {
        EdgeResponse { request_id: Some(self.ids.next(clock::now())), ..head_rejection(error).into() }
    }

    type Envelope = Envelope;

    fn envelope(head: &RequestHead) -> Envelope {
        Envelope::of(head)
    }

    fn panicked(&self, envelope: Envelope) -> EdgeResponse {
        let id = self.ids.next(clock::now());
        let response = envelope.encode(SurfaceError::Internal, &self.console_url, &id);
        EdgeResponse { request_id: Some(id), ..response.into() }
    }

    fn sweep(&self) {}

    fn cut_streams(&self) {}
}

impl StartingSurface {
    async fn choose(&self, head: &RequestHead, body: &mut Incoming, id: &RequestId) -> Response<Body> {
        let path = head.uri.path();
        let needs_store = is_below(path, "/api") || is_below(path, "/v1");
        if !needs_store && let Some(page) = page(head) {
            return page;
        }
        request_body::discard(&head.headers, body).await;
        let error = if needs_store { SurfaceError::store_unavailable() } else { SurfaceError::RouteNotFound };
        Envelope::of(head).encode(error, &self.console_url, id)
    }
}
