//! Labels: free key-value pairs of an endpoint or an API key.

use super::field_error::{FieldError, FieldErrorCode};
use std::collections::BTreeMap;

const MAX_LABELS: usize = 32;
const MAX_KEY_LEN: usize = 63;
const MAX_VALUE_CHARS: usize = 255;

pub type Labels = BTreeMap<String, String>;
/// A change of labels; `None` removes a label.
pub type LabelsPatch = BTreeMap<String, Option<String>>;

pub fn check(patch: &LabelsPatch) -> Result<(), FieldError> {
    for (key, value) in patch {
        check_pair(key, value.as_deref().unwrap_or_default())?;
    }
    check_count(patch.values().flatten().count())
}

/// Checks the name and the value of one label.
pub fn check_pair(key: &str, value: &str) -> Result<(), FieldError> {
    if !is_name(key) {
        let why = "a label's name has 1 to 63 letters, digits and -._/";
        return Err(FieldError::new("labels", FieldErrorCode::InvalidFormat, why));
    }
    if value.chars().count() > MAX_VALUE_CHARS || value.chars().any(char::is_control) {
        let why = "must be at most 255 characters on one line";
        return Err(FieldError::new(format!("labels.{key}"), FieldErrorCode::InvalidFormat, why));
    }
    Ok(())
}

/// Whether a label may have this name.
pub fn is_name(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/".contains(&byte);
    (1..=MAX_KEY_LEN).contains(&text.len()) && text.bytes().all(plain)
}

/// Applies a change.
pub fn patched(labels: &Labels, patch: &LabelsPatch) -> Result<Labels, FieldError> {
    let mut labels = labels.clone();
    for (key, value) in patch {
        match value {
            Some(value) => drop(labels.insert(key.clone(), value.clone())),
            None => drop(labels.remove(key)),
        }
    }
    check_count(labels.len())?;
    Ok(labels)
}

fn check_count(count: usize) -> Result<(), FieldError> {
    if count <= MAX_LABELS {
        return Ok(());
    }
    Err(FieldError::new("labels", FieldErrorCode::OutOfRange, format!("must be at most {MAX_LABELS}")))
}
