//! An embeddings request: four forms of input, two encodings of the answer.

use super::checks::{Checks, Path};
use super::{Ask, Demand, Fault, Named, Probe, read_members, without_mark};
use crate::json::{Kind, Malformed, Reader};
use bytes::Bytes;
use std::ops::Range;

/// How the client wants its vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encoding {
    #[default]
    Float,
    Base64,
}

/// What the answer must look like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Vectors {
    pub encoding: Encoding,
    pub dimensions: Option<u64>,
    /// As many vectors are wanted.
    pub inputs: usize,
}

const MAX_INPUTS: usize = 2048;

/// Reads the body of `POST /v1/embeddings`.
pub fn probe(body: Bytes) -> Result<Probe, Fault> {
    let body = without_mark(body);
    let mut checks = Checks::default();
    let mut named = Named::default();
    let mut input = None;
    let mut encoding = Encoding::Float;
    let mut dimensions = None;

    read_members(&body, |reader, name| {
        let checks = &mut checks;
        match &*name.decoded() {
            b"model" => named.read(reader, checks)?,
            b"input" => input = check_input(reader, checks)?,
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
            _ => reader.skip()?,
        }
        Ok(())
    })?;

    let (model, model_span) = named.take(&mut checks)?;
    if input.is_none() {
        checks.missing(&"input");
    }
    let invalid = checks.finish()?;
    let dimensions = dimensions.map(i64::unsigned_abs);
    let (prompt, inputs) = input.unwrap_or((0..0, 0));
    let ask = Ask::Embeddings(Vectors { encoding, dimensions, inputs });
    let demand = Demand::embeddings(prompt.len(), inputs);
    Ok(Probe { body, model, model_span, prompt, ask, demand, invalid })
}

/// A string, an array of strings, one array of token ids, or an array of such arrays.
/// Tells where it stands and how many vectors it asks for.
fn check_input(reader: &mut Reader<'_>, checks: &mut Checks) -> Result<Option<(Range<usize>, usize)>, Malformed> {
    let kind = reader.kind()?;
    let start = reader.position();
    let mut inputs = 1;
    match kind {
        Kind::Null => {
            reader.skip()?;
            return Ok(None);
        }
        Kind::String => {
            if reader.string()?.raw().is_empty() {
                checks.invalid(&"input", || "must not be empty".into());
            }
        }
        Kind::Array => inputs = check_inputs(reader, checks)?,
        other @ (Kind::Bool | Kind::Number | Kind::Object) => {
            checks.invalid(&"input", || format!("must be a string or an array, not {}", other.name()));
            reader.skip()?;
        }
    }
    Ok(Some((start..reader.position(), inputs)))
}

/// How many inputs there are: an array of token ids is one.
fn check_inputs(reader: &mut Reader<'_>, checks: &mut Checks) -> Result<usize, Malformed> {
    let mut first = None;
    let mut count = 0;
    reader.array(|reader, index| {
        count += 1;
        let kind = reader.kind()?;
        let path = Path::Index(&"input", index);
        if *first.get_or_insert(kind) != kind {
            checks.invalid(&path, || "must be of the same kind as the elements before it".into());
            return reader.skip();
        }
        match kind {
            Kind::String => {
                if reader.string()?.raw().is_empty() {
                    checks.invalid(&path, || "must not be empty".into());
                }
                Ok(())
            }
            Kind::Number => check_token(reader, checks, &path),
            Kind::Array => check_tokens(reader, checks, &path),
            other @ (Kind::Null | Kind::Bool | Kind::Object) => {
                checks.invalid(&path, || {
                    format!("must be a string, a token id or an array of token ids, not {}", other.name())
                });
                reader.skip()
            }
        }
    })?;
    if count == 0 {
        checks.invalid(&"input", || "must not be empty".into());
    } else if count > MAX_INPUTS && first != Some(Kind::Number) {
        checks.invalid(&"input", || format!("must have at most {MAX_INPUTS} elements, not {count}"));
    }
    Ok(if first == Some(Kind::Number) { 1 } else { count })
}

fn check_tokens(reader: &mut Reader<'_>, checks: &mut Checks, path: &Path<'_>) -> Result<(), Malformed> {
    let mut count = 0;
    reader.array(|reader, index| {
        count += 1;
        check_token(reader, checks, &Path::Index(path, index))
    })?;
    if count == 0 {
        checks.invalid(path, || "must not be empty".into());
    }
    Ok(())
}

fn check_token(reader: &mut Reader<'_>, checks: &mut Checks, path: &Path<'_>) -> Result<(), Malformed> {
    if reader.kind()? == Kind::Null {
        checks.invalid(path, || "must be a token id, not null".into());
    }
    checks.integer(reader, path, 0..=i64::from(u32::MAX)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(body: &str) -> Result<Probe, Fault> {
        probe(Bytes::copy_from_slice(body.as_bytes()))
    }

    fn param(body: &str) -> String {
        match read(body) {
            Ok(probe) => probe.invalid.map_or_else(|| "fine".into(), |invalid| invalid.param),
            Err(Fault::Missing { param }) => format!("missing {param}"),
            Err(Fault::Unreadable(why)) => why,
        }
    }

    #[test]
    fn all_four_forms_of_input_pass() {
        for input in [r#""text""#, r#"["a","b"]"#, "[1,2,3]", "[[1,2],[3]]"] {
            assert_eq!(param(&format!(r#"{{"model":"a/b","input":{input}}}"#)), "fine", "{input}");
        }
    }

    #[test]
    fn each_fault_names_its_place() {
        for (members, wanted) in [
            (r#""input":"""#, "input"),
            (r#""input":[]"#, "input"),
            (r#""input":["a",""]"#, "input[1]"),
            (r#""input":["a",1]"#, "input[1]"),
            (r#""input":[[1],[]]"#, "input[1]"),
            (r#""input":[[1,-2]]"#, "input[0][1]"),
            (r#""input":[1.5]"#, "input[0]"),
            (r#""input":{}"#, "input"),
            (r#""input":null"#, "missing input"),
            (r#""input":"x","dimensions":0"#, "dimensions"),
            (r#""input":"x","encoding_format":"int8""#, "encoding_format"),
            (r#""input":"x","encoding_format":null,"dimensions":null"#, "fine"),
        ] {
            assert_eq!(param(&format!(r#"{{"model":"a/b",{members}}}"#)), wanted, "{members}");
        }
        assert_eq!(param(r#"{"input":"x"}"#), "missing model");
    }

    #[test]
    fn more_than_2048_inputs_are_refused_but_a_long_token_array_is_not() {
        let strings = vec![r#""a""#; 2049].join(",");
        assert_eq!(param(&format!(r#"{{"model":"a/b","input":[{strings}]}}"#)), "input");
        let tokens = vec!["1"; 5000].join(",");
        assert_eq!(param(&format!(r#"{{"model":"a/b","input":[{tokens}]}}"#)), "fine");
    }
}
