//! `/v1/endpoints` itself: create, list, show, change, suspend, resume, delete.

use super::Desk;
use super::ask::{Ask, List, Reply};
use super::cursor::Of;
use super::describe::{Change, EndpointList, EndpointRecord, NewEndpoint, Scaling};
use super::error::Refused;
use control::endpoints::{self, EndpointRef, RunMode};
use domain::endpoint::labels::{self, LabelsPatch};
use domain::endpoint::{FieldError, FieldErrorCode, IfMatch, State, request};
use domain::{EndpointId, ModelId};
use http::header;
use store::endpoints::Filter;

/// Create an endpoint.
#[utoipa::path(post, path = "/v1/endpoints", operation_id = "createEndpoint", tag = "endpoints",
    request_body = NewEndpoint,
    params(("dryRun" = Option<bool>, Query, description = "`true`: make every check, change nothing"),
        ("Idempotency-Key" = Option<String>, Header, max_length = 255)),
    responses((status = 200, description = "what a dry run would have created", body = EndpointRecord),
        (status = 201, description = "it is on its way; `Location` and `ETag` are set", body = EndpointRecord)))]
pub(super) async fn create(desk: &Desk, ask: &Ask) -> Result<Reply, Refused> {
    let new = request::NewEndpoint::read(&ask.json()?)?;
    ask.only_params(&["dryRun"])?;
    let run = match ask.params("dryRun").next() {
        None | Some("false") => RunMode::Real,
        Some("true") => RunMode::Dry,
        Some(_) => return Err(FieldError::new("dryRun", FieldErrorCode::InvalidFormat, "must be true or false").into()),
    };
    let catalogue = desk.catalogue();
    let answer = endpoints::create(desk.office(&catalogue), ask.call(), &new, run).await?;
    Ok(match run {
        RunMode::Real => Reply::of(answer),
        RunMode::Dry => Reply::of_dry_run(answer),
    })
}

/// The endpoints of the workspace, newest first.
#[utoipa::path(get, path = "/v1/endpoints", operation_id = "listEndpoints", tag = "endpoints",
    params(("limit" = Option<u32>, Query, minimum = 1, maximum = 100, description = "20 unless said"),
        ("cursor" = Option<String>, Query, description = "`nextCursor` of the page before"),
        ("state" = Option<String>, Query), ("model" = Option<String>, Query),
        ("label" = Option<Vec<String>>, Query, description = "`key=value`, repeatable: all of them")),
    responses((status = 200, body = EndpointList)))]
pub(super) async fn list(desk: &Desk, ask: &Ask) -> Result<Reply, Refused> {
    let cursor = ask.cursor(&desk.cursors, Of::Endpoints)?;
    let limit = ask.limit()?;
    let state = ask.word("state", State::parse, "is not a state of endpoints")?;
    let model = ask.word("model", |text| ModelId::parse(text).ok(), "must be <provider>/<model-name>")?;
    let labels = labels_of(ask)?;
    let before = cursor.map(|(at, id)| EndpointId::parse(&id).map(|id| (at, id))).transpose();
    let before =
        before.map_err(|_| FieldError::new("cursor", FieldErrorCode::InvalidCursor, "is not a cursor of this list"))?;
    let before = before.as_ref().map(|(at, id)| (*at, id));
    let filter = Filter { state, model: model.as_ref(), labels: &labels, before };
    let found = endpoints::list(&desk.people.store, ask.scope(), filter, limit + 1).await?;
    let workspace = &ask.caller.workspace;
    let page = List::page(found, limit, |last| {
        desk.cursors.seal(Of::Endpoints, workspace, last.created_at, last.id.as_str())
    })?;
    Ok(Reply::json(&page)?)
}

fn labels_of(ask: &Ask) -> Result<Vec<(String, String)>, FieldError> {
    let mut all = Vec::new();
    for text in ask.params("label").filter(|text| !text.is_empty()) {
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
    responses((status = 200, description = "`ETag` is its generation", body = EndpointRecord)))]
pub(super) async fn show(desk: &Desk, ask: &Ask, which: &str) -> Result<Reply, Refused> {
    let found = endpoints::show(&desk.people.store, ask.scope(), &EndpointRef::parse(which)?).await?;
    Ok(Reply::json(&found)?.with(header::ETAG, found.generation.to_string()))
}

/// Change how an endpoint scales, and its labels.
#[utoipa::path(patch, path = "/v1/endpoints/{endpoint}", operation_id = "changeEndpoint", tag = "endpoints",
    request_body = Change,
    params(("If-Match" = Option<String>, Header, description = "the `ETag` that was read"),
        ("Idempotency-Key" = Option<String>, Header, max_length = 255)),
    responses((status = 200, body = EndpointRecord)))]
pub(super) async fn change(desk: &Desk, ask: &Ask, which: &str) -> Result<Reply, Refused> {
    let change = request::Change::read(&ask.json()?)?;
    ask.only_params(&[])?;
    let if_match = if_match(ask);
    let catalogue = desk.catalogue();
    let choice = EndpointRef::parse(which)?;
    let answer = endpoints::rescale(desk.office(&catalogue), ask.call(), &choice, &change, if_match.as_ref()).await?;
    Ok(Reply::of(answer))
}

/// Several headers are one with commas; what is no text matches nothing.
fn if_match(ask: &Ask) -> Option<IfMatch> {
    let mut all = ask.headers.get_all(header::IF_MATCH).iter().peekable();
    all.peek()?;
    let texts: Vec<&str> = all.map(|value| value.to_str().unwrap_or("")).collect();
    Some(IfMatch::parse(&texts.join(",")))
}

/// Delete an endpoint: its commitment is free at once, its name when its last replica is gone.
#[utoipa::path(delete, path = "/v1/endpoints/{endpoint}", operation_id = "deleteEndpoint", tag = "endpoints",
    params(("Idempotency-Key" = Option<String>, Header, max_length = 255)),
    responses((status = 202, body = EndpointRecord)))]
pub(super) async fn delete(desk: &Desk, ask: &Ask, which: &str) -> Result<Reply, Refused> {
    ask.only_params(&[])?;
    let catalogue = desk.catalogue();
    Ok(Reply::of(endpoints::delete(desk.office(&catalogue), ask.call(), &EndpointRef::parse(which)?).await?))
}

/// Stop an endpoint and free what it commits.
#[utoipa::path(post, path = "/v1/endpoints/{endpoint}/suspend", operation_id = "suspendEndpoint", tag = "endpoints",
    params(("Idempotency-Key" = Option<String>, Header, max_length = 255)),
    responses((status = 200, body = EndpointRecord)))]
pub(super) async fn suspend(desk: &Desk, ask: &Ask, which: &str) -> Result<Reply, Refused> {
    let body = ask.json_or_nothing()?;
    let members = body
        .as_object()
        .ok_or_else(|| FieldError::new("body", FieldErrorCode::MalformedJson, "must be a JSON object, or nothing"))?;
    if let Some(field) = members.keys().next() {
        let field: String = field.chars().take(64).collect();
        return Err(FieldError::new(field, FieldErrorCode::UnknownField, "is not a field of this request").into());
    }
    ask.only_params(&[])?;
    let catalogue = desk.catalogue();
    Ok(Reply::of(endpoints::suspend(desk.office(&catalogue), ask.call(), &EndpointRef::parse(which)?).await?))
}

/// Start a suspended or failed endpoint, perhaps smaller than it was.
#[utoipa::path(post, path = "/v1/endpoints/{endpoint}/resume", operation_id = "resumeEndpoint", tag = "endpoints",
    request_body = Option<Scaling>,
    params(("Idempotency-Key" = Option<String>, Header, max_length = 255)),
    responses((status = 200, body = EndpointRecord)))]
pub(super) async fn resume(desk: &Desk, ask: &Ask, which: &str) -> Result<Reply, Refused> {
    let scaling = request::read_resume(&ask.json_or_nothing()?)?;
    ask.only_params(&[])?;
    let catalogue = desk.catalogue();
    let choice = EndpointRef::parse(which)?;
    Ok(Reply::of(endpoints::resume(desk.office(&catalogue), ask.call(), &choice, &scaling).await?))
}
