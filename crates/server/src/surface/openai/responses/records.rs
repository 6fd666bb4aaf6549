//! Stored responses: `GET` and `DELETE /v1/responses/{id}`, and the items that a response was generated from.
//!
//! Reading counts against the requests per minute and costs nothing.

use super::super::ERROR_FORMAT;
use super::stored::command_error;
use crate::clock;
use crate::edge::{Body, EdgeResponse};
use crate::surface::error::SurfaceError;
use crate::surface::inference::{InferenceError, reject};
use crate::surface::{Surface, json};
use control::responses::{Item, ItemOrder, ItemPage, ItemQuery};
use control::{Author, CommandError};
use dataplane::CallError;
use dataplane::record::Outcome;
use dataplane::usage_tap::UsageTap;
use domain::Caller;
use domain::caller::Actor;
use http::{Response, StatusCode};
use percent_encoding::percent_decode_str;
use serde::Serialize;
use std::net::IpAddr;
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
    surface: &Surface,
    caller: &Arc<Caller>,
    id: &str,
    tap: UsageTap,
) -> EdgeResponse {
    let (storage, own, wanted) = (surface.context.responses.clone(), Arc::clone(caller), id.to_owned());
    let find = async move { storage.find(&own, &wanted, clock::now()).await };
    serve(surface, caller, id, tap, find, |response| json(StatusCode::OK, response)).await
}

/// Delete a stored response.
#[utoipa::path(delete, path = "/v1/responses/{id}", operation_id = "deleteResponse", tag = "inference",
    responses((status = 200, body = DeletedResponse<'static>)))]
pub(in crate::surface::openai) async fn delete(
    surface: &Surface,
    caller: &Arc<Caller>,
    client: IpAddr,
    id: &str,
    tap: UsageTap,
) -> EdgeResponse {
    let author = author(caller, client);
    let (storage, own, wanted) = (surface.context.responses.clone(), Arc::clone(caller), id.to_owned());
    let delete = async move {
        let deleted = storage.delete(&own, &author, &wanted, clock::now()).await;
        deleted.map(|is_deleted| is_deleted.then_some(()))
    };
    let deleted = |()| encoded(&DeletedResponse { id, object: "response", deleted: true });
    serve(surface, caller, id, tap, delete, deleted).await
}

/// List the items that a stored response was generated from: its conversation, and its own input.
#[utoipa::path(get, path = "/v1/responses/{id}/input_items", operation_id = "listResponseInputItems", tag = "inference",
    params(("limit" = Option<u64>, Query, description = "1 to 100; default: 20", minimum = 1, maximum = 100),
        ("order" = Option<String>, Query, description = "`asc` or `desc`, the default: newest first"),
        ("after" = Option<String>, Query, description = "the id of the item before the page")),
    responses((status = 200, body = ResponseItemList)))]
pub(in crate::surface::openai) async fn input_items(
    surface: &Surface,
    caller: &Arc<Caller>,
    id: &str,
    query: Option<&str>,
    tap: UsageTap,
) -> EdgeResponse {
    let query = match item_query(query.unwrap_or("")) {
        Ok(query) => query,
        Err(error) => return reject(surface, &ERROR_FORMAT, &error.into(), tap),
    };
    let (storage, own, wanted) = (surface.context.responses.clone(), Arc::clone(caller), id.to_owned());
    let list = async move { storage.input_items(&own, &wanted, &query, clock::now()).await };
    serve(surface, caller, id, tap, list, |page| encoded(&ResponseItemList::from(page))).await
}

/// Counts the request, does the work on the runtime of the store, and responds; `None` if there is no such response.
async fn serve<T: Send + 'static>(
    surface: &Surface,
    caller: &Arc<Caller>,
    id: &str,
    mut tap: UsageTap,
    work: impl Future<Output = Result<Option<T>, CommandError>> + Send + 'static,
    respond: impl FnOnce(T) -> Response<Body>,
) -> EdgeResponse {
    let rate_limits = match surface.dataplane.admit_free(caller, tap.request_id().clone()).await {
        Ok(rate_limits) => rate_limits,
        Err(error) => return reject(surface, &ERROR_FORMAT, &error.into(), tap),
    };
    let found: Result<T, InferenceError> = match surface.context.background.spawn(work).await {
        Ok(Ok(Some(found))) => Ok(found),
        Ok(Ok(None)) => Err(SurfaceError::ResponseNotFound { id: id.chars().take(SHOWN_ID_LEN).collect() }.into()),
        Ok(Err(error)) => Err(command_error(error)),
        Err(_panicked) => Err(SurfaceError::Internal.into()),
    };
    let response: EdgeResponse = match found {
        Ok(found) => {
            tap.settle(Outcome::Served);
            respond(found).into()
        }
        Err(error) => reject(surface, &ERROR_FORMAT, &error, tap),
    };
    EdgeResponse { rate_limits: Some(rate_limits), ..response }
}

fn author(caller: &Caller, client: IpAddr) -> Author {
    let address = client.to_string();
    match &caller.actor {
        Actor::Key(id) => Author::Key { id: id.clone(), address },
        Actor::User(id) => Author::User { id: id.clone(), address },
    }
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

fn encoded(view: &impl Serialize) -> Response<Body> {
    json(StatusCode::OK, serde_json::to_vec(view).expect("views have only text keys"))
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
