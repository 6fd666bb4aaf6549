//! Message batches: `/v1/messages/batches`.

use crate::surface::EdgeResponse;
use crate::surface::idempotency::fingerprint;
use crate::surface::inference::{
    Exchange, InferenceError, idempotency_key, on_store, query_pairs, send_file, send_view,
};
use bytes::Bytes;
use control::Command;
use control::batches::{BatchError, BatchStorage, MessageRequest};
use dataplane::CallError;
use domain::batches::BatchStatus;
use domain::{Batch, BatchId, Caller, Timestamp};
use edge::request_body::WholeBody;
use node::clock;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::ops::RangeInclusive;
use std::sync::Arc;
use store::batches::BatchQuery;
use utoipa::ToSchema;

const LIMIT_RANGE: RangeInclusive<u32> = 1..=1_000;
const DEFAULT_LIMIT: u32 = 20;
/// The most characters of an id that an error repeats.
const SHOWN_ID_LEN: usize = 100;

#[derive(Serialize, ToSchema)]
pub(super) struct MessageBatch {
    id: String,
    /// `message_batch`
    r#type: &'static str,
    /// `in_progress`, `canceling` or `ended`.
    processing_status: &'static str,
    request_counts: MessageBatchCounts,
    #[schema(value_type = Option<String>, format = DateTime)]
    ended_at: Option<Timestamp>,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
    #[schema(value_type = Option<String>, format = DateTime)]
    cancel_initiated_at: Option<Timestamp>,
    /// Always null.
    archived_at: Option<String>,
    /// Null until the batch has ended.
    results_url: Option<String>,
}

#[derive(Serialize, ToSchema)]
struct MessageBatchCounts {
    processing: u64,
    succeeded: u64,
    errored: u64,
    canceled: u64,
    expired: u64,
}

#[derive(Serialize, ToSchema)]
pub(super) struct MessageBatchList {
    data: Vec<MessageBatch>,
    has_more: bool,
    first_id: Option<String>,
    last_id: Option<String>,
}

#[derive(Serialize, ToSchema)]
pub(super) struct DeletedMessageBatch {
    id: String,
    /// `message_batch_deleted`
    r#type: &'static str,
}

#[derive(Deserialize)]
struct CreateRequest<'a> {
    #[serde(borrow)]
    requests: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct RequestRow<'a> {
    #[serde(borrow)]
    custom_id: Option<&'a RawValue>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ParamsRow<'a> {
    #[serde(borrow)]
    model: Option<&'a RawValue>,
    #[serde(borrow)]
    stream: Option<&'a RawValue>,
}

impl MessageBatch {
    fn new(batch: &Batch, base_url: &str) -> Self {
        let id = batch.id.as_messages_id();
        let counts = &batch.counts;
        let has_ended = !batch.status.is_open();
        let results_url =
            (has_ended && batch.output_file.is_some()).then(|| format!("{base_url}/v1/messages/batches/{id}/results"));
        Self {
            id,
            r#type: "message_batch",
            processing_status: match (batch.status, batch.cancelling_at) {
                (BatchStatus::Cancelling, _) => "canceling",
                (BatchStatus::Finalizing, Some(_)) => "canceling",
                (status, _) if status.is_open() => "in_progress",
                _ => "ended",
            },
            request_counts: MessageBatchCounts {
                processing: counts.total.saturating_sub(counts.ended()),
                succeeded: counts.succeeded,
                errored: counts.failed,
                canceled: counts.cancelled,
                expired: counts.expired,
            },
            ended_at: batch.ended_at(),
            created_at: batch.created_at,
            expires_at: batch.expires_at,
            cancel_initiated_at: batch.cancelling_at,
            archived_at: None,
            results_url,
        }
    }
}

/// Create a batch of messages.
#[utoipa::path(post, path = "/v1/messages/batches", operation_id = "createMessageBatch", tag = "inference",
    request_body = ref("#/components/schemas/MessageBatchRequest"),
    params(("Idempotency-Key" = Option<String>, Header, description = "the same key and body return the same batch")),
    responses((status = 200, body = MessageBatch)))]
pub(super) async fn create(exchange: &mut Exchange<'_>, caller: Arc<Caller>) -> Result<EdgeResponse, InferenceError> {
    let key = idempotency_key(exchange)?;
    let WholeBody { bytes, memory } = exchange.read_body(&caller).await?;
    let read = |bytes: Bytes| {
        let requests = parse(&bytes)?;
        Ok::<_, CallError>((requests, key.map(|key| (key, fingerprint("POST /v1/messages/batches", &bytes)))))
    };
    let (requests, idempotency) = exchange.surface.body_bounds.parse(bytes, &memory, read).await?;
    let author = exchange.author(&caller);
    let create = |storage: BatchStorage, caller: Arc<Caller>| async move {
        let command = Command { store: storage.store(), author: &author, now: clock::now() };
        storage.create_messages(command, &caller, requests, idempotency).await
    };
    let batch = on_store(exchange, &caller, create).await?;
    drop(memory);
    Ok(send(exchange, &batch))
}

/// List message batches, the newest first.
#[utoipa::path(get, path = "/v1/messages/batches", operation_id = "listMessageBatches", tag = "inference",
    params(("limit" = Option<u32>, Query, description = "1 to 1000; default: 20", minimum = 1, maximum = 1_000),
        ("after_id" = Option<String>, Query, description = "the id of the batch before the page"),
        ("before_id" = Option<String>, Query, description = "the id of the batch after the page")),
    responses((status = 200, body = MessageBatchList)))]
pub(super) async fn list(exchange: &mut Exchange<'_>, caller: Arc<Caller>) -> Result<EdgeResponse, InferenceError> {
    let (limit, after, before) = list_query(exchange.uri.query())?;
    let find = |storage: BatchStorage, caller: Arc<Caller>| async move {
        let query = BatchQuery { of_messages: Some(true), after: after.as_ref(), before: before.as_ref(), limit };
        storage.list(&caller.workspace, query).await
    };
    let page = on_store(exchange, &caller, find).await?;
    let base_url = base_url(exchange);
    let data: Vec<_> = page.batches.iter().map(|batch| MessageBatch::new(batch, &base_url)).collect();
    let id = |batch: Option<&MessageBatch>| batch.map(|batch| batch.id.clone());
    let (first_id, last_id) = (id(data.first()), id(data.last()));
    Ok(send_view(exchange, &MessageBatchList { data, has_more: page.has_more, first_id, last_id }))
}

/// Get a message batch.
#[utoipa::path(get, path = "/v1/messages/batches/{id}", operation_id = "getMessageBatch", tag = "inference",
    responses((status = 200, body = MessageBatch)))]
pub(super) async fn show(
    exchange: &mut Exchange<'_>,
    caller: Arc<Caller>,
    id: &str,
) -> Result<EdgeResponse, InferenceError> {
    let batch = find(exchange, &caller, id).await?;
    Ok(send(exchange, &batch))
}

/// Get the results of a message batch that has ended, as JSON lines.
#[utoipa::path(get, path = "/v1/messages/batches/{id}/results", operation_id = "getMessageBatchResults", tag = "inference",
    responses((status = 200, description = "one result per line", body = String, content_type = "application/x-jsonl")))]
pub(super) async fn results(
    exchange: &mut Exchange<'_>,
    caller: Arc<Caller>,
    id: &str,
) -> Result<EdgeResponse, InferenceError> {
    let batch = find(exchange, &caller, id).await?;
    if batch.status.is_open() {
        return Err(BatchError::NotEnded.into());
    }
    let file = batch.output_file.ok_or_else(|| missing(id))?;
    let find = |storage: BatchStorage, caller: Arc<Caller>| async move {
        storage.file(&caller.workspace, &file, clock::now()).await
    };
    let file = on_store(exchange, &caller, find).await?;
    send_file(exchange, &caller, file.id, "application/x-jsonl").await
}

/// Cancel a message batch. Requests that have ended keep their results.
#[utoipa::path(post, path = "/v1/messages/batches/{id}/cancel", operation_id = "cancelMessageBatch", tag = "inference",
    responses((status = 200, body = MessageBatch)))]
pub(super) async fn cancel(
    exchange: &mut Exchange<'_>,
    caller: Arc<Caller>,
    id: &str,
) -> Result<EdgeResponse, InferenceError> {
    let (wanted, author) = (parse_id(id), exchange.author(&caller));
    let cancel = |storage: BatchStorage, caller: Arc<Caller>| async move {
        let batch = storage.find_of_messages(&caller.workspace, &wanted?).await?;
        let command = Command { store: storage.store(), author: &author, now: clock::now() };
        storage.cancel(command, &caller.workspace, &batch.id).await
    };
    let batch = on_store(exchange, &caller, cancel).await?;
    Ok(send(exchange, &batch))
}

/// Delete a message batch that has ended, with its results.
#[utoipa::path(delete, path = "/v1/messages/batches/{id}", operation_id = "deleteMessageBatch", tag = "inference",
    responses((status = 200, body = DeletedMessageBatch)))]
pub(super) async fn delete(
    exchange: &mut Exchange<'_>,
    caller: Arc<Caller>,
    id: &str,
) -> Result<EdgeResponse, InferenceError> {
    let (wanted, author) = (parse_id(id), exchange.author(&caller));
    let delete = |storage: BatchStorage, caller: Arc<Caller>| async move {
        let batch = storage.find_of_messages(&caller.workspace, &wanted?).await?;
        let command = Command { store: storage.store(), author: &author, now: clock::now() };
        storage.delete(command, &caller.workspace, &batch.id).await?;
        Ok(batch.id)
    };
    let id = on_store(exchange, &caller, delete).await?.as_messages_id();
    Ok(send_view(exchange, &DeletedMessageBatch { id, r#type: "message_batch_deleted" }))
}

async fn find(exchange: &mut Exchange<'_>, caller: &Arc<Caller>, id: &str) -> Result<Batch, InferenceError> {
    let wanted = parse_id(id);
    let find = |storage: BatchStorage, caller: Arc<Caller>| async move {
        storage.find_of_messages(&caller.workspace, &wanted?).await
    };
    on_store(exchange, caller, find).await
}

fn send(exchange: &mut Exchange<'_>, batch: &Batch) -> EdgeResponse {
    let view = MessageBatch::new(batch, &base_url(exchange));
    send_view(exchange, &view)
}

/// Where the client finds this gateway: `server.public_url`, or else the host that its request names. Clients follow the URL of
/// results with their key.
fn base_url(exchange: &Exchange<'_>) -> String {
    let context = &exchange.surface.context;
    match exchange.headers.text("host") {
        Some(host) if !context.has_public_url => {
            let scheme = if context.console_url.starts_with("https:") { "https" } else { "http" };
            format!("{scheme}://{host}")
        }
        _ => context.console_url.clone(),
    }
}

fn parse_id(id: &str) -> Result<BatchId, BatchError> {
    BatchId::parse_messages_id(id).ok_or_else(|| missing(id))
}

fn missing(id: &str) -> BatchError {
    BatchError::Missing { noun: "batch", id: id.chars().take(SHOWN_ID_LEN).collect() }
}

/// Parameters that are not known are ignored.
fn list_query(query: Option<&str>) -> Result<(u32, Option<BatchId>, Option<BatchId>), CallError> {
    let (mut limit, mut after, mut before) = (DEFAULT_LIMIT, None, None);
    for (name, value) in query_pairs(query) {
        let id = || {
            let id = BatchId::parse_messages_id(&value);
            id.map(Some).ok_or_else(|| invalid(&name, "must be the id of a message batch"))
        };
        match name.as_str() {
            "limit" => {
                let wanted = value.parse().ok().filter(|limit| LIMIT_RANGE.contains(limit));
                limit = wanted.ok_or_else(|| invalid("limit", "must be a whole number from 1 to 1000"))?;
            }
            "after_id" => after = id()?,
            "before_id" => before = id()?,
            _ => {}
        }
    }
    Ok((limit, after, before))
}

/// Reads the requests. What their models make of them is found out when they run.
fn parse(body: &[u8]) -> Result<Vec<MessageRequest>, CallError> {
    let unreadable = |error: serde_json::Error| CallError::Unreadable(format!("the body is not valid: {error}"));
    let CreateRequest { requests } = serde_json::from_slice(body).map_err(unreadable)?;
    let missing = |param: String| CallError::Missing { param };
    let requests = requests.filter(|requests| requests.get() != "null");
    let requests = requests.ok_or_else(|| missing("requests".to_owned()))?;
    let rows: Vec<&RawValue> =
        serde_json::from_str(requests.get()).map_err(|_| invalid("requests", "must be a list"))?;
    rows.into_iter().enumerate().map(|(index, row)| parse_request(index, row)).collect()
}

fn parse_request(index: usize, row: &RawValue) -> Result<MessageRequest, CallError> {
    let param = |member: &str| format!("requests.{index}.{member}");
    let missing = |member: &str| CallError::Missing { param: param(member) };
    let present = |value: Option<&'_ RawValue>| value.is_some_and(|value| value.get() != "null");
    let row: RequestRow<'_> =
        serde_json::from_str(row.get()).map_err(|_| invalid(&format!("requests.{index}"), "must be an object"))?;
    if !present(row.custom_id) {
        return Err(missing("custom_id"));
    }
    if !present(row.params) {
        return Err(missing("params"));
    }
    let custom_id = row.custom_id.map_or("", RawValue::get);
    let custom_id = serde_json::from_str(custom_id).map_err(|_| invalid(&param("custom_id"), "must be a string"))?;
    let params = row.params.map_or("", RawValue::get);
    let ParamsRow { model, stream } =
        serde_json::from_str(params).map_err(|_| invalid(&param("params"), "must be an object"))?;
    if !present(model) {
        return Err(missing("params.model"));
    }
    let model = serde_json::from_str(model.map_or("", RawValue::get))
        .map_err(|_| invalid(&param("params.model"), "must be a string"))?;
    if stream.is_some_and(|stream| !matches!(stream.get(), "false" | "null")) {
        return Err(invalid(&param("params.stream"), "must be left out: results cannot be streamed"));
    }
    Ok(MessageRequest { custom_id, params: params.as_bytes().to_vec(), model })
}

fn invalid(param: &str, why: &str) -> CallError {
    CallError::Invalid { param: param.to_owned(), why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_requests_are_named() {
        let good = r#"{"custom_id":"a","params":{"model":"m","max_tokens":1}}"#;
        let parse = |requests: &str| parse(format!(r#"{{"requests":[{good},{requests}]}}"#).as_bytes());
        let found = parse(good).unwrap();
        assert_eq!((found.len(), found[1].model.as_str()), (2, "m"));
        assert_eq!(found[0].params, br#"{"model":"m","max_tokens":1}"#);
        for (bad, code, param) in [
            ("1", "invalid_value", "requests.1"),
            (r#"{"params":{}}"#, "missing_parameter", "requests.1.custom_id"),
            (r#"{"custom_id":1,"params":{}}"#, "invalid_value", "requests.1.custom_id"),
            (r#"{"custom_id":"b"}"#, "missing_parameter", "requests.1.params"),
            (r#"{"custom_id":"b","params":[]}"#, "invalid_value", "requests.1.params"),
            (r#"{"custom_id":"b","params":{}}"#, "missing_parameter", "requests.1.params.model"),
            (r#"{"custom_id":"b","params":{"model":"m","stream":true}}"#, "invalid_value", "requests.1.params.stream"),
        ] {
            let error = parse(bad).unwrap_err();
            assert_eq!((error.code(), error.param()), (code, param), "{bad}");
        }
    }
}
