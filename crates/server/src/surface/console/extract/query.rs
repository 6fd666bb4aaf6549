//! Query parameters that several routes share. An empty value counts as absent.

use crate::surface::console::error::ConsoleError;
use axum::response::{IntoResponse, Response};
use domain::series::Step;
use domain::{Month, Span, Timestamp};
use http::header;
use utoipa::ToSchema;

/// The value, unless absent or empty.
pub(crate) fn non_empty(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}

/// `true` or `false`, which is the default.
pub(crate) fn flag(field: &str, text: &Option<String>) -> Result<bool, ConsoleError> {
    match non_empty(text) {
        None | Some("false") => Ok(false),
        Some("true") => Ok(true),
        Some(_) => Err(ConsoleError::invalid(field, "neither true nor false")),
    }
}

/// A text to filter rows by. PostgreSQL rejects zero bytes in texts.
pub(crate) fn filter_text(field: &str, text: &Option<String>) -> Result<Option<String>, ConsoleError> {
    match non_empty(text) {
        Some(text) if text.contains('\0') => Err(ConsoleError::invalid(field, "contains a zero byte")),
        found => Ok(found.map(str::to_owned)),
    }
}

pub(crate) fn timestamp(field: &str, text: &Option<String>) -> Result<Option<Timestamp>, ConsoleError> {
    non_empty(text).map(Timestamp::parse).transpose().map_err(|error| ConsoleError::invalid(field, &error.to_string()))
}

/// A month such as `2026-11`; by default the current one.
pub(crate) fn month(text: &Option<String>, now: Timestamp) -> Result<Month, ConsoleError> {
    let month = non_empty(text).map(Month::parse).transpose();
    Ok(month.map_err(|error| ConsoleError::invalid("month", &error.to_string()))?.unwrap_or_else(|| Month::of(now)))
}

/// A span of time. Default: until now, and `default_millis` long.
pub(crate) fn span(
    from: &Option<String>,
    to: &Option<String>,
    now: Timestamp,
    default_millis: i64,
) -> Result<Span, ConsoleError> {
    let to = timestamp("to", to)?.unwrap_or(now);
    let from = timestamp("from", from)?.unwrap_or_else(|| to.plus_millis(-default_millis));
    if from >= to {
        return Err(ConsoleError::invalid("to", "`to` is not after `from`"));
    }
    Ok(Span { from, to })
}

/// The length of a chart's points; `None` for a default that suits the span.
pub(crate) fn step(text: &Option<String>) -> Result<Option<Step>, ConsoleError> {
    let step = non_empty(text).map(Step::parse).transpose();
    step.map_err(|error| ConsoleError::invalid("step", &error.to_string()))
}

/// The format of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ToSchema)]
#[schema(rename_all = "lowercase")]
pub(crate) enum ReportFormat {
    Json,
    Csv,
}

impl ReportFormat {
    pub(crate) fn parse(text: &Option<String>) -> Result<Self, ConsoleError> {
        match non_empty(text) {
            None | Some("json") => Ok(Self::Json),
            Some("csv") => Ok(Self::Csv),
            Some(_) => Err(ConsoleError::invalid("format", "a format is json or csv")),
        }
    }
}

/// A report as a CSV file of this name.
pub(crate) fn csv(name: &str, text: String) -> Response {
    let disposition = format!("attachment; filename=\"{name}\"");
    let headers = [(header::CONTENT_TYPE, "text/csv; charset=utf-8"), (header::CONTENT_DISPOSITION, &disposition)];
    (headers, text).into_response()
}
