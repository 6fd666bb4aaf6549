//! Normalizes a response with vectors and converts them to the encoding that the client requested.
//!
//! Some engines ignore `encoding_format`, and some clients silently misread the wrong encoding.

use super::tokens::{TokenMeter, UnaryText};
use super::usage::ReportedUsage;
use super::{BadUpstreamResponse, note_once, upstream_error};
use crate::request::{EmbeddingOptions, Encoding};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use json::edits::Edits;
use json::members::removal;
use json::{Reader, ValueKind};

const BYTES_PER_NUMBER: usize = 4;
const WRONG_COUNT: &str = "the response does not have one vector per input";

/// Normalizes the response of an engine and counts its tokens.
pub(crate) fn normalize(
    response: &Bytes,
    model: &str,
    options: &EmbeddingOptions,
    meter: &mut TokenMeter,
) -> Result<Bytes, BadUpstreamResponse> {
    let mut reader = Reader::new(response);
    let mut edits = Edits::default();
    let mut vectors = 0;
    let mut has_model = false;
    let mut usage = None;
    if reader.kind()? != ValueKind::Object {
        return Err(BadUpstreamResponse::Unexpected("the response is not an object"));
    }
    let open = reader.position();
    reader.object(|reader, name, name_at| {
        match name.raw() {
            b"model" => {
                note_once(&mut has_model)?;
                edits.replace(reader.span()?, json::quote(model));
            }
            b"data" if reader.kind()? == ValueKind::Array => reader.array(|reader, _| {
                vectors += 1;
                if vectors > options.inputs {
                    return Err(BadUpstreamResponse::Unexpected(WRONG_COUNT));
                }
                normalize_entry(reader, options, &mut edits)
            })?,
            b"usage" => {
                let reported = ReportedUsage::read(reader)?;
                usage = Some((name_at..reader.position(), reported));
            }
            b"error" if reader.kind()? != ValueKind::Null => {
                let span = reader.span()?;
                return Err(BadUpstreamResponse::Reported(upstream_error::reported(&response[span])));
            }
            _ => reader.skip()?,
        }
        Ok::<(), BadUpstreamResponse>(())
    })?;
    reader.end()?;
    if vectors != options.inputs {
        return Err(BadUpstreamResponse::Unexpected(WRONG_COUNT));
    }
    // Once for the last one: the removals of two neighbours would overlap.
    let reported = usage.and_then(|(member, reported)| {
        if reported.is_none() {
            edits.replace(removal(response, member), Vec::new());
        }
        reported
    });
    meter.report_unary(reported.as_ref(), None, &UnaryText::default());
    let (tokens, _) = meter.tokens();
    match reported {
        Some(reported) => reported.correct(tokens, &mut edits),
        None => {
            let usage = format!("\"usage\":{{\"prompt_tokens\":{0},\"total_tokens\":{0}}},", tokens.prompt);
            edits.insert(open + 1, usage.into_bytes());
        }
    }
    if !has_model {
        edits.insert(open + 1, [b"\"model\":", &json::quote(model)[..], b","].concat());
    }
    Ok(edits.apply(response))
}

fn normalize_entry(
    reader: &mut Reader<'_>,
    options: &EmbeddingOptions,
    edits: &mut Edits<'_>,
) -> Result<(), BadUpstreamResponse> {
    let mut found = false;
    reader.object(|reader, name, _| {
        if name.raw() != b"embedding" {
            return Ok(reader.skip()?);
        }
        note_once(&mut found)?;
        let kind = reader.kind()?;
        let start = reader.position();
        let (length, converted) = match kind {
            ValueKind::Array => read_numbers(reader, options.encoding)?,
            ValueKind::String => read_base64(reader, options.encoding)?,
            ValueKind::Null | ValueKind::Bool | ValueKind::Number | ValueKind::Object => {
                return Err(BadUpstreamResponse::Unexpected("a vector is neither numbers nor base64"));
            }
        };
        if options.dimensions.is_some_and(|dimensions| dimensions != length as u64) {
            return Err(BadUpstreamResponse::Ignored("dimensions"));
        }
        if let Some(converted) = converted {
            edits.replace(start..reader.position(), converted);
        }
        Ok(())
    })?;
    if found { Ok(()) } else { Err(BadUpstreamResponse::Unexpected("an entry has no vector")) }
}

/// The length of the vector, and its base64 if the client requested that.
fn read_numbers(reader: &mut Reader<'_>, encoding: Encoding) -> Result<(usize, Option<Vec<u8>>), BadUpstreamResponse> {
    let mut length = 0;
    let mut bytes = Vec::new();
    reader.array(|reader, _| {
        length += 1;
        let digits = reader.number()?;
        if encoding == Encoding::Base64 {
            let number: f32 = std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok()).unwrap_or(0.0);
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        Ok::<(), BadUpstreamResponse>(())
    })?;
    let converted = (encoding == Encoding::Base64).then(|| format!("\"{}\"", STANDARD.encode(&bytes)).into_bytes());
    Ok((length, converted))
}

/// The length of the vector, and its numbers if the client requested those.
fn read_base64(reader: &mut Reader<'_>, encoding: Encoding) -> Result<(usize, Option<Vec<u8>>), BadUpstreamResponse> {
    let text = reader.string()?.decoded();
    let bytes = STANDARD.decode(&*text).map_err(|_| BadUpstreamResponse::Unexpected("a vector is not base64"))?;
    let (numbers, rest) = bytes.as_chunks::<BYTES_PER_NUMBER>();
    if !rest.is_empty() {
        return Err(BadUpstreamResponse::Unexpected("a vector in base64 is truncated"));
    }
    if numbers.iter().any(|bytes| !f32::from_le_bytes(*bytes).is_finite()) {
        return Err(BadUpstreamResponse::Unexpected("a vector has a number that is not finite"));
    }
    let converted = (encoding == Encoding::Float).then(|| {
        let numbers: Vec<String> = numbers.iter().map(|bytes| format!("{:?}", f32::from_le_bytes(*bytes))).collect();
        format!("[{}]", numbers.join(",")).into_bytes()
    });
    Ok((numbers.len(), converted))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalized(
        response: &str,
        encoding: Encoding,
        dimensions: Option<u64>,
    ) -> Result<serde_json::Value, BadUpstreamResponse> {
        let response = Bytes::copy_from_slice(response.as_bytes());
        let options = EmbeddingOptions { encoding, dimensions, inputs: 1 };
        let bytes = normalize(&response, "acme/embed", &options, &mut TokenMeter::new(1))?;
        Ok(serde_json::from_slice(&bytes).unwrap())
    }

    const FLOATS: &str = r#"{"object":"list","model":"x","data":[{"object":"embedding","index":0,"embedding":[1.0,-0.5,1e-7]}],"usage":{"prompt_tokens":3,"total_tokens":3}}"#;

    #[test]
    fn vectors_are_converted_to_the_requested_encoding() {
        let encoded = normalized(FLOATS, Encoding::Base64, None).unwrap();
        assert_eq!(encoded["data"][0]["embedding"], "AACAPwAAAL+Vv9Yz");
        assert_eq!(encoded["model"], "acme/embed");
        let back = normalized(&encoded.to_string(), Encoding::Float, Some(3)).unwrap();
        let numbers: Vec<f32> = serde_json::from_value(back["data"][0]["embedding"].clone()).unwrap();
        assert_eq!(numbers, [1.0_f32, -0.5, 1e-7]);
        assert_eq!(normalized(FLOATS, Encoding::Float, None).unwrap()["data"][0]["embedding"][1], -0.5);
    }

    #[test]
    fn wrong_dimensions_are_rejected() {
        assert!(normalized(FLOATS, Encoding::Float, Some(3)).is_ok());
        assert_eq!(normalized(FLOATS, Encoding::Float, Some(2)), Err(BadUpstreamResponse::Ignored("dimensions")));
    }

    #[test]
    fn missing_usage_is_estimated() {
        let bare = r#"{"data":[{"embedding":[1.0]}],"usage":null}"#;
        assert_eq!(normalized(bare, Encoding::Float, None).unwrap()["usage"]["total_tokens"], 1);
        let twice = r#"{"data":[{"embedding":[1.0]}],"usage":null,"usage":null}"#;
        assert!(normalized(twice, Encoding::Float, None).is_ok());
    }

    #[test]
    fn numbers_that_are_not_finite_are_rejected() {
        let nan = STANDARD.encode(f32::NAN.to_le_bytes());
        assert!(normalized(&format!(r#"{{"data":[{{"embedding":"{nan}"}}]}}"#), Encoding::Float, None).is_err());
    }

    #[test]
    fn responses_with_more_than_was_requested_are_rejected() {
        for bad in [
            r#"{"data":[{"embedding":[1.0]},{"embedding":[1.0]}]}"#,
            r#"{"data":[{"embedding":[1.0],"embedding":[2.0]}]}"#,
            r#"{"model":"a","model":"b","data":[{"embedding":[1.0]}]}"#,
        ] {
            assert!(normalized(bad, Encoding::Float, None).is_err(), "{bad}");
        }
    }

    #[test]
    fn responses_without_vectors_are_rejected() {
        for bad in ["{}", r#"{"data":[]}"#, r#"{"data":[{}]}"#, r#"{"data":[{"embedding":"%%%"}]}"#, "<html>"] {
            assert!(normalized(bad, Encoding::Float, None).is_err(), "{bad}");
        }
    }
}
