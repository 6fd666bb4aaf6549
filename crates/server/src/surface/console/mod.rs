//! The console's surface: everything under `/api`, for signed-in people.
//!
//! Handlers run on the background runtime, where the store's connections live; the edge reads the request's body and
//! sends the answer's. To add a route: a file named after its noun with handlers that take who may call them, and a
//! line in [`router`]. What a handler's annotations say is what `/openapi.json` tells.

mod allotments;
mod audit;
mod bill_check;
mod bounds;
mod caller;
mod costs;
pub(crate) mod error;
mod export;
mod gpu_costs;
mod invitations;
mod keys;
mod list;
mod members;
mod metrics;
mod nodes;
mod oidc;
mod organizations;
mod path;
mod payload;
mod query;
mod requests;
mod session;
mod sessions;
mod usage;
mod users;
mod workspaces;

use crate::edge::request_body::{self, BodyBounds};
use crate::edge::{Body, Head, Incoming};
use crate::oidc::Provider;
use crate::people::People;
use axum::Router;
use axum::body::to_bytes;
use axum::response::IntoResponse;
use caller::Asked;
use control::sessions::Origin;
use dataplane::admission::Minutes;
use dataplane::usage_tap::{Outcome, UsageTap};
use domain::Timestamp;
use error::{Code, Refused};
use export::Export;
use http::{HeaderValue, Request, Response, header};
use std::net::IpAddr;
use std::sync::{Arc, PoisonError};
use tower::ServiceExt;
use utoipa::openapi::OpenApi;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// The name of this surface in logs and metrics.
pub(crate) const ROUTE: &str = "console";
/// No body here needs more.
const BODY_LIMIT: u64 = 256 << 10;
/// The most bytes of headers: names, values and what separates them.
const MAX_HEADER_BYTES: usize = 32 << 10;

/// What handlers have at hand.
#[derive(Clone)]
pub(crate) struct Console {
    people: Arc<People>,
    /// What is left of the limits by the minute.
    minutes: Minutes,
    /// Where single sign-on is configured.
    provider: Option<Arc<Provider>>,
}

/// All routes, and their description.
fn router() -> OpenApiRouter<Console> {
    OpenApiRouter::new()
        .routes(routes!(session::sign_in, session::show, session::sign_out))
        .routes(routes!(session::set_context))
        .routes(routes!(session::change_password))
        .routes(routes!(oidc::methods))
        .routes(routes!(oidc::depart))
        .routes(routes!(oidc::come_back))
        .routes(routes!(sessions::list))
        .routes(routes!(sessions::end))
        .routes(routes!(organizations::list, organizations::create))
        .routes(routes!(organizations::show, organizations::rename, organizations::delete))
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
        .routes(routes!(members::list_of_workspace))
        .routes(routes!(members::add_to_workspace, members::remove_from_workspace))
        .routes(routes!(usage::show))
        .routes(routes!(usage::quota))
        .routes(routes!(metrics::show))
        .routes(routes!(requests::list))
        .routes(routes!(costs::show))
        .routes(routes!(costs::invoice))
        .routes(routes!(keys::list, keys::create))
        .routes(routes!(keys::revoke))
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
}

/// What the surface says of itself.
pub(crate) fn description() -> OpenApi {
    router().into_openapi()
}

/// The surface as the edge calls it; clones share everything.
#[derive(Clone)]
pub(crate) struct ConsoleSurface {
    router: Router,
    people: Arc<People>,
    bounds: BodyBounds,
}

impl ConsoleSurface {
    pub(crate) fn new(
        people: Arc<People>,
        minutes: Minutes,
        provider: Option<Arc<Provider>>,
        bounds: BodyBounds,
    ) -> Self {
        let (router, _) = router().split_for_parts();
        let router = router
            .fallback(async || Refused::NotFound)
            .method_not_allowed_fallback(async || Refused::MethodNotAllowed)
            .with_state(Console { people: Arc::clone(&people), minutes, provider });
        Self { router, people, bounds: BodyBounds { limit: bounds.limit.min(BODY_LIMIT), ..bounds } }
    }

    /// Answers a request under `/api`.
    pub(crate) async fn answer(
        &self,
        head: Head,
        body: Incoming,
        client: IpAddr,
        mut tap: UsageTap,
        now: Timestamp,
    ) -> Response<Body> {
        let response = self.respond(head, body, client, now).await;
        let status = response.status().as_u16();
        let outcome = match response.extensions().get::<Code>() {
            Some(Code(code)) => Outcome::Refused { status, code },
            None => Outcome::Served,
        };
        tap.settle(outcome);
        response
    }

    async fn respond(&self, head: Head, mut body: Incoming, client: IpAddr, now: Timestamp) -> Response<Body> {
        let read = if head.headers.bytes() > MAX_HEADER_BYTES {
            Err(Refused::HeadersTooLarge { limit: MAX_HEADER_BYTES })
        } else {
            self.bounds.read(&head.headers, &mut body).await.map_err(Refused::from)
        };
        let bytes = match read {
            Ok(bytes) => bytes,
            Err(refused) => {
                request_body::discard(&head.headers, &mut body).await;
                return convert(refused.into_response()).await;
            }
        };
        let mut head = head.into_parts();
        let user_agent = head.headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or("");
        head.extensions.insert(Asked { origin: Origin::new(client.to_string(), user_agent), now });
        head.uri = without_slash_at_end(head.uri);
        let request = Request::from_parts(head, axum::body::Body::from(bytes));
        let answered = self.people.background.spawn(self.router.clone().oneshot(request));
        match answered.await {
            Ok(Ok(response)) => convert(response).await,
            Err(_panicked) => convert(Refused::Internal.into_response()).await,
        }
    }
}

/// `/api/workspaces/` is `/api/workspaces`.
fn without_slash_at_end(uri: http::Uri) -> http::Uri {
    let Some(shorter) = uri.path().strip_suffix('/') else { return uri };
    let query = uri.query().map_or_else(String::new, |query| format!("?{query}"));
    format!("{shorter}{query}").parse().unwrap_or(uri)
}

/// From axum's response to ours. What is here is for one person and one moment.
async fn convert(response: axum::response::Response) -> Response<Body> {
    let (mut head, body) = response.into_parts();
    head.headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    head.headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let export = head.extensions.remove::<Export>();
    let pieces = export.and_then(|export| export.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    let body = match pieces {
        Some(pieces) => {
            head.headers.remove(header::CONTENT_LENGTH); // of the empty body that stood for it
            Body::Pieces(pieces)
        }
        // It is whole already: handlers answer with JSON or nothing.
        None => Body::from(to_bytes(body, usize::MAX).await.unwrap_or_default()),
    };
    Response::from_parts(head, body)
}
