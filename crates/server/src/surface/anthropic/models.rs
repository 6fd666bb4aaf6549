//! `/v1/models` in Anthropic's format.

use crate::surface::Body;
use crate::surface::inference::{InferenceError, call_error};
use crate::surface::{Surface, json};
use dataplane::CallError;
use domain::{Caller, Timestamp};
use fleet::Route;
use http::{Response, StatusCode};
use percent_encoding::percent_decode_str;
use serde::Serialize;

/// The catalogue has no dates, but clients expect one.
const CREATED: Timestamp = Timestamp::from_millis(1_767_225_600_000);
const DEFAULT_LIMIT: usize = 20;
const MAX_LIMIT: usize = 1_000;

#[derive(Serialize)]
struct Page<'a> {
    data: Vec<ModelView<'a>>,
    has_more: bool,
    first_id: Option<&'a str>,
    last_id: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct ModelView<'a> {
    r#type: &'static str,
    id: &'a str,
    display_name: &'a str,
    created_at: Timestamp,
}

impl<'a> ModelView<'a> {
    fn new(id: &'a str, route: &'a Route) -> Self {
        Self { r#type: "model", id, display_name: &route.model.name, created_at: CREATED }
    }
}

/// Where a page begins or ends.
#[derive(Debug, Default, PartialEq, Eq)]
struct PageRequest {
    limit: Option<usize>,
    after: Option<String>,
    before: Option<String>,
}

/// Models, then exact aliases.
pub(super) fn list(surface: &Surface, caller: &Caller, query: Option<&str>) -> Result<Response<Body>, InferenceError> {
    let table = surface.dataplane.routes().table();
    let request = PageRequest::read(query.unwrap_or_default())?;
    let allowed = table.iter().filter(|route| surface.dataplane.is_allowed(caller, route));
    let models = allowed.map(|route| ModelView::new(route.model.id.as_str(), route));
    let aliases = surface.dataplane.exact_aliases(caller);
    let all: Vec<_> = models.chain(aliases.iter().map(|(name, route)| ModelView::new(name.as_str(), route))).collect();
    let (data, has_more) = request.page(all)?;
    let (first_id, last_id) = (data.first().map(|model| model.id), data.last().map(|model| model.id));
    Ok(encoded(&Page { first_id, last_id, data, has_more }))
}

pub(super) fn show(surface: &Surface, caller: &Caller, path: &str) -> Result<Response<Body>, InferenceError> {
    let id = percent_decode_str(path).decode_utf8_lossy();
    match surface.dataplane.route(caller, &id).map_err(|error| call_error(error, caller))? {
        Some(route) => Ok(encoded(&ModelView::new(&id, &route))),
        None => Err(CallError::UnknownModel { model: id.chars().take(200).collect() }.into()),
    }
}

impl PageRequest {
    fn read(query: &str) -> Result<Self, CallError> {
        let mut request = Self::default();
        for (name, value) in query.split('&').filter_map(|pair| pair.split_once('=')) {
            let value = percent_decode_str(value).decode_utf8_lossy();
            match name {
                "limit" => {
                    let limit = value.parse().ok().filter(|limit| (1..=MAX_LIMIT).contains(limit));
                    request.limit =
                        Some(limit.ok_or_else(|| {
                            invalid("limit", format!("must be an integer between 1 and {MAX_LIMIT}"))
                        })?);
                }
                "after_id" => request.after = Some(value.into_owned()),
                "before_id" => request.before = Some(value.into_owned()),
                _ => {}
            }
        }
        Ok(request)
    }

    /// The models of the page, and whether there are more in its direction.
    fn page<'a>(&self, mut all: Vec<ModelView<'a>>) -> Result<(Vec<ModelView<'a>>, bool), CallError> {
        let limit = self.limit.unwrap_or(DEFAULT_LIMIT);
        let find = |all: &[ModelView<'_>], param: &str, id: &str| {
            let found = all.iter().position(|model| model.id == id);
            found.ok_or_else(|| invalid(param, "is not the id of a model".into()))
        };
        if let Some(before) = &self.before {
            all.truncate(find(&all, "before_id", before)?);
            let skipped = all.len().saturating_sub(limit);
            return Ok((all.split_off(skipped), skipped > 0));
        }
        if let Some(after) = &self.after {
            all.drain(..=find(&all, "after_id", after)?);
        }
        let has_more = all.len() > limit;
        all.truncate(limit);
        Ok((all, has_more))
    }
}

fn invalid(param: &str, why: String) -> CallError {
    CallError::Invalid { param: param.into(), why }
}

fn encoded(view: &impl Serialize) -> Response<Body> {
    json(StatusCode::OK, serde_json::to_vec(view).expect("views have only text keys"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(query: &str) -> String {
        let view = |id| ModelView { r#type: "model", id, display_name: id, created_at: CREATED };
        match PageRequest::read(query).and_then(|request| request.page(["a", "b", "c"].map(view).into())) {
            Ok((page, has_more)) => {
                let ids: Vec<&str> = page.iter().map(|model| model.id).collect();
                format!("{} {has_more}", ids.concat())
            }
            Err(error) => format!("invalid {}", error.param()),
        }
    }

    #[test]
    fn pages_go_forward_and_backward() {
        for (query, expected) in [
            ("", "abc false"),
            ("limit=2", "ab true"),
            ("limit=2&after_id=b", "c false"),
            ("after_id=c", " false"),
            ("limit=1&before_id=c", "b true"),
            ("before_id=c&limit=2", "ab false"),
            ("limit=0", "invalid limit"),
            ("limit=x", "invalid limit"),
            ("after_id=z", "invalid after_id"),
            ("beta=true&x", "abc false"),
        ] {
            assert_eq!(page(query), expected, "{query}");
        }
    }
}
