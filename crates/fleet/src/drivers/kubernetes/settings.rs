//! Settings of the cluster.

use domain::model::{EngineKind, Launch};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub access: Access,
    /// Namespace of Pods; `None` for that of the account in use.
    pub namespace: Option<String>,
    /// Distinguishes the Pods of this installation from those of others in the same namespace. Not configurable.
    pub instance: String,
    /// Nodes by GPU type.
    pub gpus: BTreeMap<String, GpuNodes>,
    pub images: Images,
    pub weights: Weights,
    /// Port of engines in their Pods.
    pub port: u16,
    /// Time for open calls when a node is drained by others.
    pub drain: Duration,
    /// Delay before SIGTERM, so that gateways notice first that a Pod is terminating.
    pub pre_stop: Duration,
    /// Time after which the replicas of an unready node are given up.
    pub node_lost_after: Duration,
    /// Time after which an image that cannot be pulled is a failure.
    pub image_pull_timeout: Duration,
    /// A Secret with environment variables of engines, such as the hub's token.
    pub environment_secret: Option<String>,
    pub image_pull_secrets: Vec<String>,
    /// Service account of replicas; its token is not mounted.
    pub service_account: Option<String>,
    /// Who may call replicas; `None` for no network policy.
    pub callers: Option<Callers>,
    /// What replicas may reach; `None` for everything.
    pub egress: Option<Egress>,
    /// User and group of replicas; 0 is root.
    pub run_as_user: u32,
    /// Whether replicas cannot write to the file system of their image.
    pub read_only_root: bool,
    /// Where GPUs are measured; `None` if they are not.
    pub gpu_metrics: Option<GpuMetrics>,
}

/// The Pods of NVIDIA's DCGM exporter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuMetrics {
    /// Labels as in `kubectl get pods --selector`.
    pub selector: String,
    pub port: u16,
    /// `None` for all namespaces.
    pub namespace: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Access {
    /// The gateway is a Pod of the cluster.
    ServiceAccount,
    Kubeconfig {
        file: PathBuf,
        context: Option<String>,
    },
}

/// Nodes with one type of GPU, and how a Pod requests them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GpuNodes {
    /// Such as `nvidia.com/gpu`.
    pub resource: String,
    pub node_selector: BTreeMap<String, String>,
    pub tolerations: Vec<Toleration>,
    /// Per GPU.
    pub cpu: Option<Quantity>,
    pub memory: Option<Quantity>,
}

/// Written as `key` or `key=value`, with or without `:Effect`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Toleration {
    pub key: String,
    pub value: Option<String>,
    pub effect: Option<String>,
}

impl Toleration {
    pub fn parse(text: &str) -> Option<Self> {
        let (rest, effect) = match text.rsplit_once(':') {
            Some((rest, effect)) => (rest, Some(effect)),
            None => (text, None),
        };
        let (key, value) = match rest.split_once('=') {
            Some((key, value)) => (key, Some(value)),
            None => (rest, None),
        };
        let known = effect.is_none_or(|effect| ["NoSchedule", "PreferNoSchedule", "NoExecute"].contains(&effect));
        let plain = |text: &str| {
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._/".contains(&byte))
        };
        let good = known && plain(key) && value.is_none_or(plain);
        good.then(|| Self {
            key: key.to_owned(),
            value: value.map(ToOwned::to_owned),
            effect: effect.map(ToOwned::to_owned),
        })
    }
}

/// An integer with one of Kubernetes' suffixes: `500m`, `8`, `64Gi`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Quantity {
    number: u64,
    suffix: String,
}

impl Quantity {
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.bytes().take_while(u8::is_ascii_digit).count();
        let (number, suffix) = text.split_at(digits);
        let known = ["", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"].contains(&suffix);
        let number = number.parse().ok().filter(|number| *number > 0)?;
        known.then(|| Self { number, suffix: suffix.to_owned() })
    }

    pub fn times(&self, count: u32) -> String {
        format!("{}{}", self.number.saturating_mul(count.into()), self.suffix)
    }
}

/// The image of each engine.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Images {
    pub forebay_engine: Option<String>,
    pub vllm: Option<String>,
    pub sglang: Option<String>,
    pub llama_server: Option<String>,
}

impl Images {
    /// `None` for a custom command, whose image is that of its flavor.
    pub fn of(&self, launch: &Launch) -> Option<&str> {
        match launch {
            Launch::Engine(EngineKind::ForebayEngine) => self.forebay_engine.as_deref(),
            Launch::Engine(EngineKind::Vllm) => self.vllm.as_deref(),
            Launch::Engine(EngineKind::Sglang) => self.sglang.as_deref(),
            Launch::Engine(EngineKind::LlamaServer) => self.llama_server.as_deref(),
            Launch::Argv(_) => None,
        }
    }
}

/// Location of weights in Pods.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weights {
    pub volume: Option<Volume>,
    /// Mount path of the volume; relative paths of weights are below it.
    pub mount: String,
    /// Fills the volume before the engine starts.
    pub fetch: Option<Fetch>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Volume {
    /// A PersistentVolumeClaim that many nodes can mount.
    Claim(String),
    /// A folder on each node.
    NodeFolder(String),
}

/// The init container: `{weights}` is the target path, `{source}` the text after `hf://`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetch {
    pub image: String,
    pub argv: Vec<String>,
}

/// Pods and networks that may call replicas.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Callers {
    pub pods: BTreeMap<String, String>,
    /// Namespace of those Pods; `None` for that of the replicas.
    pub namespace: Option<String>,
    pub networks: Vec<String>,
}

/// Destinations of replicas, besides DNS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Egress {
    /// Port 443 of public addresses, where the hub is.
    pub public_https: bool,
    /// Further networks, on all ports.
    pub networks: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tolerations_have_the_syntax_of_taints() {
        let read = |text| Toleration::parse(text).map(|one| (one.key, one.value, one.effect));
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(read("nvidia.com/gpu:NoSchedule"), Some(("nvidia.com/gpu".into(), None, text("NoSchedule"))));
        assert_eq!(read("team=ml"), Some(("team".into(), text("ml"), None)));
        for bad in ["", ":NoSchedule", "a:Sometimes", "a b", "a="] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn quantities_are_multiplied_by_the_number_of_gpus() {
        let times = |text, count| Quantity::parse(text).map(|quantity| quantity.times(count));
        assert_eq!(times("64Gi", 4).as_deref(), Some("256Gi"));
        assert_eq!(times("500m", 2).as_deref(), Some("1000m"));
        for bad in ["", "0", "Gi", "1.5", "8 Gi", "8Zi"] {
            assert_eq!(times(bad, 1), None, "{bad}");
        }
    }
}
