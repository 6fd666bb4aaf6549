//! Normalizes a chat response that is not streamed.

use super::finish_reason::{FinishReason, read_finish_reason};
use super::reasoning::{Reasoning, RepeatBudget};
use super::tokens::{TokenMeter, UnaryText};
use super::tool_calls::ToolPart;
use super::usage::{ReportedUsage, member_count, prompt_details};
use super::{BadUpstreamResponse, note_once, upstream_error};
use crate::request::EchoedPrompts;
use bytes::Bytes;
use dialects::MAX_TOOL_CALLS;
use domain::model::ReasoningNames;
use domain::usage::Tokens;
use json::edits::Edits;
use json::members::{first_member, is_empty_object};
use json::{JsonError, Reader, ValueKind};
use std::borrow::Cow;

/// The quotes around a string.
const QUOTES: u64 = 2;

/// What the choices of a response share: their edits take far more memory than their text.
struct EditBudget {
    tool_calls: usize,
    repeated: RepeatBudget,
}

impl EditBudget {
    fn new(names: ReasoningNames) -> Self {
        Self { tool_calls: 0, repeated: RepeatBudget::new(names) }
    }

    /// Counts another tool call, unless there are too many.
    fn add_tool_call(&mut self, at: usize) -> Result<(), JsonError> {
        self.tool_calls += 1;
        if self.tool_calls > MAX_TOOL_CALLS {
            return Err(JsonError { why: "there are too many tool calls", at });
        }
        Ok(())
    }
}

/// What a choice has.
enum ChoiceForm {
    /// A message of a chat.
    Message(EditBudget),
    /// The text of a completion.
    Text,
}

/// Normalizes the response of an engine to a request for this many choices, and counts its tokens.
pub(crate) fn normalize(
    response: &Bytes,
    model: &str,
    choices: u64,
    names: ReasoningNames,
    meter: &mut TokenMeter,
) -> Result<Bytes, BadUpstreamResponse> {
    normalize_as(ChoiceForm::Message(EditBudget::new(names)), response, model, (choices, None), meter)
}

/// Normalizes the completions of prompts. Their texts begin with those of `echo`.
pub(crate) fn normalize_texts(
    response: &Bytes,
    model: &str,
    choices: u64,
    echo: Option<EchoedPrompts>,
    meter: &mut TokenMeter,
) -> Result<Bytes, BadUpstreamResponse> {
    normalize_as(ChoiceForm::Text, response, model, (choices, echo), meter)
}

fn normalize_as(
    mut form: ChoiceForm,
    response: &Bytes,
    model: &str,
    (choices, echo): (u64, Option<EchoedPrompts>),
    meter: &mut TokenMeter,
) -> Result<Bytes, BadUpstreamResponse> {
    let mut reader = Reader::new(response);
    let mut edits = Edits::default();
    let mut text = UnaryText::default();
    let mut usage = None;
    let mut of_one_choice = None;
    let mut has_model = false;
    if reader.kind()? != ValueKind::Object {
        return Err(BadUpstreamResponse::Unexpected("the response is not an object"));
    }
    let open = reader.position();
    reader.object(|reader, name, _| {
        match name.raw() {
            b"model" => {
                note_once(&mut has_model)?;
                edits.replace(reader.span()?, json::quote(model));
            }
            b"choices" if reader.kind()? == ValueKind::Array => {
                reader.array(|reader, _| {
                    // The edits of a short choice take far more memory than the choice itself.
                    if text.choices == choices {
                        return Err(BadUpstreamResponse::Unexpected("the response has more choices than requested"));
                    }
                    normalize_choice(reader, response, &mut text, &mut form, &mut edits)
                })?;
            }
            b"usage" => {
                let is_object = reader.kind()? == ValueKind::Object;
                let start = reader.position();
                let reported = ReportedUsage::read(reader)?;
                usage = is_object.then(|| (start..reader.position(), reported));
            }
            b"timings" => of_one_choice = member_count(reader, b"predicted_n")?,
            b"error" if reader.kind()? != ValueKind::Null => {
                let span = reader.span()?;
                return Err(BadUpstreamResponse::Reported(upstream_error::reported(&response[span])));
            }
            _ => reader.skip()?,
        }
        Ok::<(), BadUpstreamResponse>(())
    })?;
    reader.end()?;
    if text.choices == 0 {
        return Err(BadUpstreamResponse::Unexpected("the response has no choices"));
    }
    text.leave_out(echo);
    let reported = usage.as_ref().and_then(|(_, reported)| reported.as_ref());
    meter.report_unary(reported, of_one_choice, &text);
    let (tokens, _) = meter.tokens();
    match usage {
        Some((_, Some(reported))) => reported.correct(tokens, &mut edits),
        Some((span, None)) => edits.replace(span, usage_object(tokens)),
        // Usage that the engine does not report is not made up.
        None => {}
    }
    if !has_model {
        edits.insert(open + 1, [b"\"model\":", &json::quote(model)[..], b","].concat());
    }
    Ok(edits.apply(response))
}

/// Usage in place of an object without a valid count.
fn usage_object(tokens: Tokens) -> Vec<u8> {
    let Tokens { prompt, completion, .. } = tokens;
    let (total, details) = (tokens.total(), prompt_details(tokens));
    let counts = format!("\"prompt_tokens\":{prompt},\"completion_tokens\":{completion},\"total_tokens\":{total}");
    format!("{{{counts},\"prompt_tokens_details\":{details}}}").into_bytes()
}

fn normalize_choice(
    reader: &mut Reader<'_>,
    response: &[u8],
    text: &mut UnaryText,
    form: &mut ChoiceForm,
    edits: &mut Edits<'_>,
) -> Result<(), BadUpstreamResponse> {
    reader.kind()?;
    let open = reader.position();
    let (mut has_finish, mut finish) = (false, None);
    let mut has_content = false;
    let mut is_cut = false;
    let (mut bytes, mut has_tool_calls) = (0, false);
    reader.object(|reader, name, _| {
        match (name.raw(), &mut *form) {
            (b"finish_reason", _) => {
                note_once(&mut has_finish)?;
                let kind = reader.kind()?;
                let start = reader.position();
                let reason = if kind == ValueKind::String {
                    let word = reader.string()?;
                    is_cut = word.is("length");
                    read_finish_reason(word)
                } else {
                    reader.skip()?;
                    FinishReason::Means("\"stop\"")
                };
                if reason == FinishReason::Failure {
                    return Err(BadUpstreamResponse::Unexpected("the engine gave up on a choice"));
                }
                finish = Some((start..reader.position(), reason));
            }
            (b"message", ChoiceForm::Message(budget)) if reader.kind()? == ValueKind::Object => {
                note_once(&mut has_content)?;
                (bytes, has_tool_calls) = normalize_message(reader, response, budget, edits)?;
            }
            (b"text", ChoiceForm::Text) if reader.kind()? == ValueKind::String => {
                note_once(&mut has_content)?;
                bytes = reader.string()?.raw().len() as u64;
            }
            _ => reader.skip()?,
        }
        Ok::<(), BadUpstreamResponse>(())
    })?;
    if !has_content {
        return Err(BadUpstreamResponse::Unexpected("a choice has neither a message nor a text"));
    }
    match finish {
        Some((_, FinishReason::Aborted)) if bytes == 0 => {
            return Err(BadUpstreamResponse::Unexpected("the engine aborted the response"));
        }
        None => {
            let word = FinishReason::Stop.correction(has_tool_calls).unwrap_or("\"stop\"");
            edits.insert(open + 1, format!("\"finish_reason\":{word},").into_bytes());
        }
        Some((span, reason)) => {
            if let Some(word) = reason.correction(has_tool_calls) {
                edits.replace(span, word.as_bytes());
            }
        }
    }
    text.add(bytes, is_cut);
    Ok(())
}

/// Adds what strict clients require. Returns the bytes of its text, and whether it has tool calls.
fn normalize_message(
    reader: &mut Reader<'_>,
    response: &[u8],
    budget: &mut EditBudget,
    edits: &mut Edits<'_>,
) -> Result<(u64, bool), BadUpstreamResponse> {
    const ROLE: &str = "\"role\":\"assistant\"";
    const REFUSAL: &str = "\"refusal\":null";
    let open = reader.position();
    let (mut has_role, mut has_refusal) = (false, false);
    let (mut bytes, mut has_tool_calls) = (0, false);
    let mut reasoning = Reasoning::default();
    reader.object(|reader, name, name_at| {
        match name.raw() {
            b"role" => {
                note_once(&mut has_role)?;
                let is_string = reader.kind()? == ValueKind::String;
                reader.skip()?;
                if !is_string {
                    edits.replace(name_at..reader.position(), ROLE.as_bytes());
                }
            }
            b"refusal" => {
                has_refusal = true;
                reader.skip()?;
            }
            b"reasoning_content" | b"reasoning" => bytes += reasoning.read(reader, name.raw())?,
            b"tool_calls" if reader.kind()? == ValueKind::Array => {
                let start = reader.position();
                reader.array(|reader, position| {
                    has_tool_calls = true;
                    budget.add_tool_call(reader.position())?;
                    if let Some(call) = ToolPart::read(reader, position)? {
                        call.normalize_whole(edits);
                    }
                    Ok::<(), JsonError>(())
                })?;
                bytes += (reader.position() - start) as u64;
            }
            b"content" | b"tool_calls" => {
                let kind = reader.kind()?;
                let length = reader.span()?.len() as u64;
                bytes += match kind {
                    ValueKind::Null => 0,
                    ValueKind::String => length - QUOTES,
                    ValueKind::Bool | ValueKind::Number | ValueKind::Array | ValueKind::Object => length,
                };
            }
            _ => reader.skip()?,
        }
        Ok::<(), BadUpstreamResponse>(())
    })?;
    reasoning.write_both(response, &mut budget.repeated, edits);
    let added = match (has_role, has_refusal) {
        (true, true) => return Ok((bytes, has_tool_calls)),
        (true, false) => Cow::Borrowed(REFUSAL),
        (false, true) => Cow::Borrowed(ROLE),
        (false, false) => Cow::Owned([ROLE, ",", REFUSAL].concat()),
    };
    edits.insert(open + 1, first_member(&added, !is_empty_object(response, open)));
    Ok((bytes, has_tool_calls))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::completions;
    use domain::usage::Certainty;

    /// The response to a request for two choices.
    fn normalized(response: &str) -> (Result<serde_json::Value, BadUpstreamResponse>, (Tokens, Certainty)) {
        let mut meter = TokenMeter::new(10);
        let response = Bytes::copy_from_slice(response.as_bytes());
        let result = normalize(&response, "acme/tiny", 2, ReasoningNames::Both, &mut meter);
        (result.map(|bytes| serde_json::from_slice(&bytes).unwrap()), meter.tokens())
    }

    #[test]
    fn only_the_model_changes_in_a_valid_response() {
        let response = r#"{"id":"x","created":1,"model":"tiny-q4","choices":[{"index":0,"message":{"role":"assistant",
            "content":"hi","reasoning":"hm","reasoning_content":"hm","refusal":null},"finish_reason":"stop","stop_reason":null}],
            "usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":7,
            "prompt_tokens_details":{"cached_tokens":3}},"timings":{"a":1.5}}"#;
        let (value, tokens) = normalized(response);
        let mut expected: serde_json::Value = serde_json::from_str(response).unwrap();
        expected["model"] = "acme/tiny".into();
        assert_eq!(value.unwrap(), expected);
        assert_eq!(tokens, (Tokens { prompt: 5, completion: 2, cached: 3 }, Certainty::Exact));
    }

    #[test]
    fn missing_members_are_added() {
        let (value, tokens) = normalized(
            r#"{"choices":[{"message":{"content":"12345678"},"finish_reason":"abort"},{"message":{},"finish_reason":null}],
                "usage":{"prompt_tokens":5,"completion_tokens":2,"total_tokens":9}}"#,
        );
        let value = value.unwrap();
        assert_eq!(value["model"], "acme/tiny");
        assert_eq!(value["choices"][0]["message"]["role"], "assistant");
        assert_eq!(value["choices"][1]["message"]["role"], "assistant");
        assert_eq!(value["choices"][0]["finish_reason"], "length");
        assert_eq!(value["choices"][1]["finish_reason"], "stop");
        for choice in 0..2 {
            let message = value["choices"][choice]["message"].as_object().unwrap();
            assert_eq!(message.get("refusal"), Some(&serde_json::Value::Null));
        }
        assert_eq!(value["usage"]["total_tokens"], 7);
        assert_eq!(value["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
        assert_eq!(tokens.1, Certainty::Exact);
    }

    #[test]
    fn a_turn_with_tool_calls_ends_because_of_them_and_reasoning_has_both_names() {
        let response = |reasoning: &str| {
            let call = r#"{"id":"a","function":{"name":"f","arguments":null}}"#;
            let message = format!(r#"{{"role":"assistant",{reasoning},"tool_calls":[{call}]}}"#);
            let cut = r#"{"finish_reason":"length","message":{"reasoning":null,"tool_calls":[]}}"#;
            format!(r#"{{"choices":[{{"finish_reason":"stop","message":{message}}},{cut}]}}"#)
        };
        let (value, tokens) = normalized(&response(r#""reasoning_content":"12345678""#));
        let choices = &value.unwrap()["choices"];
        let message = &choices[0]["message"];
        assert_eq!((&message["reasoning"], &message["reasoning_content"]), (&"12345678".into(), &"12345678".into()));
        assert_eq!(message["tool_calls"][0]["type"], "function");
        assert_eq!(message["tool_calls"][0]["function"]["arguments"], "{}");
        let ends = (&choices[0]["finish_reason"], &choices[1]["finish_reason"]);
        assert_eq!(ends, (&"tool_calls".into(), &"length".into()));
        assert!(choices[1]["message"].get("reasoning_content").is_none());
        let both = r#""reasoning":"12345678","reasoning_content":"12345678""#;
        assert_eq!(normalized(&response(both)).1, tokens, "the reasoning counts once");
        for with_null in
            [r#""reasoning":null,"reasoning_content":"12345678""#, r#""reasoning":"12345678","reasoning_content":null"#]
        {
            let (value, counted) = normalized(&response(with_null));
            assert_eq!((&value.unwrap()["choices"][0]["message"], counted), (message, tokens), "{with_null}");
        }
    }

    #[test]
    fn choices_share_the_bounds_of_their_edits() {
        let calls = |count: usize| {
            let calls = vec!["{}"; count].join(",");
            format!(r#"{{"message":{{"tool_calls":[{calls}]}},"finish_reason":null}}"#)
        };
        let response = |first, second| format!(r#"{{"choices":[{},{}]}}"#, calls(first), calls(second));
        assert!(normalized(&response(MAX_TOOL_CALLS - 1, 1)).0.is_ok());
        assert!(normalized(&response(MAX_TOOL_CALLS, 1)).0.is_err());

        let text = "x".repeat(600 << 10);
        let choice = format!(r#"{{"message":{{"reasoning":"{text}"}},"finish_reason":null}}"#);
        let value = normalized(&format!(r#"{{"choices":[{choice},{choice}]}}"#)).0.unwrap();
        let is_repeated = |index: usize| value["choices"][index]["message"].get("reasoning_content").is_some();
        assert_eq!([is_repeated(0), is_repeated(1)], [true, false]);
    }

    #[test]
    fn prompts_that_are_repeated_are_not_completions() {
        let completion = |request: &str, response: &str| {
            let request = completions::parse(format!(r#"{{"model":"a/b","echo":true,{request}}}"#).into()).unwrap();
            let (response, mut meter) = (Bytes::copy_from_slice(response.as_bytes()), TokenMeter::new(10));
            normalize_texts(&response, "a/b", request.choices(), request.echo(), &mut meter).unwrap();
            meter.tokens().0.completion
        };
        let choice = |text: &str| format!(r#"{{"text":"{text}","finish_reason":"stop"}}"#);
        let two = [choice("a prompt of some words 1234567"), choice("a prompt of some words 1234")].join(",");
        let without_usage = format!(r#"{{"choices":[{two}]}}"#);
        assert_eq!(completion(r#""prompt":"a prompt of some words ","n":2"#, &without_usage), 2);
        assert_eq!(completion(r#""prompt":[10001,10002,10003,10004,10005,10006],"n":2"#, &without_usage), 3);
        let usage = r#""usage":{"prompt_tokens":6,"completion_tokens":0}"#;
        let scored = format!(r#"{{"choices":[{}],{usage}}}"#, choice("a prompt of some words"));
        assert_eq!(completion(r#""prompt":[1,2],"max_tokens":0"#, &scored), 0);
    }

    #[test]
    fn tokens_are_estimated_without_usage() {
        let (_, tokens) = normalized(r#"{"choices":[{"message":{"content":"123456"},"finish_reason":"stop"}]}"#);
        assert_eq!(tokens, (Tokens { prompt: 10, completion: 2, cached: 0 }, Certainty::Estimated));
    }

    #[test]
    fn invalid_responses_are_rejected() {
        for bad in [
            "",
            "<html>",
            "[]",
            "{}",
            r#"{"choices":[]}"#,
            r#"{"error":{"message":"no"}}"#,
            r#"{"choices":[1]}"#,
            r#"{"choices":[{"message":{},"finish_reason":"error"}]}"#,
            r#"{"choices":[{"message":{}},{"message":{}},{"message":{}}]}"#,
            r#"{"model":"a","model":"b","choices":[{"message":{}}]}"#,
            r#"{"choices":[{"message":{},"message":{}}]}"#,
            r#"{"choices":[{"message":{"role":1,"role":2}}]}"#,
            r#"{"choices":[{"message":{},"finish_reason":null,"finish_reason":null}]}"#,
            r#"{"choices":[{"message":{}},{"message":{}}],"choices":[{"message":{}}]}"#,
        ] {
            assert!(normalized(bad).0.is_err(), "{bad}");
        }
    }
}
