//! The sections other than the catalogue: their types, defaults and ranges.

use super::reader::{Reader, Section, in_range};
use domain::Network;
use domain::workspace::Limits;
use domain::{CatalogueMode, GpuType, Retention};
use edge::throttle::ThrottleLimits;
use edge::tls::TlsFiles;
use fleet::drivers::process::{DEFAULT_PORTS, PORTS_PER_REPLICA};
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::time::Duration;
use store::{ContentKeys, PoolSizes};

const HOUR: Duration = Duration::from_secs(3_600);
pub(super) const DAY: Duration = Duration::from_secs(86_400);
const MILLISECOND: Duration = Duration::from_millis(1);

const DRAIN_TIMEOUT_RANGE: RangeInclusive<Duration> = Duration::ZERO..=DAY;
const HOLD_TIMEOUT_RANGE: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(900);
/// The longest interval of pings, which calls may ask for, too.
pub const MAX_KEEP_ALIVE: Duration = Duration::from_secs(300);
const KEEP_ALIVE_RANGE: RangeInclusive<Duration> = Duration::from_secs(1)..=MAX_KEEP_ALIVE;
const SESSION_RANGE: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(365 * 86_400);
const BODY_READ_TIMEOUT_RANGE: RangeInclusive<Duration> = MILLISECOND..=HOUR;
const UPSTREAM_TIMEOUT_RANGE: RangeInclusive<Duration> = MILLISECOND..=DAY;
const LIMITS_TIMEOUT_RANGE: RangeInclusive<Duration> = MILLISECOND..=Duration::from_secs(10);
const BODY_LIMIT_RANGE: RangeInclusive<u64> = 1..=(1 << 30);
const MEMORY_BUDGET_RANGE: RangeInclusive<u64> = (1 << 10)..=(1 << 50);
pub(super) const RESPONSES_RANGE: RangeInclusive<u64> = (1 << 20)..=(1 << 50);
const JOURNAL_RANGE: RangeInclusive<u64> = (1 << 10)..=(1 << 40);
const COUNT_RANGE: RangeInclusive<u64> = 0..=1_000_000_000_000_000;
/// A proxy or a load test on the same machine.
const LOOPBACK: [&str; 2] = ["127.0.0.0/8", "::1"];
const PER_MINUTE_RANGE: RangeInclusive<u64> = 1..=1_000_000_000;
const ATTEMPTS_FACTOR_RANGE: RangeInclusive<u64> = 1..=1_000_000;
const CONNECTIONS_RANGE: RangeInclusive<u64> = 2..=1_000;
pub(super) const KEPT_RANGE: RangeInclusive<Duration> = HOUR..=Duration::from_secs(3_650 * 86_400);
/// A node that was down must still find its own events to recognize duplicates.
const REQUESTS_KEPT_RANGE: RangeInclusive<Duration> =
    Duration::from_secs(7 * 86_400)..=Duration::from_secs(3_650 * 86_400);
const ENDPOINTS_RANGE: RangeInclusive<u64> = 0..=1_000_000;
const WORKSPACES_RANGE: RangeInclusive<u64> = 0..=1_000_000;
pub(super) const BOUND_RANGE: RangeInclusive<u64> = 0..=10_000_000;
const GPU_COUNT_RANGE: RangeInclusive<u64> = 0..=1_000_000;

const STORE_URL_VARIABLE: &str = "FOREBAY_STORE_URL";
const LIMITS_URL_VARIABLE: &str = "FOREBAY_LIMITS_URL";
const CONTENT_KEY_VARIABLE: &str = "FOREBAY_CONTENT_KEY";

/// `[server]`: addresses, TLS, CORS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerConfig {
    pub listen: SocketAddr,
    pub ops_listen: SocketAddr,
    /// Without a trailing slash; `None` for the bound address.
    pub public_url: Option<String>,
    /// The provider of models that may be `optimized`.
    pub operator_prefix: String,
    /// Where the catalogue comes from.
    pub catalogue: CatalogueMode,
    /// Whether engines are probed for what they can do, unless their model says otherwise; `None`: those of a known kind.
    pub probe: Option<bool>,
    pub drain_timeout: Duration,
    /// Origins such as `https://app.example.com`, or `*` alone for any.
    pub cors_origins: Vec<String>,
    pub tls: Option<TlsFiles>,
    /// Proxies whose `X-Forwarded-For` is trusted.
    pub trusted_proxies: Vec<Network>,
    /// Most dedicated endpoints of a workspace, suspended ones included.
    pub max_endpoints_per_workspace: u64,
    /// Most workspaces that administrators of an organization may create, unless it has a limit of its own.
    pub max_workspaces_per_organization: u64,
    /// Connections of a client address that is not a trusted proxy; `None` for any number.
    pub max_connections_per_address: Option<u32>,
    /// Peers to which that does not apply, besides trusted proxies.
    pub unbounded_addresses: Vec<Network>,
    /// Headers that name the person behind a trusted key, in lower case.
    pub end_user_headers: Vec<String>,
    /// Whether engines get the members of a request that name the person behind a trusted key.
    pub end_user_to_engine: bool,
}

impl ServerConfig {
    pub(super) fn read(section: &Section<'_>) -> Self {
        let address = |key: &str, default: u16| {
            let expected = "an address and a port such as \"127.0.0.1:8080\"";
            section
                .parsed(key, expected, |text| text.parse().ok())
                .unwrap_or(SocketAddr::from(([127, 0, 0, 1], default)))
        };
        let (listen, ops_listen) = (address("listen", 8080), address("ops_listen", 9090));
        if listen == ops_listen && listen.port() != 0 {
            section.report(section.line("ops_listen"), "ops_listen", "is the same address as listen");
        }
        let public_url = section.parsed("public_url", "an http:// or https:// URL without query", http_url);
        let expected = "a provider name of letters, digits and -._ other than \"dedicated\"";
        let operator_prefix = section.parsed("operator_prefix", expected, provider_name).unwrap_or("forebay");
        Self {
            listen,
            ops_listen,
            public_url,
            operator_prefix: operator_prefix.to_owned(),
            catalogue: section
                .parsed("catalogue", "\"file\", \"store\" or \"both\"", CatalogueMode::parse)
                .unwrap_or_default(),
            probe: section.boolean("probe"),
            drain_timeout: section.duration("drain_timeout", DRAIN_TIMEOUT_RANGE).unwrap_or(Duration::from_secs(300)),
            cors_origins: read_origins(section),
            tls: read_tls(section),
            trusted_proxies: read_networks(section, "trusted_proxies", &[]),
            max_connections_per_address: none_if_zero(section, "max_connections_per_address", 1_024),
            unbounded_addresses: read_networks(section, "unbounded_addresses", &LOOPBACK),
            end_user_headers: read_headers(section),
            end_user_to_engine: section.boolean("end_user_to_engine").unwrap_or(false),
            max_endpoints_per_workspace: section.integer("max_endpoints_per_workspace", ENDPOINTS_RANGE).unwrap_or(100),
            max_workspaces_per_organization: section
                .integer("max_workspaces_per_organization", WORKSPACES_RANGE)
                .unwrap_or(20),
        }
    }
}

fn read_origins(section: &Section<'_>) -> Vec<String> {
    let origins = section.texts("cors_origins").unwrap_or_default();
    let is_origin =
        |text: &str| text == "*" || http_url(text).is_some_and(|url| url == text && path_of(&url).is_empty());
    for origin in origins.iter().filter(|origin| !is_origin(origin)) {
        let what = format_args!("\"{origin}\" is not an origin such as \"https://app.example.com\" (or \"*\" for any)");
        section.report(section.line("cors_origins"), "cors_origins", what);
    }
    origins.into_iter().map(str::to_owned).collect()
}

fn read_networks(section: &Section<'_>, key: &str, default: &[&'static str]) -> Vec<Network> {
    let mut networks = Vec::new();
    for text in section.texts(key).unwrap_or_else(|| default.to_vec()) {
        match Network::parse(text) {
            Some(network) => networks.push(network),
            None => {
                let what = format_args!("\"{text}\" is not an address or a range such as \"10.0.0.0/8\"");
                section.report(section.line(key), key, what);
            }
        }
    }
    networks
}

fn read_headers(section: &Section<'_>) -> Vec<String> {
    const KEY: &str = "end_user_headers";
    let names = section.texts(KEY).unwrap_or_else(|| END_USER_HEADERS.to_vec());
    let is_name = |text: &str| {
        (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    for name in names.iter().filter(|name| !is_name(name)) {
        section.report(section.line(KEY), KEY, format_args!("\"{name}\" is not the name of a header"));
    }
    if names.len() > MAX_END_USER_HEADERS {
        section.report(section.line(KEY), KEY, format_args!("has more than {MAX_END_USER_HEADERS} names"));
    }
    names.into_iter().map(str::to_ascii_lowercase).collect()
}

/// A bound; 0 for none.
fn none_if_zero(section: &Section<'_>, key: &str, default: u64) -> Option<u32> {
    let count = section.integer(key, BOUND_RANGE).unwrap_or(default);
    u32::try_from(count).ok().filter(|count| *count > 0)
}

fn read_tls(section: &Section<'_>) -> Option<TlsFiles> {
    let file = |key: &str| section.text(key).map(|text| section.reader.path(text));
    match (file("tls_cert"), file("tls_key")) {
        (Some(cert), Some(key)) => Some(TlsFiles { cert, key }),
        (Some(_), None) => {
            section.report(section.line("tls_cert"), "tls_cert", "is set without tls_key");
            None
        }
        (None, Some(_)) => {
            section.report(section.line("tls_key"), "tls_key", "is set without tls_cert");
            None
        }
        (None, None) => None,
    }
}

/// The headers of Open WebUI.
const END_USER_HEADERS: [&str; 2] = ["X-OpenWebUI-User-Email", "X-OpenWebUI-User-Id"];
const MAX_END_USER_HEADERS: usize = 8;

/// `[store]`: the database. `Debug` omits the URL, which may contain a password.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreConfig {
    pub url: String,
    /// Sizes of the pools of connections to PostgreSQL.
    pub pools: PoolSizes,
    /// The content of all stored responses of a workspace.
    pub responses_max_bytes: u64,
    /// The content of all stored responses of an organization.
    pub responses_organization_bytes: u64,
    /// The content of all stored responses.
    pub responses_total_bytes: u64,
}

/// `[limits]`: where per-minute limits are counted, and the limits that protect a node. `Debug` omits the URL, which may contain a password.
#[derive(Clone, PartialEq, Eq)]
pub struct LimitsConfig {
    pub url: String,
    /// Timeout of a call to Redis.
    pub timeout: Duration,
    /// Invalid credentials from one address.
    pub failed_credentials_per_minute: u64,
    /// Failing calls of a key per minute, as a multiple of its requests per minute.
    pub attempts_factor: u64,
    /// Sign-ins from one address.
    pub sign_ins_per_minute: u64,
    /// Requests of a session, and of a key to `/v1/endpoints`.
    pub management_requests_per_minute: u64,
    /// Requests of an organization to `/api` and `/v1/endpoints` that may change something.
    pub changes_per_minute: u64,
}

impl StoreConfig {
    pub(super) fn read(section: &Section<'_>) -> Self {
        let schemes = ["sqlite:", "postgres://", "postgresql://"];
        let defaults = PoolSizes::default();
        let connections = |key: &str, default: u32| {
            let count = section.integer(key, CONNECTIONS_RANGE).and_then(|count| u32::try_from(count).ok());
            count.unwrap_or(default)
        };
        Self {
            url: read_service_url(section, STORE_URL_VARIABLE, &schemes, "sqlite:forebay.db"),
            pools: PoolSizes {
                service: connections("connections", defaults.service),
                people: connections("console_connections", defaults.people),
            },
            responses_max_bytes: section.size("responses_max_bytes", RESPONSES_RANGE).unwrap_or(1 << 30),
            responses_organization_bytes: section
                .size("responses_organization_bytes", RESPONSES_RANGE)
                .unwrap_or(4 << 30),
            responses_total_bytes: section.size("responses_total_bytes", RESPONSES_RANGE).unwrap_or(16 << 30),
        }
    }
}

impl LimitsConfig {
    pub(super) fn read(section: &Section<'_>) -> Self {
        let schemes = ["memory:", "redis://", "rediss://"];
        let per_minute = |key: &str, default: u64| section.integer(key, PER_MINUTE_RANGE).unwrap_or(default);
        Self {
            url: read_service_url(section, LIMITS_URL_VARIABLE, &schemes, "memory:"),
            timeout: section.duration("timeout", LIMITS_TIMEOUT_RANGE).unwrap_or(Duration::from_millis(50)),
            failed_credentials_per_minute: per_minute("failed_credentials_per_minute", 600),
            attempts_factor: section.integer("attempts_factor", ATTEMPTS_FACTOR_RANGE).unwrap_or(10),
            sign_ins_per_minute: per_minute("sign_ins_per_minute", 300),
            management_requests_per_minute: per_minute("management_requests_per_minute", 3_000),
            changes_per_minute: per_minute("changes_per_minute", 600),
        }
    }

    /// The limits that each node enforces in its memory.
    pub const fn throttles(&self, workspace_defaults: Limits) -> ThrottleLimits {
        ThrottleLimits {
            failed_credentials: self.failed_credentials_per_minute,
            attempts_factor: self.attempts_factor,
            sign_ins: self.sign_ins_per_minute,
            management: self.management_requests_per_minute,
            changes: self.changes_per_minute,
            workspace_defaults,
        }
    }
}

/// From the environment only: a file would be read by more people than should read the content.
pub(super) fn read_content_keys(reader: &Reader<'_>) -> Option<ContentKeys> {
    let text = reader.variable(CONTENT_KEY_VARIABLE)?;
    let keys = ContentKeys::parse(&text);
    keys.map_err(|error| reader.report(None, format!("{CONTENT_KEY_VARIABLE}: {error}"))).ok()
}

/// The environment takes precedence over the file. Errors do not quote the URL, which may contain a password.
fn read_service_url(section: &Section<'_>, variable: &str, schemes: &[&str], default: &str) -> String {
    let in_file = section.text("url");
    let from_environment = section.reader.variable(variable);
    let url = from_environment.as_deref().or(in_file).unwrap_or(default);
    if !schemes.iter().any(|scheme| url.starts_with(scheme)) {
        let key = if from_environment.is_some() { variable } else { "url" };
        let line = if from_environment.is_some() { None } else { section.line("url") };
        section.report(line, key, format_args!("does not start with {}", schemes.join(", ")));
    }
    url.to_owned()
}

impl fmt::Debug for StoreConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoreConfig({})", scheme_only(&self.url))
    }
}

impl fmt::Debug for LimitsConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LimitsConfig({})", scheme_only(&self.url))
    }
}

fn scheme_only(url: &str) -> String {
    format!("{}:…", url.split(':').next().unwrap_or_default())
}

/// `[sessions]`: lifetimes of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionsConfig {
    pub idle_timeout: Duration,
    pub absolute_timeout: Duration,
}

impl SessionsConfig {
    pub(super) fn read(section: &Section<'_>) -> Self {
        let idle = section.duration("idle_timeout", SESSION_RANGE).unwrap_or(12 * HOUR);
        let absolute = section.duration("absolute_timeout", SESSION_RANGE).unwrap_or(7 * DAY);
        if idle > absolute {
            section.report(section.line("idle_timeout"), "idle_timeout", "is longer than absolute_timeout");
        }
        Self { idle_timeout: idle, absolute_timeout: absolute }
    }

    pub fn lifetimes(&self) -> domain::session::Lifetimes {
        let millis = |span: Duration| i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        domain::session::Lifetimes {
            idle_millis: millis(self.idle_timeout),
            absolute_millis: millis(self.absolute_timeout),
        }
    }
}

/// `[journal]`: usage events waiting for the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JournalConfig {
    pub max_bytes: u64,
}

impl JournalConfig {
    pub(super) fn read(section: &Section<'_>) -> Self {
        Self { max_bytes: section.size("max_bytes", JOURNAL_RANGE).unwrap_or(1 << 30) }
    }
}

/// `[edge]`: timeouts and sizes of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EdgeConfig {
    pub hold_timeout: Duration,
    /// How long a stream may be silent before its first event; `None` for any time.
    pub keep_alive: Option<Duration>,
    pub body_limit: u64,
    pub body_read_timeout: Duration,
    pub first_byte_timeout: Duration,
    pub idle_timeout: Duration,
    pub client_stall_timeout: Duration,
    pub call_timeout: Duration,
    /// Most running calls of a workspace; `None` for any number.
    pub max_calls_per_workspace: Option<u32>,
    /// Memory for request bodies; `None` for a quarter of the process's memory limit.
    pub memory_budget: Option<u64>,
    /// Whether a caller with `X-Forebay-Debug` learns which replica served it.
    pub routing_headers: bool,
}

impl EdgeConfig {
    pub(super) fn read(section: &Section<'_>) -> Self {
        let duration = |key: &str, range: RangeInclusive<Duration>, default_secs: u64| {
            section.duration(key, range).unwrap_or(Duration::from_secs(default_secs))
        };
        let hold_timeout = duration("hold_timeout", HOLD_TIMEOUT_RANGE, 300);
        let body_limit = section.size("body_limit", BODY_LIMIT_RANGE).unwrap_or(16 << 20);
        let memory_budget = section.size("memory_budget", MEMORY_BUDGET_RANGE);
        if memory_budget.is_some_and(|budget| budget < body_limit) {
            section.report(section.line("memory_budget"), "memory_budget", "is less than body_limit");
        }
        Self {
            hold_timeout,
            keep_alive: section.duration("keep_alive", KEEP_ALIVE_RANGE),
            body_limit,
            memory_budget,
            routing_headers: section.boolean("routing_headers").unwrap_or(false),
            max_calls_per_workspace: none_if_zero(section, "max_calls_per_workspace", 0),
            body_read_timeout: duration("body_read_timeout", BODY_READ_TIMEOUT_RANGE, 30),
            first_byte_timeout: duration("first_byte_timeout", UPSTREAM_TIMEOUT_RANGE, 600),
            idle_timeout: duration("idle_timeout", UPSTREAM_TIMEOUT_RANGE, 120),
            client_stall_timeout: duration("client_stall_timeout", UPSTREAM_TIMEOUT_RANGE, 120),
            call_timeout: duration("call_timeout", UPSTREAM_TIMEOUT_RANGE, 3_600),
        }
    }
}

/// Default limits of workspaces.
pub const WORKSPACE_DEFAULTS: Limits =
    Limits { requests_per_minute: 600, tokens_per_minute: 200_000, monthly_tokens: 50_000_000, max_api_keys: 20 };

pub(super) fn read_workspace_defaults(section: &Section<'_>) -> Limits {
    let count = |key: &str, default: u64| section.integer(key, COUNT_RANGE).unwrap_or(default);
    Limits {
        requests_per_minute: count("requests_per_minute", WORKSPACE_DEFAULTS.requests_per_minute),
        tokens_per_minute: count("tokens_per_minute", WORKSPACE_DEFAULTS.tokens_per_minute),
        monthly_tokens: count("monthly_tokens", WORKSPACE_DEFAULTS.monthly_tokens),
        max_api_keys: count("max_api_keys", WORKSPACE_DEFAULTS.max_api_keys),
    }
}

/// `[retention]`: how long data that no bill needs is kept.
pub(super) fn read_retention(section: &Section<'_>) -> Retention {
    let kept =
        |key: &str, range: RangeInclusive<Duration>, default: Duration| section.duration(key, range).unwrap_or(default);
    let retention = Retention {
        minutes: kept("minutes", KEPT_RANGE, 2 * DAY),
        hours: kept("hours", KEPT_RANGE, 90 * DAY),
        days: kept("days", KEPT_RANGE, 800 * DAY),
        requests: kept("requests", REQUESTS_KEPT_RANGE, 90 * DAY),
    };
    if retention.minutes > retention.hours {
        section.report(section.line("minutes"), "minutes", "is longer than hours");
    }
    if retention.hours > retention.days {
        section.report(section.line("hours"), "hours", "is longer than days");
    }
    retention
}

/// `[drivers]`: the drivers that run replicas.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriversConfig {
    /// Slots of this machine besides the detected GPUs, per GPU type.
    pub process_slots: BTreeMap<GpuType, u32>,
    /// The ports that replicas on this machine listen on.
    pub process_ports: RangeInclusive<u16>,
    /// Whether replicas reject requests without their key.
    pub replica_keys: bool,
    /// The Kubernetes cluster; `None` if not configured.
    pub kubernetes: Option<fleet::drivers::kubernetes::Settings>,
}

impl DriversConfig {
    pub(super) fn read(section: &Section<'_>) -> Self {
        let process = section.section("process");
        let expected = format!("a range of at least {PORTS_PER_REPLICA} ports such as \"20000-29999\"");
        Self {
            process_slots: read_counts_by_gpu_type(&process.section("slots")),
            process_ports: process.parsed("ports", &expected, port_range).unwrap_or(DEFAULT_PORTS),
            replica_keys: section.boolean("replica_keys").unwrap_or(true),
            kubernetes: super::kubernetes::read(section),
        }
    }
}

/// An inclusive range such as `20000-29999`, large enough for one replica.
fn port_range(text: &str) -> Option<RangeInclusive<u16>> {
    let (first, last) = text.split_once('-')?;
    let (first, last): (u16, u16) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
    let is_wide_enough = last.checked_sub(first)? >= PORTS_PER_REPLICA - 1;
    (first > 0 && is_wide_enough).then_some(first..=last)
}

pub(super) fn read_counts_by_gpu_type(section: &Section<'_>) -> BTreeMap<GpuType, u32> {
    let mut counts = BTreeMap::new();
    for (text, entry) in section.free_keys() {
        let gpu_type = GpuType::parse(text);
        if gpu_type.is_err() {
            section.report(entry.line, text, "is not a GPU type of the form <vendor>/<gpu-type>");
        }
        let count = in_range(entry.item, &GPU_COUNT_RANGE).and_then(|count| u32::try_from(count).ok());
        if count.is_none() {
            let what = format!("{} is not a whole number of GPUs from 0 to 1000000", section.show(entry.item));
            section.report(entry.line, text, what);
        }
        counts.extend(gpu_type.ok().zip(count));
    }
    counts
}

/// Letters, digits and `-._`.
pub(super) fn is_plain_name(text: &str) -> bool {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    (1..=100).contains(&text.len()) && text.bytes().all(good)
}

fn provider_name(text: &str) -> Option<&str> {
    (is_plain_name(text) && text != domain::model_ref::DEDICATED).then_some(text)
}

/// An http or https URL with a host and without credentials, query or fragment. Removes trailing slashes.
pub fn http_url(text: &str) -> Option<String> {
    let url: http::Uri = text.parse().ok()?;
    let scheme_is_good = matches!(url.scheme_str(), Some("http" | "https"));
    let authority = url.authority()?;
    let port_is_good = authority.as_str().ends_with(authority.host()) || authority.port_u16().is_some();
    let host_is_good = !authority.host().is_empty() && !authority.as_str().contains('@') && port_is_good;
    let has_no_query = url.query().is_none() && !text.contains(['#', '?']);
    (scheme_is_good && host_is_good && has_no_query).then(|| text.trim_end_matches('/').to_owned())
}

/// The path of a URL that [`http_url`] accepted.
fn path_of(url: &str) -> &str {
    let after_scheme = url.split_once("://").map_or("", |(_, rest)| rest);
    after_scheme.find('/').map_or("", |slash| &after_scheme[slash..])
}
