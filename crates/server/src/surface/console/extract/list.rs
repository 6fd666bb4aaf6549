//! Lists: `{data, nextCursor}`, page by page.

use super::query::{filter_text, flag, non_empty};
use crate::surface::console::error::ConsoleError;
use axum::extract::{FromRequestParts, Query};
use http::request::Parts;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use store::{Cursor, Listing, Order, Page, SortBy, SortColumn, SortedRow};
use utoipa::{IntoParams, ToSchema};

const DEFAULT_LIMIT: u32 = 100;
const MAX_LIMIT: u32 = 500;
/// The longest cursor has an id and a name.
const MAX_CURSOR: usize = 640;
const MAX_ID: usize = 64;
const MAX_SEARCH: usize = 100;

/// A page of a list, and the cursor of the next one; null at the end.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct List<T> {
    data: Vec<T>,
    next_cursor: Option<String>,
    /// The number of records on all pages; only if the request has `count=true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    total: Option<u64>,
}

impl<T> List<T> {
    /// From one row more than the page holds, which shows whether there is a next page.
    pub(crate) fn new<R>(
        mut rows: Vec<R>,
        page: &PageRequest,
        cursor: impl Fn(&R) -> String,
        view: impl FnMut(R) -> T,
    ) -> Self {
        let limit = page.limit as usize;
        let next_cursor = (rows.len() > limit).then(|| rows.truncate(limit)).and_then(|()| rows.last().map(cursor));
        Self { data: rows.into_iter().map(view).collect(), next_cursor, total: None }
    }

    /// A list of one page.
    pub(crate) fn whole(data: Vec<T>) -> Self {
        Self { data, next_cursor: None, total: None }
    }

    pub(crate) fn with_total(self, total: Option<u64>) -> Self {
        Self { total, ..self }
    }
}

/// The query.
pub(crate) struct Params<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Params<T> {
    type Rejection = ConsoleError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ConsoleError> {
        let unreadable = |_| ConsoleError::InvalidPayload { field: None, why: "the query cannot be read".into() };
        Query::from_request_parts(parts, state).await.map(|Query(params)| Self(params)).map_err(unreadable)
    }
}

/// The page of a list.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct PageQuery {
    /// `nextCursor` of the page before.
    #[param(required = false, nullable = false, max_length = 640)]
    cursor: Option<String>,
    /// The size of the page.
    #[param(required = false, nullable = false, value_type = Option<u32>, minimum = 1, maximum = 500)]
    limit: Option<String>,
}

/// The page of a list, checked.
pub(crate) struct PageRequest {
    cursor: Cursor,
    pub(crate) limit: u32,
}

impl PageRequest {
    pub(crate) fn to_page(&self) -> Page<'_> {
        Page::after(&self.cursor.id, self.limit + 1)
    }

    /// The id before the page; `None` at the start.
    pub(crate) fn cursor(&self) -> Option<&str> {
        (!self.cursor.id.is_empty()).then_some(self.cursor.id.as_str())
    }

    /// The number that the row before the page was sorted by.
    pub(crate) fn sorted_number(&self) -> Option<i64> {
        self.cursor.value.as_ref()?.parse().ok()
    }
}

pub(crate) fn invalid_cursor() -> ConsoleError {
    ConsoleError::invalid("cursor", "not a cursor of this list")
}

impl IntoParams for PageRequest {
    fn into_params(
        parameter_in_provider: impl Fn() -> Option<utoipa::openapi::path::ParameterIn>,
    ) -> Vec<utoipa::openapi::path::Parameter> {
        PageQuery::into_params(parameter_in_provider)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for PageRequest {
    type Rejection = ConsoleError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ConsoleError> {
        let Params(query) = Params::<PageQuery>::from_request_parts(parts, state).await?;
        let text = query.cursor.unwrap_or_default();
        let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        let cursor = Cursor::parse(&text)
            .filter(|cursor| text.len() <= MAX_CURSOR && cursor.id.len() <= MAX_ID && cursor.id.bytes().all(is_valid))
            .ok_or_else(invalid_cursor)?;
        Ok(Self { cursor, limit: limit(&query.limit)?.unwrap_or(DEFAULT_LIMIT) })
    }
}

fn limit(text: &Option<String>) -> Result<Option<u32>, ConsoleError> {
    let Some(text) = non_empty(text) else { return Ok(None) };
    let limit = text.parse().ok().filter(|limit| (1..=MAX_LIMIT).contains(limit));
    limit.map(Some).ok_or_else(|| ConsoleError::invalid("limit", "a limit is a whole number from 1 to 500"))
}

/// The page of a list that is in memory, and that is sent whole unless a limit is given.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct WholeOrPage {
    /// `nextCursor` of the page before.
    #[param(required = false, nullable = false)]
    cursor: Option<String>,
    /// The size of the page; everything if absent.
    #[param(required = false, nullable = false, value_type = Option<u32>, minimum = 1, maximum = 500)]
    limit: Option<String>,
}

impl WholeOrPage {
    /// The page of `rows`, sorted by `key`: a value, and the id among equal ones. The row of the cursor may be gone.
    pub(crate) fn cut<T>(
        &self,
        rows: Vec<T>,
        descending: bool,
        key: impl Fn(&T) -> (String, String),
    ) -> Result<List<T>, ConsoleError> {
        let compare = |one: &(String, String), other: &(String, String)| {
            if descending { other.cmp(one) } else { one.cmp(other) }
        };
        let mut rows: Vec<_> = rows.into_iter().map(|row| (key(&row), row)).collect();
        rows.sort_unstable_by(|(one, _), (other, _)| compare(one, other));
        if let Some(text) = non_empty(&self.cursor) {
            let Cursor { id, value } = Cursor::parse(text).ok_or_else(invalid_cursor)?;
            let last = (value.unwrap_or_default(), id);
            rows.retain(|(key, _)| compare(key, &last).is_gt());
        }
        let page = PageRequest { cursor: Cursor::default(), limit: limit(&self.limit)?.unwrap_or(u32::MAX) };
        let cursor = |((value, id), _): &((String, String), T)| {
            Cursor { id: id.clone(), value: Some(value.clone()) }.to_string()
        };
        Ok(List::new(rows, &page, cursor, |(_, row)| row))
    }
}

/// What to find in a list, and in which order.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct SearchQuery {
    /// Only records that contain this text, in upper or lower case.
    #[param(required = false, nullable = false, max_length = 100)]
    search: Option<String>,
    #[param(required = false, nullable = false)]
    sort: Option<String>,
    /// Whether the response has `total`.
    #[param(required = false, nullable = false, value_type = Option<bool>)]
    count: Option<String>,
}

/// What to find in a list that is sorted by `C`, checked.
pub(crate) struct Search<C> {
    pub(crate) text: String,
    pub(crate) order: Option<Order<C>>,
    /// Whether all records are counted.
    pub(crate) count: bool,
}

impl<C: SortColumn> Search<C> {
    pub(crate) fn to_listing<'a>(&'a self, page: &'a PageRequest) -> Result<Listing<'a, C>, ConsoleError> {
        let after = match (self.order, &page.cursor.value) {
            (Some(order), Some(value)) => Some(order.by.expression().parse(value).ok_or_else(invalid_cursor)?),
            (None, _) | (_, None) => None,
        };
        Ok(Listing { page: page.to_page(), search: &self.text, order: self.order, after })
    }

    /// The cursor of the page after `row`.
    pub(crate) fn cursor(&self, row: &impl SortedRow<C>, id: &impl ToString) -> String {
        Cursor { id: id.to_string(), value: self.order.map(|order| row.sort_value(order.by)) }.to_string()
    }
}

impl<C: SortBy> Search<C> {
    /// The same search of the rows of a table, in an order of their own.
    pub(crate) fn of_rows<R>(&self, order: Option<Order<R>>) -> Search<R> {
        Search { text: self.text.clone(), order, count: self.count }
    }
}

/// Reads the order of a list; `None` if absent.
pub(crate) fn order<C: SortBy>(text: &Option<String>) -> Result<Option<Order<C>>, ConsoleError> {
    let unknown = || ConsoleError::invalid("sort", &format!("not one of {}, with `-` before it or not", names::<C>()));
    non_empty(text).map(|text| Order::parse(text).ok_or_else(unknown)).transpose()
}

/// `name`, `createdAt`
fn names<C: SortBy>() -> String {
    C::ALL.iter().map(|by| format!("`{}`", by.name())).collect::<Vec<_>>().join(", ")
}

impl<C: SortBy> IntoParams for Search<C> {
    fn into_params(
        parameter_in_provider: impl Fn() -> Option<utoipa::openapi::path::ParameterIn>,
    ) -> Vec<utoipa::openapi::path::Parameter> {
        let mut params = SearchQuery::into_params(parameter_in_provider);
        for param in params.iter_mut().filter(|param| param.name == "sort") {
            param.description = Some(format!("One of {}; with `-` before it, in descending order.", names::<C>()));
        }
        params
    }
}

impl<C: SortBy, S: Send + Sync> FromRequestParts<S> for Search<C> {
    type Rejection = ConsoleError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ConsoleError> {
        let Params(query) = Params::<SearchQuery>::from_request_parts(parts, state).await?;
        let text = filter_text("search", &query.search)?.unwrap_or_default();
        if text.chars().count() > MAX_SEARCH {
            return Err(ConsoleError::invalid("search", "a search has at most 100 characters"));
        }
        Ok(Self { text, order: order(&query.sort)?, count: flag("count", &query.count)? })
    }
}
