//! Tests of valid and invalid configuration files.

use super::*;
use domain::GpuType;
use domain::allotment::Defaults;
use domain::model::{EngineKind, Launch, Modality, RequestRules, Serving};
use expect_test::expect;
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
        && left.sessions == right.sessions
        && left.oidc == right.oidc
        && left.workspace_defaults == right.workspace_defaults
        && left.allotment_defaults == right.allotment_defaults
        && left.drivers == right.drivers
        && left.retention == right.retention
        && left.telemetry == right.telemetry
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
    assert_eq!(config.edge.hold_timeout, Duration::from_secs(300));
    assert_eq!(config.edge.body_limit, 16 << 20);
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
fn the_catalogue_of_the_example_is_valid_when_uncommented() {
    let (before, catalogue) = EXAMPLE.split_once(CATALOGUE_STARTS).unwrap();
    let lines = catalogue.lines().map(|line| line.strip_prefix("# ").or(line.strip_prefix('#')).unwrap_or(line));
    let text = format!("{before}[[models]]{}", lines.collect::<Vec<_>>().join("\n"));
    let config = parse(&text).unwrap_or_else(|problems| panic!("{problems}"));
    let model = config.catalogue.get("acme/tiny-chat").unwrap();
    let Serving::Upstreams(upstreams) = &model.serving else { panic!("{model:?}") };
    assert_eq!(upstreams[0].api_key.as_deref(), Some("s3cret"));
    assert_eq!(upstreams[0].max_in_flight, Some(64));
    assert_eq!(model.flavors[0].weights.as_deref(), Some("/etc/forebay/models/tiny"));
    assert_eq!(model.flavors[0].launch, Launch::Engine(EngineKind::ForebayEngine));
}

#[test]
fn weights_are_a_path_beside_the_file_or_a_reference_to_the_hub() {
    for (written, read) in [("w.gguf", "/etc/forebay/w.gguf"), ("hf://acme/tiny/t.gguf", "hf://acme/tiny/t.gguf")] {
        let config = parse(&format!("[[models]]\nid = 'acme/x'\nengine = {{ weights = '{written}' }}")).unwrap();
        let Serving::Engine(pool) = &config.catalogue.get("acme/x").unwrap().serving else { panic!("{written}") };
        assert_eq!(pool.weights, read);
    }
}

#[test]
fn the_rules_for_requests_are_read_per_model_and_documented() {
    let start = "[[models]]\nid = 'acme/x'\nupstreams = [{ url = 'http://a/v1' }]\n";
    let rules = |lines: &str| parse(&format!("{start}{lines}")).unwrap().catalogue.get("acme/x").unwrap().rules.clone();
    let usual = rules("");
    assert_eq!(usual, RequestRules::default());
    let docs = include_str!("../../../../docs/api/chat.md");
    let undocumented: Vec<_> = usual.refused().filter(|name| !docs.contains(&format!("`{name}`"))).collect();
    assert_eq!(undocumented, [""; 0]);
    let own = rules("media_urls = true\nrefused_members = ['Top_K']");
    assert_eq!(own, RequestRules { refused_members: Some(vec!["top_k".into()]), media_urls: true });
    let problems = problems(&format!("{start}refused_members = ['a b']"));
    assert!(problems.contains("refused_members: each must be a name"), "{problems}");
}

#[test]
fn the_quickstart_has_two_models() {
    let config = Config::parse(QUICKSTART, Path::new("config"), &nothing_set).unwrap();
    let ids: Vec<&str> = config.catalogue.ids().map(|id| id.as_str()).collect();
    assert_eq!(ids, ["forebay/smollm2-135m-instruct", "sentence-transformers/all-minilm-l6-v2"]);
    assert!(config.catalogue.get(ids[0]).unwrap().optimized);
    assert_eq!(config.catalogue.get(ids[1]).unwrap().modality, Modality::Embedding);
    assert_eq!(config.allotment_defaults.of(&GpuType::parse("local/cpu").unwrap()), 8);
    assert_eq!(config.drivers.process_slots["local/cpu"], 4);
}

#[test]
fn a_model_needs_an_id_and_one_way_to_serve_it() {
    let config = parse("[[models]]\nid = 'acme/x'\nupstreams = [{ url = 'http://[::1]:9001/v1/' }]").unwrap();
    let model = config.catalogue.get("acme/x").unwrap();
    let Serving::Upstreams(upstreams) = &model.serving else { panic!("{model:?}") };
    let upstream = &upstreams[0];
    assert_eq!((upstream.url.as_str(), upstream.model.as_str()), ("http://[::1]:9001/v1", "acme/x"));
    assert_eq!((upstream.health_path.as_str(), upstream.continuous_usage), ("/health", true));
    assert_eq!((model.name.as_str(), model.context_length, model.modality), ("acme/x", 8192, Modality::Chat));

    let flavors_alone = "[[models]]\nid = 'acme/x'\n[[models.flavors]]\nname = 'a'\ngpu_type = 'local/cpu'";
    let config = parse(flavors_alone).unwrap();
    assert_eq!(config.catalogue.get("acme/x").unwrap().serving, Serving::Upstreams(Vec::new()));

    expect![[r#"
        line 1: [[models]] id: is missing, for instance "acme/tiny-chat"
        line 1: [[models]] upstreams: is missing: a model needs upstreams, an engine or flavors
        line 2: [[models]] acme/y upstreams: is missing: a model needs upstreams, an engine or flavors"#]]
    .assert_eq(&problems("[[models]]\n[[models]]\nid = 'acme/y'\nupstreams = []"));
}

#[test]
fn all_problems_of_a_file_are_reported_with_their_lines() {
    let text = r#"
[server]
listen = "localhost:8080"
lisen = "127.0.0.1:1"
tls_cert = "cert.pem"
cors_origins = ["https://a.example/path", "*"]

[edge]
hold_timeout = "0s"
idle_timeout = 120
body_limit = "16MB"

[workspace_defaults]
max_api_keys = -1

[drivers.process]
slots = { cpu = 4 }

[store]
url = "mysql://root:hunter2@db/x"

[surprise]
a = 1

[[models]]
id = "dedicated/mine"
input_per_1m = 0.1
modality = "image"
upstreams = [{ url = "ftp://x/v1" }, { url = "http://host:9/v1?x=1", modle = "x" }, { model = "x" }]

[[models]]
id = "acme/x"
optimized = true
upstreams = [{ url = "http://127.0.0.1:1", api_key_env = "NO_SUCH_KEY", max_in_flight = 0 }]

[[models]]
id = "acme/x"
engine = { replicas = 0 }
upstreams = [{ url = "http://127.0.0.1:1" }]

[[models.flavors]]
gpu_type = "cpu"
engine = "tgi"
price_per_gpu_hour = "free"
"#;
    expect![[r#"
        line 3: [server] listen: "localhost:8080" is not an address and a port such as "127.0.0.1:8080"
        line 4: [server] lisen: unknown key; known here: listen, ops_listen, public_url, operator_prefix, catalogue, drain_timeout, cors_origins, tls_cert, tls_key, trusted_proxies, max_connections_per_address, unbounded_addresses, max_endpoints_per_workspace
        line 5: [server] tls_cert: is set without tls_key
        line 6: [server] cors_origins: "https://a.example/path" is not an origin such as "https://app.example.com" (or "*" for any)
        line 9: [edge] hold_timeout: "0s" is not between 1s and 900s
        line 10: [edge] idle_timeout: 120 is not a duration such as "300s", "5m", "1h" or "250ms"
        line 11: [edge] body_limit: "16MB" is not a size such as "16MiB", "64KiB" or a number of bytes
        line 14: [workspace_defaults] max_api_keys: -1 is not a whole number from 0 to 1000000000000000
        line 17: [drivers.process.slots] cpu: is not a GPU type of the form <vendor>/<gpu-type>
        line 20: [store] url: does not start with sqlite:, postgres://, postgresql://
        line 22: surprise: unknown key; known here: server, models, aliases, store, limits, journal, edge, sessions, oidc, workspace_defaults, allotment_defaults, drivers, retention, telemetry
        line 26: [[models]] id: is under dedicated/, which is reserved for dedicated endpoints
        line 27: [[models]] input_per_1m: 0.1 is a number; amounts are text: write "0.1"
        line 28: [[models]] modality: "image" is not "chat" or "embedding"
        line 29: [[models]] upstreams[0] url: "ftp://x/v1" is not an http:// or https:// URL with a host and without credentials or query
        line 29: [[models]] upstreams[1] url: "http://host:9/v1?x=1" is not an http:// or https:// URL with a host and without credentials or query
        line 29: [[models]] upstreams[2] url: is missing, for instance "http://127.0.0.1:9001/v1"
        line 29: [[models]] upstreams[1] modle: unknown key; known here: url, model, api_key_env, max_in_flight, health_path, continuous_usage, engine
        line 33: [[models]] acme/x optimized: only ids under the operator's prefix `forebay/` may be optimized builds
        line 34: [[models]] acme/x upstreams[0] api_key_env: the environment variable NO_SUCH_KEY is not set
        line 34: [[models]] acme/x upstreams[0] max_in_flight: 0 is not a whole number from 1 to 1000000
        line 37: [[models]] acme/x id: duplicates the id of a model above
        line 38: [[models]] acme/x engine replicas: 0 is not a whole number from 1 to 64
        line 38: [[models]] acme/x engine weights: is missing, for instance a GGUF file, or a folder in Hugging Face layout
        line 38: [[models]] acme/x engine: a model can have upstreams or an engine, not both
        line 41: [[models]] acme/x flavors[0] name: is missing, for instance "h100-1x-fp8"
        line 42: [[models]] acme/x flavors[0] gpu_type: "cpu" is not a GPU type of the form <vendor>/<gpu-type>
        line 43: [[models]] acme/x flavors[0] engine: "tgi" is not "forebay-engine", "vllm", "sglang" or "llama-server"
        line 44: [[models]] acme/x flavors[0] price_per_gpu_hour: `free` is not an amount in USD such as "0.10" (digits, at most nine after the point)"#]]
    .assert_eq(&problems(text));
}

#[test]
fn invalid_toml_is_reported_with_its_line() {
    expect!["line 2: string values must be quoted, expected literal string"]
        .assert_eq(&problems("[edge]\nhold_timeout = 300s\n"));
    expect!["line 3: duplicate key"].assert_eq(&problems("[edge]\nbody_limit = 1\nbody_limit = 2\n"));
}

#[test]
fn problems_name_the_file_and_paths_are_relative_to_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.toml");
    std::fs::write(&file, "[edge]\nhold_timeout = '901s'\n").unwrap();
    let shown = Config::load(Some(&file), &nothing_set).unwrap_err().to_string();
    assert_eq!(shown, format!("{}:2: [edge] hold_timeout: '901s' is not between 1s and 900s", file.display()));

    std::fs::write(&file, "[server]\ntls_cert = 'a.pem'\ntls_key = '/b.pem'\n[store]\nurl = 'sqlite:x.db'\n").unwrap();
    let config = Config::load(Some(&file), &nothing_set).unwrap();
    let tls = config.server.tls.unwrap();
    assert_eq!((tls.cert, tls.key), (folder.path().join("a.pem"), "/b.pem".into()));
    assert_eq!(config.store.url, "sqlite:x.db");

    let missing = Config::load(Some(&folder.path().join("none.toml")), &nothing_set).unwrap_err().to_string();
    assert!(missing.contains("none.toml: cannot be read"), "{missing}");
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
fn the_hash_of_the_catalogue_depends_on_models_and_prices_and_not_on_secrets() {
    let hash = |price: &str, key: &str, folder: &str| {
        let text = format!(
            "[[models]]\nid = 'acme/x'\ninput_per_1m = '{price}'\n\
             upstreams = [{{ url = 'http://127.0.0.1:1', api_key_env = 'K' }}]\n\
             [[models.flavors]]\nname = 'a'\ngpu_type = 'local/cpu'\nweights = 'w'"
        );
        Config::parse(&text, Path::new(folder), &|name| (name == "K").then(|| key.to_owned())).unwrap().catalogue.hash
    };
    assert_eq!(hash("0.1", "one", "/a").len(), 16);
    assert_eq!(hash("0.1", "one", "/a"), hash("0.10", "two", "/b"));
    assert_ne!(hash("0.1", "one", "/a"), hash("0.2", "one", "/a"));
}

const ALIASED: &str = "[[models]]\nid = 'acme/x'\nupstreams = [{ url = 'http://127.0.0.1:1' }]\n";

#[test]
fn aliases_name_models_of_the_file() {
    let aliases = "[[aliases]]\nname = 'claude-*'\nmodel = 'acme/x'\n[[aliases]]\nname = 'gpt'\nmodel = 'acme/x'\n";
    let aliased = parse(&format!("{aliases}{ALIASED}")).unwrap_or_else(|problems| panic!("{problems}")).catalogue;
    let shown = |alias: &domain::alias::Alias| format!("{} {}", alias.name, alias.model);
    assert_eq!(aliased.aliases().iter().map(shown).collect::<Vec<_>>(), ["claude-* acme/x", "gpt acme/x"]);
    assert_ne!(aliased.hash, parse(ALIASED).unwrap_or_else(|problems| panic!("{problems}")).catalogue.hash);
}

#[test]
fn bad_aliases_are_reported() {
    let aliases = r#"
[[aliases]]
name = "acme/x"
model = "acme/y"

[[aliases]]
name = "dedicated/x"
model = "gpt"

[[aliases]]
name = "gpt"
model = "acme/x"

[[aliases]]
name = "gpt"
modle = "acme/x"

[[aliases]]
name = "a*b"
model = "dedicated/y"
"#;
    expect![[r#"
        line 6: [[aliases]] name: is the id of a model
        line 7: [[aliases]] acme/x model: is not the id of a model of this file
        line 10: [[aliases]] name: is under dedicated/, which is reserved for dedicated endpoints
        line 11: [[aliases]] dedicated/x model: is an alias; name the model that it stands for
        line 17: [[aliases]] model: is missing, for instance "acme/tiny-chat"
        line 18: [[aliases]] name: duplicates the name of an alias above
        line 19: [[aliases]] gpt modle: unknown key; known here: name, model
        line 22: [[aliases]] name: must have 1 to 128 letters, digits and ._:/-, with at most one * at the end
        line 23: [[aliases]] a*b model: is not the id of a model of this file"#]]
    .assert_eq(&problems(&format!("{ALIASED}{aliases}")));
}

#[test]
fn a_provider_is_configured_completely_or_not_at_all() {
    let (_, rest) = EXAMPLE.split_once("# [oidc]").unwrap();
    let section = rest.split("\n\n").next().unwrap();
    let lines = section.lines().map(|line| line.strip_prefix("# ").unwrap_or(line));
    let text = format!("[oidc]{}", lines.collect::<Vec<_>>().join("\n").replace("FOREBAY_OIDC_SECRET", "TINY_KEY"));
    let oidc = parse(&text).unwrap_or_else(|problems| panic!("{problems}")).oidc.unwrap();
    assert_eq!((oidc.client_id.as_str(), oidc.client_secret.as_deref()), ("forebay", Some("s3cret")));
    assert_eq!((oidc.scopes.len(), oidc.mapping.admin_groups.len()), (2, 1));
    assert!(oidc.mapping.organization.is_some() && !format!("{oidc:?}").contains("s3cret"));

    expect![[r#"
        line 1: [oidc] client_id: is missing, for instance "forebay"
        line 2: [oidc] issuer: "ldap://x" is not an http:// or https:// URL without query
        line 3: [oidc] client_secret_env: the environment variable NOT_SET is not set
        line 4: [oidc] organization: "acme" is not an organization's id such as "org_…"
        line 5: [oidc] admin_groups: is set without groups_claim
        line 6: [oidc] colour: unknown key; known here: issuer, client_id, client_secret_env, name, scopes, groups_claim, organization, admin_groups, member_groups"#]]
    .assert_eq(&problems(
        "[oidc]\nissuer = \"ldap://x\"\nclient_secret_env = \"NOT_SET\"\norganization = \"acme\"\nadmin_groups = [\"a\"]\ncolour = 1",
    ));
}

#[test]
fn sessions_and_proxies_are_checked() {
    expect![[r#"
        line 2: [server] trusted_proxies: "localhost" is not an address or a range such as "10.0.0.0/8"
        line 4: [sessions] idle_timeout: is longer than absolute_timeout"#]]
    .assert_eq(&problems(
        "[server]\ntrusted_proxies = [\"10.0.0.0/8\", \"localhost\"]\n[sessions]\nidle_timeout = \"2h\"\nabsolute_timeout = \"1h\"",
    ));
}

#[test]
fn ports_of_replicas_are_a_range_large_enough_for_one() {
    let ports =
        |text: &str| parse(&format!("[drivers.process]\nports = \"{text}\"")).map(|it| it.drivers.process_ports);
    assert_eq!(ports("30000-30009").unwrap(), 30_000..=30_009);
    assert_eq!(ports(" 1 - 65535 ").unwrap(), 1..=65_535);
    for bad in ["", "30000", "30000-30008", "30009-30000", "0-100", "70000-70100", "a-b"] {
        let problem = ports(bad).unwrap_err().to_string();
        let expected = format!(
            "line 2: [drivers.process] ports: \"{bad}\" is not a range of at least 10 ports such as \"20000-29999\""
        );
        assert_eq!(problem.trim(), expected);
    }
}

/// The example's cluster, uncommented, and a model on it.
fn with_cluster(model: &str) -> String {
    let start = EXAMPLE.find("# [drivers.kubernetes] ").unwrap();
    let cluster = EXAMPLE[start..].split("\n\n").next().unwrap();
    let lines = cluster.lines().map(|line| line.strip_prefix("# ").or(line.strip_prefix('#')).unwrap_or(line));
    format!("{}\n{model}", lines.collect::<Vec<_>>().join("\n"))
}

#[test]
fn the_cluster_of_the_example_is_valid_when_uncommented() {
    let config = parse(&with_cluster("")).unwrap_or_else(|problems| panic!("{problems}"));
    let cluster = config.drivers.kubernetes.unwrap();
    assert_eq!(cluster.drain, Duration::from_secs(120));
    assert_eq!(cluster.gpus["nvidia/h100-sxm-80gb"].resource, "nvidia.com/gpu");
    assert_eq!(cluster.weights.fetch.unwrap().argv.len(), 3);
    assert!(parse("[drivers.process]\n").unwrap().drivers.kubernetes.is_none());
}

#[test]
fn a_pool_may_run_on_a_flavor_of_a_cluster() {
    let model = r#"
        [[models]]
        id = "acme/big"
        driver = "kubernetes"
        engine = { flavor = "h100", replicas = 2 }
        [[models.flavors]]
        name = "h100"
        gpu_type = "nvidia/h100-sxm-80gb"
        engine = "vllm"
        weights = "llama"
    "#;
    let config = parse(&with_cluster(model)).unwrap_or_else(|problems| panic!("{problems}"));
    let model = config.catalogue.get("acme/big").unwrap();
    let Serving::Engine(pool) = &model.serving else { panic!("{model:?}") };
    assert_eq!((pool.weights.as_str(), pool.replicas), ("llama", 2), "a path in the Pod, not of this machine");
    assert_eq!(pool.flavor.as_ref().unwrap().driver.as_str(), "kubernetes");
}

#[test]
fn flavors_that_a_cluster_cannot_run_are_reported() {
    let text = r#"
        [[models]]
        id = "acme/a"
        [[models.flavors]]
        name = "amd"
        gpu_type = "amd/mi300x"
        driver = "kubernetes"
        weights = "x"
        [[models.flavors]]
        name = "own"
        gpu_type = "nvidia/h100-sxm-80gb"
        driver = "kubernetes"
        argv = ["serve"]
        [[models.flavors]]
        name = "here"
        gpu_type = "local/cpu"
        image = "x:1"
        [[models]]
        id = "acme/b"
        engine = { flavor = "nope" }
    "#;
    assert!(problems(&with_cluster(text)).contains("acme/b engine: flavor \"nope\" is not a flavor of the model"));
    let reported = problems(&with_cluster(
        &text.replace(r#"engine = { flavor = "nope" }"#, r#"upstreams = [ { url = "http://x/v1" } ]"#),
    ));
    for part in [
        "acme/a flavor amd gpu_type: [drivers.kubernetes.gpus] has no entry for \"amd/mi300x\"",
        "acme/a flavor own argv: needs an image",
        "acme/a flavor here image: only allowed with driver = \"kubernetes\"",
    ] {
        assert!(reported.contains(part), "{part} is not in\n{reported}");
    }
    assert!(problems(text).contains("flavor amd driver: is \"kubernetes\", but there is no [drivers.kubernetes]"));
}

#[test]
fn the_cluster_of_the_overlay_is_valid() {
    const OVERLAY: &str = include_str!("../../../../deploy/kubernetes/overlays/small/forebay.toml");
    let config = parse(OVERLAY).unwrap_or_else(|problems| panic!("{problems}"));
    let cluster = config.drivers.kubernetes.unwrap();
    let namespace = cluster.namespace.unwrap();
    let callers = cluster.callers.unwrap();
    assert_ne!(callers.namespace, Some(namespace), "gateways do not live among replicas");
    assert_eq!(config.catalogue.iter().next().unwrap().flavors[0].driver.as_str(), "kubernetes");
}

#[test]
fn a_policy_never_allows_all_callers_by_mistake() {
    let callers = |text: &str| format!("[drivers.kubernetes]\n[drivers.kubernetes.callers]\n{text}");
    assert!(problems(&callers("namespace = \"front\"")).contains("allows all callers"));
    assert!(problems(&callers("pods = {}\nnetworks = []")).contains("allows all callers"));
    for bad in ["10.0.0.0", "10.0.0.0/33", "fd00::/129", "10.0.0/8", "front/8", "10.0.0.0/-1"] {
        let reported = problems(&callers(&format!("networks = [\"10.1.0.0/16\", \"{bad}\"]")));
        assert!(reported.contains(&format!("\"{bad}\" is not a network")), "{reported}");
    }
    for good in ["10.20.0.0/16", "fd00::/8", "192.0.2.1/32"] {
        assert!(parse(&callers(&format!("networks = [\"{good}\"]"))).is_ok(), "{good}");
    }
}

#[test]
fn replicas_reach_only_dns_and_the_hub_unless_the_file_says_more() {
    let egress = |text: &str| {
        let text = format!("[drivers.kubernetes]\n[drivers.kubernetes.egress]\n{text}");
        parse(&text).unwrap_or_else(|problems| panic!("{problems}")).drivers.kubernetes.unwrap().egress
    };
    let default = egress("").unwrap();
    assert!(default.public_https && default.networks.is_empty());
    assert_eq!(parse("[drivers.kubernetes]").unwrap().drivers.kubernetes.unwrap().egress, Some(default));
    assert_eq!(egress("any = true"), None);
    let named = egress("public_https = false\nnetworks = [\"10.9.0.1/32\"]").unwrap();
    assert_eq!((named.public_https, named.networks), (false, vec!["10.9.0.1/32".to_owned()]));
    let both = "[drivers.kubernetes.egress]\nany = true\nnetworks = [\"10.0.0.0/8\"]\n";
    assert!(problems(both).contains("any: is set beside"), "{}", problems(both));
}

#[test]
fn replicas_are_not_root_unless_the_file_says_so() {
    let settings = |text: &str| parse(&format!("[drivers.kubernetes]\n{text}")).unwrap().drivers.kubernetes.unwrap();
    assert_eq!((settings("").run_as_user, settings("").read_only_root), (10_001, true));
    let root = settings("run_as_user = 0\nread_only_root = false");
    assert_eq!((root.run_as_user, root.read_only_root), (0, false));
    assert!(problems("[drivers.kubernetes]\nrun_as_user = -1").contains("run_as_user"));
}

#[test]
fn llama_server_gets_weights_of_the_hub_only_with_a_fetch_command() {
    let model = "[[models]]\nid = \"acme/a\"\ndriver = \"kubernetes\"\n[[models.flavors]]\nname = \"a\"\n\
        gpu_type = \"nvidia/h100-sxm-80gb\"\nengine = \"llama-server\"\nweights = \"hf://acme/tiny\"\n";
    let with = with_cluster(model);
    assert!(parse(&with).is_ok(), "the example fetches");
    let lines = with.lines().filter(|line| !line.starts_with("fetch"));
    let without = lines.collect::<Vec<_>>().join("\n");
    assert!(problems(&without).contains("acme/a flavor a weights: llama-server cannot download"));
    assert!(parse(&without.replace("hf://acme/tiny", "tiny.gguf")).is_ok());
    assert!(
        parse(&without.replace("\"llama-server\"\nweights", "\"vllm\"\nweights")).is_ok(),
        "vLLM downloads by itself"
    );
}
