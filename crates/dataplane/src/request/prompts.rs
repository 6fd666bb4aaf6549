//! Prompts that an engine reads one by one: a text, several texts, one array of token ids, or several of them.

use super::estimate::least_tokens;
use json::{Checks, JsonError, Path, Reader, ValueKind};
use std::ops::Range;

/// The most prompts of a request.
pub(super) const MAX_PROMPTS: usize = 2048;

/// The member with the prompts.
#[derive(Debug, Default)]
pub(super) struct Prompts {
    pub(super) span: Range<usize>,
    pub(super) count: usize,
    /// The fewest tokens of the longest prompt.
    pub(super) least_tokens: u64,
    /// The number of token ids; `None` if they are texts.
    pub(super) token_ids: Option<u64>,
}

/// The prompts of an array.
#[derive(Default)]
struct Elements {
    count: usize,
    least_tokens: u64,
    token_ids: Option<u64>,
}

/// Checks the member `name`. `None` for null, which counts as absent.
pub(super) fn check(
    reader: &mut Reader<'_>,
    checks: &mut Checks,
    name: &'static str,
) -> Result<Option<Prompts>, JsonError> {
    let kind = reader.kind()?;
    let start = reader.position();
    let mut found = Elements { count: 1, ..Elements::default() };
    match kind {
        ValueKind::Null => {
            reader.skip()?;
            return Ok(None);
        }
        ValueKind::String => {
            let text = reader.string()?.raw();
            if text.is_empty() {
                checks.invalid(&name, || "must not be empty".into());
            }
            found.least_tokens = least_tokens(text.len() as u64);
        }
        ValueKind::Array => found = check_elements(reader, checks, name)?,
        other @ (ValueKind::Bool | ValueKind::Number | ValueKind::Object) => {
            checks.invalid(&name, || format!("must be a string or an array, not {}", other.name()));
            reader.skip()?;
        }
    }
    let Elements { count, least_tokens, token_ids } = found;
    Ok(Some(Prompts { span: start..reader.position(), count, least_tokens, token_ids }))
}

/// An array of token ids is one prompt.
fn check_elements(reader: &mut Reader<'_>, checks: &mut Checks, name: &'static str) -> Result<Elements, JsonError> {
    let mut first = None;
    let (mut count, mut least, mut ids) = (0, 0, 0);
    reader.array(|reader, index| {
        count += 1;
        let kind = reader.kind()?;
        let path = Path::Index(&name, index);
        if *first.get_or_insert(kind) != kind {
            checks.invalid(&path, || "must have the same type as the elements before it".into());
            return reader.skip();
        }
        match kind {
            ValueKind::String => {
                let text = reader.string()?.raw();
                if text.is_empty() {
                    checks.invalid(&path, || "must not be empty".into());
                }
                least = least.max(least_tokens(text.len() as u64));
                Ok(())
            }
            ValueKind::Number => check_token(reader, checks, &path),
            ValueKind::Array => {
                let tokens = check_tokens(reader, checks, &path)?;
                least = least.max(tokens);
                ids += tokens;
                Ok(())
            }
            other @ (ValueKind::Null | ValueKind::Bool | ValueKind::Object) => {
                checks.invalid(&path, || {
                    format!("must be a string, a token id or an array of token ids, not {}", other.name())
                });
                reader.skip()
            }
        }
    })?;
    let is_one = first == Some(ValueKind::Number);
    if count == 0 {
        checks.invalid(&name, || "must not be empty".into());
    } else if count > MAX_PROMPTS && !is_one {
        checks.invalid(&name, || format!("must have at most {MAX_PROMPTS} elements, not {count}"));
    }
    Ok(if is_one {
        Elements { count: 1, least_tokens: count as u64, token_ids: Some(count as u64) }
    } else {
        Elements { count, least_tokens: least, token_ids: (first == Some(ValueKind::Array)).then_some(ids) }
    })
}

/// Returns their number.
fn check_tokens(reader: &mut Reader<'_>, checks: &mut Checks, path: &Path<'_>) -> Result<u64, JsonError> {
    let mut count = 0;
    reader.array(|reader, index| {
        count += 1;
        check_token(reader, checks, &Path::Index(path, index))
    })?;
    if count == 0 {
        checks.invalid(path, || "must not be empty".into());
    }
    Ok(count)
}

fn check_token(reader: &mut Reader<'_>, checks: &mut Checks, path: &Path<'_>) -> Result<(), JsonError> {
    if reader.kind()? == ValueKind::Null {
        checks.invalid(path, || "must be a token id, not null".into());
    }
    checks.integer(reader, path, 0..=i64::from(u32::MAX)).map(drop)
}
