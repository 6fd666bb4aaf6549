//! Words of queries that several routes share. A word that is there without a value counts as absent.

use super::error::Refused;
use axum::response::{IntoResponse, Response};
use domain::{Month, Span, Timestamp};
use http::header;
use utoipa::ToSchema;

/// What was said, if anything was.
pub(super) fn said(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}

/// A text that is compared with what the store has. PostgreSQL does not even want to compare a zero byte.
pub(super) fn compared<'a>(field: &str, text: &'a Option<String>) -> Result<Option<&'a str>, Refused> {
    match said(text) {
        Some(text) if text.contains('\0') => Err(Refused::invalid(field, "this has a zero byte in it")),
        found => Ok(found),
    }
}

pub(super) fn moment(field: &str, text: &Option<String>) -> Result<Option<Timestamp>, Refused> {
    said(text).map(Timestamp::parse).transpose().map_err(|error| Refused::invalid(field, &error.to_string()))
}

/// A month such as `2026-11`; by default the current one.
pub(super) fn month(text: &Option<String>, now: Timestamp) -> Result<Month, Refused> {
    let month = said(text).map(Month::parse).transpose();
    Ok(month.map_err(|error| Refused::invalid("month", &error.to_string()))?.unwrap_or_else(|| Month::of(now)))
}

/// From one moment up to another; by default so many milliseconds before `to`, and up to now.
pub(super) fn span(
    from: &Option<String>,
    to: &Option<String>,
    now: Timestamp,
    default_millis: i64,
) -> Result<Span, Refused> {
    let to = moment("to", to)?.unwrap_or(now);
    let from = moment("from", from)?.unwrap_or_else(|| to.plus_millis(-default_millis));
    if from >= to {
        return Err(Refused::invalid("to", "`to` is not after `from`"));
    }
    Ok(Span { from, to })
}

/// How a report is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ToSchema)]
#[schema(rename_all = "lowercase")]
pub(super) enum ReportFormat {
    Json,
    Csv,
}

impl ReportFormat {
    pub(super) fn parse(text: &Option<String>) -> Result<Self, Refused> {
        match said(text) {
            None | Some("json") => Ok(Self::Json),
            Some("csv") => Ok(Self::Csv),
            Some(_) => Err(Refused::invalid("format", "a format is json or csv")),
        }
    }
}

/// A report of which the table is kept under this name.
pub(super) fn csv(name: &str, text: String) -> Response {
    let disposition = format!("attachment; filename=\"{name}\"");
    let headers = [(header::CONTENT_TYPE, "text/csv; charset=utf-8"), (header::CONTENT_DISPOSITION, &disposition)];
    (headers, text).into_response()
}
