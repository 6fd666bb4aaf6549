//! Settings of the export of traces.

use http::{HeaderName, HeaderValue};
use std::fmt;

/// Export of traces. `Debug` omits the headers, which may contain a secret.
#[derive(Clone, PartialEq)]
pub struct TracesConfig {
    /// The full URL, such as `http://127.0.0.1:4318/v1/traces`.
    pub url: String,
    pub headers: Vec<(HeaderName, HeaderValue)>,
    pub service_name: String,
    /// The share of traced calls, from 0 to 1.
    pub sample_ratio: f64,
    /// Whether the sampling decision in a caller's `traceparent` is followed.
    pub follow_parent: bool,
    /// Whether prompts and completions are included.
    pub record_content: bool,
}

impl fmt::Debug for TracesConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { url, sample_ratio, record_content, .. } = self;
        write!(f, "TracesConfig({url}, ratio {sample_ratio}, content {record_content})")
    }
}
