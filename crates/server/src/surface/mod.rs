//! The HTTP surfaces: groups of routes with one error envelope each. A surface does not import another surface.

pub(crate) mod anthropic;
mod bridge;
pub(crate) mod console;
pub(crate) mod endpoints;
pub(crate) mod error;
mod idempotency;
mod inference;
pub(crate) mod line_call;
pub(crate) mod openai;
pub(crate) mod openapi;
pub(crate) mod operations;
pub(crate) mod response_memory;
mod route_name;
mod site;
pub(crate) mod starting;

use crate::surface_context::SurfaceContext;
use console::ConsoleSurface;
use dataplane::keys::KeyDirectory;
use dataplane::record::Outcome;
use dataplane::usage_tap::{Sink, UsageTap};
use dataplane::{Dataplane, ResponseBody};
use domain::{CallClass, Network, RequestId, Timestamp};
use edge::client_address;
use edge::cors::Cors;
use edge::memory_budget::Holder;
use edge::request_body::BodyBounds;
use edge::request_id::RequestIds;
use edge::{Headers, Incoming, RequestHead, Service};
use endpoints::EndpointsSurface;
use error::{Delayed, SurfaceError};
use http::{HeaderValue, Response, StatusCode, header};
use http1::RequestHeadError;
pub(crate) use inference::EndUserNames;
use inference::Exchange;
use node::clock;
use route_name::RouteName;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use telemetry::traces::Tracer;

pub(crate) type Body = edge::Body<ResponseBody>;
pub(crate) type EdgeResponse = edge::EdgeResponse<ResponseBody>;

const X_CLIENT_REQUEST_ID: &str = "x-client-request-id";
const MAX_CLIENT_ID: usize = 512;
/// The most bytes of headers: names, values and separators.
const MAX_HEADER_BYTES: usize = 32 << 10;
/// The most bytes of a body, except of inference calls.
const MAX_BODY_BYTES: u64 = 256 << 10;

/// The delay before the response to a throttled request. With the connections per address, it bounds how often a client is
/// rejected.
const DELAY: Duration = Duration::from_millis(250);

/// Browsers use only https for a year.
const STRICT_TRANSPORT: &str = "max-age=31536000";

/// The public surfaces as one core serves them.
pub(crate) struct Surface {
    pub dataplane: Dataplane,
    pub keys: Arc<KeyDirectory>,
    pub sink: Arc<dyn Sink>,
    /// `None` unless calls are traced.
    pub tracer: Option<Arc<Tracer>>,
    pub ids: Arc<RequestIds>,
    pub cors: Cors,
    pub body_bounds: BodyBounds,
    /// How long a call may wait for a replica of a dedicated endpoint.
    pub hold_timeout: Duration,
    /// How long a stream may be silent before its first event, unless the call says otherwise.
    pub keep_alive: Option<Duration>,
    /// Whether callers may ask where their calls were sent.
    pub routing_headers: bool,
    /// How the people behind trusted keys are named.
    pub end_users: Arc<EndUserNames>,
    pub context: Arc<SurfaceContext>,
    pub console: ConsoleSurface,
    pub endpoints: EndpointsSurface,
    /// Whether browsers should use https only.
    pub strict_transport: bool,
    /// Proxies whose headers name the client's address.
    pub trusted_proxies: Vec<Network>,
}

impl Service for Surface {
    type Relayed = ResponseBody;

    /// Responds to any request. Every response carries the request id.
    async fn respond(self: Arc<Self>, mut head: RequestHead, mut body: Incoming, peer: IpAddr) -> EdgeResponse {
        let now = clock::now();
        let id = self.ids.next(now);
        let origin = self.cors.allowed(&head.headers);
        let strict_transport = self.strict_transport && !is_inference(&head);
        let mut response = if Cors::is_preflight(&head) {
            Cors::preflight(&head.headers).into()
        } else {
            match head.uri.path() {
                path if is_below(path, "/api") => {
                    let tap = UsageTap::open(Arc::clone(&self.sink), id.clone(), RouteName::Console.as_str(), now);
                    let client = self.client(peer, &head.headers);
                    Box::pin(self.console.respond(head, body, client, tap, now)).await.into()
                }
                path if is_below(path, "/v1/endpoints") => {
                    let mut tap =
                        UsageTap::open(Arc::clone(&self.sink), id.clone(), RouteName::Endpoints.as_str(), now);
                    tap.note(|record| record.client_request = client_id(&head.headers));
                    let client = self.client(peer, &head.headers);
                    Box::pin(self.endpoints.respond(head, body, client, id.as_str(), tap, now)).await.into()
                }
                path if !is_below(path, "/v1")
                    && !openai::is_route(path)
                    && let Some(page) = page(&head) =>
                {
                    page.into()
                }
                _ => self.infer(&mut head, &mut body, peer, id.clone(), now).await,
            }
        };
        if strict_transport {
            add_strict_transport(&mut response.response);
        }
        if let Some(origin) = origin {
            Cors::add(response.response.headers_mut(), origin);
        }
        if response.response.extensions().get::<Delayed>().is_some() {
            Box::pin(tokio::time::sleep(DELAY)).await;
        }
        let backlog = response.backlog.or_else(|| self.body_bounds.memory.grant(Holder::client(peer)));
        EdgeResponse { request_id: Some(id), backlog, ..response }
    }

    /// It has an id, and is logged and counted by reason.
    fn reject_head(&self, error: RequestHeadError, peer: IpAddr) -> EdgeResponse {
        let now = clock::now();
        let id = self.ids.next(now);
        let mut tap = UsageTap::open(Arc::clone(&self.sink), id.clone(), RouteName::Unreadable.as_str(), now);
        tap.note(|record| record.cause = Some(format!("{error}; from {peer}")));
        tap.settle(Outcome::Rejected { status: error.status().as_u16(), code: head_error_code(error) });
        EdgeResponse { request_id: Some(id), ..head_rejection(error).into() }
    }

    type Envelope = Envelope;

    fn envelope(head: &RequestHead) -> Envelope {
        Envelope::of(head)
    }

    fn panicked(&self, envelope: Envelope) -> EdgeResponse {
        let id = self.ids.next(clock::now());
        let response = envelope.encode(SurfaceError::Internal, &self.context.console_url, &id);
        EdgeResponse { request_id: Some(id), ..response.into() }
    }

    /// Closes idle upstream connections.
    fn sweep(&self) {
        self.dataplane.sweep();
    }

    fn cut_streams(&self) {
        self.dataplane.cut_streams();
    }
}

impl Surface {
    /// Inference, and the 404 of every path that belongs to no surface.
    async fn infer(
        &self,
        head: &mut RequestHead,
        body: &mut Incoming,
        peer: IpAddr,
        id: RequestId,
        now: Timestamp,
    ) -> EdgeResponse {
        let RequestHead { method, uri, headers } = head;
        let (of_anthropic, of_openai) = (anthropic::route(uri.path(), headers), openai::route(uri.path()));
        let (name, format) = match of_anthropic {
            Some(route) => (route.name(), &anthropic::ERROR_FORMAT),
            None => (of_openai.name(), &openai::ERROR_FORMAT),
        };
        let mut tap = UsageTap::open(Arc::clone(&self.sink), id, name.as_str(), now);
        tap.note(|record| record.client_request = client_id(headers));
        let (trace, rate_limits, counted, throttled) = (None, None, None, None);
        let mut exchange = Exchange {
            surface: self,
            format,
            method,
            uri,
            headers,
            body,
            peer,
            now,
            tap,
            trace,
            rate_limits,
            counted,
            hidden: Vec::new(),
            class: CallClass::default(),
            throttled,
        };
        let response = match of_anthropic {
            // Boxed, because its translations would make every call larger.
            Some(route) => Box::pin(anthropic::respond(&mut exchange, route)).await,
            None => openai::respond(&mut exchange, of_openai).await,
        };
        EdgeResponse { anthropic_at: of_anthropic.map(|_| now), ..exchange.finish(response).await }
    }

    /// The client's address.
    fn client(&self, peer: IpAddr, headers: &Headers) -> IpAddr {
        client_address::of(peer, headers, &self.trusted_proxies)
    }
}

/// How the errors of a surface are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Envelope {
    Console,
    Endpoints,
    Anthropic,
    OpenAi,
}

impl Envelope {
    /// The envelope of the surface which a request belongs to.
    fn of(head: &RequestHead) -> Self {
        match head.uri.path() {
            path if is_below(path, "/api") => Self::Console,
            path if is_below(path, "/v1/endpoints") => Self::Endpoints,
            path if anthropic::route(path, &head.headers).is_some() => Self::Anthropic,
            _ => Self::OpenAi,
        }
    }

    fn encode(self, error: SurfaceError, console_url: &str, id: &RequestId) -> Response<Body> {
        match self {
            Self::Console => console::encode(error),
            Self::Endpoints => endpoints::encode(error, console_url, id.as_str()),
            Self::Anthropic => anthropic::encode(error, id),
            Self::OpenAi => openai::encode(error),
        }
    }
}

/// Programs that call models do not heed `Strict-Transport-Security`.
fn is_inference(head: &RequestHead) -> bool {
    openai::is_route(head.uri.path()) || anthropic::route(head.uri.path(), &head.headers).is_some()
}

fn add_strict_transport(response: &mut Response<Body>) {
    response.headers_mut().insert(header::STRICT_TRANSPORT_SECURITY, HeaderValue::from_static(STRICT_TRANSPORT));
}

/// The response to a request that concerns no one's data: health, the description of the API, and pages.
fn page(head: &RequestHead) -> Option<Response<Body>> {
    match head.uri.path() {
        "/healthz" => Some(health()),
        "/openapi.json" => Some(json(StatusCode::OK, openapi::document())),
        path => match endpoints::pages::at(path) {
            Some(page) => Some(page.into_response(&head.method)),
            None => site::respond(&head.method, path, &head.headers.to_map()),
        },
    }
}

/// In the envelope of inference, since input that is not HTTP has no surface.
fn head_rejection(error: RequestHeadError) -> Response<Body> {
    let mut response = openai::error::unreadable(error.status(), head_error_code(error), error.to_string());
    if let Some(seconds) = head_retry_after_secs(error) {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    response
}

/// The code of a rejected head in logs and metrics.
const fn head_error_code(error: RequestHeadError) -> &'static str {
    match error {
        RequestHeadError::Malformed => "malformed_head",
        RequestHeadError::TooLarge => "headers_too_large",
        RequestHeadError::UnsupportedVersion => "unsupported_version",
        RequestHeadError::TooSlow => "head_timeout",
        RequestHeadError::NoRoom => "server_busy",
    }
}

/// Room for a head is free again within moments.
fn head_retry_after_secs(error: RequestHeadError) -> Option<u64> {
    match error {
        RequestHeadError::NoRoom => Some(error::RETRY_SOON_SECS),
        other => error::retry_after_secs(other.status()),
    }
}

fn is_below(path: &str, root: &str) -> bool {
    path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The client's id of its request, logged next to ours.
fn client_id(headers: &Headers) -> Option<Box<str>> {
    let text = headers.text(X_CLIENT_REQUEST_ID)?;
    (text.len() <= MAX_CLIENT_ID).then(|| text.into())
}

fn json(status: StatusCode, body: impl Into<Body>) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The process is alive.
#[utoipa::path(get, path = "/healthz", operation_id = "health", tag = "operations", security(()),
    responses((status = 200, body = Object)))]
pub(crate) fn health() -> Response<Body> {
    json(StatusCode::OK, "{\"status\":\"ok\"}\n")
}

#[cfg(test)]
mod tests {
    use super::starting::StartingSurface;
    use super::*;

    /// SPEC 7.2: the envelope is on every 5xx, with `x-request-id`, also after a panic.
    #[test]
    fn every_surface_has_an_envelope_of_its_own_for_a_handler_that_panicked() {
        let surface = StartingSurface {
            ids: Arc::new(RequestIds::new().unwrap()),
            cors: Cors::new(Vec::new()),
            console_url: "http://forebay".to_owned(),
            strict_transport: false,
        };
        let envelope = |path: &str| {
            let head =
                RequestHead { method: http::Method::POST, uri: path.parse().unwrap(), headers: Headers::default() };
            let EdgeResponse { response, request_id, .. } = surface.panicked(StartingSurface::envelope(&head));
            assert_eq!((response.status(), request_id.is_some()), (StatusCode::INTERNAL_SERVER_ERROR, true), "{path}");
            let Body::Whole(Some(body)) = response.into_body() else { panic!("not in memory") };
            let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
            ["/error/code", "/code", "/extensions/code", "/error/type"]
                .map(|pointer| body.pointer(pointer).and_then(|code| code.as_str()).unwrap_or("-").to_owned())
                .join(" ")
        };
        assert_eq!(envelope("/v1/chat/completions"), "internal_error - - server_error");
        assert_eq!(envelope("/v1/messages"), "internal_error - - api_error");
        assert_eq!(envelope("/api/session"), "- internal_error - -");
        assert_eq!(envelope("/v1/endpoints/chat"), "- - INTERNAL -");
    }

    #[test]
    fn a_head_without_room_may_be_sent_again_at_once() {
        let seconds = [RequestHeadError::NoRoom, RequestHeadError::TooSlow, RequestHeadError::Malformed]
            .map(|error| (error.status().as_u16(), head_retry_after_secs(error)));
        assert_eq!(seconds, [(503, Some(1)), (408, Some(1)), (400, None)]);
    }
}
