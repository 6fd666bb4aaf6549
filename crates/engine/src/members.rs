//! Reads typed members of a JSON object and checks their ranges; errors contain the member's path.
//!
//! Null means "unset" everywhere, since typed clients send every member.

use crate::error::RequestError;
use serde_json::{Map, Value};
use std::ops::RangeInclusive;

/// An object of the request and its path.
#[derive(Clone, Copy)]
pub(crate) struct Members<'a> {
    object: &'a Map<String, Value>,
    path: &'a str,
}

impl<'a> Members<'a> {
    /// The request body.
    pub(crate) fn new(object: &'a Map<String, Value>) -> Self {
        Self { object, path: "" }
    }

    /// An object nested in the body at `path`.
    pub(crate) fn inside(object: &'a Map<String, Value>, path: &'a str) -> Self {
        Self { object, path }
    }

    /// The path of a member.
    pub(crate) fn path(&self, name: &str) -> String {
        if self.path.is_empty() { name.to_owned() } else { format!("{}.{name}", self.path) }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'a Value> {
        self.object.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn required(&self, name: &str) -> Result<&'a Value, RequestError> {
        self.get(name).ok_or_else(|| RequestError::Missing { param: self.path(name) })
    }

    pub(crate) fn number(&self, name: &str, range: RangeInclusive<f64>) -> Result<Option<f32>, RequestError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match value.as_f64().filter(|number| range.contains(number)) {
            Some(number) => Ok(Some(number as f32)),
            None => Err(self.invalid(name, format!("must be a number from {} to {}", range.start(), range.end()))),
        }
    }

    pub(crate) fn integer(&self, name: &str, range: RangeInclusive<i64>) -> Result<Option<i64>, RequestError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match value.as_i64().filter(|number| range.contains(number)) {
            Some(number) => Ok(Some(number)),
            None if *range.end() == i64::MAX => {
                Err(self.invalid(name, format!("must be a whole number of at least {}", range.start())))
            }
            None => {
                Err(self.invalid(name, format!("must be a whole number from {} to {}", range.start(), range.end())))
            }
        }
    }

    pub(crate) fn flag(&self, name: &str) -> Result<bool, RequestError> {
        let Some(value) = self.get(name) else { return Ok(false) };
        value.as_bool().ok_or_else(|| self.invalid(name, "must be true or false"))
    }

    pub(crate) fn text(&self, name: &str) -> Result<Option<&'a str>, RequestError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.as_str().map(Some).ok_or_else(|| self.invalid(name, "must be a string"))
    }

    pub(crate) fn list(&self, name: &str) -> Result<Option<&'a [Value]>, RequestError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let list = value.as_array().map(|list| Some(list.as_slice()));
        list.ok_or_else(|| self.invalid(name, "must be an array"))
    }

    pub(crate) fn object(&self, name: &str) -> Result<Option<&'a Map<String, Value>>, RequestError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.as_object().map(Some).ok_or_else(|| self.invalid(name, "must be an object"))
    }

    /// Error for an invalid member.
    pub(crate) fn invalid(&self, name: &str, problem: impl Into<String>) -> RequestError {
        RequestError::invalid(self.path(name), problem)
    }
}

#[cfg(test)]
mod tests {
    use super::Members;
    use serde_json::json;

    #[test]
    fn null_means_unset_and_type_errors_contain_the_path() {
        let body = json!({"n": null, "temperature": 3, "stream": "yes"});
        let members = Members::inside(body.as_object().unwrap(), "outer");
        assert_eq!(members.integer("n", 1..=9), Ok(None));
        let error = members.number("temperature", 0.0..=2.0).unwrap_err();
        assert_eq!(error.to_string(), "`outer.temperature` must be a number from 0 to 2");
        assert_eq!(members.flag("stream").unwrap_err().param(), "outer.stream");
        assert_eq!(members.required("model").unwrap_err().to_string(), "`outer.model` is missing");
    }
}
