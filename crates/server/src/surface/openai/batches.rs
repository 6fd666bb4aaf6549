//! Batches: `/v1/batches`.

use super::files;
use crate::surface::EdgeResponse;
use crate::surface::idempotency::fingerprint;
use crate::surface::inference::{Exchange, InferenceError, idempotency_key, on_store, query_pairs, send_view};
use control::Command;
use control::batches::{BatchError, BatchStorage, NewBatch};
use dataplane::CallError;
use domain::batches::{
    BatchEndpoint, COMPLETION_WINDOW, EXPIRY_SECS, MAX_METADATA_KEY, MAX_METADATA_PAIRS, MAX_METADATA_VALUE,
    OutputExpiry,
};
use domain::{BatchId, Caller};
use edge::request_body::WholeBody;
use node::clock;
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::sync::Arc;
use store::batches::BatchQuery;
use utoipa::ToSchema;
use view::BatchView;

const LIMIT_RANGE: RangeInclusive<u32> = 1..=100;
const DEFAULT_LIMIT: u32 = 20;
/// The most characters of an id that an error repeats.
const SHOWN_ID_LEN: usize = 100;

#[derive(Serialize, ToSchema)]
pub(super) struct BatchList {
    /// `list`
    object: &'static str,
    data: Vec<BatchView>,
    first_id: Option<String>,
    last_id: Option<String>,
    has_more: bool,
}

/// Create a batch of calls from a file of lines.
#[utoipa::path(post, path = "/v1/batches", operation_id = "createBatch", tag = "inference",
    request_body = ref("#/components/schemas/BatchRequest"),
    params(("Idempotency-Key" = Option<String>, Header, description = "the same key and body return the same batch")),
    responses((status = 200, body = BatchView)))]
pub(super) async fn create(exchange: &mut Exchange<'_>, caller: Arc<Caller>) -> Result<EdgeResponse, InferenceError> {
    let key = idempotency_key(exchange)?;
    let WholeBody { bytes, memory: _memory } = exchange.read_body(&caller).await?;
    let idempotency = key.map(|key| (key, fingerprint("POST /v1/batches", &bytes)));
    let new = NewBatch { idempotency, ..parse(&bytes)? };
    let author = exchange.author(&caller);
    let create = |storage: BatchStorage, caller: Arc<Caller>| async move {
        let command = Command { store: storage.store(), author: &author, now: clock::now() };
        storage.create(command, &caller, new).await
    };
    let batch = on_store(exchange, &caller, create).await?;
    Ok(send_view(exchange, &BatchView::from(batch)))
}

/// List batches, the newest first.
#[utoipa::path(get, path = "/v1/batches", operation_id = "listBatches", tag = "inference",
    params(("limit" = Option<u32>, Query, description = "1 to 100; default: 20", minimum = 1, maximum = 100),
        ("after" = Option<String>, Query, description = "the id of the batch before the page")),
    responses((status = 200, body = BatchList)))]
pub(super) async fn list(exchange: &mut Exchange<'_>, caller: Arc<Caller>) -> Result<EdgeResponse, InferenceError> {
    let (limit, after) = list_query(exchange.uri.query())?;
    let find = |storage: BatchStorage, caller: Arc<Caller>| async move {
        let query = BatchQuery { of_messages: Some(false), after: after.as_ref(), before: None, limit };
        storage.list(&caller.workspace, query).await
    };
    let page = on_store(exchange, &caller, find).await?;
    let id = |batch: Option<&domain::Batch>| batch.map(|batch| batch.id.to_string());
    let (first_id, last_id) = (id(page.batches.first()), id(page.batches.last()));
    let data = page.batches.into_iter().map(BatchView::from).collect();
    Ok(send_view(exchange, &BatchList { object: "list", data, first_id, last_id, has_more: page.has_more }))
}

/// Get a batch.
#[utoipa::path(get, path = "/v1/batches/{id}", operation_id = "getBatch", tag = "inference",
    responses((status = 200, body = BatchView)))]
pub(super) async fn show(
    exchange: &mut Exchange<'_>,
    caller: Arc<Caller>,
    id: &str,
) -> Result<EdgeResponse, InferenceError> {
    let wanted = parse_id(id);
    let find = |storage: BatchStorage, caller: Arc<Caller>| async move {
        storage.find_of_files(&caller.workspace, &wanted?).await
    };
    let batch = on_store(exchange, &caller, find).await?;
    Ok(send_view(exchange, &BatchView::from(batch)))
}

/// Cancel a batch. Lines that have ended keep their results.
#[utoipa::path(post, path = "/v1/batches/{id}/cancel", operation_id = "cancelBatch", tag = "inference",
    responses((status = 200, body = BatchView)))]
pub(super) async fn cancel(
    exchange: &mut Exchange<'_>,
    caller: Arc<Caller>,
    id: &str,
) -> Result<EdgeResponse, InferenceError> {
    let (wanted, author) = (parse_id(id), exchange.author(&caller));
    let cancel = |storage: BatchStorage, caller: Arc<Caller>| async move {
        let batch = storage.find_of_files(&caller.workspace, &wanted?).await?;
        let command = Command { store: storage.store(), author: &author, now: clock::now() };
        storage.cancel(command, &caller.workspace, &batch.id).await
    };
    let batch = on_store(exchange, &caller, cancel).await?;
    Ok(send_view(exchange, &BatchView::from(batch)))
}

fn parse_id(id: &str) -> Result<BatchId, BatchError> {
    BatchId::parse(id).map_err(|_| BatchError::Missing { noun: "batch", id: id.chars().take(SHOWN_ID_LEN).collect() })
}

/// Parameters that are not known are ignored.
fn list_query(query: Option<&str>) -> Result<(u32, Option<BatchId>), CallError> {
    let (mut limit, mut after) = (DEFAULT_LIMIT, None);
    for (name, value) in query_pairs(query) {
        match name.as_str() {
            "limit" => {
                let wanted = value.parse().ok().filter(|limit| LIMIT_RANGE.contains(limit));
                limit = wanted.ok_or_else(|| invalid("limit", "must be a whole number from 1 to 100"))?;
            }
            "after" => after = Some(BatchId::parse(&value).map_err(|_| invalid("after", "must be the id of a batch"))?),
            _ => {}
        }
    }
    Ok((limit, after))
}

/// Reads the request, without its idempotency key.
fn parse(body: &[u8]) -> Result<NewBatch, InferenceError> {
    let value: Value = serde_json::from_slice(body)
        .map_err(|error| CallError::Unreadable(format!("the body is not JSON: {error}")))?;
    let Value::Object(members) = value else {
        return Err(CallError::Unreadable("the body is not a JSON object".to_owned()).into());
    };
    let endpoint = BatchEndpoint::parse(text(&members, "endpoint")?).filter(|endpoint| !endpoint.is_messages());
    let endpoint = endpoint.ok_or_else(|| {
        let all = BatchEndpoint::ALL.into_iter().filter(|endpoint| !endpoint.is_messages());
        let names: Vec<String> = all.map(|endpoint| format!("`{endpoint}`")).collect();
        invalid("endpoint", &format!("must be one of {}", names.join(", ")))
    });
    let input_file = text(&members, "input_file_id")?;
    let window = text(&members, "completion_window")?;
    let endpoint = endpoint?;
    if window != COMPLETION_WINDOW {
        return Err(invalid("completion_window", &format!("must be `{COMPLETION_WINDOW}`")).into());
    }
    Ok(NewBatch {
        endpoint,
        output_expiry: output_expiry(&members)?,
        metadata: metadata(&members)?,
        input_file: files::parse(input_file).map_err(|error| match error {
            BatchError::Missing { id, .. } => BatchError::Missing { noun: "input file", id },
            other => other,
        })?,
        idempotency: None,
    })
}

fn text<'a>(members: &'a Map<String, Value>, name: &str) -> Result<&'a str, CallError> {
    match members.get(name) {
        None | Some(Value::Null) => Err(CallError::Missing { param: name.to_owned() }),
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(invalid(name, "must be a string")),
    }
}

fn output_expiry(members: &Map<String, Value>) -> Result<Option<OutputExpiry>, CallError> {
    let expiry = match members.get("output_expires_after") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(expiry)) => expiry,
        Some(_) => return Err(invalid("output_expires_after", "must be an object")),
    };
    match expiry.get("anchor") {
        None | Some(Value::Null) => return Err(CallError::Missing { param: "output_expires_after.anchor".to_owned() }),
        Some(Value::String(anchor)) if anchor == "created_at" => {}
        Some(_) => return Err(invalid("output_expires_after.anchor", "must be `created_at`")),
    }
    match expiry.get("seconds") {
        None | Some(Value::Null) => Err(CallError::Missing { param: "output_expires_after.seconds".to_owned() }),
        Some(seconds) => {
            let seconds = seconds.as_u64().filter(|seconds| EXPIRY_SECS.contains(seconds));
            let why = "must be a whole number from 3600 to 2592000";
            let seconds = seconds.ok_or_else(|| invalid("output_expires_after.seconds", why))?;
            Ok(Some(OutputExpiry { seconds }))
        }
    }
}

fn metadata(members: &Map<String, Value>) -> Result<Option<BTreeMap<String, String>>, CallError> {
    let pairs = match members.get("metadata") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::Object(pairs)) => pairs,
        Some(_) => return Err(invalid("metadata", "must be an object of strings")),
    };
    if pairs.len() > MAX_METADATA_PAIRS {
        return Err(invalid("metadata", &format!("must have at most {MAX_METADATA_PAIRS} pairs")));
    }
    let mut metadata = BTreeMap::new();
    for (key, value) in pairs {
        if key.chars().count() > MAX_METADATA_KEY {
            return Err(invalid("metadata", &format!("must have keys of at most {MAX_METADATA_KEY} characters")));
        }
        let value = value.as_str().filter(|value| value.chars().count() <= MAX_METADATA_VALUE);
        let why = format!("must be a string of at most {MAX_METADATA_VALUE} characters");
        let value = value.ok_or_else(|| invalid(&format!("metadata.{key}"), &why))?;
        metadata.insert(key.clone(), value.to_owned());
    }
    Ok(Some(metadata))
}

fn invalid(param: &str, why: &str) -> CallError {
    CallError::Invalid { param: param.to_owned(), why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request(change: impl FnOnce(&mut Value)) -> Vec<u8> {
        let mut request = json!({
            "input_file_id": "file-01h00000000000000000000000", "endpoint": "/v1/embeddings", "completion_window": "24h",
            "metadata": {"a": "b"}, "output_expires_after": {"anchor": "created_at", "seconds": 3600},
        });
        change(&mut request);
        request.to_string().into_bytes()
    }

    #[test]
    fn a_request_is_read_with_all_of_its_members() {
        let new = parse(&request(|_| {})).unwrap();
        assert_eq!(
            (new.endpoint, new.output_expiry),
            (BatchEndpoint::Embeddings, Some(OutputExpiry { seconds: 3600 }))
        );
        assert_eq!(new.metadata.unwrap()["a"], "b");
        let least = parse(&request(|all| (all["metadata"], all["output_expires_after"]) = (json!(null), json!(null))));
        assert_eq!(least.unwrap().metadata, None);
    }

    #[test]
    fn invalid_members_are_named() {
        let cases: [(&str, Value, &str, &str); 12] = [
            ("/input_file_id", json!(null), "missing_parameter", "input_file_id"),
            ("/input_file_id", json!("x"), "file_not_found", "input_file_id"),
            ("/endpoint", json!(null), "missing_parameter", "endpoint"),
            ("/endpoint", json!("/v1/models"), "invalid_value", "endpoint"),
            ("/endpoint", json!("/v1/messages"), "invalid_value", "endpoint"),
            ("/completion_window", json!("1h"), "invalid_value", "completion_window"),
            ("/metadata", json!("x"), "invalid_value", "metadata"),
            ("/metadata/a", json!(1), "invalid_value", "metadata.a"),
            ("/metadata/a", json!("x".repeat(513)), "invalid_value", "metadata.a"),
            ("/output_expires_after/anchor", json!("x"), "invalid_value", "output_expires_after.anchor"),
            ("/output_expires_after/seconds", json!(3599), "invalid_value", "output_expires_after.seconds"),
            ("/output_expires_after/seconds", json!(null), "missing_parameter", "output_expires_after.seconds"),
        ];
        for (pointer, value, code, param) in cases {
            let error = parse(&request(|all| *all.pointer_mut(pointer).unwrap() = value)).unwrap_err();
            assert_eq!((error.code(), error.param()), (code, param), "{pointer}");
        }
        assert_eq!(parse(b"[]").unwrap_err().code(), "invalid_payload");
    }
}
