//! `[telemetry]`: metrics and traces.

use super::reader::Section;
use super::sections::http_url;
use http::{HeaderName, HeaderValue};
use std::ops::RangeInclusive;
use telemetry::traces::TracesConfig;

const LABEL_SETS_RANGE: RangeInclusive<u64> = 1..=100_000;
const DEFAULT_LABEL_SETS: u64 = 1_000;
const DEFAULT_SERVICE_NAME: &str = "forebay";
/// The path of OTLP over HTTP for traces, below the endpoint.
const TRACES_PATH: &str = "/v1/traces";

#[derive(Debug, Clone, PartialEq)]
pub struct TelemetryConfig {
    /// Pairs of workspace and model with their own labels in `/metrics`.
    pub max_label_sets: usize,
    /// `None`: tracing is off.
    pub traces: Option<TracesConfig>,
}

impl TelemetryConfig {
    pub(super) fn read(section: &Section<'_>) -> Self {
        let most = section.integer("max_label_sets", LABEL_SETS_RANGE).unwrap_or(DEFAULT_LABEL_SETS);
        Self { max_label_sets: usize::try_from(most).unwrap_or(usize::MAX), traces: read_traces(section) }
    }
}

fn read_traces(section: &Section<'_>) -> Option<TracesConfig> {
    let expected = "an http:// or https:// URL without query, such as \"http://127.0.0.1:4318\"";
    let endpoint = section.parsed("otlp_endpoint", expected, http_url);
    let headers = read_headers(section);
    let service_name = section.text("service_name").unwrap_or(DEFAULT_SERVICE_NAME).to_owned();
    let sample_ratio = section.ratio("sample_ratio").unwrap_or(1.0);
    let follow_parent = section.boolean("follow_parent").unwrap_or(true);
    let record_content = section.boolean("record_content").unwrap_or(false);
    if section.entry("otlp_endpoint").is_none() && record_content {
        section.report(section.line("record_content"), "record_content", "is set without otlp_endpoint");
    }
    let endpoint = endpoint?;
    let url = if endpoint.ends_with(TRACES_PATH) { endpoint } else { endpoint + TRACES_PATH };
    Some(TracesConfig { url, headers, service_name, sample_ratio, follow_parent, record_content })
}

/// Headers from an environment variable, in OpenTelemetry's format: `name=value,name=value`.
fn read_headers(section: &Section<'_>) -> Vec<(HeaderName, HeaderValue)> {
    const KEY: &str = "otlp_headers_env";
    let Some(variable) = section.text(KEY) else { return Vec::new() };
    let Some(text) = section.reader.variable(variable) else {
        section.report(section.line(KEY), KEY, format_args!("the environment variable {variable} is not set"));
        return Vec::new();
    };
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    let headers: Option<Vec<_>> = pairs.map(parse_header).collect();
    headers.unwrap_or_else(|| {
        // The value may be a secret, so it is not quoted.
        let what = format_args!("the environment variable {variable} is not of the form name=value,name=value");
        section.report(section.line(KEY), KEY, what);
        Vec::new()
    })
}

fn parse_header(pair: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = pair.split_once('=')?;
    let value = percent_encoding::percent_decode_str(value.trim()).decode_utf8().ok()?;
    let mut value = HeaderValue::from_str(&value).ok()?;
    value.set_sensitive(true);
    Some((name.trim().parse().ok()?, value))
}

#[cfg(test)]
mod tests {
    use super::super::{Config, Problems};
    use expect_test::expect;
    use std::path::Path;

    fn parse(text: &str) -> Result<Config, Problems> {
        let environment = |name: &str| match name {
            "GOOD" => Some("authorization=Bearer%20s3cret, x-scope = acme ,".to_owned()),
            "BAD" => Some("s3cret".to_owned()),
            _ => None,
        };
        Config::parse(&format!("[telemetry]\n{text}"), Path::new("."), &environment)
    }

    #[test]
    fn traces_are_off_until_an_endpoint_is_named() {
        assert_eq!(parse("").unwrap().telemetry.traces, None);
        let config = parse("otlp_endpoint = 'http://127.0.0.1:4318/'\notlp_headers_env = 'GOOD'\nsample_ratio = 1");
        let traces = config.unwrap().telemetry.traces.unwrap();
        assert_eq!(traces.url, "http://127.0.0.1:4318/v1/traces");
        assert!((traces.sample_ratio - 1.0).abs() < f64::EPSILON && traces.follow_parent && !traces.record_content);
        let headers: Vec<_> =
            traces.headers.iter().map(|(name, value)| format!("{name}: {:?}", value.to_str())).collect();
        assert_eq!(headers, ["authorization: Ok(\"Bearer s3cret\")", "x-scope: Ok(\"acme\")"]);
        assert!(!format!("{traces:?}").contains("s3cret"));
        let whole = parse("otlp_endpoint = 'https://otel.example/otlp/v1/traces'").unwrap().telemetry.traces.unwrap();
        assert_eq!(whole.url, "https://otel.example/otlp/v1/traces");
    }

    #[test]
    fn invalid_settings_are_reported() {
        let text = "otlp_endpoint = 'localhost:4317'\notlp_headers_env = 'BAD'\nsample_ratio = 1.5\nmax_label_sets = 0\n\
                    record_content = 'yes'\nendpoint = 'x'";
        expect![[r#"
            line 2: [telemetry] otlp_endpoint: 'localhost:4317' is not an http:// or https:// URL without query, such as "http://127.0.0.1:4318"
            line 3: [telemetry] otlp_headers_env: the environment variable BAD is not of the form name=value,name=value
            line 4: [telemetry] sample_ratio: 1.5 is not a number from 0 to 1
            line 5: [telemetry] max_label_sets: 0 is not a whole number from 1 to 100000
            line 6: [telemetry] record_content: 'yes' is not true or false
            line 7: [telemetry] endpoint: unknown key; known here: max_label_sets, otlp_endpoint, otlp_headers_env, service_name, sample_ratio, follow_parent, record_content"#]]
        .assert_eq(&parse(text).unwrap_err().to_string());
        let unset = parse("otlp_headers_env = 'NONE'\nrecord_content = true").unwrap_err().to_string();
        assert!(unset.contains("NONE is not set") && unset.contains("is set without otlp_endpoint"), "{unset}");
    }
}
