//! A chat answer that comes at once.

use super::finish::{Finish, finish};
use super::members::{first_member, is_empty_object};
use super::tokens::{Meter, Reported};
use super::{Nonsense, upstream_error};
use crate::edits::Edits;
use crate::json::{self, Kind, Reader};
use bytes::Bytes;

/// Puts an engine's answer right and counts its tokens.
pub fn put_right(answer: &Bytes, model: &str, meter: &mut Meter) -> Result<Bytes, Nonsense> {
    let mut reader = Reader::new(answer);
    let mut edits = Edits::default();
    let mut choices = 0;
    let mut has_model = false;
    if reader.kind()? != Kind::Object {
        return Err(Nonsense::Unexpected("the answer is no object"));
    }
    let open = reader.position();
    reader.object(|reader, name, _| {
        match name.raw() {
            b"model" => {
                has_model = true;
                edits.replace(reader.span()?, json::quote(model));
            }
            b"choices" if reader.kind()? == Kind::Array => reader.array(|reader, _| {
                choices += 1;
                put_choice_right(reader, answer, meter, &mut edits)
            })?,
            b"usage" => {
                if let Some(reported) = Reported::read(reader)? {
                    meter.report(reported.tokens);
                    reported.add_up(&mut edits);
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
    if choices == 0 {
        return Err(Nonsense::Unexpected("the answer has no choices"));
    }
    if !has_model {
        edits.insert(open + 1, [b"\"model\":", &json::quote(model)[..], b","].concat());
    }
    Ok(edits.apply(answer))
}

fn put_choice_right(
    reader: &mut Reader<'_>,
    answer: &[u8],
    meter: &mut Meter,
    edits: &mut Edits<'_>,
) -> Result<(), Nonsense> {
    reader.kind()?;
    let open = reader.position();
    let mut has_finish = false;
    let mut has_message = false;
    reader.object(|reader, name, _| {
        match name.raw() {
            b"finish_reason" => {
                has_finish = true;
                let kind = reader.kind()?;
                let start = reader.position();
                let meant = if kind == Kind::String {
                    finish(reader.string()?)
                } else {
                    reader.skip()?;
                    Finish::Means("\"stop\"")
                };
                match meant {
                    Finish::Known => {}
                    Finish::Means(word) => edits.replace(start..reader.position(), word.as_bytes()),
                    Finish::Failure => return Err(Nonsense::Unexpected("the engine gave up on a choice")),
                }
            }
            b"message" if reader.kind()? == Kind::Object => {
                has_message = true;
                put_message_right(reader, answer, meter, edits)?;
            }
            _ => reader.skip()?,
        }
        Ok::<(), Nonsense>(())
    })?;
    if !has_message {
        return Err(Nonsense::Unexpected("a choice has no message"));
    }
    if !has_finish {
        edits.insert(open + 1, &b"\"finish_reason\":\"stop\","[..]);
    }
    Ok(())
}

fn put_message_right(
    reader: &mut Reader<'_>,
    answer: &[u8],
    meter: &mut Meter,
    edits: &mut Edits<'_>,
) -> Result<(), Nonsense> {
    const ROLE: &str = "\"role\":\"assistant\"";
    let open = reader.position();
    let mut has_role = false;
    reader.object(|reader, name, name_at| {
        match name.raw() {
            b"role" => {
                has_role = true;
                let says = reader.kind()? == Kind::String;
                reader.skip()?;
                if !says {
                    edits.replace(name_at..reader.position(), ROLE.as_bytes());
                }
            }
            b"content" | b"reasoning_content" | b"reasoning" | b"tool_calls" => {
                let kind = reader.kind()?;
                let span = reader.span()?;
                if kind != Kind::Null {
                    meter.text(span.len());
                }
            }
            _ => reader.skip()?,
        }
        Ok::<(), Nonsense>(())
    })?;
    if !has_role {
        edits.insert(open + 1, first_member(ROLE, !is_empty_object(answer, open)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::usage::{Certainty, Tokens};

    fn right(answer: &str) -> (Result<serde_json::Value, Nonsense>, (Tokens, Certainty)) {
        let mut meter = Meter::new(40);
        let result = put_right(&Bytes::copy_from_slice(answer.as_bytes()), "acme/tiny", &mut meter);
        (result.map(|bytes| serde_json::from_slice(&bytes).unwrap()), meter.tokens())
    }

    #[test]
    fn the_model_is_the_one_that_was_asked_for_and_all_else_stays() {
        let answer = r#"{"id":"x","created":1,"model":"tiny-q4","choices":[{"index":0,"message":{"role":"assistant",
            "content":"hi","reasoning":"hm"},"finish_reason":"stop","stop_reason":null}],
            "usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7,
            "prompt_tokens_details":{"cached_tokens":3}},"timings":{"a":1.5}}"#;
        let (value, tokens) = right(answer);
        let mut wanted: serde_json::Value = serde_json::from_str(answer).unwrap();
        wanted["model"] = "acme/tiny".into();
        assert_eq!(value.unwrap(), wanted);
        assert_eq!(tokens, (Tokens { prompt: 5, completion: 2, cached: 3 }, Certainty::Exact));
    }

    #[test]
    fn what_engines_leave_out_is_put_in() {
        let (value, tokens) = right(
            r#"{"choices":[{"message":{"content":"12345678"},"finish_reason":"abort"},{"message":{},"finish_reason":null}],
                "usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":9}}"#,
        );
        let value = value.unwrap();
        assert_eq!(value["model"], "acme/tiny");
        assert_eq!(value["choices"][0]["message"]["role"], "assistant");
        assert_eq!(value["choices"][1]["message"]["role"], "assistant");
        assert_eq!(value["choices"][0]["finish_reason"], "length");
        assert_eq!(value["choices"][1]["finish_reason"], "stop");
        assert_eq!(value["usage"]["total_tokens"], 7);
        assert_eq!(tokens.1, Certainty::Exact);
    }

    #[test]
    fn without_usage_the_count_is_an_estimate() {
        let (_, tokens) = right(r#"{"choices":[{"message":{"content":"123456"},"finish_reason":"stop"}]}"#);
        assert_eq!(tokens, (Tokens { prompt: 10, completion: 2, cached: 0 }, Certainty::Estimated));
    }

    #[test]
    fn what_is_no_answer_is_nonsense() {
        for bad in [
            "",
            "<html>",
            "[]",
            "{}",
            r#"{"choices":[]}"#,
            r#"{"error":{"message":"no"}}"#,
            r#"{"choices":[1]}"#,
            r#"{"choices":[{"message":{},"finish_reason":"error"}]}"#,
        ] {
            assert!(right(bad).0.is_err(), "{bad}");
        }
    }
}
