//! Tests of valid and invalid configuration files.

mod catalogue;
mod cluster;
mod mistakes;

use super::*;
use domain::allotment::Defaults;
use std::net::SocketAddr;
use std::time::Duration;

const EXAMPLE: &str = include_str!("../../../../config/example.toml");
const QUICKSTART: &str = include_str!("../../../../config/quickstart.toml");
/// A line of this has one `# ` too many; without it the whole catalogue of the example is read too.
const CATALOGUE_STARTS: &str = "# [[models]]";

const CONTENT_KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

fn nothing_set(_: &str) -> Option<String> {
    None
}

fn parse(text: &str) -> Result<Config, Problems> {
    Config::parse(text, Path::new("/etc/forebay"), &|name| (name == "TINY_KEY").then(|| "s3cret".to_owned()))
}

fn problems(text: &str) -> String {
    parse(text).map(|_| ()).unwrap_err().to_string()
}

fn is_equal_but_for_the_catalogue(left: &Config, right: &Config) -> bool {
    left.server == right.server
        && left.store == right.store
        && left.limits == right.limits
        && left.journal == right.journal
        && left.edge == right.edge
        && left.files == right.files
        && left.sessions == right.sessions
        && left.oidc == right.oidc
        && left.workspace_defaults == right.workspace_defaults
        && left.allotment_defaults == right.allotment_defaults
        && left.drivers == right.drivers
        && left.retention == right.retention
        && left.telemetry == right.telemetry
        && left.weights == right.weights
}

#[test]
fn no_file_gives_the_defaults() {
    let config = Config::load(None, &nothing_set).unwrap();
    assert_eq!(config.server.listen, SocketAddr::from(([127, 0, 0, 1], 8080)));
    assert_eq!(config.server.ops_listen, SocketAddr::from(([127, 0, 0, 1], 9090)));
    assert_eq!((config.server.public_url, config.server.tls), (None, None));
    assert_eq!(config.server.operator_prefix, "forebay");
    assert_eq!(config.server.drain_timeout, Duration::from_secs(300));
    assert_eq!((config.store.url.as_str(), config.limits.url.as_str()), ("sqlite:forebay.db", "memory:"));
    assert_eq!((config.journal.max_bytes, config.store.responses_max_bytes), (1 << 30, 1 << 30));
    assert_eq!((config.store.responses_organization_bytes, config.store.responses_total_bytes), (4 << 30, 16 << 30));
    assert_eq!((config.edge.hold_timeout, config.edge.keep_alive), (Duration::from_secs(300), None));
    assert_eq!(config.edge.body_limit, 16 << 20);
    assert_eq!((config.files.max_file_bytes, config.files.max_bytes_per_workspace), (200 << 20, 2 << 30));
    assert_eq!(config.files.max_total_bytes, 32 << 30);
    assert_eq!((config.files.max_lines_per_file, config.files.max_queued_lines_per_workspace), (50_000, 500_000));
    assert_eq!(config.edge.body_read_timeout, Duration::from_secs(30));
    assert_eq!(config.edge.first_byte_timeout, Duration::from_secs(600));
    assert_eq!(config.edge.idle_timeout, Duration::from_secs(120));
    assert_eq!(config.workspace_defaults, WORKSPACE_DEFAULTS);
    assert!(config.allotment_defaults == Defaults::default() && config.drivers.process_slots.is_empty());
    assert_eq!(config.drivers.process_ports, 20_000..=29_999);
    assert_eq!(config.catalogue.iter().count(), 0);
}

#[test]
fn the_example_shows_the_defaults() {
    let example = Config::parse(EXAMPLE, Path::new("config"), &nothing_set).unwrap();
    let defaults = Config::load(None, &nothing_set).unwrap();
    assert!(is_equal_but_for_the_catalogue(&example, &defaults), "{example:#?}");
    assert_eq!(example.catalogue.hash, defaults.catalogue.hash);
}

#[test]
fn the_environment_takes_precedence_and_no_secret_is_printed() {
    let environment = |name: &str| match name {
        "FOREBAY_STORE_URL" => Some("postgres://forebay:hunter2@db/forebay".to_owned()),
        "FOREBAY_LIMITS_URL" => Some("redis://:hunter2@redis/0".to_owned()),
        "FOREBAY_CONTENT_KEY" => Some(CONTENT_KEY.to_owned()),
        "TINY_KEY" => Some("hunter2".to_owned()),
        _ => None,
    };
    let text = "[store]\nurl = 'sqlite:x.db'\n[[models]]\nid = 'acme/x'\n\
                upstreams = [{ url = 'http://127.0.0.1:1', api_key_env = 'TINY_KEY' }]";
    let config = Config::parse(text, Path::new("."), &environment).unwrap();
    assert_eq!(config.store.url, "postgres://forebay:hunter2@db/forebay");
    assert_eq!(config.limits.url, "redis://:hunter2@redis/0");
    assert!(config.content_keys.is_some());
    let shown = format!("{config:#?}");
    assert!(!shown.contains("hunter2") && !shown.contains(CONTENT_KEY));

    let bad = |name: &str| (name == "FOREBAY_STORE_URL").then(|| "oracle://hunter2".to_owned());
    let shown = Config::load(None, &bad).unwrap_err().to_string();
    assert_eq!(shown, "[store] FOREBAY_STORE_URL: does not start with sqlite:, postgres://, postgresql://");
}

#[test]
fn a_malformed_content_key_is_reported_and_not_printed() {
    let load =
        |value: &str| Config::load(None, &|name| (name == "FOREBAY_CONTENT_KEY").then(|| value.to_owned())).map(|_| ());
    for (value, problem) in [
        ("hunter2!", "key 1 is not base64"),
        ("aHVudGVyMg==", "key 1 has 7 bytes; a content key has 32, such as from `openssl rand -base64 32`"),
        (format!("{CONTENT_KEY},{CONTENT_KEY}").as_str(), "key 2 is the same as one before it"),
    ] {
        let shown = load(value).unwrap_err().to_string();
        assert_eq!(shown, format!("FOREBAY_CONTENT_KEY: {problem}"));
    }
    assert_eq!(load(&format!("{CONTENT_KEY}, ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8=")).ok(), Some(()));
    assert_eq!(load("").ok(), Some(()), "an empty variable counts as absent");
}

#[test]
fn a_bucket_has_its_credentials_in_the_environment() {
    let load = |url: &str, set: &'static [&'static str]| {
        let environment = move |name: &str| {
            set.contains(&name).then(|| if name == "AWS_REGION" { "eu-west-1" } else { "hunter2" }.to_owned())
        };
        Config::parse(&format!("[files]\nurl = \"{url}\"\n"), Path::new("."), &environment)
            .map(|config| config.files.bucket.unwrap())
            .map_err(|problems| problems.to_string())
    };
    const KEYS: &[&str] = &["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_REGION"];
    let bucket = load("s3://acme-files/forebay", KEYS).unwrap();
    assert_eq!(bucket.location.to_string(), "s3://acme-files/forebay at s3.eu-west-1.amazonaws.com");
    assert_eq!(bucket.credentials.session_token.as_deref(), Some("hunter2"));
    let hidden = format!("{bucket:?}").matches("hunter2").count();
    assert_eq!(hidden, 1, "only the id of the key is shown: {bucket:?}");
    assert_eq!(
        load("s3://acme-files", &["AWS_ACCESS_KEY_ID"]).unwrap_err(),
        "line 2: [files] url: the environment variable AWS_SECRET_ACCESS_KEY is not set"
    );
    assert_eq!(load("gs://acme-files", KEYS).unwrap_err(), "line 2: [files] url: does not start with s3://");
}
