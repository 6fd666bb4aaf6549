//! Stored responses: `GET` and `DELETE /v1/responses/{id}`, and the items that a response was generated from.
//!
//! Reading counts against the requests per minute and costs nothing.

use super::error::StoredResponseError;
use super::stored::{check_model, finished, memory_of};
use crate::surface::inference::{Exchange, InferenceError};
use crate::surface::response_memory::{ContentGrant, ResponseGrant};
use crate::surface::{Body, EdgeResponse, Surface, json};
use control::Command;
use control::responses::{ConversationError, Item, ItemOrder, ItemPage, ItemQuery, ResponseStorage};
use dataplane::response_memory::BodyGrant;
use dataplane::{CallError, ResponseBody};
use domain::Caller;
use edge::memory_budget::MemoryGrant;
use edge::request_body::BodyBounds;
use http::StatusCode;
use node::clock;
use percent_encoding::percent_decode_str;
use serde::Serialize;
use std::ops::RangeInclusive;
use std::sync::Arc;
use utoipa::ToSchema;

const LIMIT_RANGE: RangeInclusive<usize> = 1..=100;
const DEFAULT_LIMIT: usize = 20;
/// The most characters of an id that an error repeats.
const SHOWN_ID_LEN: usize = 100;

#[derive(Serialize, ToSchema)]
#[schema(as = DeletedResponse)]
pub(in crate::surface::openai) struct DeletedResponse<'a> {
    id: &'a str,
    /// `response`
    object: &'static str,
    deleted: bool,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ResponseItemList)]
pub(in crate::surface::openai) struct ResponseItemList {
    /// `list`
    object: &'static str,
    #[schema(value_type = Vec<Object>)]
    data: Vec<Item>,
    first_id: Option<String>,
    last_id: Option<String>,
    has_more: bool,
}

impl From<ItemPage> for ResponseItemList {
    fn from(page: ItemPage) -> Self {
        let ItemPage { items, first_id, last_id, has_more } = page;
        Self { object: "list", data: items, first_id, last_id, has_more }
    }
}

/// Get a stored response.
#[utoipa::path(get, path = "/v1/responses/{id}", operation_id = "getResponse", tag = "inference",
    responses((status = 200, description = "OpenAI's response", content((Object = "application/json")))))]
pub(in crate::surface::openai) async fn show(
    exchange: &mut Exchange<'_>,
    caller: &Arc<Caller>,
    id: &str,
) -> Result<EdgeResponse, InferenceError> {
    let (surface, own, wanted) = (exchange.surface, Arc::clone(caller), id.to_owned());
    let (storage, bounds, mut memory) = reading(surface, caller);
    let find = async move {
        let mut content = ContentGrant { memory: &mut memory, bounds: &bounds };
        let found = storage.find(&own, &wanted, clock::now(), &mut content).await?;
        Ok::<_, ConversationError>(found.map(|response| StoredContent::new(response, memory)))
    };
    serve(exchange, caller, id, find, StoredContent::send).await
}

/// Delete a stored response.
#[utoipa::path(delete, path = "/v1/responses/{id}", operation_id = "deleteResponse", tag = "inference",
    responses((status = 200, body = DeletedResponse<'static>)))]
pub(in crate::surface::openai) async fn delete(
    exchange: &mut Exchange<'_>,
    caller: &Arc<Caller>,
    id: &str,
) -> Result<EdgeResponse, InferenceError> {
    let surface = exchange.surface;
    let author = exchange.author(caller);
    let (storage, own, wanted) = (surface.context.responses.clone(), Arc::clone(caller), id.to_owned());
    let delete = async move {
        let command = Command { store: storage.store(), author: &author, now: clock::now() };
        let is_deleted = storage.delete(command, &own, &wanted).await?;
        Ok::<_, ConversationError>(is_deleted.then_some(()))
    };
    let deleted = |(), exchange: &mut Exchange<'_>| {
        let body = encoded(&DeletedResponse { id, object: "response", deleted: true });
        exchange.serve(json(StatusCode::OK, body))
    };
    serve(exchange, caller, id, delete, deleted).await
}

/// List the items that a stored response was generated from: its conversation, and its own input.
#[utoipa::path(get, path = "/v1/responses/{id}/input_items", operation_id = "listResponseInputItems", tag = "inference",
    params(("limit" = Option<u64>, Query, description = "1 to 100; default: 20", minimum = 1, maximum = 100),
        ("order" = Option<String>, Query, description = "`asc` or `desc`, the default: newest first"),
        ("after" = Option<String>, Query, description = "the id of the item before the page")),
    responses((status = 200, body = ResponseItemList)))]
pub(in crate::surface::openai) async fn input_items(
    exchange: &mut Exchange<'_>,
    caller: &Arc<Caller>,
    id: &str,
) -> Result<EdgeResponse, InferenceError> {
    let query = item_query(exchange.uri.query().unwrap_or(""))?;
    let (surface, own, wanted) = (exchange.surface, Arc::clone(caller), id.to_owned());
    let (storage, bounds, mut memory) = reading(surface, caller);
    let list = async move {
        let mut content = ContentGrant { memory: &mut memory, bounds: &bounds };
        let page = storage.input_items(&own, &wanted, query, clock::now(), &mut content).await?;
        Ok::<_, ConversationError>(page.map(|page| StoredContent::new(encoded(&ResponseItemList::from(page)), memory)))
    };
    serve(exchange, caller, id, list, StoredContent::send).await
}

/// What reading the caller's content takes.
fn reading(surface: &Surface, caller: &Caller) -> (ResponseStorage, BodyBounds, MemoryGrant) {
    (surface.context.responses.clone(), surface.body_bounds.clone(), memory_of(surface, caller))
}

/// Stored content as JSON, with its memory, which is kept until it has been sent.
struct StoredContent {
    json: Vec<u8>,
    memory: MemoryGrant,
}

impl StoredContent {
    fn new(json: Vec<u8>, mut memory: MemoryGrant) -> Self {
        memory.shrink_to(json.len() as u64);
        Self { json, memory }
    }

    /// Sends it, which closes the record of the call.
    fn send(self, exchange: &mut Exchange<'_>) -> EdgeResponse {
        let memory: Box<dyn BodyGrant> = Box::new(ResponseGrant(self.memory));
        let tap = std::mem::take(&mut exchange.tap);
        let body = ResponseBody::Whole { bytes: Some(self.json.into()), tap, memory: Some(memory) };
        json(StatusCode::OK, Body::Relayed(body)).into()
    }
}

/// Counts the request, does the work on the runtime of the store, and responds; `None` if there is no such response.
async fn serve<T: Send + 'static>(
    exchange: &mut Exchange<'_>,
    caller: &Arc<Caller>,
    id: &str,
    work: impl Future<Output = Result<Option<T>, ConversationError>> + Send + 'static,
    respond: impl FnOnce(T, &mut Exchange<'_>) -> EdgeResponse,
) -> Result<EdgeResponse, InferenceError> {
    let surface = exchange.surface;
    let rate_limits = surface.dataplane.admit_free(caller, exchange.tap.request_id().clone()).await?;
    exchange.rate_limits = Some(rate_limits);
    check_model(surface, caller, id).await?;
    let found = finished(surface.context.background.spawn(work)).await?;
    let not_found = || StoredResponseError::NotFound { id: id.chars().take(SHOWN_ID_LEN).collect() };
    Ok(respond(found.ok_or_else(not_found)?, exchange))
}

/// Parameters that are not known are ignored.
fn item_query(query: &str) -> Result<ItemQuery, CallError> {
    let mut wanted = ItemQuery { limit: DEFAULT_LIMIT, order: ItemOrder::NewestFirst, after: None };
    let invalid = |param: &str, why: &str| CallError::Invalid { param: param.to_owned(), why: why.to_owned() };
    for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
        match name {
            "limit" => {
                let limit = value.parse::<usize>().ok().filter(|limit| LIMIT_RANGE.contains(limit));
                wanted.limit = limit.ok_or_else(|| invalid("limit", "must be a whole number from 1 to 100"))?;
            }
            "order" => {
                wanted.order = match value {
                    "asc" => ItemOrder::OldestFirst,
                    "desc" => ItemOrder::NewestFirst,
                    _ => return Err(invalid("order", "must be `asc` or `desc`")),
                };
            }
            "after" => wanted.after = Some(percent_decode_str(value).decode_utf8_lossy().into_owned()),
            _ => {}
        }
    }
    Ok(wanted)
}

fn encoded(view: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(view).expect("views have only text keys")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_of_a_list_has_defaults_and_bounds() {
        let newest = ItemQuery { limit: 20, order: ItemOrder::NewestFirst, after: None };
        assert_eq!(item_query("").unwrap(), newest);
        assert_eq!(item_query("include[]=x&before=y").unwrap(), newest);
        let asked = ItemQuery { limit: 100, order: ItemOrder::OldestFirst, after: Some("msg 1".into()) };
        assert_eq!(item_query("limit=100&order=asc&after=msg%201").unwrap(), asked);
        for (bad, param) in [("limit=0", "limit"), ("limit=101", "limit"), ("limit=x", "limit"), ("order=up", "order")]
        {
            assert_eq!(item_query(bad).unwrap_err().param(), param);
        }
    }
}
