//! `/v1/endpoints` itself: create, list, show, change, suspend, resume, delete.

use super::cursor;
use super::error::ProblemError;
use super::request::{CommandRequest, EndpointPath, ReadRequest};
use super::wire::{
    ChangeRequest, EncodedRecord, EndpointList, EndpointView, NewEndpointRequest, ResumeRequest, ScalingMembers,
    SuspendRequest,
};
use axum::Json;
use axum::response::{IntoResponse, Response};
use control::endpoints::{self, CommandResponse, EndpointError, Outcome, RunMode};
use domain::endpoint::labels::{self, LabelsPatch};
use domain::endpoint::request::{Change, NewEndpoint};
use domain::endpoint::scaling::ScalingPatch;
use domain::endpoint::{FieldError, FieldErrorCode, Generation, IfMatch};
use domain::{EndpointId, ModelId};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use store::Order;
use store::endpoints::Filter;

const MAX_SEARCH: usize = 100;
const IDEMPOTENT_REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// Create an endpoint.
#[utoipa::path(post, path = "/v1/endpoints", operation_id = "createEndpoint", tag = "endpoints",
    request_body = NewEndpointRequest,
    params(("dryRun" = Option<bool>, Query, description = "`true`: make every check, change nothing"),
        ("Idempotency-Key" = Option<String>, Header, max_length = 255)),
    responses((status = 200, description = "what a dry run would have created", body = EndpointView),
        (status = 201, description = "it is being created; `Location` and `ETag` are set", body = EndpointView)))]
pub(super) async fn create(request: CommandRequest) -> Result<Response, ProblemError> {
    let new = NewEndpoint::try_from(request.json::<NewEndpointRequest>()?)?;
    request.only_params(&["dryRun"])?;
    let run = match request.param("dryRun") {
        None | Some("false") => RunMode::Real,
        Some("true") => RunMode::Dry,
        Some(_) => return Err(FieldError::new("dryRun", FieldErrorCode::InvalidFormat, "must be true or false").into()),
    };
    let created = endpoints::create(request.command(), &new, run).await?;
    match run {
        RunMode::Real => command_response(created),
        RunMode::Dry => Ok(json(created.body)),
    }
}

/// The endpoints of the workspace, newest first unless they are sorted.
#[utoipa::path(get, path = "/v1/endpoints", operation_id = "listEndpoints", tag = "endpoints",
    params(("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "default: 20"),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the page before"),
        ("state" = Option<String>, Query), ("model" = Option<String>, Query),
        ("label" = Option<Vec<String>>, Query, description = "`key=value`, repeatable: all of them"),
        ("search" = Option<String>, Query, max_length = 100, description = "a part of the name or of the model"),
        ("sort" = Option<String>, Query, description = "`name`, `state`, `model`, `committedGpus`, `lastRequestAt` or \
            `createdAt`; with `-` before it, in descending order"),
        ("count" = Option<bool>, Query, description = "`true`: the response has `total`")),
    responses((status = 200, body = EndpointList)))]
pub(super) async fn list(request: ReadRequest) -> Result<Json<EndpointList>, ProblemError> {
    let before = request.cursor(EndpointId::parse)?;
    let limit = request.limit()?;
    let state = request.parsed("state", domain::endpoint::State::parse, "is not a state of endpoints")?;
    let model = request.parsed("model", |text| ModelId::parse(text).ok(), "must be <provider>/<model-name>")?;
    let labels = labels_of(&request)?;
    let search = request.parsed("search", search_text, "must be a text of at most 100 characters")?.unwrap_or_default();
    let order = request.parsed("sort", Order::parse, "is not what endpoints are sorted by")?;
    let counts = request.parsed("count", |text| text.parse().ok(), "must be true or false")?.unwrap_or(false);
    let before = before.as_ref().map(|(_, id)| id);
    let filter = Filter { state, model: model.as_ref(), labels: &labels, search: &search, order, before };
    let mut found = endpoints::list(request.store(), request.scope(), filter, limit + 1).await?;
    let total = if counts { Some(endpoints::count(request.store(), request.scope(), filter).await?) } else { None };
    let next = cursor::next(&mut found, limit, |last| (last.created_at, last.id.as_str()));
    Ok(Json(EndpointList::new(found, next, total)))
}

/// PostgreSQL rejects zero bytes in texts.
fn search_text(text: &str) -> Option<String> {
    (text.chars().count() <= MAX_SEARCH && !text.contains('\0')).then(|| text.to_owned())
}

fn labels_of(request: &ReadRequest) -> Result<Vec<(String, String)>, FieldError> {
    let mut all = Vec::new();
    for text in request.all("label").filter(|text| !text.is_empty()) {
        let bad = || FieldError::new("label", FieldErrorCode::InvalidFormat, "must be key=value");
        let (key, value) = text.split_once('=').ok_or_else(bad)?;
        let (key, value) = (key.to_owned(), value.to_owned());
        labels::check(&LabelsPatch::from([(key.clone(), Some(value.clone()))])).map_err(|_| bad())?;
        all.push((key, value));
    }
    Ok(all)
}

/// One endpoint, by name or id.
#[utoipa::path(get, path = "/v1/endpoints/{endpoint}", operation_id = "getEndpoint", tag = "endpoints",
    responses((status = 200, description = "`ETag` is its generation", body = EndpointView)))]
pub(super) async fn show(request: ReadRequest, path: EndpointPath) -> Result<Response, ProblemError> {
    let found = endpoints::show(request.store(), request.scope(), &path.choice()?).await?;
    let tag = [(header::ETAG, found.generation.to_string())];
    Ok((tag, Json(EndpointView::from(found))).into_response())
}

/// Change how an endpoint scales, and its labels.
#[utoipa::path(patch, path = "/v1/endpoints/{endpoint}", operation_id = "changeEndpoint", tag = "endpoints",
    request_body = ChangeRequest,
    params(("If-Match" = Option<String>, Header, description = "the `ETag` that was read"),
        ("Idempotency-Key" = Option<String>, Header, max_length = 255)),
    responses((status = 200, body = EndpointView)))]
pub(super) async fn change(request: CommandRequest, path: EndpointPath) -> Result<Response, ProblemError> {
    let change = Change::try_from(request.json::<ChangeRequest>()?)?;
    request.only_params(&[])?;
    let if_match = if_match(&request.headers);
    let choice = path.choice()?;
    command_response(endpoints::rescale(request.command(), &choice, &change, if_match.as_ref()).await?)
}

/// Several headers count as one with commas. A header that is not text matches nothing.
fn if_match(headers: &HeaderMap) -> Option<IfMatch> {
    let mut all = headers.get_all(header::IF_MATCH).iter().peekable();
    all.peek()?;
    let texts: Vec<&str> = all.map(|value| value.to_str().unwrap_or("")).collect();
    Some(IfMatch::parse(&texts.join(",")))
}

/// Delete an endpoint: its commitment is released at once, its name when its last replica has ended.
#[utoipa::path(delete, path = "/v1/endpoints/{endpoint}", operation_id = "deleteEndpoint", tag = "endpoints",
    params(("Idempotency-Key" = Option<String>, Header, max_length = 255)),
    responses((status = 202, body = EndpointView)))]
pub(super) async fn delete(request: CommandRequest, path: EndpointPath) -> Result<Response, ProblemError> {
    request.only_params(&[])?;
    command_response(endpoints::delete(request.command(), &path.choice()?).await?)
}

/// Stop an endpoint and release its commitment.
#[utoipa::path(post, path = "/v1/endpoints/{endpoint}/suspend", operation_id = "suspendEndpoint", tag = "endpoints",
    params(("Idempotency-Key" = Option<String>, Header, max_length = 255)),
    responses((status = 200, body = EndpointView)))]
pub(super) async fn suspend(request: CommandRequest, path: EndpointPath) -> Result<Response, ProblemError> {
    request.json_or_empty::<SuspendRequest>()?.check()?;
    request.only_params(&[])?;
    command_response(endpoints::suspend(request.command(), &path.choice()?).await?)
}

/// Start a suspended or failed endpoint, optionally with another scaling.
#[utoipa::path(post, path = "/v1/endpoints/{endpoint}/resume", operation_id = "resumeEndpoint", tag = "endpoints",
    request_body = Option<ScalingMembers>,
    params(("Idempotency-Key" = Option<String>, Header, max_length = 255)),
    responses((status = 200, body = EndpointView)))]
pub(super) async fn resume(request: CommandRequest, path: EndpointPath) -> Result<Response, ProblemError> {
    let scaling = ScalingPatch::try_from(request.json_or_empty::<ResumeRequest>()?)?;
    request.only_params(&[])?;
    let choice = path.choice()?;
    command_response(endpoints::resume(request.command(), &choice, &scaling).await?)
}

/// The response of a command, now or replayed.
fn command_response(command: CommandResponse) -> Result<Response, ProblemError> {
    let record: EncodedRecord =
        serde_json::from_str(&command.body).map_err(|error| EndpointError::Internal { cause: Box::new(error) })?;
    let mut response = json(command.body);
    let headers = response.headers_mut();
    let tag = Generation(record.generation).to_string();
    headers.insert(header::ETAG, HeaderValue::try_from(tag).expect("a generation is a number"));
    if command.replayed {
        headers.insert(IDEMPOTENT_REPLAYED, HeaderValue::from_static("true"));
    }
    *response.status_mut() = match command.outcome {
        Outcome::Created => {
            let location = HeaderValue::try_from(format!("/v1/endpoints/{}", record.name));
            headers.insert(header::LOCATION, location.expect("names are ASCII"));
            StatusCode::CREATED
        }
        Outcome::Done => StatusCode::OK,
        Outcome::Accepted => StatusCode::ACCEPTED,
    };
    Ok(response)
}

fn json(body: String) -> Response {
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}
