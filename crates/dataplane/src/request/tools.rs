//! Checks the tools of a chat.

use json::{Checks, JsonError, Path, Reader, ValueKind};

const MAX_NAME_LEN: usize = 64;

/// Returns the bytes of the parameters of all functions.
pub(super) fn check(reader: &mut Reader<'_>, checks: &mut Checks) -> Result<u64, JsonError> {
    let mut parameters = 0;
    if checks.is(reader, &"tools", ValueKind::Array)? {
        reader.array(|reader, index| {
            parameters += check_tool(reader, checks, &Path::Index(&"tools", index))?;
            Ok::<(), JsonError>(())
        })?;
    }
    Ok(parameters)
}

fn check_tool(reader: &mut Reader<'_>, checks: &mut Checks, path: &Path<'_>) -> Result<u64, JsonError> {
    let mut parameters = 0;
    if !checks.is_object(reader, path)? {
        return Ok(parameters);
    }
    let mut has_type = false;
    let mut is_function = false;
    let mut has_function = false;
    reader.object(|reader, name, _| {
        if name.is("type") {
            let path = Path::Member(path, "type");
            has_type = reader.kind()? != ValueKind::Null;
            if let Some(text) = checks.text(reader, &path)? {
                is_function = text.is("function");
                checks.word(text, &path, &["function", "custom"]);
            }
            return Ok(());
        }
        if name.is("function") {
            has_function = reader.kind()? != ValueKind::Null;
            parameters += check_function(reader, checks, &Path::Member(path, "function"))?;
            return Ok(());
        }
        reader.skip()
    })?;
    if !has_type {
        checks.missing(&Path::Member(path, "type"));
    } else if is_function && !has_function {
        checks.missing(&Path::Member(path, "function"));
    }
    Ok(parameters)
}

fn check_function(reader: &mut Reader<'_>, checks: &mut Checks, path: &Path<'_>) -> Result<u64, JsonError> {
    let mut parameters = 0;
    if !checks.is(reader, path, ValueKind::Object)? {
        return Ok(parameters);
    }
    let mut has_name = false;
    reader.object(|reader, name, _| {
        if name.is("parameters") {
            parameters += reader.slice()?.len() as u64;
            return Ok(());
        }
        if !name.is("name") {
            return reader.skip();
        }
        let path = Path::Member(path, "name");
        has_name = reader.kind()? != ValueKind::Null;
        if let Some(text) = checks.text(reader, &path)? {
            let text = text.decoded();
            let is_valid = (1..=MAX_NAME_LEN).contains(&text.len())
                && text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(byte));
            if !is_valid {
                checks.invalid(&path, || format!("must be 1 to {MAX_NAME_LEN} letters, digits, _ or -"));
            }
        }
        Ok(())
    })?;
    if !has_name {
        checks.missing(&Path::Member(path, "name"));
    }
    Ok(parameters)
}

/// Returns whether a tool must be called. The content of an object is the engine's: most name a tool.
pub(super) fn check_choice(reader: &mut Reader<'_>, checks: &mut Checks) -> Result<bool, JsonError> {
    let kind = reader.kind()?;
    match kind {
        ValueKind::String => {
            let text = reader.string()?;
            checks.word(text, &"tool_choice", &["none", "auto", "required"]);
            return Ok(text.is("required"));
        }
        ValueKind::Object | ValueKind::Null => {}
        other @ (ValueKind::Bool | ValueKind::Number | ValueKind::Array) => {
            checks.invalid(&"tool_choice", || format!("must be a string or an object, not {}", other.name()));
        }
    }
    reader.skip()?;
    Ok(kind == ValueKind::Object)
}
