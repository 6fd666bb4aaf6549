//! Lists: `{data, nextCursor}`, page by page.

use crate::surface::console::error::ConsoleError;
use axum::extract::{FromRequestParts, Query};
use http::request::Parts;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use store::Page;
use utoipa::{IntoParams, ToSchema};

const DEFAULT_LIMIT: u32 = 100;
const MAX_LIMIT: u32 = 500;
/// The longest cursor is an id.
const MAX_CURSOR: usize = 64;

/// A page of a list, and the cursor of the next one; null at the end.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct List<T> {
    data: Vec<T>,
    next_cursor: Option<String>,
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
        Self { data: rows.into_iter().map(view).collect(), next_cursor }
    }

    /// A list of one page.
    pub(crate) fn whole(data: Vec<T>) -> Self {
        Self { data, next_cursor: None }
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
    #[param(required = false, nullable = false, max_length = 64)]
    cursor: Option<String>,
    /// The size of the page.
    #[param(required = false, nullable = false, value_type = Option<u32>, minimum = 1, maximum = 500)]
    limit: Option<String>,
}

/// The page of a list, checked.
pub(crate) struct PageRequest {
    cursor: String,
    pub(crate) limit: u32,
}

impl PageRequest {
    pub(crate) fn to_page(&self) -> Page<'_> {
        Page::after(&self.cursor, self.limit + 1)
    }

    /// The id before the page; `None` at the start.
    pub(crate) fn cursor(&self) -> Option<&str> {
        (!self.cursor.is_empty()).then_some(self.cursor.as_str())
    }
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
        let cursor = query.cursor.unwrap_or_default();
        let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if cursor.len() > MAX_CURSOR || !cursor.bytes().all(is_valid) {
            return Err(ConsoleError::invalid("cursor", "not a cursor of this list"));
        }
        let limit = match query.limit.as_deref() {
            None | Some("") => DEFAULT_LIMIT,
            Some(text) => text
                .parse()
                .ok()
                .filter(|limit| (1..=MAX_LIMIT).contains(limit))
                .ok_or_else(|| ConsoleError::invalid("limit", "a limit is a whole number from 1 to 500"))?,
        };
        Ok(Self { cursor, limit })
    }
}
