//! Request bodies: JSON with known members. Errors name the member at fault.

use crate::surface::console::Console;
use crate::surface::console::error::ConsoleError;
use crate::surface::console::extract::unique_members::UniqueMembers;
use crate::surface::error::SurfaceError;
use axum::body::to_bytes;
use axum::extract::{FromRequest, Request};
use edge::request_body::BodyError;
use http::{HeaderMap, header};
use serde::de::DeserializeOwned;
use serde_json::error::Category;

/// The body of a request. An empty one counts as `{}`.
pub(crate) struct Payload<T>(pub T);

impl<T: DeserializeOwned> FromRequest<Console> for Payload<T> {
    type Rejection = ConsoleError;

    async fn from_request(request: Request, _: &Console) -> Result<Self, ConsoleError> {
        let (head, body) = request.into_parts();
        // In memory already: the edge has read it.
        let bytes = to_bytes(body, usize::MAX).await.map_err(|_| SurfaceError::from(BodyError::Incomplete))?;
        if bytes.is_empty() {
            return read(b"{}").map(Self);
        }
        check_type(&head.headers)?;
        read(&bytes).map(Self)
    }
}

/// Accepts JSON only, which a form on another site cannot send.
fn check_type(headers: &HeaderMap) -> Result<(), ConsoleError> {
    let value = headers.get(header::CONTENT_TYPE).map_or("", |value| value.to_str().unwrap_or("?"));
    let media = value.split(';').next().unwrap_or("").trim().to_ascii_lowercase();
    if media == "application/json" {
        return Ok(());
    }
    Err(SurfaceError::from(BodyError::UnsupportedType(media.chars().take(100).collect())).into())
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ConsoleError> {
    // serde would also accept an array with the members in order.
    if bytes.iter().find(|byte| !byte.is_ascii_whitespace()) != Some(&b'{') {
        return Err(ConsoleError::InvalidPayload { field: None, why: "the body is not a JSON object".into() });
    }
    parse::<UniqueMembers>(bytes)?;
    parse(bytes)
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ConsoleError> {
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        convert(&path, error.inner())
    })?;
    reader.end().map_err(|error| convert(".", &error))?;
    Ok(value)
}

/// serde repeats names and values of the client, which can be as long as the body.
fn shorten(text: &str) -> String {
    const SHOWN_CHARS: usize = 500;
    text.chars().take(SHOWN_CHARS).collect()
}

/// Classifies an error of serde by its message, since it has no other sign.
fn convert(path: &str, error: &serde_json::Error) -> ConsoleError {
    let message = shorten(&error.to_string());
    let path = &shorten(path);
    let why = message.rsplit_once(" at line ").map_or(message.as_str(), |(why, _)| why).to_owned();
    let quoted = || why.split('`').nth(1).map(|name| inside(path, name));
    match error.classify() {
        Category::Io | Category::Syntax | Category::Eof => {
            ConsoleError::InvalidPayload { field: None, why: format!("the body is not JSON: {message}") }
        }
        Category::Data if why.starts_with("missing field") || why.starts_with("duplicate field") => {
            ConsoleError::InvalidPayload { field: quoted(), why }
        }
        Category::Data if why.starts_with("unknown field") => {
            ConsoleError::InvalidValue { field: quoted().unwrap_or_default(), why }
        }
        Category::Data if path == "." => ConsoleError::InvalidPayload { field: None, why },
        Category::Data => ConsoleError::InvalidValue { field: path.to_owned(), why },
    }
}

/// serde_path_to_error appends an unknown member to the path, but not a missing one.
fn inside(path: &str, name: &str) -> String {
    match path {
        "." => name.to_owned(),
        path if path == name || path.ends_with(&format!(".{name}")) => path.to_owned(),
        path => format!("{path}.{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only deserialized")]
    struct Example {
        name: String,
        limit: Option<u64>,
        inner: Option<Inner>,
        any: Option<serde_json::Value>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only deserialized")]
    struct Inner {
        ids: Vec<u8>,
    }

    #[test]
    fn every_error_names_its_member() {
        for (body, expected) in [
            ("{}", "400 name"),
            ("", "400 "),
            ("{", "400 "),
            ("null", "400 "),
            ("[1]", "400 "),
            (r#"{"name":"a"} x"#, "400 "),
            (r#"{"name":"a","name":"b"}"#, "400 name"),
            (r#"{"name":"a","any":[{"b":{"c":1,"c":1}}]}"#, "400 any[0].b.c"),
            (r#"{"name":1}"#, "422 name"),
            (r#"{"name":null}"#, "422 name"),
            (r#"{"name":"a","limit":-1}"#, "422 limit"),
            (r#"{"name":"a","limit":1.5}"#, "422 limit"),
            (r#"{"name":"a","limit":1e400}"#, "400 "),
            (r#"{"name":"a","limit":99999999999999999999999}"#, "422 limit"),
            (r#"{"name":"a","colour":1}"#, "422 colour"),
            (r#"{"name":"a","inner":{"ids":[1,"x"]}}"#, "422 inner.ids[1]"),
            (r#"{"name":"a","inner":{"ids":[],"x":1}}"#, "422 inner.x"),
            (r#"{"name":"a","inner":{}}"#, "400 inner.ids"),
        ] {
            let error = read::<Example>(body.as_bytes()).unwrap_err();
            let shown = match &error {
                ConsoleError::InvalidPayload { field, .. } => format!("400 {}", field.as_deref().unwrap_or("")),
                ConsoleError::InvalidValue { field, .. } => format!("422 {field}"),
                other => panic!("{other:?}"),
            };
            assert_eq!(shown, expected, "{body}: {error:?}");
        }
        read::<Example>(r#" {"name":"a","limit":null} "#.as_bytes()).unwrap();
    }

    #[test]
    fn an_error_repeats_only_the_start_of_a_long_name_or_value() {
        let long = "x".repeat(100_000);
        for body in [format!(r#"{{"{long}":1}}"#), format!(r#"{{"name":"a","limit":"{long}"}}"#)] {
            let error = read::<Example>(body.as_bytes()).unwrap_err();
            assert!(format!("{error:?}").len() < 2_000, "{error:?}");
        }
    }
}
