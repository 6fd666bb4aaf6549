//! How mistakes are reported.

use super::*;
use expect_test::expect;

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
        line 4: [server] lisen: unknown key; known here: listen, ops_listen, public_url, operator_prefix, catalogue, probe, drain_timeout, cors_origins, tls_cert, tls_key, trusted_proxies, max_connections_per_address, unbounded_addresses, end_user_headers, end_user_to_engine, max_endpoints_per_workspace, max_workspaces_per_organization
        line 5: [server] tls_cert: is set without tls_key
        line 6: [server] cors_origins: "https://a.example/path" is not an origin such as "https://app.example.com" (or "*" for any)
        line 9: [edge] hold_timeout: "0s" is not between 1s and 900s
        line 10: [edge] idle_timeout: 120 is not a duration such as "300s", "5m", "1h" or "250ms"
        line 11: [edge] body_limit: "16MB" is not a size such as "16MiB", "64KiB" or a number of bytes
        line 14: [workspace_defaults] max_api_keys: -1 is not a whole number from 0 to 1000000000000000
        line 17: [drivers.process.slots] cpu: is not a GPU type of the form <vendor>/<gpu-type>
        line 20: [store] url: does not start with sqlite:, postgres://, postgresql://
        line 22: surprise: unknown key; known here: server, models, aliases, store, limits, journal, edge, files, sessions, oidc, workspace_defaults, allotment_defaults, drivers, retention, telemetry, weights
        line 26: [[models]] id: is under dedicated/, which is reserved for dedicated endpoints
        line 27: [[models]] input_per_1m: 0.1 is a number; amounts are text: write "0.1"
        line 28: [[models]] modality: "image" is not "chat", "embedding" or "rerank"
        line 29: [[models]] upstreams[0] url: "ftp://x/v1" is not an http:// or https:// URL with a host and without credentials or query
        line 29: [[models]] upstreams[1] url: "http://host:9/v1?x=1" is not an http:// or https:// URL with a host and without credentials or query
        line 29: [[models]] upstreams[2] url: is missing, for instance "http://127.0.0.1:9001/v1"
        line 29: [[models]] upstreams[1] modle: unknown key; known here: url, model, api_key_env, max_in_flight, health_path, continuous_usage, engine, priority_scheduling, native
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
