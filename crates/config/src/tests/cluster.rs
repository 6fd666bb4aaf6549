//! Replicas in a cluster.

use super::*;
use domain::model::Serving;

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
    assert_eq!(cluster.gpu_metrics.unwrap().namespace.as_deref(), Some("gpu-operator"));
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
fn gpus_are_measured_where_the_file_names_an_exporter() {
    let metrics = |text: &str| {
        let text = format!("[drivers.kubernetes]\n{text}");
        parse(&text).unwrap_or_else(|problems| panic!("{problems}")).drivers.kubernetes.unwrap().gpu_metrics
    };
    assert_eq!(metrics(""), None);
    let found = metrics("gpu_metrics = { selector = \"app.kubernetes.io/name=dcgm-exporter\" }").unwrap();
    assert_eq!((found.selector.as_str(), found.port), ("app.kubernetes.io/name=dcgm-exporter", 9_400));
    assert_eq!(found.namespace, None);
    for (text, problem) in [
        ("gpu_metrics = {}", "selector: is missing"),
        ("gpu_metrics = { selector = \"dcgm\" }", "\"dcgm\" is not labels"),
        ("gpu_metrics = { selector = \"a=b\", port = 0 }", "port: "),
        ("gpu_metrics = { selector = \"a=b\", colour = 1 }", "colour"),
    ] {
        let found = problems(&format!("[drivers.kubernetes]\n{text}\n"));
        assert!(found.contains(problem), "{text}: {found}");
    }
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

#[test]
fn callers_of_replicas_are_those_of_the_environment_unless_the_file_names_them() {
    let callers = |text: &str, value: &str| {
        let environment = |name: &str| (name == "FOREBAY_REPLICA_CALLERS").then(|| value.to_owned());
        let config = Config::parse(text, Path::new("."), &environment).map_err(|problems| problems.to_string());
        config.map(|config| config.drivers.kubernetes.unwrap().callers)
    };
    const CLUSTER: &str = "[drivers.kubernetes]\n";
    let found = callers(CLUSTER, "team:app.kubernetes.io/name=forebay,tier=gateway").unwrap().unwrap();
    assert_eq!(found.namespace.as_deref(), Some("team"));
    assert_eq!((found.pods["app.kubernetes.io/name"].as_str(), found.pods["tier"].as_str()), ("forebay", "gateway"));
    let named = callers("[drivers.kubernetes.callers]\nnetworks = [\"10.0.0.0/8\"]\n", "team:a=b").unwrap().unwrap();
    assert_eq!((named.namespace, named.pods.len()), (None, 0));
    assert!(callers(CLUSTER, "").unwrap().is_none());
    for bad in ["team", "team:", "team:a", "team:a=", ":a=b", "Team:a=b", "team:a=b;c"] {
        assert!(callers(CLUSTER, bad).unwrap_err().starts_with("FOREBAY_REPLICA_CALLERS: is not"), "{bad}");
    }
}
