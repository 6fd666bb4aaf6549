//! Extractors of this surface's handlers: caller, endpoint in the path, query, idempotency key and body.

use super::cursor;
use super::error::ProblemError;
use super::wire::{encode, shortened};
use crate::surface::idempotency;
use crate::surface_context::SurfaceContext;
use axum::extract::{FromRequestParts, Query, RawPathParams};
use bytes::Bytes;
use control::endpoints::{EndpointCommand, EndpointError, EndpointRef, EndpointRules, IdempotencyKey, Scope};
use control::{Author, Command};
use domain::endpoint::{FieldError, FieldErrorCode};
use domain::{Caller, Catalogue, OrganizationId, Timestamp};
use edge::request_body::BodyError;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Uri};
use serde::de::DeserializeOwned;
use std::convert::Infallible;
use std::sync::Arc;
use store::Store;

const DEFAULT_LIMIT: u32 = 20;
const MAX_LIMIT: u32 = 100;

/// The caller, time and body of a request, known before it is routed, and what its handler works on. An extension of
/// the request.
#[derive(Clone)]
pub(super) struct RequestContext {
    pub(super) surface: Arc<SurfaceContext>,
    pub(super) catalogue: Arc<Catalogue>,
    pub(super) caller: Arc<Caller>,
    pub(super) author: Author,
    pub(super) now: Timestamp,
    /// The body, or why it could not be read. Only routes with a body report the error.
    pub(super) body: Result<Bytes, BodyError>,
}

impl RequestContext {
    fn of(parts: &Parts) -> Result<Self, ProblemError> {
        parts.extensions.get::<Self>().cloned().ok_or(ProblemError::INTERNAL)
    }

    fn scope(&self) -> Scope<'_> {
        Scope { organization: &self.caller.organization, workspace: &self.caller.workspace }
    }

    fn rules(&self) -> EndpointRules<'_> {
        let Self { surface, catalogue, .. } = self;
        EndpointRules { catalogue, defaults: &surface.allotment_defaults, max_endpoints: surface.max_endpoints }
    }
}

/// A request that changes nothing: its caller and its query. Unknown parameters are ignored.
pub(super) struct ReadRequest {
    context: RequestContext,
    params: Params,
}

impl FromRequestParts<()> for ReadRequest {
    type Rejection = ProblemError;

    async fn from_request_parts(parts: &mut Parts, (): &()) -> Result<Self, ProblemError> {
        Ok(Self { context: RequestContext::of(parts)?, params: Params::read(&parts.uri)? })
    }
}

impl ReadRequest {
    pub(super) fn store(&self) -> &Store {
        &self.context.surface.store
    }

    pub(super) fn rules(&self) -> EndpointRules<'_> {
        self.context.rules()
    }

    pub(super) fn scope(&self) -> Scope<'_> {
        self.context.scope()
    }

    pub(super) fn organization(&self) -> &OrganizationId {
        &self.context.caller.organization
    }

    pub(super) const fn now(&self) -> Timestamp {
        self.context.now
    }

    /// All values of a parameter.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.params.all(name)
    }

    /// The parsed value of a parameter; an empty one counts as absent.
    pub(super) fn parsed<T>(
        &self,
        name: &'static str,
        parse: impl Fn(&str) -> Option<T>,
        why: &'static str,
    ) -> Result<Option<T>, FieldError> {
        let Some(text) = self.params.first(name) else { return Ok(None) };
        parse(text).map(Some).ok_or_else(|| FieldError::new(name, FieldErrorCode::InvalidFormat, why))
    }

    /// The size of the page.
    pub(super) fn limit(&self) -> Result<u32, FieldError> {
        let Some(text) = self.params.first("limit") else { return Ok(DEFAULT_LIMIT) };
        let number: i64 = text
            .parse()
            .map_err(|_| FieldError::new("limit", FieldErrorCode::InvalidFormat, "must be a whole number"))?;
        let limit = u32::try_from(number).ok().filter(|limit| (1..=MAX_LIMIT).contains(limit));
        limit.ok_or_else(|| {
            FieldError::new("limit", FieldErrorCode::OutOfRange, format!("must be between 1 and {MAX_LIMIT}"))
        })
    }

    /// The last row of the page before.
    pub(super) fn cursor<T, E>(
        &self,
        parse_id: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Option<(Timestamp, T)>, FieldError> {
        self.all("cursor").next().map(|text| cursor::decode(text, parse_id)).transpose()
    }
}

/// A request that changes something: its caller, query, headers, idempotency key and body.
pub(super) struct CommandRequest {
    context: RequestContext,
    params: Params,
    pub(super) headers: HeaderMap,
    idempotency: Option<Idempotency>,
    body: Bytes,
}

struct Idempotency {
    key: String,
    fingerprint: String,
}

impl FromRequestParts<()> for CommandRequest {
    type Rejection = ProblemError;

    async fn from_request_parts(parts: &mut Parts, (): &()) -> Result<Self, ProblemError> {
        let context = RequestContext::of(parts)?;
        let body = context.body.clone()?;
        let params = Params::read(&parts.uri)?;
        let idempotency = Idempotency::read(parts, &body)?;
        Ok(Self { context, params, headers: std::mem::take(&mut parts.headers), idempotency, body })
    }
}

impl CommandRequest {
    pub(super) fn command(&self) -> EndpointCommand<'_> {
        let idempotency =
            self.idempotency.as_ref().map(|own| IdempotencyKey { key: &own.key, fingerprint: &own.fingerprint });
        let RequestContext { surface, author, now, .. } = &self.context;
        let base = Command { store: &surface.store, author, now: *now };
        EndpointCommand { base, rules: self.context.rules(), scope: self.context.scope(), idempotency, encode }
    }

    /// The body as JSON.
    pub(super) fn json<T: DeserializeOwned>(&self) -> Result<T, FieldError> {
        read_json(&self.body)
    }

    /// The body as JSON; an empty one is as good as `{}`.
    pub(super) fn json_or_empty<T: DeserializeOwned>(&self) -> Result<T, FieldError> {
        read_json(if self.body.is_empty() { b"{}" } else { &self.body })
    }

    /// The first value of a parameter, an empty one included.
    pub(super) fn param(&self, name: &'static str) -> Option<&str> {
        self.params.all(name).next()
    }

    /// Rejects other parameters, so that a misspelt `dryrun` does not create anything.
    pub(super) fn only_params(&self, known: &[&str]) -> Result<(), FieldError> {
        match self.params.0.iter().find(|(key, _)| !known.contains(&key.as_str())) {
            Some((key, _)) => {
                let why = "is not a parameter of this request";
                Err(FieldError::new(shortened(key), FieldErrorCode::UnknownField, why))
            }
            None => Ok(()),
        }
    }
}

/// Duplicate members count once, the last one wins: so bodies are read as a value first.
fn read_json<T: DeserializeOwned>(body: &[u8]) -> Result<T, FieldError> {
    let malformed = |why| FieldError::new("body", FieldErrorCode::MalformedJson, why);
    let value: serde_json::Value = serde_json::from_slice(body).map_err(|_| malformed("is not valid JSON"))?;
    if !value.is_object() {
        return Err(malformed("must be a JSON object"));
    }
    serde_json::from_value(value).map_err(|_| malformed("is not valid JSON"))
}

impl Idempotency {
    fn read(parts: &Parts, body: &[u8]) -> Result<Option<Self>, FieldError> {
        let values = parts.headers.get_all(idempotency::HEADER).iter().map(HeaderValue::as_bytes);
        let invalid = |why| FieldError::new(idempotency::HEADER, FieldErrorCode::InvalidFormat, why);
        let Some(key) = idempotency::check(values).map_err(invalid)? else { return Ok(None) };
        let fingerprint = idempotency::fingerprint(&format!("{}\n{}", parts.method, parts.uri.path()), body);
        Ok(Some(Self { key: key.to_owned(), fingerprint }))
    }
}

/// The parameters of a query, in order.
struct Params(Vec<(String, String)>);

impl Params {
    fn read(uri: &Uri) -> Result<Self, FieldError> {
        let unreadable = |_| FieldError::new("query", FieldErrorCode::InvalidFormat, "cannot be read");
        let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri).map_err(unreadable)?;
        // PostgreSQL rejects zero bytes in texts.
        match pairs.iter().find(|(_, value)| value.contains('\0')) {
            Some((key, _)) => {
                Err(FieldError::new(shortened(key), FieldErrorCode::InvalidFormat, "has a character that is not text"))
            }
            None => Ok(Self(pairs)),
        }
    }

    fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    fn first<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.all(name).next().filter(|text| !text.is_empty())
    }
}

/// The endpoint in the path, by name or id.
pub(super) struct EndpointPath(String);

impl EndpointPath {
    pub(super) fn choice(&self) -> Result<EndpointRef, EndpointError> {
        EndpointRef::parse(&self.0)
    }
}

impl FromRequestParts<()> for EndpointPath {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, state: &()) -> Result<Self, Infallible> {
        // A path that is not UTF-8 has no parameters; an empty name names no endpoint.
        let params = RawPathParams::from_request_parts(parts, state).await;
        let named = params.as_ref().ok().and_then(|params| params.iter().find(|(key, _)| *key == "endpoint"));
        Ok(Self(named.map_or("", |(_, value)| value).to_owned()))
    }
}
