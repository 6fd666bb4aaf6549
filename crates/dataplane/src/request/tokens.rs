//! Parses requests to turn a prompt into tokens, and tokens into text, in vLLM's format.

use super::prompts;
use super::written::WrittenRequest;
use super::{CompletionOptions, ModelMember, Operation, ParsedRequest, TokenEstimate, chat, completions};
use bytes::Bytes;
use domain::capabilities::{Capability, CapabilitySet};
use json::{Checks, InvalidParam, ParseError, Reader, ValueKind, read_members, without_bom};

/// Parses the body of `POST /v1/tokenize`: a chat, or one text.
pub fn parse_tokenize(body: Bytes) -> Result<ParsedRequest, ParseError> {
    let body = without_bom(body);
    let mut request = match inputs(&body) {
        Inputs { has_prompt: true, has_messages: true } => {
            let why = "must not be there together with `messages`".into();
            return Err(ParseError::BadName { param: "prompt".into(), why });
        }
        Inputs { has_messages: true, .. } => chat::parse(body)?,
        Inputs { has_messages: false, .. } => parse_text(body)?,
    };
    // Models that do not chat have tokens, too.
    request.needs = CapabilitySet::EMPTY.with(Capability::Tokenize);
    Ok(request)
}

fn parse_text(body: Bytes) -> Result<ParsedRequest, ParseError> {
    let mut request = completions::parse(body)?;
    if request.invalid.is_none() && !request.prompt().starts_with(b"\"") {
        request.invalid = Some(InvalidParam { param: "prompt".into(), why: "must be a string".into() });
    }
    Ok(request)
}

/// Parses the body of `POST /v1/detokenize`: one array of token ids. The engine gets nothing else.
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
    let (model, _) = model.take(&mut checks)?;
    let Some(tokens) = tokens else {
        checks.missing(&"tokens");
        return Err(checks.take_missing());
    };
    let ids = &body[tokens.span.clone()];
    let is_nested = ids.get(1..).is_some_and(|rest| rest.trim_ascii_start().starts_with(b"["));
    if tokens.token_ids.is_none() || is_nested {
        checks.invalid(&"tokens", || "must be an array of token ids".into());
    }
    let invalid = checks.finish()?;
    let mut written = WrittenRequest::new(&model);
    let prompt = written.add("tokens", ids).value;
    let (body, model_span) = written.end();
    let estimate = TokenEstimate::completions().with_prompts(&tokens, 1);
    let (model, operation) = ((model, model_span), Operation::Completions(CompletionOptions::default()));
    Ok(ParsedRequest::bare(body, model, prompt, operation, estimate, (invalid, Capability::Tokenize)))
}

/// What a body has to be tokenized.
#[derive(Default)]
struct Inputs {
    has_prompt: bool,
    has_messages: bool,
}

/// A body that cannot be read is reported by the parser of texts.
fn inputs(body: &[u8]) -> Inputs {
    let mut found = Inputs::default();
    let mut reader = Reader::new(body);
    let _ = reader.object(|reader, name, _| {
        let has_value = reader.kind()? != ValueKind::Null;
        found.has_prompt |= has_value && name.is("prompt");
        found.has_messages |= has_value && name.is("messages");
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
            Err(ParseError::BadName { param, .. }) => format!("bad {param}"),
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
            (r#""messages":[{"role":"user","content":"hi"}],"prompt":"hi""#, "bad prompt"),
        ] {
            for mark in ["", "\u{feff}"] {
                let body = format!(r#"{mark}{{"model":"a/b",{members}}}"#);
                assert_eq!(param(parse_tokenize(body.into())), expected, "{members}");
            }
        }
    }

    #[test]
    fn an_engine_gets_nothing_but_the_tokens() {
        let body = r#"{"priority":-1,"tokens": [1, 2],"cache_salt":"x","model":"a/b"}"#;
        let request = parse_detokenize(body.into()).unwrap();
        assert_eq!(request.body, r#"{"model":"a/b","tokens":[1, 2]}"#);
        assert_eq!(request.estimate.likely_prompt(), 2);
    }

    #[test]
    fn one_array_of_ids_becomes_text() {
        for (members, expected) in [
            (r#""tokens":[1,2]"#, "fine"),
            (r#""tokens":[]"#, "tokens"),
            (r#""tokens":[[1]]"#, "tokens"),
            (r#""tokens":[ [1],[2]]"#, "tokens"),
            (r#""tokens":["a"]"#, "tokens"),
            (r#""tokens":[-1]"#, "tokens[0]"),
            (r#""tokens":null"#, "missing tokens"),
        ] {
            let body = format!(r#"{{"model":"a/b",{members}}}"#);
            assert_eq!(param(parse_detokenize(body.into())), expected, "{members}");
        }
    }
}
