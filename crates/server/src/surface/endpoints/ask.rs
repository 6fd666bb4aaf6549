//! A request as far as its bytes tell, and the answer to it.

use super::cursor::{CursorKey, Of};
use crate::edge::Body;
use axum::extract::Query;
use bytes::Bytes;
use control::Author;
use control::endpoints::{Call, CommandResponse, EndpointError, IdempotencyKey, Outcome, Scope};
use domain::endpoint::{FieldError, FieldErrorCode, request};
use domain::{Caller, Timestamp};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, Uri, header};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::sync::Arc;

const IDEMPOTENCY_KEY: &str = "idempotency-key";
const MAX_IDEMPOTENCY_KEY: usize = 255;
const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
const DEFAULT_LIMIT: u32 = 20;
const MAX_LIMIT: u32 = 100;

pub(super) struct Ask {
    pub(super) caller: Arc<Caller>,
    pub(super) author: Author,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) now: Timestamp,
    query: Vec<(String, String)>,
    idempotency: Option<Idempotency>,
}

struct Idempotency {
    key: String,
    fingerprint: String,
}

impl Ask {
    pub(super) fn new(
        head: &http::request::Parts,
        body: Bytes,
        caller: Arc<Caller>,
        author: Author,
        now: Timestamp,
    ) -> Result<Self, FieldError> {
        let query = query_of(&head.uri)?;
        let idempotency = match head.method {
            Method::POST | Method::PATCH | Method::DELETE => idempotency_of(head, &body)?,
            _ => None,
        };
        Ok(Self { caller, author, headers: head.headers.clone(), body, now, query, idempotency })
    }

    pub(super) fn scope(&self) -> Scope<'_> {
        Scope { organization: &self.caller.organization, workspace: &self.caller.workspace }
    }

    pub(super) fn call(&self) -> Call<'_> {
        let idempotency =
            self.idempotency.as_ref().map(|own| IdempotencyKey { key: &own.key, fingerprint: &own.fingerprint });
        Call { author: &self.author, scope: self.scope(), idempotency, now: self.now }
    }

    /// What the query says of a parameter; nothing counts as not sent.
    pub(super) fn param(&self, name: &str) -> Option<&str> {
        self.params(name).next().filter(|text| !text.is_empty())
    }

    pub(super) fn params<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.query.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// A parameter that must be one of several words.
    pub(super) fn word<T>(
        &self,
        name: &'static str,
        parse: impl Fn(&str) -> Option<T>,
        why: &'static str,
    ) -> Result<Option<T>, FieldError> {
        let Some(text) = self.param(name) else { return Ok(None) };
        parse(text).map(Some).ok_or_else(|| FieldError::new(name, FieldErrorCode::InvalidFormat, why))
    }

    /// A call that changes something is not made in spite of a parameter that it does not know: `dryrun` is no dry run.
    pub(super) fn only_params(&self, known: &[&str]) -> Result<(), FieldError> {
        match self.query.iter().find(|(key, _)| !known.contains(&key.as_str())) {
            Some((key, _)) => {
                let field: String = key.chars().take(64).collect();
                Err(FieldError::new(field, FieldErrorCode::UnknownField, "is not a parameter of this request"))
            }
            None => Ok(()),
        }
    }

    /// How many are asked for.
    pub(super) fn limit(&self) -> Result<u32, FieldError> {
        let Some(text) = self.param("limit") else { return Ok(DEFAULT_LIMIT) };
        let number: i64 = text
            .parse()
            .map_err(|_| FieldError::new("limit", FieldErrorCode::InvalidFormat, "must be a whole number"))?;
        let limit = u32::try_from(number).ok().filter(|limit| (1..=MAX_LIMIT).contains(limit));
        limit.ok_or_else(|| {
            FieldError::new("limit", FieldErrorCode::OutOfRange, format!("must be between 1 and {MAX_LIMIT}"))
        })
    }

    /// Where to go on.
    pub(super) fn cursor(&self, key: &CursorKey, of: Of) -> Result<Option<(Timestamp, String)>, FieldError> {
        let Some(text) = self.params("cursor").next() else { return Ok(None) };
        key.open(of, &self.caller.workspace, text).map(Some)
    }

    /// The body, which must be JSON.
    pub(super) fn json(&self) -> Result<Value, FieldError> {
        serde_json::from_slice(&self.body).map_err(|_| request::malformed())
    }

    /// The body, where none at all is as good as `{}`.
    pub(super) fn json_or_nothing(&self) -> Result<Value, FieldError> {
        if self.body.is_empty() { Ok(Value::Object(serde_json::Map::new())) } else { self.json() }
    }
}

fn query_of(uri: &Uri) -> Result<Vec<(String, String)>, FieldError> {
    let unreadable = || FieldError::new("query", FieldErrorCode::InvalidFormat, "cannot be read");
    let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(uri).map_err(|_| unreadable())?;
    // PostgreSQL does not even want to compare a zero byte.
    match pairs.iter().find(|(_, value)| value.contains('\0')) {
        Some((key, _)) => {
            let field: String = key.chars().take(64).collect();
            Err(FieldError::new(field, FieldErrorCode::InvalidFormat, "has a character that is not text"))
        }
        None => Ok(pairs),
    }
}

fn idempotency_of(head: &http::request::Parts, body: &[u8]) -> Result<Option<Idempotency>, FieldError> {
    let mut all = head.headers.get_all(IDEMPOTENCY_KEY).iter();
    let Some(value) = all.next() else { return Ok(None) };
    let fault = |why| FieldError::new("Idempotency-Key", FieldErrorCode::InvalidFormat, why);
    if all.next().is_some() {
        return Err(fault("must be sent once"));
    }
    let key = value.to_str().map_err(|_| fault("must be ASCII text"))?.trim();
    if !(1..=MAX_IDEMPOTENCY_KEY).contains(&key.len()) {
        return Err(fault("must have 1 to 255 characters"));
    }
    let path = head.uri.path();
    let path = path.strip_suffix('/').unwrap_or(path);
    let mut digest = Sha256::new();
    for part in [head.method.as_str().as_bytes(), b"\n", path.as_bytes(), b"\n", body] {
        digest.update(part);
    }
    let mut fingerprint = String::with_capacity(64);
    for byte in digest.finalize() {
        let _ = write!(fingerprint, "{byte:02x}");
    }
    Ok(Some(Idempotency { key: key.to_owned(), fingerprint }))
}

/// What goes well.
pub(super) struct Reply {
    status: StatusCode,
    headers: Vec<(HeaderName, String)>,
    body: String,
}

impl Reply {
    pub(super) fn json(value: &impl Serialize) -> Result<Self, EndpointError> {
        let body = serde_json::to_string(value).map_err(|error| EndpointError::Internal { cause: Box::new(error) })?;
        Ok(Self { status: StatusCode::OK, headers: Vec::new(), body })
    }

    /// What a command answers, now or again.
    pub(super) fn of(answer: CommandResponse) -> Self {
        let mut headers = vec![(header::ETAG, answer.generation.to_string())];
        let status = match answer.outcome {
            Outcome::Created => {
                headers.push((header::LOCATION, format!("/v1/endpoints/{}", answer.name)));
                StatusCode::CREATED
            }
            Outcome::Done => StatusCode::OK,
            Outcome::Accepted => StatusCode::ACCEPTED,
        };
        if answer.replayed {
            headers.push((IDEMPOTENT_REPLAYED, "true".to_owned()));
        }
        Self { status, headers, body: answer.body }
    }

    /// What was tried and not done has no version.
    pub(super) fn of_dry_run(answer: CommandResponse) -> Self {
        Self { status: StatusCode::OK, headers: Vec::new(), body: answer.body }
    }

    pub(super) fn with(mut self, name: HeaderName, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(super) fn dress(self) -> Response<Body> {
        let mut response = Response::new(Body::from(self.body));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, value) in self.headers {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(name, value);
            }
        }
        response
    }
}

/// A list, or a piece of one.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct List<T> {
    object: &'static str,
    data: Vec<T>,
    next_cursor: Option<String>,
}

impl<T> List<T> {
    pub(super) const fn whole(data: Vec<T>) -> Self {
        Self { object: "list", data, next_cursor: None }
    }

    /// From one row more than the page holds, so that the end is known.
    pub(super) fn page(
        mut rows: Vec<T>,
        limit: u32,
        cursor: impl Fn(&T) -> Result<String, EndpointError>,
    ) -> Result<Self, EndpointError> {
        let limit = limit as usize;
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next_cursor = rows.last().filter(|_| more).map(cursor).transpose()?;
        Ok(Self { object: "list", data: rows, next_cursor })
    }
}
