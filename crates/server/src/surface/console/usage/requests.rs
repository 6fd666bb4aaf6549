//! `/api/workspaces/{id}/requests`: the request log.

use super::metrics::{SurfaceName, actor, one_of, surface};
use crate::surface::console::error::ConsoleError;
use crate::surface::console::export::{self, ExportSender};
use crate::surface::console::extract::query::{filter_text, non_empty, timestamp};
use crate::surface::console::extract::{List, PageRequest, Params, WorkspaceCaller, invalid_cursor, order};
use crate::surface_context::SurfaceContext;
use axum::Json;
use axum::response::{IntoResponse, Response};
use control::requests;
use domain::model_ref::dedicated_id;
use domain::{CallClass, EndUserId, RequestId, Span, Timestamp, WorkspaceId};
use serde::Deserialize;
use std::io;
use std::time::Duration;
use store::requests::{CallColumn, Filter, LoggedCall, SortedAfter, StatusFilter};
use store::{Cursor, Order, Store};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{IntoParams, PartialSchema, ToSchema};
use view::{RequestView, csv};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct RequestsQuery {
    /// Only calls to this model.
    #[param(required = false, nullable = false)]
    model: Option<String>,
    /// Only calls with this key, or of this user.
    #[param(required = false, nullable = false)]
    key: Option<String>,
    /// Only calls to the dedicated endpoint of this name.
    #[param(required = false, nullable = false)]
    endpoint: Option<String>,
    /// A status such as `429`, all of a kind such as `5xx`, or `failed`: rejected and broken calls. `4xx` leaves out calls
    /// that their clients cancelled.
    #[param(required = false, nullable = false, example = "5xx")]
    status: Option<String>,
    /// Only errors with this code.
    #[param(required = false, nullable = false)]
    code: Option<String>,
    /// Only calls through this API.
    #[param(required = false, nullable = false, inline, value_type = Option<SurfaceName>)]
    surface: Option<String>,
    /// Only calls of this class.
    #[param(required = false, nullable = false, inline, value_type = Option<ClassName>)]
    class: Option<String>,
    /// Only calls that named the end user with this id.
    #[serde(rename = "endUser")]
    #[param(required = false, nullable = false)]
    end_user: Option<String>,
    /// Only the call with this id, which its response has as `x-request-id`.
    #[param(required = false, nullable = false)]
    request: Option<String>,
    /// Only calls that took at least this many milliseconds.
    #[serde(rename = "minDurationMillis")]
    #[param(required = false, nullable = false, value_type = Option<u64>)]
    min_duration_millis: Option<String>,
    /// From this time on.
    #[param(required = false, nullable = false, format = DateTime)]
    from: Option<String>,
    /// Before this time.
    #[param(required = false, nullable = false, format = DateTime)]
    to: Option<String>,
    /// `at`, `duration`, `tokens` (of prompt and completion) or `cost`; with `-` before it, in descending order. Default: `-at`,
    /// the newest first. Sorted by anything but the time, the span has at most 200,000 calls.
    #[param(required = false, nullable = false, example = "-duration")]
    sort: Option<String>,
    /// `csv` or `jsonl`: all that match, newest first, at most 1,000,000.
    #[param(required = false, nullable = false, inline, value_type = Option<RequestsFormat>)]
    format: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ToSchema)]
#[schema(rename_all = "lowercase")]
enum RequestsFormat {
    Json,
    Csv,
    Jsonl,
}

/// The schema of classes, from the classes that there are.
enum ClassName {}

impl PartialSchema for ClassName {
    fn schema() -> RefOr<Schema> {
        one_of(CallClass::ALL.map(CallClass::as_str))
    }
}

impl ToSchema for ClassName {}

fn filter(workspace: WorkspaceId, query: &RequestsQuery) -> Result<Filter, ConsoleError> {
    let (from, to) = (timestamp("from", &query.from)?, timestamp("to", &query.to)?);
    let span = Span { from: from.unwrap_or_default(), to: to.unwrap_or(Timestamp::from_millis(i64::MAX)) };
    if span.from >= span.to {
        return Err(ConsoleError::invalid("to", "`to` is not after `from`"));
    }
    let model = match (filter_text("model", &query.model)?, filter_text("endpoint", &query.endpoint)?) {
        (Some(_), Some(_)) => return Err(ConsoleError::invalid("endpoint", "name either a model or an endpoint")),
        (model, None) => model,
        (None, Some(endpoint)) => Some(dedicated_id(&endpoint)),
    };
    let request = non_empty(&query.request).map(RequestId::parse).transpose();
    Ok(Filter {
        workspace,
        span,
        model,
        actor: actor(&query.key)?,
        status: non_empty(&query.status).map(status_filter).transpose()?,
        code: filter_text("code", &query.code)?,
        surface: surface(&query.surface)?,
        class: non_empty(&query.class).map(class).transpose()?,
        end_user: non_empty(&query.end_user).map(end_user).transpose()?,
        request: request.map_err(|_| ConsoleError::invalid("request", "not the id of a request"))?,
        min_duration: non_empty(&query.min_duration_millis).map(duration).transpose()?,
        before: None,
    })
}

fn class(text: &str) -> Result<CallClass, ConsoleError> {
    let known = || CallClass::ALL.map(CallClass::as_str).join(", ");
    CallClass::parse(text).ok_or_else(|| ConsoleError::invalid("class", &format!("a class is one of {}", known())))
}

fn end_user(text: &str) -> Result<EndUserId, ConsoleError> {
    EndUserId::parse(text).ok_or_else(|| ConsoleError::invalid("endUser", "not the id of an end user"))
}

fn duration(text: &str) -> Result<Duration, ConsoleError> {
    let millis = text.parse().map_err(|_| ConsoleError::invalid("minDurationMillis", "not a whole number"))?;
    Ok(Duration::from_millis(millis))
}

fn status_filter(text: &str) -> Result<StatusFilter, ConsoleError> {
    let invalid =
        || ConsoleError::invalid("status", "a status is a number such as 429, a class such as 5xx, or `failed`");
    if text == "failed" {
        return Ok(StatusFilter::Failed);
    }
    if let Some(hundred) = text.strip_suffix("xx") {
        let hundred = hundred.parse().ok().filter(|hundred| (1..=5).contains(hundred));
        return hundred.map(StatusFilter::Class).ok_or_else(invalid);
    }
    let status = text.parse().ok().filter(|status| (100..=599).contains(status));
    status.map(StatusFilter::Exactly).ok_or_else(invalid)
}

fn format(text: &Option<String>) -> Result<RequestsFormat, ConsoleError> {
    match non_empty(text) {
        None | Some("json") => Ok(RequestsFormat::Json),
        Some("csv") => Ok(RequestsFormat::Csv),
        Some("jsonl") => Ok(RequestsFormat::Jsonl),
        Some(_) => Err(ConsoleError::invalid("format", "a format is json, csv or jsonl")),
    }
}

/// Such as `1767225600000-req_01k…`. The id alone is not enough: ids of lines of a batch have the time of the batch.
fn cursor(last: &LoggedCall) -> String {
    format!("{}-{}", last.started_at().millis(), last.request())
}

fn read_cursor(text: &str) -> Result<(Timestamp, RequestId), ConsoleError> {
    let read = || {
        let (millis, request) = text.split_once('-')?;
        Some((Timestamp::from_millis(millis.parse().ok()?), RequestId::parse(request).ok()?))
    };
    read().ok_or_else(invalid_cursor)
}

const NEWEST_FIRST: Order<CallColumn> = Order { by: CallColumn::StartedAt, descending: true };

/// A page in another order than newest first. Its cursor also has the value that the last call was sorted by.
async fn sorted_page(
    store: &Store,
    filter: &Filter,
    order: Order<CallColumn>,
    page: &PageRequest,
) -> Result<List<RequestView>, ConsoleError> {
    let mut after = None;
    if let Some(text) = page.cursor() {
        let (started_at, request) = read_cursor(text)?;
        let value = page.sorted_number().ok_or_else(invalid_cursor)?;
        after = Some(SortedAfter { value, started_at, request });
    }
    let found = requests::list_sorted(store, filter, order, after.as_ref(), page.limit + 1).await?;
    let next = |last: &LoggedCall| {
        let value = order.by.value_of(last).to_string();
        Cursor { id: cursor(last), value: Some(value) }.to_string()
    };
    Ok(List::new(found, page, next, RequestView::from))
}

/// The calls of a workspace, newest first unless sorted otherwise. Prompts and responses are not stored.
#[utoipa::path(get, path = "/api/workspaces/{workspaceId}/requests", tag = "observability",
    params(RequestsQuery, PageRequest),
    responses((status = 200, content((List<RequestView> = "application/json"), (String = "text/csv"),
        (String = "application/x-ndjson")))))]
pub(crate) async fn list(
    caller: WorkspaceCaller,
    page: PageRequest,
    Params(query): Params<RequestsQuery>,
) -> Result<Response, ConsoleError> {
    let store = caller.store();
    let mut filter = filter(caller.workspace.id.clone(), &query)?;
    let format = format(&query.format)?;
    let sorted = order::<CallColumn>(&query.sort)?.filter(|order| *order != NEWEST_FIRST);
    match format {
        RequestsFormat::Json => {
            if let Some(order) = sorted {
                return Ok(Json(sorted_page(store, &filter, order, &page).await?).into_response());
            }
            filter.before = page.cursor().map(read_cursor).transpose()?;
            let found = requests::list(store, &filter, page.limit + 1).await?;
            Ok(Json(List::new(found, &page, cursor, RequestView::from)).into_response())
        }
        RequestsFormat::Csv | RequestsFormat::Jsonl if sorted.is_some() => {
            Err(ConsoleError::invalid("sort", "an export has the newest calls first"))
        }
        RequestsFormat::Csv | RequestsFormat::Jsonl => {
            requests::check_export(store, &filter).await?;
            Ok(export(&caller.context, filter, format))
        }
    }
}

fn export(context: &SurfaceContext, filter: Filter, format: RequestsFormat) -> Response {
    let (media_type, name) = match format {
        RequestsFormat::Csv => ("text/csv; charset=utf-8", "requests.csv"),
        RequestsFormat::Json | RequestsFormat::Jsonl => ("application/x-ndjson", "requests.jsonl"),
    };
    let store = context.store.clone();
    export::response(&context.exports, media_type, name, move |sender| async move {
        send_all(&store, filter, format, &sender).await
    })
}

async fn send_all(store: &Store, mut filter: Filter, format: RequestsFormat, sender: &ExportSender) -> io::Result<()> {
    let mut lines = Vec::new();
    if format == RequestsFormat::Csv {
        lines.extend_from_slice(csv::line(RequestView::HEADER).as_bytes());
    }
    loop {
        let found = requests::list(store, &filter, export::PAGE).await;
        let found = found.map_err(io::Error::other)?;
        let is_last = found.len() < export::PAGE as usize;
        filter.before = found.last().map(|last| (last.started_at(), last.request().clone()));
        for call in found.into_iter().map(RequestView::from) {
            match format {
                RequestsFormat::Csv => lines.extend_from_slice(csv::line(call.cells()).as_bytes()),
                RequestsFormat::Json | RequestsFormat::Jsonl => {
                    serde_json::to_writer(&mut lines, &call)?;
                    lines.push(b'\n');
                }
            }
        }
        // The client may have disconnected.
        if !sender.send(std::mem::take(&mut lines)).await || is_last {
            return Ok(());
        }
    }
}
