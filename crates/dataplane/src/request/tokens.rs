//! Parses requests to turn a prompt into tokens, and tokens into text, in vLLM's format.

use super::prompts::{self, Prompts};
use super::{CompletionOptions, ModelMember, Operation, ParsedRequest, TokenEstimate, chat, completions};
use bytes::Bytes;
use json::{Checks, InvalidParam, ParseError, Reader, ValueKind, read_members, without_bom};

/// Parses the body of `POST /v1/tokenize`: a chat, or one text.
pub fn parse_tokenize(body: Bytes) -> Result<ParsedRequest, ParseError> {
    if is_chat(&body) {
        return chat::parse(body);
    }
    let mut request = completions::parse(body)?;
    if request.invalid.is_none() && !request.prompt().starts_with(b"\"") {
        request.invalid = Some(InvalidParam { param: "prompt".into(), why: "must be a string".into() });
    }
    Ok(request)
}

/// Parses the body of `POST /v1/detokenize`: one array of token ids.
pub fn parse_detokenize(body: Bytes) -> Result<ParsedRequest, ParseError> {
    let body = without_bom(body);
    let mut checks = Checks::default();
    let mut model = ModelMember::default();
    let mut tokens = None;
    read_members(&body, &["model", "tokens"], |reader, name| {
        match name {
            b"model" => model.read(reader, &mut checks)?,
            b"tokens" => tokens = prompts::check(reader, &mut checks, "tokens")?,
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    let model = model.take(&mut checks)?;
    let Some(Prompts { span, count, least_tokens, are_tokens }) = tokens else {
        checks.missing(&"tokens");
        return Err(checks.take_missing());
    };
    if !are_tokens || count != 1 || body[span.clone()].starts_with(b"[[") {
        checks.invalid(&"tokens", || "must be an array of token ids".into());
    }
    let invalid = checks.finish()?;
    let mut estimate = TokenEstimate::completions().with_prompts(1, least_tokens, 1);
    estimate.prompt_bytes = span.len() as u64;
    let operation = Operation::Completions(CompletionOptions::default());
    Ok(ParsedRequest::bare(body, model, span, operation, estimate, invalid))
}

/// Whether the body has messages. One that cannot be read is reported by the parser of texts.
fn is_chat(body: &[u8]) -> bool {
    let mut found = false;
    let mut reader = Reader::new(body);
    let _ = reader.object(|reader, name, _| {
        found |= name.is("messages") && reader.kind()? != ValueKind::Null;
        reader.skip()
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn param(parsed: Result<ParsedRequest, ParseError>) -> String {
        match parsed {
            Ok(request) => request.invalid.map_or_else(|| "fine".into(), |invalid| invalid.param),
            Err(ParseError::Missing { param }) => format!("missing {param}"),
            Err(other) => format!("{other:?}"),
        }
    }

    #[test]
    fn a_text_or_a_chat_becomes_tokens() {
        for (members, expected) in [
            (r#""prompt":"hi","add_special_tokens":false"#, "fine"),
            (r#""messages":[{"role":"user","content":"hi"}]"#, "fine"),
            (r#""messages":null,"prompt":"hi""#, "fine"),
            (r#""prompt":["hi"]"#, "prompt"),
            (r#""prompt":[1]"#, "prompt"),
            (r#""x":1"#, "missing prompt"),
        ] {
            assert_eq!(param(parse_tokenize(format!(r#"{{"model":"a/b",{members}}}"#).into())), expected, "{members}");
        }
    }

    #[test]
    fn one_array_of_ids_becomes_text() {
        for (members, expected) in [
            (r#""tokens":[1,2]"#, "fine"),
            (r#""tokens":[]"#, "tokens"),
            (r#""tokens":[[1]]"#, "tokens"),
            (r#""tokens":["a"]"#, "tokens"),
            (r#""tokens":[-1]"#, "tokens[0]"),
            (r#""tokens":null"#, "missing tokens"),
        ] {
            let body = format!(r#"{{"model":"a/b",{members}}}"#);
            assert_eq!(param(parse_detokenize(body.into())), expected, "{members}");
        }
    }
}
