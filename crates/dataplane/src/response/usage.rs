//! Reads the `usage` object of an engine and corrects it for the client.
//!
//! Engines report nulls, floats, wrong totals and counts that underflowed. A count is a number from 0 to [`MAX_TOKENS`];
//! anything else counts as absent, and the client gets a number in its place.

use super::service_tier::{FLEX, FLEX_MEMBER};
use domain::model::NativeApi;
use domain::usage::Tokens;
use json::edits::Edits;
use json::{JsonError, Reader, ValueKind};
use std::ops::Range;

/// The maximum that is believed: more than any context length times any number of choices, and less than what a
/// negative number becomes in 32 bits.
const MAX_TOKENS: u64 = 1 << 30;

/// A `usage` object with at least one count.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct ReportedUsage {
    open: usize,
    prompt: Option<Count>,
    completion: Option<Count>,
    total: Option<Count>,
    details: PromptDetails,
    pub(super) cached: Option<u64>,
    /// The value of `service_tier`, which is here in Messages.
    tier: Option<Range<usize>>,
}

/// The member `prompt_tokens_details`, which strict clients require and engines omit or set to null.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum PromptDetails {
    #[default]
    Absent,
    Null(Range<usize>),
    Present,
}

/// A member of `usage`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Count {
    span: Range<usize>,
    /// `None` if it is not a number that is believed.
    tokens: Option<u64>,
    /// Written as an integer.
    is_integer: bool,
}

impl ReportedUsage {
    /// Reads the value of `usage`. Anything but an object with a valid count is absent.
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Option<Self>, JsonError> {
        if reader.kind()? != ValueKind::Object {
            return reader.skip().map(|_| None);
        }
        let mut reported = Self { open: reader.position(), ..Self::default() };
        reader.object(|reader, name, _| {
            match name.raw() {
                b"prompt_tokens" => reported.prompt = Some(Count::read(reader)?),
                b"completion_tokens" => reported.completion = Some(Count::read(reader)?),
                b"total_tokens" => reported.total = Some(Count::read(reader)?),
                b"prompt_tokens_details" => {
                    let is_null = reader.kind()? == ValueKind::Null;
                    let start = reader.position();
                    reported.cached = member_count(reader, b"cached_tokens")?;
                    let span = start..reader.position();
                    reported.details = if is_null { PromptDetails::Null(span) } else { PromptDetails::Present };
                }
                _ => reader.skip()?,
            }
            Ok::<(), JsonError>(())
        })?;
        let has_count = reported.prompt().is_some() || reported.completion().is_some();
        Ok(has_count.then_some(reported))
    }

    /// Reads the value of `usage` in Anthropic's Messages, where cached tokens are not a part of the input tokens, or in
    /// OpenAI's Responses, where they are.
    pub(super) fn read_native(reader: &mut Reader<'_>, api: NativeApi) -> Result<Option<Self>, JsonError> {
        if reader.kind()? != ValueKind::Object {
            return reader.skip().map(|_| None);
        }
        let mut reported = Self { open: reader.position(), ..Self::default() };
        let (mut read, mut created) = (None, None);
        reader.object(|reader, name, _| {
            match name.raw() {
                b"input_tokens" => reported.prompt = Some(Count::read(reader)?),
                b"output_tokens" => reported.completion = Some(Count::read(reader)?),
                b"cache_read_input_tokens" if api == NativeApi::Messages => read = Count::read(reader)?.tokens,
                b"cache_creation_input_tokens" if api == NativeApi::Messages => created = Count::read(reader)?.tokens,
                b"service_tier" if api == NativeApi::Messages => reported.tier = Some(reader.span()?),
                b"input_tokens_details" if api == NativeApi::Responses => {
                    reported.cached = member_count(reader, b"cached_tokens")?;
                }
                _ => reader.skip()?,
            }
            Ok::<(), JsonError>(())
        })?;
        if api == NativeApi::Messages {
            reported.cached = read;
            let prompt = reported.prompt.as_mut().and_then(|count| count.tokens.as_mut());
            if let Some(tokens) = prompt {
                *tokens += read.unwrap_or(0) + created.unwrap_or(0);
            }
        }
        let has_count = reported.prompt().is_some() || reported.completion().is_some();
        Ok(has_count.then_some(reported))
    }

    /// Usage that consists of a prompt only.
    pub(super) fn of_prompt(tokens: u64) -> Option<Self> {
        let prompt = Some(Count { span: 0..0, tokens: Some(tokens), is_integer: true });
        (tokens > 0).then(|| Self { prompt, ..Self::default() })
    }

    /// The tokens of the prompt. There is no empty prompt, so 0 means that the engine does not know them yet.
    pub(super) fn prompt(&self) -> Option<u64> {
        self.prompt.as_ref().and_then(|count| count.tokens).filter(|tokens| *tokens > 0)
    }

    pub(super) fn completion(&self) -> Option<u64> {
        self.completion.as_ref().and_then(|count| count.tokens)
    }

    /// Sets the counts to these and the total to their sum. Counts that are right are not touched.
    pub(super) fn correct(&self, tokens: Tokens, edits: &mut Edits<'_>) {
        let is_embedding = self.completion.is_none() && tokens.completion == 0;
        self.set("prompt_tokens", self.prompt.as_ref(), tokens.prompt, edits);
        if !is_embedding {
            self.set("completion_tokens", self.completion.as_ref(), tokens.completion, edits);
            self.add_details(tokens, edits);
        }
        self.set("total_tokens", self.total.as_ref(), tokens.total(), edits);
    }

    /// Names the flex tier.
    pub(super) fn set_flex(&self, edits: &mut Edits<'_>) {
        match &self.tier {
            Some(span) => edits.replace(span.clone(), FLEX),
            // Other members follow: an object without a count is absent.
            None => edits.insert(self.open + 1, FLEX_MEMBER),
        }
    }

    fn add_details(&self, tokens: Tokens, edits: &mut Edits<'_>) {
        match &self.details {
            PromptDetails::Absent => {
                let member = format!("\"prompt_tokens_details\":{},", prompt_details(tokens));
                edits.insert(self.open + 1, member.into_bytes());
            }
            PromptDetails::Null(span) => edits.replace(span.clone(), prompt_details(tokens).into_bytes()),
            PromptDetails::Present => {}
        }
    }

    fn set(&self, name: &str, member: Option<&Count>, tokens: u64, edits: &mut Edits<'_>) {
        match member {
            Some(count) if count.is_integer && count.tokens == Some(tokens) => {}
            Some(count) => edits.replace(count.span.clone(), tokens.to_string().into_bytes()),
            // Other members follow: an object without a count is absent.
            None => edits.insert(self.open + 1, format!("\"{name}\":{tokens},").into_bytes()),
        }
    }
}

/// The value of `prompt_tokens_details`.
pub(super) fn prompt_details(tokens: Tokens) -> String {
    format!("{{\"cached_tokens\":{}}}", tokens.cached)
}

impl Count {
    fn read(reader: &mut Reader<'_>) -> Result<Self, JsonError> {
        let kind = reader.kind()?;
        let start = reader.position();
        if kind != ValueKind::Number {
            reader.skip()?;
            return Ok(Self { span: start..reader.position(), tokens: None, is_integer: false });
        }
        let text = reader.number()?;
        let is_integer = text.iter().all(u8::is_ascii_digit);
        let tokens = if is_integer { integer(text) } else { float(text) };
        Ok(Self { span: start..reader.position(), tokens, is_integer })
    }
}

fn integer(digits: &[u8]) -> Option<u64> {
    let value =
        digits.iter().fold(0_u64, |value, digit| value.saturating_mul(10).saturating_add((digit - b'0').into()));
    (value <= MAX_TOKENS).then_some(value)
}

/// A number with a sign, a fraction or an exponent, rounded up.
fn float(text: &[u8]) -> Option<u64> {
    let number: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    (0.0..=MAX_TOKENS as f64).contains(&number).then(|| number.ceil() as u64)
}

/// The count in the member `wanted` of an object, if the value is an object that has it.
pub(super) fn member_count(reader: &mut Reader<'_>, wanted: &[u8]) -> Result<Option<u64>, JsonError> {
    if reader.kind()? != ValueKind::Object {
        return reader.skip().map(|_| None);
    }
    let mut found = None;
    reader.object(|reader, name, _| {
        if name.raw() == wanted {
            found = Count::read(reader)?.tokens;
            return Ok(());
        }
        reader.skip()
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use proptest::prelude::*;

    fn read(text: &str) -> Option<ReportedUsage> {
        ReportedUsage::read(&mut Reader::new(text.as_bytes())).unwrap()
    }

    fn counts(text: &str) -> Option<(Option<u64>, Option<u64>)> {
        read(text).map(|usage| (usage.prompt(), usage.completion()))
    }

    fn corrected(text: &str, prompt: u64, completion: u64) -> String {
        let mut edits = Edits::default();
        read(text).unwrap().correct(Tokens { prompt, completion, cached: 0 }, &mut edits);
        String::from_utf8(edits.apply(&Bytes::copy_from_slice(text.as_bytes())).to_vec()).unwrap()
    }

    #[test]
    fn counts_are_numbers_within_bounds() {
        for (text, expected) in [
            (r#"{"prompt_tokens":7,"completion_tokens":2}"#, Some((Some(7), Some(2)))),
            (r#"{"prompt_tokens":7.0,"completion_tokens":2.5e0}"#, Some((Some(7), Some(3)))),
            (r#"{"prompt_tokens":0,"completion_tokens":0}"#, Some((None, Some(0)))),
            (r#"{"prompt_tokens":7}"#, Some((Some(7), None))),
            (r#"{"prompt_tokens":null,"completion_tokens":2}"#, Some((None, Some(2)))),
            (r#"{"prompt_tokens":"7","completion_tokens":[2]}"#, None),
            (r#"{"prompt_tokens":-7,"completion_tokens":-0.5}"#, None),
            (r#"{"prompt_tokens":7,"completion_tokens":4294967295}"#, Some((Some(7), None))),
            (r#"{"prompt_tokens":7,"completion_tokens":18446744073709551615}"#, Some((Some(7), None))),
            (r#"{"prompt_tokens":7,"completion_tokens":99999999999999999999999999}"#, Some((Some(7), None))),
            (r#"{"prompt_tokens":1e400,"completion_tokens":1e300}"#, None),
            (r#"{"prompt_tokens":1073741824,"completion_tokens":1073741825}"#, Some((Some(1 << 30), None))),
            (r#"{"total_tokens":7}"#, None),
            ("{}", None),
            ("null", None),
            ("7", None),
        ] {
            assert_eq!(counts(text), expected, "{text}");
        }
    }

    #[test]
    fn usage_of_other_apis_counts_all_of_the_prompt() {
        let read = |api, text: &str| {
            let usage = ReportedUsage::read_native(&mut Reader::new(text.as_bytes()), api).unwrap();
            usage.map(|usage| (usage.prompt(), usage.completion(), usage.cached))
        };
        let messages =
            r#"{"input_tokens":6,"cache_read_input_tokens":4,"cache_creation_input_tokens":2,"output_tokens":3}"#;
        assert_eq!(read(NativeApi::Messages, messages), Some((Some(12), Some(3), Some(4))));
        let null = r#"{"input_tokens":6,"cache_read_input_tokens":null,"output_tokens":0}"#;
        assert_eq!(read(NativeApi::Messages, null), Some((Some(6), Some(0), None)));
        let end = r#"{"output_tokens":3,"cache_read_input_tokens":4}"#;
        assert_eq!(read(NativeApi::Messages, end), Some((None, Some(3), Some(4))));
        let responses = r#"{"input_tokens":10,"input_tokens_details":{"cached_tokens":4},"output_tokens":3}"#;
        assert_eq!(read(NativeApi::Responses, responses), Some((Some(10), Some(3), Some(4))));
        for absent in ["null", "{}", r#"{"input_tokens":"6"}"#, "7"] {
            assert_eq!(read(NativeApi::Responses, absent), None, "{absent}");
        }
    }

    #[test]
    fn the_flex_tier_is_added_or_replaced() {
        for (usage, expected) in [
            (r#"{"output_tokens":3}"#, r#"{"service_tier":"flex","output_tokens":3}"#),
            (r#"{"service_tier":"standard","output_tokens":3}"#, r#"{"service_tier":"flex","output_tokens":3}"#),
            (r#"{"output_tokens":3,"service_tier":null}"#, r#"{"output_tokens":3,"service_tier":"flex"}"#),
        ] {
            let mut reader = Reader::new(usage.as_bytes());
            let read = ReportedUsage::read_native(&mut reader, NativeApi::Messages).unwrap().unwrap();
            let mut edits = Edits::default();
            read.set_flex(&mut edits);
            assert_eq!(edits.apply(&Bytes::from_static(usage.as_bytes())), expected);
        }
    }

    #[test]
    fn a_correct_object_is_not_touched() {
        let text =
            r#"{ "prompt_tokens" : 5, "completion_tokens" : 2 , "total_tokens":7,"prompt_tokens_details":{"y":1}}"#;
        assert_eq!(corrected(text, 5, 2), text);
        let embedding = r#"{"prompt_tokens":5,"total_tokens":5}"#;
        assert_eq!(corrected(embedding, 5, 0), embedding);
    }

    #[test]
    fn details_of_the_prompt_are_added() {
        let details = r#""prompt_tokens_details":{"cached_tokens":0}"#;
        let counts = r#""prompt_tokens":5,"completion_tokens":2,"total_tokens":7"#;
        assert_eq!(corrected(&format!("{{{counts}}}"), 5, 2), format!("{{{details},{counts}}}"));
        let null = format!(r#"{{{counts},"prompt_tokens_details":null}}"#);
        assert_eq!(corrected(&null, 5, 2), format!("{{{counts},{details}}}"));
    }

    proptest! {
        #[test]
        fn a_corrected_object_is_json_with_these_counts(
            members in prop::collection::vec(
                ("prompt_tokens|completion_tokens|total_tokens|x",
                 prop_oneof![
                     Just("null".to_owned()), Just("1.5".to_owned()), Just("-3".to_owned()), Just("\"8\"".to_owned()),
                     Just("[1,{}]".to_owned()), Just("18446744073709551616".to_owned()), (0_u64..99).prop_map(|n| n.to_string()),
                 ]),
                0..5),
            prompt in 1_u64..1000,
            completion in 0_u64..1000,
        ) {
            let mut seen = std::collections::HashSet::new();
            let members: Vec<String> = members
                .into_iter()
                .filter(|(name, _)| seen.insert(name.clone()))
                .map(|(name, value)| format!("\"{name}\" : {value}"))
                .collect();
            let text = format!("{{ {} }}", members.join(" , "));
            if read(&text).is_some() {
                let value: serde_json::Value = serde_json::from_str(&corrected(&text, prompt, completion)).unwrap();
                prop_assert_eq!(value["prompt_tokens"].as_u64(), Some(prompt));
                prop_assert_eq!(value["completion_tokens"].as_u64().unwrap_or(0), completion);
                prop_assert_eq!(value["total_tokens"].as_u64(), Some(prompt + completion));
            }
        }
    }
}
