//! How busy the GPUs of replicas are, as NVIDIA's DCGM exporter reports it for each Pod.
//!
//! The exporters, one per node, are found by their labels. One that does not respond leaves the GPUs of its node unmeasured.

use super::api::requests::Requests;
use super::settings::GpuMetrics;
use super::{KubernetesDriver, address_of, gpus_of, pod};
use crate::drivers::{DeviceId, ReplicaName};
use crate::engine::prometheus::Sample;
use crate::engine::{Engine, Family};
use domain::model::Modality;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::{Api, Client};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;
use tokio::task::JoinSet;

/// How long the list of exporters is kept.
const LIST_KEPT: Duration = Duration::from_secs(60);
const LIST_TIMEOUT: Duration = Duration::from_secs(5);
const MAX_EXPORTERS: u32 = 500;
const RUNNING: &str = "status.phase=Running";
/// How long a reading counts. Exporters collect every 30 seconds unless configured otherwise.
const READING_KEPT: Duration = Duration::from_secs(15);
/// For all exporters; the others are left out.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// Bound of concurrent reads, each with a bounded body.
const MAX_READS: usize = 16;
/// Percent of the time in which a kernel ran on a GPU.
const UTILIZATION: &str = "DCGM_FI_DEV_GPU_UTIL";

/// Percent of each GPU of a Pod, by the name of the Pod.
type BusyPods = HashMap<String, Vec<u32>>;

/// Reads the exporters.
pub(super) struct GpuMeter {
    settings: GpuMetrics,
    exporters: Api<Pod>,
    /// The namespace of the replicas.
    namespace: String,
    requests: Arc<Requests>,
    last: Mutex<Last>,
}

#[derive(Default)]
struct Last {
    addresses: Vec<SocketAddr>,
    listed_at: Option<Instant>,
    busy: Arc<BusyPods>,
    read_at: Option<Instant>,
}

impl GpuMeter {
    pub(super) fn new(settings: GpuMetrics, client: Client, namespace: &str, requests: Arc<Requests>) -> Self {
        let exporters = match &settings.namespace {
            Some(namespace) => Api::namespaced(client, namespace),
            None => Api::all(client),
        };
        Self { settings, exporters, namespace: namespace.to_owned(), requests, last: Mutex::default() }
    }

    async fn read(&self) -> Arc<BusyPods> {
        let mut last = self.last.lock().await;
        let is_kept = |at: Option<Instant>, time| at.is_some_and(|at| at.elapsed() < time);
        if is_kept(last.read_at, READING_KEPT) {
            return Arc::clone(&last.busy);
        }
        if !is_kept(last.listed_at, LIST_KEPT) {
            // The addresses before serve while the API server does not respond.
            if let Some(addresses) = self.list().await {
                last.addresses = addresses;
            }
            last.listed_at = Some(Instant::now());
        }
        last.busy = Arc::new(read_all(&last.addresses, &self.namespace).await);
        last.read_at = Some(Instant::now());
        Arc::clone(&last.busy)
    }

    async fn list(&self) -> Option<Vec<SocketAddr>> {
        let params = ListParams::default().labels(&self.settings.selector).fields(RUNNING).limit(MAX_EXPORTERS);
        match self.requests.send_to_kubelet(LIST_TIMEOUT, self.exporters.list(&params)).await {
            Ok(found) => Some(found.items.iter().filter_map(|pod| address_of(pod, self.settings.port)).collect()),
            Err(why) => {
                tracing::warn!(%why, "cannot list the exporters of GPU metrics");
                None
            }
        }
    }
}

impl KubernetesDriver {
    /// How busy the GPUs of replicas are, in percent, as far as exporters say so.
    pub async fn gpu_busy(&self) -> Vec<(DeviceId, u32)> {
        let Some(meter) = &self.shared.gpu_meter else { return Vec::new() };
        let busy = meter.read().await;
        let count = |pod: &Pod| gpus_of(pod, &self.shared.settings);
        self.shared.mirror.all().iter().flat_map(|pod| by_device(pod, count(pod), &busy)).collect()
    }
}

/// The GPUs of a replica, under the ids that its binding has. Which of them is which card makes no difference.
fn by_device(pod: &Pod, count: u32, busy: &BusyPods) -> Vec<(DeviceId, u32)> {
    let replica = pod.metadata.labels.as_ref().and_then(|labels| labels.get(pod::REPLICA_LABEL));
    let replica = replica.and_then(|text| ReplicaName::parse(text).ok());
    let percents = pod.metadata.name.as_ref().and_then(|name| busy.get(name));
    let (Some(replica), Some(percents)) = (replica, percents) else { return Vec::new() };
    let devices = (0..count).map(|number| DeviceId::slot(replica.as_str(), number));
    devices.zip(percents.iter().copied()).collect()
}

async fn read_all(addresses: &[SocketAddr], namespace: &str) -> BusyPods {
    let deadline = tokio::time::Instant::now() + READ_TIMEOUT;
    let (mut busy, mut reads, mut unread) = (BusyPods::new(), JoinSet::new(), addresses.iter().copied());
    loop {
        while reads.len() < MAX_READS {
            let Some(address) = unread.next() else { break };
            reads.spawn(read_exporter(address));
        }
        let Ok(Some(read)) = tokio::time::timeout_at(deadline, reads.join_next()).await else { return busy };
        match read {
            Ok(Ok(text)) => {
                for (pod, percent) in utilization(&text, namespace) {
                    busy.entry(pod.to_owned()).or_default().push(percent);
                }
            }
            Ok(Err(why)) => tracing::debug!(%why, "cannot read an exporter of GPU metrics"),
            Err(error) => tracing::debug!(%error, "the read of an exporter of GPU metrics ended"),
        }
    }
}

async fn read_exporter(address: SocketAddr) -> Result<String, String> {
    // Not an engine, but read like the metrics of one.
    let (address, model) = (address.into(), String::new());
    let exporter = Engine { address, family: Family::Unknown, model, modality: Modality::Chat, key: None };
    let response = exporter.get("/metrics", READ_TIMEOUT).await?;
    if !response.status.is_success() {
        return Err(format!("/metrics returned {}", response.status.as_u16()));
    }
    Ok(String::from_utf8_lossy(&response.body).into_owned())
}

/// The GPUs that Pods of a namespace have: the Pod, and percent of its GPU.
fn utilization<'a>(text: &'a str, namespace: &str) -> Vec<(&'a str, u32)> {
    let of_line = |line: &'a str| {
        let sample = Sample::parse(line).filter(|sample| sample.name == UTILIZATION)?;
        // Where a scraper adds labels with its own Pod, those of the exporter are renamed.
        let label = |renamed, plain| sample.label(renamed).or_else(|| sample.label(plain));
        let pod = label("exported_pod", "pod").filter(|pod| !pod.is_empty())?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "from 0 to 100")]
        let percent = sample.value.min(100.0).round() as u32;
        (label("exported_namespace", "namespace") == Some(namespace)).then_some((pod, percent))
    };
    text.lines().filter_map(of_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    /// As DCGM exporter 4 writes it.
    const REAL: &str = r#"# HELP DCGM_FI_DEV_SM_CLOCK SM clock frequency (in MHz).
# TYPE DCGM_FI_DEV_SM_CLOCK gauge
DCGM_FI_DEV_SM_CLOCK{gpu="0",UUID="GPU-604ac76c-d9cf-fef3-62e9-d92044ab6e52",pci_bus_id="00000000:19:00.0",device="nvidia0",modelName="NVIDIA H100 80GB HBM3",Hostname="gpu-1",DCGM_FI_DRIVER_VERSION="570.86.15",container="engine",namespace="replicas",pod="rep-1"} 1980
# HELP DCGM_FI_DEV_GPU_UTIL GPU utilization (in %).
# TYPE DCGM_FI_DEV_GPU_UTIL gauge
DCGM_FI_DEV_GPU_UTIL{gpu="0",UUID="GPU-604ac76c-d9cf-fef3-62e9-d92044ab6e52",pci_bus_id="00000000:19:00.0",device="nvidia0",modelName="NVIDIA H100 80GB HBM3",Hostname="gpu-1",DCGM_FI_DRIVER_VERSION="570.86.15",container="engine",namespace="replicas",pod="rep-1"} 87
DCGM_FI_DEV_GPU_UTIL{gpu="1",UUID="GPU-1a3b0c5e-7d1f-4a55-9c0e-2f3a4b5c6d7e",pci_bus_id="00000000:3B:00.0",device="nvidia1",modelName="NVIDIA H100 80GB HBM3",Hostname="gpu-1",DCGM_FI_DRIVER_VERSION="570.86.15",container="engine",namespace="replicas",pod="rep-1"} 0
DCGM_FI_DEV_GPU_UTIL{gpu="2",UUID="GPU-9c8b7a6d-5e4f-4321-8765-0a1b2c3d4e5f",pci_bus_id="00000000:4C:00.0",device="nvidia2",modelName="NVIDIA H100 80GB HBM3",Hostname="gpu-1",DCGM_FI_DRIVER_VERSION="570.86.15",container="train",namespace="research",pod="rep-1"} 100
DCGM_FI_DEV_GPU_UTIL{gpu="3",UUID="GPU-0f1e2d3c-4b5a-4968-8778-695a4b3c2d1e",pci_bus_id="00000000:5D:00.0",device="nvidia3",modelName="NVIDIA H100 80GB HBM3",Hostname="gpu-1",DCGM_FI_DRIVER_VERSION="570.86.15"} 3
"#;

    #[test]
    fn the_utilization_of_each_gpu_is_read_with_its_pod() {
        for (text, expected) in [
            (REAL, vec![("rep-1", 87_u32), ("rep-1", 0)]),
            // Behind a scraper, whose own labels are those of the exporter's Pod.
            (
                r#"DCGM_FI_DEV_GPU_UTIL{gpu="0",pod="dcgm-exporter-x",namespace="gpu-operator",exported_pod="rep-2",exported_namespace="replicas"} 12 1700000000000"#,
                vec![("rep-2", 12)],
            ),
            // A GPU that no Pod has, an older exporter's empty labels, and values that are none.
            (r#"DCGM_FI_DEV_GPU_UTIL{gpu="0"} 5"#, vec![]),
            (r#"DCGM_FI_DEV_GPU_UTIL{gpu="0",namespace="replicas",pod=""} 5"#, vec![]),
            (r#"DCGM_FI_DEV_GPU_UTIL{gpu="0",namespace="replicas",pod="rep-3"} NaN"#, vec![]),
            (r#"DCGM_FI_DEV_GPU_UTIL{gpu="0",namespace="replicas",pod="rep-3"} -1"#, vec![]),
            (r#"DCGM_FI_DEV_GPU_UTIL{gpu="0",namespace="replicas",pod="rep-3"} 9223372036854775794"#, vec![]),
            (r#"DCGM_FI_DEV_GPU_UTIL{gpu="0",namespace="replicas",pod="rep-3"} 101"#, vec![("rep-3", 100)]),
            (r#"DCGM_FI_DEV_GPU_UTIL{gpu="0",namespace="replicas",pod="rep-3""#, vec![]),
            ("", vec![]),
        ] {
            assert_eq!(utilization(text, "replicas"), expected, "{text}");
        }
    }

    #[test]
    fn gpus_of_a_replica_have_the_ids_of_its_binding() {
        let busy = BusyPods::from([("rep-1".to_owned(), vec![87, 0, 5]), ("rep-2".to_owned(), vec![40])]);
        let devices = |name: &str, labels: serde_json::Value| {
            let pod = serde_json::from_value(json!({"metadata": {"name": name, "labels": labels}})).unwrap();
            let found = by_device(&pod, 2, &busy);
            found.into_iter().map(|(id, percent)| format!("{id} {percent}")).collect::<Vec<_>>()
        };
        assert_eq!(devices("rep-1", json!({pod::REPLICA_LABEL: "rep_1"})), ["rep_1#0 87", "rep_1#1 0"]);
        assert_eq!(devices("rep-2", json!({pod::REPLICA_LABEL: "rep_2"})), ["rep_2#0 40"]);
        assert!(devices("rep-3", json!({pod::REPLICA_LABEL: "rep_3"})).is_empty(), "not reported");
        assert!(devices("rep-1", json!({})).is_empty(), "not a replica");
    }

    #[tokio::test]
    async fn exporters_that_do_not_respond_are_left_out() {
        let exporter = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let mut addresses = vec![exporter.local_addr().unwrap()];
        let closed = TcpListener::bind("127.0.0.1:0").await.unwrap();
        addresses.push(closed.local_addr().unwrap());
        drop(closed);
        let served = async {
            let (mut stream, _) = exporter.accept().await.unwrap();
            let mut head = [0; 512];
            let read = stream.read(&mut head).await.unwrap();
            assert!(head[..read].starts_with(b"GET /metrics HTTP/1.1\r\n"));
            let response = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{REAL}", REAL.len());
            stream.write_all(response.as_bytes()).await.unwrap();
        };
        let (busy, ()) = tokio::join!(read_all(&addresses, "replicas"), served);
        assert_eq!(busy, BusyPods::from([("rep-1".to_owned(), vec![87, 0])]));
    }
}
