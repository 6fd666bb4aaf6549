//! Samples how busy the GPUs of this node's replicas are, and on the leader those of the cluster's.

use super::{Instruments, MeterParts};
use crate::retention::leads;
use domain::endpoint::replica::Replica;
use domain::gpu_busy::{Samples, of_cpu_time};
use domain::gpu_time::GpuBusy;
use domain::model::DriverKind;
use domain::{EndpointId, ReplicaId};
use fleet::drivers::ReplicaName;
use std::collections::HashMap;
use std::time::{Duration, Instant};
use store::{StoreError, gpu_busy, replicas};

/// Prefix of CPU slots; other GPU types without a card are not measured.
const PROCESSORS: &str = "local/";
/// How long the list of held GPUs is cached.
const REFRESH_EVERY: Duration = Duration::from_secs(15);

#[derive(Default)]
pub(super) struct BusyMeter {
    held: Vec<Held>,
    refreshed_at: Option<Instant>,
    /// CPU time of the replicas' processes, and when it was read.
    cpu: HashMap<ReplicaId, (Instant, Duration)>,
    samples: Samples,
}

/// A replica and its GPUs.
struct Held {
    driver: DriverKind,
    replica: ReplicaId,
    endpoint: EndpointId,
    gpus: Vec<String>,
}

impl BusyMeter {
    pub(super) async fn sample<I: Instruments>(&mut self, parts: &MeterParts<I>) {
        if let Err(error) = self.refresh(parts).await {
            tracing::debug!(%error, "cannot read which replica holds which GPUs; the cached list is used");
        }
        if self.held.is_empty() {
            self.cpu.clear();
            return;
        }
        let now = (parts.now)();
        let mut reported = parts.instruments.gpu_busy().await;
        if self.held.iter().any(|held| held.driver == DriverKind::Kubernetes) {
            reported.extend(parts.instruments.gpu_busy_in_cluster().await);
        }
        let cards: HashMap<String, u32> = reported.into_iter().map(|(card, busy)| (card.to_string(), busy)).collect();
        let mut cpu = HashMap::new();
        for held in &self.held {
            let on_processors = held.gpus.iter().any(|gpu| gpu.starts_with(PROCESSORS));
            let of_slots = if on_processors { self.slots_busy(parts, held, &mut cpu).await } else { None };
            for gpu in &held.gpus {
                let of_card = cards.get(gpu).map(|percent| GpuBusy::from_millionths(u64::from(*percent) * 10_000));
                let busy = if gpu.starts_with(PROCESSORS) { of_slots } else { of_card };
                if let Some(busy) = busy {
                    self.samples.add(now, &held.endpoint, &held.replica, gpu, busy);
                }
            }
        }
        self.cpu = cpu;
    }

    /// `None` at the first sample, and if the engine was restarted since the last one.
    async fn slots_busy<I: Instruments>(
        &self,
        parts: &MeterParts<I>,
        held: &Held,
        cpu: &mut HashMap<ReplicaId, (Instant, Duration)>,
    ) -> Option<GpuBusy> {
        let name = ReplicaName::parse(held.replica.as_str()).ok()?;
        let taken = parts.instruments.cpu_time(&name).await?;
        let at = Instant::now();
        cpu.insert(held.replica.clone(), (at, taken));
        let (before_at, before) = self.cpu.get(&held.replica)?;
        let grown = taken.checked_sub(*before)?;
        let slots = u32::try_from(held.gpus.len()).unwrap_or(u32::MAX);
        Some(of_cpu_time(grown, at.duration_since(*before_at), slots))
    }

    async fn refresh<I: Instruments>(&mut self, parts: &MeterParts<I>) -> Result<(), StoreError> {
        if self.refreshed_at.is_some_and(|at| at.elapsed() < REFRESH_EVERY) {
            return Ok(());
        }
        let live = replicas::list_live(&parts.store).await?;
        let in_cluster = |replica: &Replica| replica.driver == DriverKind::Kubernetes;
        let leads = live.iter().any(in_cluster) && leads(&parts.store, &parts.node).await?;
        let is_ours = |replica: &Replica| match replica.driver {
            DriverKind::Process => replica.node.as_deref() == Some(parts.node.as_str()),
            DriverKind::Kubernetes => leads,
        };
        let held =
            |Replica { driver, id, endpoint, gpu_ids, .. }| Held { driver, replica: id, endpoint, gpus: gpu_ids };
        let ours = live.into_iter().filter(is_ours);
        self.held = ours.filter(|replica| !replica.gpu_ids.is_empty()).map(held).collect();
        self.refreshed_at = Some(Instant::now());
        Ok(())
    }

    pub(super) async fn write<I: Instruments>(&mut self, parts: &MeterParts<I>) -> Result<(), StoreError> {
        let taken = self.samples.take();
        if taken.is_empty() {
            return Ok(());
        }
        let written = async {
            let mut tx = parts.store.begin().await?;
            gpu_busy::add_samples(&mut tx, &taken).await?;
            tx.commit().await
        };
        let written = written.await;
        if written.is_err() {
            self.samples.put_back(taken);
        }
        written
    }
}
