//! `[drivers.kubernetes]`: the cluster that runs replicas as Pods.

use super::reader::{Entry, Section};
use super::sections::is_plain_name;
use super::weights::HUB_REFERENCE;
use domain::GpuType;
use domain::model::{DriverKind, EngineKind, Flavor, Launch};
use fleet::drivers::kubernetes::settings::{
    Access, Callers, Egress, Fetch, GpuMetrics, GpuNodes, Images, Quantity, Settings, Toleration, Volume, Weights,
};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3_600);
const DRAIN_RANGE: RangeInclusive<Duration> = Duration::ZERO..=HOUR;
const PRE_STOP_RANGE: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(120);
const TOLERANCE_RANGE: RangeInclusive<Duration> = Duration::from_secs(1)..=HOUR;
const PORT_RANGE: RangeInclusive<u64> = 1..=65_535;
const DEFAULT_PORT: u16 = 8000;
/// The port of the DCGM exporter.
const DEFAULT_METRICS_PORT: u16 = 9400;
/// The largest that Kubernetes takes.
const USER_RANGE: RangeInclusive<u64> = 0..=2_147_483_647;
const DEFAULT_USER: u32 = 10_001;
const DEFAULT_MOUNT: &str = "/models";
const CALLERS_VARIABLE: &str = "FOREBAY_REPLICA_CALLERS";
const NAME: &str = "a name of lower-case letters, digits, - and .";

/// `None` without such a table.
pub(super) fn read(drivers: &Section<'_>) -> Option<Settings> {
    drivers.entry("kubernetes")?;
    let section = drivers.section("kubernetes");
    let seconds = |key: &str, range, default| section.duration(key, range).unwrap_or(Duration::from_secs(default));
    let name = |key: &str| section.parsed(key, NAME, object_name);
    Some(Settings {
        access: read_access(&section),
        namespace: name("namespace"),
        instance: String::new(),
        gpus: read_gpus(&section.section("gpus")),
        images: read_images(&section.section("images")),
        weights: read_weights(&section.section("weights")),
        port: section.integer("port", PORT_RANGE).and_then(|port| port.try_into().ok()).unwrap_or(DEFAULT_PORT),
        drain: seconds("drain_timeout", DRAIN_RANGE, 120),
        pre_stop: seconds("pre_stop", PRE_STOP_RANGE, 10),
        node_lost_after: seconds("node_lost_after", TOLERANCE_RANGE, 30),
        image_pull_timeout: seconds("image_patience", TOLERANCE_RANGE, 300),
        environment_secret: name("environment_secret"),
        image_pull_secrets: read_names(&section, "image_pull_secrets"),
        service_account: name("service_account"),
        callers: read_callers(&section),
        egress: read_egress(&section.section("egress")),
        run_as_user: section
            .integer("run_as_user", USER_RANGE)
            .and_then(|user| user.try_into().ok())
            .unwrap_or(DEFAULT_USER),
        read_only_root: section.boolean("read_only_root").unwrap_or(true),
        gpu_metrics: read_gpu_metrics(&section),
    })
}

fn read_access(section: &Section<'_>) -> Access {
    let context = section.text("context").map(ToOwned::to_owned);
    match section.text("kubeconfig") {
        Some(file) => Access::Kubeconfig { file: section.reader.path(file), context },
        None => {
            if context.is_some() {
                section.report(section.line("context"), "context", "is set without kubeconfig");
            }
            Access::ServiceAccount
        }
    }
}

fn read_gpus(section: &Section<'_>) -> BTreeMap<String, GpuNodes> {
    let mut gpus = BTreeMap::new();
    for (gpu_type, Entry { line, .. }) in section.free_keys() {
        if GpuType::parse(gpu_type).is_err() {
            section.report(line, gpu_type, "is not a GPU type of the form <vendor>/<gpu-type>");
        }
        gpus.insert(gpu_type.to_owned(), read_nodes(&section.section(gpu_type)));
    }
    gpus
}

fn read_nodes(section: &Section<'_>) -> GpuNodes {
    section.require("resource", "\"nvidia.com/gpu\"");
    let resource = section.parsed("resource", "a resource such as \"nvidia.com/gpu\"", |text| {
        text.split('/').all(is_plain_name).then(|| text.to_owned())
    });
    let quantity =
        |key: &str| section.parsed(key, "a whole number such as \"8\", \"500m\" or \"64Gi\"", Quantity::parse);
    let mut tolerations = Vec::new();
    for text in section.texts("tolerations").unwrap_or_default() {
        match Toleration::parse(text) {
            Some(toleration) => tolerations.push(toleration),
            None => {
                let what = format_args!("\"{text}\" is not written like \"nvidia.com/gpu:NoSchedule\" or \"team=ml\"");
                section.report(section.line("tolerations"), "tolerations", what);
            }
        }
    }
    GpuNodes {
        resource: resource.unwrap_or_default(),
        node_selector: read_labels(section, "node_selector"),
        tolerations,
        cpu: quantity("cpu"),
        memory: quantity("memory"),
    }
}

fn read_labels(section: &Section<'_>, key: &str) -> BTreeMap<String, String> {
    let labels = section.section(key);
    let keys = labels.free_keys();
    keys.into_iter().filter_map(|(name, _)| Some((name.to_owned(), labels.text(name)?.to_owned()))).collect()
}

fn read_images(section: &Section<'_>) -> Images {
    let image = |key: &str| section.parsed(key, "an image", |text| (!text.is_empty()).then(|| text.to_owned()));
    Images {
        forebay_engine: image("forebay-engine"),
        vllm: image("vllm"),
        sglang: image("sglang"),
        llama_server: image("llama-server"),
    }
}

fn read_weights(section: &Section<'_>) -> Weights {
    let path =
        |key: &str| section.parsed(key, "a path that begins with /", |text| text.starts_with('/').then_some(text));
    let claim = section.parsed("claim", NAME, object_name);
    let folder = path("node_folder").map(ToOwned::to_owned);
    if claim.is_some() && folder.is_some() {
        section.report(section.line("node_folder"), "node_folder", "weights are in a claim or in a folder, not both");
    }
    let volume = claim.map(Volume::Claim).or(folder.map(Volume::NodeFolder));
    let image = section.text("fetch_image");
    let argv = section.texts("fetch");
    let fetch = match (image, argv) {
        (Some(image), Some(argv)) if !argv.is_empty() => {
            Some(Fetch { image: image.to_owned(), argv: argv.into_iter().map(ToOwned::to_owned).collect() })
        }
        (None, None) => None,
        _ => {
            section.report(None, "fetch", "needs both fetch_image and a command");
            None
        }
    };
    if fetch.is_some() && volume.is_none() {
        section.report(section.line("fetch"), "fetch", "needs a claim or a node_folder to fetch into");
    }
    Weights { volume, mount: path("mount").unwrap_or(DEFAULT_MOUNT).to_owned(), fetch }
}

/// Without such a table, those of the environment, where the Helm chart names its gateways.
fn read_callers(section: &Section<'_>) -> Option<Callers> {
    if section.entry("callers").is_none() {
        let text = section.reader.variable(CALLERS_VARIABLE)?;
        let callers = parse_callers(&text);
        if callers.is_none() {
            let what = "is not a namespace with labels, such as forebay:app.kubernetes.io/name=forebay,tier=gateway";
            section.reader.report(None, format!("{CALLERS_VARIABLE}: {what}"));
        }
        return callers;
    }
    let callers = section.section("callers");
    let networks = read_networks(&callers);
    let pods = read_labels(&callers, "pods");
    if pods.is_empty() && networks.is_empty() {
        let what = "name pods, networks or both: a policy without them allows all callers";
        section.report(section.line("callers"), "callers", what);
    }
    Some(Callers { pods, namespace: callers.parsed("namespace", NAME, object_name), networks })
}

/// Pods of a namespace: `forebay:app.kubernetes.io/name=forebay,tier=gateway`.
fn parse_callers(text: &str) -> Option<Callers> {
    let (namespace, labels) = text.split_once(':')?;
    let label = |text: &str| {
        let (name, value) = text.split_once('=')?;
        let is_good = |part: &str| !part.is_empty() && part.split('/').all(is_plain_name);
        (is_good(name) && is_good(value)).then(|| (name.to_owned(), value.to_owned()))
    };
    let pods = labels.split(',').map(label).collect::<Option<_>>()?;
    Some(Callers { pods, namespace: Some(object_name(namespace)?), networks: Vec::new() })
}

/// `None` without such a table.
fn read_gpu_metrics(section: &Section<'_>) -> Option<GpuMetrics> {
    section.entry("gpu_metrics")?;
    let metrics = section.section("gpu_metrics");
    metrics.require("selector", "\"app=nvidia-dcgm-exporter\"");
    let selector = metrics.parsed("selector", "labels such as \"app=nvidia-dcgm-exporter\"", |text| {
        text.split_once('=').is_some_and(|(key, value)| !key.is_empty() && !value.is_empty()).then(|| text.to_owned())
    });
    let port = metrics.integer("port", PORT_RANGE).and_then(|port| port.try_into().ok());
    Some(GpuMetrics {
        selector: selector.unwrap_or_default(),
        port: port.unwrap_or(DEFAULT_METRICS_PORT),
        namespace: metrics.parsed("namespace", NAME, object_name),
    })
}

/// `None` if everything may be reached.
fn read_egress(section: &Section<'_>) -> Option<Egress> {
    let any = section.boolean("any").unwrap_or(false);
    let public_https = section.boolean("public_https");
    let networks = read_networks(section);
    if any && (public_https.is_some() || !networks.is_empty()) {
        section.report(section.line("any"), "any", "is set beside public_https or networks, which it includes");
    }
    (!any).then(|| Egress { public_https: public_https.unwrap_or(true), networks })
}

fn read_networks(section: &Section<'_>) -> Vec<String> {
    let networks = section.texts("networks").unwrap_or_default();
    for network in networks.iter().filter(|network| !is_network(network)) {
        let what = format_args!("\"{network}\" is not a network such as \"10.20.0.0/16\" or \"fd00::/8\"");
        section.report(section.line("networks"), "networks", what);
    }
    networks.into_iter().map(ToOwned::to_owned).collect()
}

/// CIDR notation: an address and the length of its prefix.
fn is_network(text: &str) -> bool {
    let Some((address, bits)) = text.split_once('/') else { return false };
    let most = match address.parse::<IpAddr>() {
        Ok(IpAddr::V4(_)) => 32,
        Ok(IpAddr::V6(_)) => 128,
        Err(_) => return false,
    };
    bits.parse::<u8>().is_ok_and(|bits| bits <= most)
}

fn read_names(section: &Section<'_>, key: &str) -> Vec<String> {
    let names = section.texts(key).unwrap_or_default();
    for name in names.iter().filter(|name| object_name(name).is_none()) {
        section.report(section.line(key), key, format_args!("\"{name}\" is not {NAME}"));
    }
    names.into_iter().map(ToOwned::to_owned).collect()
}

fn object_name(text: &str) -> Option<String> {
    let good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    let ends = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    let named = ends(text.bytes().next()) && ends(text.bytes().last()) && text.len() <= 253 && text.bytes().all(good);
    named.then(|| text.to_owned())
}

/// The problem that keeps a flavor from running on its driver, if any, with its key.
pub(super) fn problem_of(flavor: &Flavor, cluster: Option<&Settings>) -> Option<(&'static str, String)> {
    if flavor.driver == DriverKind::Process {
        return flavor.image.as_ref().map(|_| ("image", "only allowed with driver = \"kubernetes\"".to_owned()));
    }
    let Some(cluster) = cluster else {
        return Some(("driver", "is \"kubernetes\", but there is no [drivers.kubernetes]".to_owned()));
    };
    if !cluster.gpus.contains_key(flavor.gpu_type.as_str()) {
        let gpu_type = &flavor.gpu_type;
        return Some(("gpu_type", format!("[drivers.kubernetes.gpus] has no entry for \"{gpu_type}\"")));
    }
    if flavor.image.is_none() && cluster.images.of(&flavor.launch).is_none() {
        return Some(match &flavor.launch {
            Launch::Engine(kind) => ("engine", format!("[drivers.kubernetes.images] has none for \"{kind}\"")),
            Launch::Argv(_) => ("argv", "needs an image".to_owned()),
        });
    }
    let from_hub = flavor.weights.as_deref().is_some_and(|weights| weights.starts_with(HUB_REFERENCE));
    if from_hub && flavor.launch == Launch::Engine(EngineKind::LlamaServer) && cluster.weights.fetch.is_none() {
        let why = format!(
            "llama-server cannot download {HUB_REFERENCE} weights; set [drivers.kubernetes.weights] fetch, or use a path"
        );
        return Some(("weights", why));
    }
    None
}
