//! Dedicated endpoints: everything under `/v1/endpoints`, for API keys and sessions.
//!
//! The edge authenticates and reads the body; handlers run on the background runtime, which owns the store's
//! connections. The order of checks: credential, number of requests, route, method, the body's size and type, its
//! contents, and then the state of the endpoint.

mod allotments;
mod cursor;
mod description;
mod error;
mod events;
mod flavors;
pub(crate) mod pages;
mod problems;
mod records;
mod replicas;
mod request;
mod usage;
mod wire;

pub(crate) use description::description;

use super::error::SurfaceError;
use super::{MAX_BODY_BYTES, MAX_HEADER_BYTES, bridge};
use crate::credential::{self, CredentialError, KeyHeaders};
use crate::surface::Body;
use crate::surface_context::SurfaceContext;
use axum::Router;
use bytes::Bytes;
use control::endpoints::EndpointErrorKind;
use control::reconciler::Follower;
use dataplane::keys::KeyDirectory;
use dataplane::record::Outcome;
use dataplane::usage_tap::UsageTap;
use domain::usage::Actor;
use domain::{Caller, Permission, Timestamp};
use edge::memory_budget::Holder;
use edge::request_body::{self, BodyBounds, WholeBody};
use edge::{Incoming, RequestHead};
use error::ProblemError;
use fleet::drivers::Drivers;
use http::{HeaderMap, Method, Request, Response, header};
use node::price_keeper::Declared;
use request::RequestContext;
use std::net::IpAddr;
use std::sync::Arc;
use tokio::sync::watch;
use tower::ServiceExt;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// All routes, and their description.
fn router() -> OpenApiRouter {
    OpenApiRouter::new()
        .routes(routes!(records::list, records::create))
        .routes(routes!(flavors::list))
        .routes(routes!(allotments::list))
        .routes(routes!(records::show, records::change, records::delete))
        .routes(routes!(records::suspend))
        .routes(routes!(records::resume))
        .routes(routes!(events::list))
        .routes(routes!(replicas::list))
        .routes(routes!(usage::show))
}

/// The surface as the edge calls it. Clones share their state.
#[derive(Clone)]
pub(crate) struct EndpointsSurface {
    router: Router,
    context: Arc<SurfaceContext>,
    keys: Arc<KeyDirectory>,
    declared: watch::Receiver<Declared>,
    /// Applies changes to this node's routing before the response is sent.
    follower: Follower<Drivers>,
    bounds: BodyBounds,
}

impl EndpointsSurface {
    pub(crate) fn new(
        context: Arc<SurfaceContext>,
        keys: Arc<KeyDirectory>,
        declared: watch::Receiver<Declared>,
        follower: Follower<Drivers>,
        bounds: BodyBounds,
    ) -> Self {
        let (router, _) = router().split_for_parts();
        let router = router
            .fallback(async || ProblemError::from(SurfaceError::RouteNotFound))
            .method_not_allowed_fallback(async || ProblemError::from(SurfaceError::MethodNotAllowed { allow: None }));
        let bounds = BodyBounds { limit: bounds.limit.min(MAX_BODY_BYTES), ..bounds };
        Self { router, context, keys, declared, follower, bounds }
    }

    /// Responds to a request under `/v1/endpoints`.
    pub(crate) async fn respond(
        &self,
        head: RequestHead,
        body: Incoming,
        client: IpAddr,
        request_id: &str,
        mut tap: UsageTap,
        now: Timestamp,
    ) -> Response<Body> {
        match self.route(head, body, client, &mut tap, now).await {
            Ok(response) => {
                tap.settle(Outcome::Served);
                bridge::into_edge(response).await
            }
            Err(error) => {
                tap.note(|record| record.cause = error.cause());
                tap.settle(Outcome::Rejected { status: error.status().as_u16(), code: error.code() });
                bridge::personal(error.to_response(&self.context.console_url, request_id))
            }
        }
    }

    async fn route(
        &self,
        head: RequestHead,
        mut body: Incoming,
        client: IpAddr,
        tap: &mut UsageTap,
        now: Timestamp,
    ) -> Result<axum::response::Response, Arc<ProblemError>> {
        let caller = match self.authenticate(&head, client, tap, now).await {
            Ok(caller) => caller,
            Err(error) => {
                request_body::discard(&head.headers, &mut body).await;
                return Err(Arc::new(error));
            }
        };
        let is_read = is_read(&head.method);
        let whole = if is_read { None } else { Some(self.read(&head, &mut body, &caller).await) };
        // The memory is returned when the request is finished.
        let (body, _memory) = match whole {
            Some(Ok(WholeBody { bytes, memory })) => (Ok(bytes), Some(memory)),
            Some(Err(error)) => (Err(error), None),
            None => (Ok(Bytes::new()), None),
        };
        let author = credential::author(&caller, client);
        let mut head = head.into_parts();
        if is_read {
            head.method = Method::GET; // the edge removes the body of a response to HEAD
        }
        head.uri = bridge::without_trailing_slash(head.uri);
        let (surface, catalogue) = (Arc::clone(&self.context), self.declared.borrow().catalogue());
        let context = RequestContext { surface, catalogue, caller: Arc::clone(&caller), author, now, body };
        head.extensions.insert(context);
        let request = Request::from_parts(head, axum::body::Body::empty());
        let (router, follower) = (self.router.clone(), self.follower.clone());
        let work = async move {
            let Ok(response) = router.oneshot(request).await;
            if !is_read && response.status().is_success() {
                follower.catch_up().await;
            }
            response
        };
        let Ok(mut response) = self.context.background.spawn(work).await else {
            return Err(Arc::new(ProblemError::INTERNAL)); // it panicked
        };
        match response.extensions_mut().remove::<Arc<ProblemError>>() {
            Some(error) => Err(completed(error, &caller.actor, response.headers())),
            None => Ok(response),
        }
    }

    async fn authenticate(
        &self,
        head: &RequestHead,
        client: IpAddr,
        tap: &mut UsageTap,
        now: Timestamp,
    ) -> Result<Arc<Caller>, ProblemError> {
        if head.headers.bytes() > MAX_HEADER_BYTES {
            return Err(SurfaceError::HeadersTooLarge { limit: MAX_HEADER_BYTES }.into());
        }
        let request = (&head.method, &head.headers);
        let caller =
            credential::identify(&self.keys, &self.context, request, KeyHeaders::Bearer, || client, now).await?;
        tap.note(|record| record.caller = Some(Arc::clone(&caller)));
        let throttles = &self.context.throttles;
        match &caller.actor {
            Actor::Key(key) => throttles.count_management(key).map_err(SurfaceError::from)?,
            Actor::User(_) => {} // its session is counted
        }
        if !is_read(&head.method) {
            throttles.count_change(&caller.organization).map_err(SurfaceError::from)?;
        }
        let is_read = is_read(&head.method);
        let permission = if is_read { Permission::ReadEndpoints } else { Permission::WriteEndpoints };
        credential::check_permission(&caller, permission)?;
        Ok(caller)
    }

    async fn read(
        &self,
        head: &RequestHead,
        body: &mut Incoming,
        caller: &Caller,
    ) -> Result<WholeBody, request_body::BodyError> {
        let read = self.bounds.read(&head.headers, body, Holder::Organization(caller.organization.clone())).await;
        if read.is_err() {
            request_body::discard(&head.headers, body).await;
        }
        read
    }
}

/// The response to a request that reached no handler.
pub(super) fn encode(error: SurfaceError, console_url: &str, request_id: &str) -> Response<Body> {
    bridge::personal(ProblemError::from(error).to_response(console_url, request_id))
}

fn is_read(method: &Method) -> bool {
    method == Method::GET || method == Method::HEAD
}

/// The error as the caller gets to see it. An endpoint of another workspace is the plain 401 for a key, and a 405 names
/// the methods that the router has found.
fn completed(error: Arc<ProblemError>, actor: &Actor, headers: &HeaderMap) -> Arc<ProblemError> {
    match (&*error, actor) {
        (ProblemError::Command(command), Actor::Key(_)) if command.kind() == EndpointErrorKind::OtherWorkspace => {
            Arc::new(CredentialError::Unauthenticated { cause: "a key of another workspace" }.into())
        }
        (ProblemError::Surface(SurfaceError::MethodNotAllowed { .. }), _) => {
            let allow = headers.get(header::ALLOW).and_then(|value| value.to_str().ok());
            let allow = allow.map(|allow| allow.replace(',', ", "));
            Arc::new(SurfaceError::MethodNotAllowed { allow }.into())
        }
        _ => error,
    }
}
