//! Parses an embeddings request: four forms of input, two encodings of the response.

use super::estimate::least_tokens;
use super::prompts;
use super::{CacheMembers, ModelMember, Operation, OtherMembers, ParsedRequest, TokenEstimate, media};
use bytes::Bytes;
use domain::capabilities::Capability;
use json::{Checks, ParseError, read_members, without_bom};

/// The encoding of vectors that the client requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Encoding {
    #[default]
    Float,
    Base64,
}

/// The expected form of the response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct EmbeddingOptions {
    pub(crate) encoding: Encoding,
    pub(crate) dimensions: Option<u64>,
    /// The number of vectors.
    pub(crate) inputs: usize,
}

impl EmbeddingOptions {
    /// The least bytes of the response; `None` if the model chooses the dimensions. A float takes a sign, a point and some
    /// digits, and four bytes take five letters and a bit.
    pub(crate) fn least_bytes(&self) -> Option<u64> {
        let per_number = match self.encoding {
            Encoding::Float => 8,
            Encoding::Base64 => 5,
        };
        Some(self.dimensions?.saturating_mul(per_number).saturating_mul(self.inputs as u64))
    }
}

/// The members that are read here.
const MEMBERS: [&str; 8] =
    ["model", "input", "encoding_format", "dimensions", "user", "cache_salt", "cache_prompt", "messages"];

/// Parses the body of `POST /v1/embeddings`.
pub fn parse(body: Bytes) -> Result<ParsedRequest, ParseError> {
    let body = without_bom(body);
    let mut checks = Checks::default();
    let mut model = ModelMember::default();
    let mut input = None;
    let mut encoding = Encoding::Float;
    let mut dimensions = None;
    let mut cache = CacheMembers::default();
    let mut others = OtherMembers::default();
    let (mut other_bytes, mut media_bytes) = (0, 0);

    read_members(&body, &MEMBERS, |reader, name| {
        let checks = &mut checks;
        match name {
            b"model" => model.read(reader, checks)?,
            b"input" => input = prompts::check(reader, checks, "input")?,
            b"encoding_format" => {
                if let Some(text) = checks.text(reader, &"encoding_format")? {
                    checks.word(text, &"encoding_format", &["float", "base64"]);
                    encoding = if text.is("base64") { Encoding::Base64 } else { Encoding::Float };
                }
            }
            b"dimensions" => dimensions = checks.integer(reader, &"dimensions", 1..=i64::MAX)?,
            b"user" => {
                checks.text(reader, &"user")?;
            }
            b"cache_salt" => cache.read_salt(reader, checks)?,
            b"cache_prompt" => cache.read_prompt(reader)?,
            // vLLM also takes a chat as the input of an embedding.
            b"messages" => {
                let start = reader.position();
                media_bytes += media::check(reader, checks, &"messages", name)?;
                other_bytes += (reader.position() - start) as u64;
            }
            _ => other_bytes += others.read(reader, name)?,
        }
        Ok(())
    })?;

    let (model, model_span) = model.take(&mut checks)?;
    if input.is_none() {
        checks.missing(&"input");
    }
    let remote_media = checks.take_remote_media();
    let invalid = checks.finish()?;
    let dimensions = dimensions.map(i64::unsigned_abs);
    let prompts = input.unwrap_or_default();
    let inputs = prompts.count;
    let operation = Operation::Embeddings(EmbeddingOptions { encoding, dimensions, inputs });
    // An engine may read another member in place of the input. How many tokens an image has does not follow from its bytes.
    let least = prompts.least_tokens.max(least_tokens(other_bytes - media_bytes));
    let mut estimate = TokenEstimate::embeddings(other_bytes, inputs, least);
    estimate.add_prompts(&prompts);
    let (model, checked) = ((model, model_span), (invalid, Capability::Embeddings));
    let bare = ParsedRequest::bare(body, model, prompts.span, operation, estimate, checked);
    Ok(ParsedRequest { cache, others, remote_media, ..bare })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Result<ParsedRequest, ParseError> {
        parse(Bytes::copy_from_slice(body.as_bytes()))
    }

    fn param(body: &str) -> String {
        match read(body) {
            Ok(request) => request.invalid.map_or_else(|| "fine".into(), |invalid| invalid.param),
            Err(ParseError::Missing { param }) => format!("missing {param}"),
            Err(ParseError::Unreadable(why)) => why,
            Err(ParseError::BadName { param, .. }) => format!("bad {param}"),
        }
    }

    #[test]
    fn all_four_forms_of_input_pass() {
        for input in [r#""text""#, r#"["a","b"]"#, "[1,2,3]", "[[1,2],[3]]"] {
            assert_eq!(param(&format!(r#"{{"model":"a/b","input":{input}}}"#)), "fine", "{input}");
        }
    }

    #[test]
    fn errors_name_the_path_of_the_value() {
        for (members, expected) in [
            (r#""input":"""#, "input"),
            (r#""input":[]"#, "input"),
            (r#""input":["a",""]"#, "input[1]"),
            (r#""input":["a",1]"#, "input[1]"),
            (r#""input":[[1],[]]"#, "input[1]"),
            (r#""input":[[1,-2]]"#, "input[0][1]"),
            (r#""input":[1.5]"#, "input[0]"),
            (r#""input":{}"#, "input"),
            (r#""input":null"#, "missing input"),
            (r#""input":"a","Input":"b""#, "bad Input"),
            (r#""input":"x","dimensions":0"#, "dimensions"),
            (r#""input":"x","encoding_format":"int8""#, "encoding_format"),
            (r#""input":"x","encoding_format":null,"dimensions":null"#, "fine"),
        ] {
            assert_eq!(param(&format!(r#"{{"model":"a/b",{members}}}"#)), expected, "{members}");
        }
        assert_eq!(param(r#"{"input":"x"}"#), "missing model");
    }

    #[test]
    fn media_in_a_chat_to_embed_is_found() {
        let body = |url: &str| {
            let chat =
                format!(r#"[{{"role":"user","content":[{{"type":"image_url","image_url":{{"url":"{url}"}}}}]}}]"#);
            read(&format!(r#"{{"model":"a/b","input":"x","messages":{chat}}}"#)).unwrap()
        };
        assert_eq!(body("data:,").remote_media, None);
        assert_eq!(body("http://x").remote_media.as_deref(), Some("messages[0].content[0].image_url.url"));
    }

    #[test]
    fn what_an_engine_may_read_beside_the_input_must_fit_the_context() {
        let overflow = |members: &str| {
            let request = read(&format!(r#"{{"model":"a/b","input":"x",{members}}}"#)).unwrap();
            request.overflow(512).map(|overflow| overflow.param)
        };
        let (short, long) = ("x".repeat(512 * 200), "x".repeat(512 * 256));
        for (text, expected) in [(short, None), (long, Some("input"))] {
            let messages = format!(r#""messages":[{{"role":"user","content":"{text}"}}]"#);
            assert_eq!(overflow(&messages), expected);
            assert_eq!(overflow(&format!(r#""documents":"{text}""#)), expected);
            assert_eq!(overflow(&format!(r#""user":"{text}""#)), None, "engines do not embed it");
            let image = format!(r#"[{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{text}"}}}}]"#);
            let messages = format!(r#""messages":[{{"role":"user","content":{image}}}]"#);
            assert_eq!(overflow(&messages), None, "the tokens of an image do not follow from its bytes");
        }
    }

    #[test]
    fn more_than_2048_inputs_are_rejected_but_a_long_token_array_is_not() {
        let strings = vec![r#""a""#; 2049].join(",");
        assert_eq!(param(&format!(r#"{{"model":"a/b","input":[{strings}]}}"#)), "input");
        let tokens = vec!["1"; 5000].join(",");
        assert_eq!(param(&format!(r#"{{"model":"a/b","input":[{tokens}]}}"#)), "fine");
    }
}
