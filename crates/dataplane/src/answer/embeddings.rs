//! An answer with vectors, in the encoding that the client asked for.
//!
//! Some engines ignore `encoding_format`, and some clients turn the wrong encoding into garbage without a word.

use super::members::removal;
use super::tokens::{Meter, Reported};
use super::{Nonsense, upstream_error};
use crate::edits::Edits;
use crate::json::{self, Kind, Reader};
use crate::probe::{Encoding, Vectors};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;

const BYTES_PER_NUMBER: usize = 4;

/// Puts an engine's answer right and counts its tokens.
pub fn put_right(answer: &Bytes, model: &str, wanted: &Vectors, meter: &mut Meter) -> Result<Bytes, Nonsense> {
    let mut reader = Reader::new(answer);
    let mut edits = Edits::default();
    let mut vectors = 0;
    let mut has_model = false;
    let mut has_usage = false;
    if reader.kind()? != Kind::Object {
        return Err(Nonsense::Unexpected("the answer is no object"));
    }
    let open = reader.position();
    reader.object(|reader, name, name_at| {
        match name.raw() {
            b"model" => {
                has_model = true;
                edits.replace(reader.span()?, json::quote(model));
            }
            b"data" if reader.kind()? == Kind::Array => reader.array(|reader, _| {
                vectors += 1;
                put_entry_right(reader, wanted, &mut edits)
            })?,
            b"usage" => {
                if let Some(reported) = Reported::read(reader)? {
                    has_usage = true;
                    meter.report(reported.tokens);
                    reported.add_up(&mut edits);
                } else {
                    edits.replace(removal(answer, name_at..reader.position()), Vec::new());
                }
            }
            b"error" if reader.kind()? != Kind::Null => {
                let span = reader.span()?;
                return Err(Nonsense::Reported(upstream_error::message(&answer[span])));
            }
            _ => reader.skip()?,
        }
        Ok::<(), Nonsense>(())
    })?;
    reader.end()?;
    if vectors != wanted.inputs {
        return Err(Nonsense::Unexpected("the answer has not one vector for each input"));
    }
    meter.answered();
    if !has_usage {
        let (tokens, _) = meter.tokens();
        let usage = format!("\"usage\":{{\"prompt_tokens\":{0},\"total_tokens\":{0}}},", tokens.prompt);
        edits.insert(open + 1, usage.into_bytes());
    }
    if !has_model {
        edits.insert(open + 1, [b"\"model\":", &json::quote(model)[..], b","].concat());
    }
    Ok(edits.apply(answer))
}

fn put_entry_right(reader: &mut Reader<'_>, wanted: &Vectors, edits: &mut Edits<'_>) -> Result<(), Nonsense> {
    let mut found = false;
    reader.object(|reader, name, _| {
        if name.raw() != b"embedding" {
            return Ok(reader.skip()?);
        }
        found = true;
        let kind = reader.kind()?;
        let start = reader.position();
        let (length, converted) = match kind {
            Kind::Array => read_numbers(reader, wanted.encoding)?,
            Kind::String => read_base64(reader, wanted.encoding)?,
            Kind::Null | Kind::Bool | Kind::Number | Kind::Object => {
                return Err(Nonsense::Unexpected("a vector is neither numbers nor base64"));
            }
        };
        if wanted.dimensions.is_some_and(|dimensions| dimensions != length as u64) {
            return Err(Nonsense::Ignored("dimensions"));
        }
        if let Some(converted) = converted {
            edits.replace(start..reader.position(), converted);
        }
        Ok(())
    })?;
    if found { Ok(()) } else { Err(Nonsense::Unexpected("an entry has no vector")) }
}

/// The length of the vector, and its base64 where that is wanted.
fn read_numbers(reader: &mut Reader<'_>, encoding: Encoding) -> Result<(usize, Option<Vec<u8>>), Nonsense> {
    let mut length = 0;
    let mut bytes = Vec::new();
    reader.array(|reader, _| {
        length += 1;
        let digits = reader.number()?;
        if encoding == Encoding::Base64 {
            let number: f32 = std::str::from_utf8(digits).ok().and_then(|text| text.parse().ok()).unwrap_or(0.0);
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        Ok::<(), Nonsense>(())
    })?;
    let converted = (encoding == Encoding::Base64).then(|| format!("\"{}\"", STANDARD.encode(&bytes)).into_bytes());
    Ok((length, converted))
}

/// The length of the vector, and its numbers where those are wanted.
fn read_base64(reader: &mut Reader<'_>, encoding: Encoding) -> Result<(usize, Option<Vec<u8>>), Nonsense> {
    let text = reader.string()?.decoded();
    let bytes = STANDARD.decode(&*text).map_err(|_| Nonsense::Unexpected("a vector is not base64"))?;
    let (numbers, rest) = bytes.as_chunks::<BYTES_PER_NUMBER>();
    if !rest.is_empty() {
        return Err(Nonsense::Unexpected("a vector in base64 is cut"));
    }
    if numbers.iter().any(|bytes| !f32::from_le_bytes(*bytes).is_finite()) {
        return Err(Nonsense::Unexpected("a vector has a number that is none"));
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

    fn right(answer: &str, encoding: Encoding, dimensions: Option<u64>) -> Result<serde_json::Value, Nonsense> {
        let answer = Bytes::copy_from_slice(answer.as_bytes());
        let wanted = Vectors { encoding, dimensions, inputs: 1 };
        let bytes = put_right(&answer, "acme/embed", &wanted, &mut Meter::new(4))?;
        Ok(serde_json::from_slice(&bytes).unwrap())
    }

    const FLOATS: &str = r#"{"object":"list","model":"x","data":[{"object":"embedding","index":0,"embedding":[1.0,-0.5,1e-7]}],"usage":{"prompt_tokens":3,"total_tokens":3}}"#;

    #[test]
    fn floats_become_base64_and_back_when_asked() {
        let encoded = right(FLOATS, Encoding::Base64, None).unwrap();
        assert_eq!(encoded["data"][0]["embedding"], "AACAPwAAAL+Vv9Yz");
        assert_eq!(encoded["model"], "acme/embed");
        let back = right(&encoded.to_string(), Encoding::Float, Some(3)).unwrap();
        let numbers: Vec<f32> = serde_json::from_value(back["data"][0]["embedding"].clone()).unwrap();
        assert_eq!(numbers, [1.0_f32, -0.5, 1e-7]);
        assert_eq!(right(FLOATS, Encoding::Float, None).unwrap()["data"][0]["embedding"][1], -0.5);
    }

    #[test]
    fn dimensions_are_obeyed_or_refused() {
        assert!(right(FLOATS, Encoding::Float, Some(3)).is_ok());
        assert_eq!(right(FLOATS, Encoding::Float, Some(2)), Err(Nonsense::Ignored("dimensions")));
    }

    #[test]
    fn usage_that_is_missing_is_estimated() {
        let bare = r#"{"data":[{"embedding":[1.0]}],"usage":null}"#;
        assert_eq!(right(bare, Encoding::Float, None).unwrap()["usage"]["total_tokens"], 1);
    }

    #[test]
    fn what_is_no_number_is_nonsense() {
        let nan = STANDARD.encode(f32::NAN.to_le_bytes());
        assert!(right(&format!(r#"{{"data":[{{"embedding":"{nan}"}}]}}"#), Encoding::Float, None).is_err());
    }

    #[test]
    fn no_vectors_are_nonsense() {
        for bad in ["{}", r#"{"data":[]}"#, r#"{"data":[{}]}"#, r#"{"data":[{"embedding":"%%%"}]}"#, "<html>"] {
            assert!(right(bad, Encoding::Float, None).is_err(), "{bad}");
        }
    }
}
