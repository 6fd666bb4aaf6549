//! The console's surface: everything under `/api`, for signed-in users.
//!
//! Handlers run on the background runtime, which owns the store's connections; the edge reads the request body and sends
//! the response body. A body is read only once its sender's session is known, except at routes that need none. To add a route: a handler in the file of its noun, with the required role in its signature, and a
//! line in [`router`]. `/openapi.json` is generated from the handlers' annotations.

mod accounts;
mod batches;
pub(crate) mod error;
mod export;
mod extract;
mod key_list;
mod keys;
mod node_reports;
mod operator;
mod platform;
mod sessions;
mod usage;

use super::error::SurfaceError;
use super::{MAX_BODY_BYTES, MAX_HEADER_BYTES, bridge};
use crate::credential::session_cookie;
use crate::oidc::Provider;
use crate::surface::Body;
use crate::surface_context::SurfaceContext;
use axum::Router;
use axum::response::IntoResponse;
use control::access;
use control::sessions::{ActiveSession, Origin};
use dataplane::admission::RateLimiter;
use dataplane::record::Outcome;
use dataplane::usage_tap::UsageTap;
use domain::Timestamp;
use edge::memory_budget::Holder;
use edge::request_body::{self, BodyBounds, WholeBody};
use edge::{Incoming, RequestHead};
use error::{ConsoleError, ErrorCode};
use export::Export;
use extract::RequestContext;
use http::{Method, Request, Response, header};
use sessions::browser_cookie;
use std::net::IpAddr;
use std::sync::Arc;
use tower::ServiceExt;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The most bytes of a body at a route that needs no session.
const MAX_SIGN_IN_BYTES: u64 = 16 << 10;

/// State of the handlers.
#[derive(Clone)]
pub(crate) struct Console {
    context: Arc<SurfaceContext>,
    /// The limits per minute.
    rate_limiter: RateLimiter,
    /// `None` unless single sign-on is configured.
    provider: Option<Arc<Provider>>,
}

/// All routes, and their description.
fn router() -> OpenApiRouter<Console> {
    use accounts::{aliases, end_users, invitations, members, organizations, users, workspaces};
    use operator::{
        aliases as catalogue_aliases, catalogue, downloads, flavors, gpus, health, installation, logs, models,
        nodes as all_nodes, organizations as all_organizations, prefill_queue, queues as all_queues, upstreams,
        weights,
    };
    use platform::{allotments, audit, nodes};
    use sessions::{current, own, single_sign_on};
    use usage::{bill_check, costs, gpu_costs, metrics, queues, report, requests};
    OpenApiRouter::new()
        .routes(routes!(current::sign_in, current::show, current::sign_out))
        .routes(routes!(current::set_context))
        .routes(routes!(current::change_password))
        .routes(routes!(single_sign_on::methods))
        .routes(routes!(single_sign_on::begin))
        .routes(routes!(single_sign_on::callback))
        .routes(routes!(own::list))
        .routes(routes!(own::end))
        .routes(routes!(organizations::list, organizations::create))
        .routes(routes!(organizations::show, organizations::edit, organizations::delete))
        .routes(routes!(members::list))
        .routes(routes!(members::set_role, members::remove))
        .routes(routes!(invitations::list, invitations::create))
        .routes(routes!(invitations::delete))
        .routes(routes!(invitations::preview))
        .routes(routes!(invitations::accept))
        .routes(routes!(allotments::list))
        .routes(routes!(allotments::set))
        .routes(routes!(gpu_costs::show))
        .routes(routes!(bill_check::of_organization))
        .routes(routes!(audit::of_organization))
        .routes(routes!(workspaces::list, workspaces::create))
        .routes(routes!(workspaces::show, workspaces::edit, workspaces::delete))
        .routes(routes!(aliases::list))
        .routes(routes!(aliases::set, aliases::delete))
        .routes(routes!(end_users::list))
        .routes(routes!(end_users::show, end_users::edit, end_users::delete))
        .routes(routes!(members::list_of_workspace))
        .routes(routes!(members::add_to_workspace, members::remove_from_workspace))
        .routes(routes!(batches::list))
        .routes(routes!(batches::show))
        .routes(routes!(batches::cancel))
        .routes(routes!(batches::list_files))
        .routes(routes!(report::show))
        .routes(routes!(report::quota))
        .routes(routes!(metrics::show))
        .routes(routes!(queues::list))
        .routes(routes!(requests::list))
        .routes(routes!(costs::show))
        .routes(routes!(costs::invoice))
        .routes(routes!(key_list::list_of_organization))
        .routes(routes!(keys::revoke_many))
        .routes(routes!(key_list::list, keys::create))
        .routes(routes!(key_list::list_labels))
        .routes(routes!(keys::revoke, keys::edit, keys::show))
        .routes(routes!(keys::end_overlap))
        .routes(routes!(keys::rotate))
        .routes(routes!(keys::disable))
        .routes(routes!(keys::enable))
        .routes(routes!(users::list, users::create))
        .routes(routes!(users::show, users::edit, users::delete))
        .routes(routes!(users::reset_password))
        .routes(routes!(nodes::list))
        .routes(routes!(nodes::forget))
        .routes(routes!(bill_check::of_platform))
        .routes(routes!(audit::of_platform))
        .routes(routes!(catalogue::show))
        .routes(routes!(models::list, models::create))
        .routes(routes!(models::show, models::edit, models::delete))
        .routes(routes!(models::list_prices))
        .routes(routes!(prefill_queue::show))
        .routes(routes!(all_queues::list))
        .routes(routes!(flavors::list_gpu_types))
        .routes(routes!(flavors::check_fit))
        .routes(routes!(upstreams::probe))
        .routes(routes!(upstreams::test))
        .routes(routes!(weights::show))
        .routes(routes!(weights::look_up))
        .routes(routes!(downloads::list, downloads::start))
        .routes(routes!(downloads::show, downloads::delete))
        .routes(routes!(downloads::cancel))
        .routes(routes!(downloads::resume))
        .routes(routes!(catalogue_aliases::list, catalogue_aliases::create))
        .routes(routes!(catalogue_aliases::edit, catalogue_aliases::delete))
        .routes(routes!(all_organizations::list))
        .routes(routes!(all_organizations::show, all_organizations::edit))
        .routes(routes!(all_organizations::list_members))
        .routes(routes!(all_organizations::put_member, all_organizations::remove_member))
        .routes(routes!(all_organizations::list_workspaces, all_organizations::create_workspace))
        .routes(routes!(all_organizations::create_invitation))
        .routes(routes!(all_organizations::edit_workspace))
        .routes(routes!(all_nodes::list))
        .routes(routes!(gpus::list))
        .routes(routes!(installation::show_metric))
        .routes(routes!(installation::list_consumers))
        .routes(routes!(health::list_findings))
        .routes(routes!(health::list_errors))
        .routes(routes!(health::list_failed_endpoints))
        .routes(routes!(logs::list))
        .routes(routes!(logs::show))
}

/// The surface's part of `/openapi.json`.
pub(crate) fn description() -> OpenApi {
    router().into_openapi()
}

/// The surface as the edge calls it. Clones share their state.
#[derive(Clone)]
pub(crate) struct ConsoleSurface {
    router: Router,
    context: Arc<SurfaceContext>,
    bounds: BodyBounds,
}

impl ConsoleSurface {
    pub(crate) fn new(
        context: Arc<SurfaceContext>,
        rate_limiter: RateLimiter,
        provider: Option<Arc<Provider>>,
        bounds: BodyBounds,
    ) -> Self {
        let (router, _) = router().split_for_parts();
        let router = router
            .fallback(async || ConsoleError::NotFound)
            .method_not_allowed_fallback(async || ConsoleError::from(SurfaceError::MethodNotAllowed { allow: None }))
            .with_state(Console { context: Arc::clone(&context), rate_limiter, provider });
        Self { router, context, bounds: BodyBounds { limit: bounds.limit.min(MAX_BODY_BYTES), ..bounds } }
    }

    /// Responds to a request under `/api`.
    pub(crate) async fn respond(
        &self,
        head: RequestHead,
        body: Incoming,
        client: IpAddr,
        mut tap: UsageTap,
        now: Timestamp,
    ) -> Response<Body> {
        let response = self.route(head, body, client, now).await;
        let status = response.status().as_u16();
        let outcome = match response.extensions().get::<ErrorCode>() {
            Some(ErrorCode(code)) => Outcome::Rejected { status, code },
            None => Outcome::Served,
        };
        tap.settle(outcome);
        response
    }

    async fn route(&self, head: RequestHead, mut body: Incoming, client: IpAddr, now: Timestamp) -> Response<Body> {
        let received = self.receive(&head, &mut body, client, now).await;
        request_body::discard(&head.headers, &mut body).await;
        let Received { session, body } = match received {
            Ok(received) => received,
            Err(error) => return convert(error.into_response()).await,
        };
        // The memory is returned when the request is finished.
        let (bytes, _memory) = body.map(|WholeBody { bytes, memory }| (bytes, memory)).unzip();
        let mut head = head.into_parts();
        let user_agent = head.headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or("");
        let browser = browser_cookie::read(&head.headers, self.context.is_https());
        let origin = Origin::new(client.to_string(), user_agent, browser);
        head.extensions.insert(RequestContext { client, origin, now });
        if let Some(session) = session {
            head.extensions.insert(session);
        }
        head.uri = bridge::without_trailing_slash(head.uri);
        let request = Request::from_parts(head, axum::body::Body::from(bytes.unwrap_or_default()));
        let response = self.context.background.spawn(self.router.clone().oneshot(request));
        match response.await {
            Ok(Ok(response)) => convert(response).await,
            Err(_panicked) => convert(ConsoleError::INTERNAL.into_response()).await,
        }
    }

    /// Reads the body if its sender may send one. Without a session, handlers get an empty body, which they reject before
    /// they look at it.
    async fn receive(
        &self,
        head: &RequestHead,
        body: &mut Incoming,
        client: IpAddr,
        now: Timestamp,
    ) -> Result<Received, ConsoleError> {
        if head.headers.bytes() > MAX_HEADER_BYTES {
            return Err(SurfaceError::HeadersTooLarge { limit: MAX_HEADER_BYTES }.into());
        }
        let is_sign_in = is_sign_in(&head.method, head.uri.path());
        if is_sign_in {
            // It costs a hash of a password and writes to the store.
            self.context.throttles.count_sign_in(client).map_err(SurfaceError::from)?;
        }
        if is_sign_in || body.is_over() {
            let bounds = BodyBounds { limit: self.bounds.limit.min(MAX_SIGN_IN_BYTES), ..self.bounds.clone() };
            let read = bounds.read(&head.headers, body, Holder::client(client)).await.map_err(SurfaceError::from)?;
            return Ok(Received { session: None, body: Some(read) });
        }
        let Some(session) = self.identify(head, client, now).await? else { return Ok(Received::default()) };
        let holder = match access::organization(&session) {
            Ok((organization, _)) => Holder::People(organization.clone()),
            Err(_) => Holder::User(session.user.id.clone()),
        };
        let is_here = body.has_arrived();
        let read = self.bounds.read(&head.headers, body, holder).await.map_err(SurfaceError::from)?;
        // A session that may have ended while the body arrived is looked up again.
        Ok(Received { session: Some(session).filter(|_| is_here), body: Some(read) })
    }

    async fn identify(
        &self,
        head: &RequestHead,
        client: IpAddr,
        now: Timestamp,
    ) -> Result<Option<ActiveSession>, ConsoleError> {
        let token = session_cookie::read(&head.headers.to_map(), self.context.is_https());
        let Some(token) = token else { return Ok(None) };
        let context = Arc::clone(&self.context);
        let found = self.context.background.spawn(async move { context.identify(token, client, now).await });
        Ok(found.await.map_err(|_panicked| ConsoleError::INTERNAL)??)
    }
}

/// What is known of a request before its handler runs.
#[derive(Default)]
struct Received {
    /// `None` if it is not known yet.
    session: Option<ActiveSession>,
    body: Option<WholeBody>,
}

/// The response to a request that reached no handler.
pub(super) fn encode(error: SurfaceError) -> Response<Body> {
    ConsoleError::from(error).to_response()
}

/// Whether a request needs no session and makes the server write to the store or check a secret.
fn is_sign_in(method: &Method, path: &str) -> bool {
    match path.strip_suffix('/').unwrap_or(path) {
        "/api/session" | "/api/invitations/accept" | "/api/invitations/preview" => method == Method::POST,
        "/api/session/oidc" | "/api/session/oidc/callback" => true,
        _ => false,
    }
}

/// Converts axum's response to the edge's. An export streams its body.
async fn convert(mut response: axum::response::Response) -> Response<Body> {
    let export = response.extensions_mut().remove::<Export>();
    let pieces = export.and_then(|export| export.0.lock().take());
    let Some(pieces) = pieces else { return bridge::into_edge(response).await };
    response.headers_mut().remove(header::CONTENT_LENGTH); // of the empty placeholder body
    bridge::into_edge(response).await.map(|_| Body::Pieces(pieces))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_without_a_session_are_read_at_every_route_that_needs_them() {
        let description = serde_json::to_value(description()).unwrap();
        let mut open = 0;
        for (path, item) in description["paths"].as_object().unwrap() {
            for (method, operation) in item.as_object().unwrap() {
                let needs_none = |security: &serde_json::Value| {
                    security.as_array().is_some_and(|all| all.iter().any(|one| one.as_object().unwrap().is_empty()))
                };
                if operation["requestBody"].is_object() && needs_none(&operation["security"]) {
                    let method = Method::from_bytes(method.to_ascii_uppercase().as_bytes()).unwrap();
                    assert!(is_sign_in(&method, path), "{method} {path}");
                    open += 1;
                }
            }
        }
        assert!(open >= 3, "{open}");
    }

    #[test]
    fn routes_that_need_no_session_and_cost_something_count_as_sign_ins() {
        for (method, path) in [
            (Method::POST, "/api/session"),
            (Method::POST, "/api/session/"),
            (Method::GET, "/api/session/oidc"),
            (Method::GET, "/api/session/oidc/callback"),
            (Method::POST, "/api/invitations/accept"),
        ] {
            assert!(is_sign_in(&method, path), "{method} {path}");
        }
        for (method, path) in [
            (Method::GET, "/api/session"),
            (Method::PUT, "/api/session/context"),
            (Method::GET, "/api/sign-in-methods"),
            (Method::POST, "/api/organizations/org_1/invitations"),
        ] {
            assert!(!is_sign_in(&method, path), "{method} {path}");
        }
    }
}
