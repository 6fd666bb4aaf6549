//! The rows and processes at the beginning of a round.

use super::rows::Rows;
use super::{Parts, Reach};
use domain::endpoint::replica::Replica;
use domain::endpoint_load::{LoadReport, Loads};
use domain::model::DriverKind;
use domain::{Endpoint, EndpointId, Timestamp};
use fleet::drivers::{DeviceId, Driver, Observation, ObservedReplica, TakenResources};
use store::StoreError;

pub(super) struct Snapshot {
    pub(super) endpoints: Vec<Endpoint>,
    /// Replicas whose state is not final.
    pub(super) live: Vec<Replica>,
    /// The driver's observations.
    pub(super) observed: Vec<ObservedReplica>,
    /// When they were made, or a little before.
    pub(super) observed_at: Timestamp,
    /// The nodes' reports of their calls, ordered by endpoint.
    loads: Vec<LoadReport>,
    /// The store's time when the reports were read.
    pub(super) store_now: Timestamp,
}

impl Snapshot {
    /// `None` if the driver cannot list its replicas.
    pub(super) async fn take<D: Driver, S: Rows>(parts: &Parts<D, S>) -> Result<Option<Self>, StoreError> {
        let endpoints = parts.store.endpoints().await?;
        let observed_at = (parts.now)();
        // Processes before rows: the row of a replica is written before its process starts.
        let observed = match parts.driver.list().await {
            Ok(observed) => observed,
            Err(error) => {
                tracing::warn!(%error, "cannot list the replicas of this machine");
                return Ok(None);
            }
        };
        let live = parts.store.live_replicas().await?;
        let loads = parts.store.load_reports().await?;
        let store_now = parts.store.clock().await?;
        Ok(Some(Self { endpoints, live, observed, observed_at, loads, store_now }))
    }

    /// Whether there are neither endpoints nor replicas.
    pub(super) fn is_empty(&self) -> bool {
        self.endpoints.is_empty() && self.live.is_empty() && self.observed.is_empty()
    }

    pub(super) fn endpoint(&self, id: &EndpointId) -> Option<&Endpoint> {
        self.endpoints.iter().find(|endpoint| endpoint.id == *id)
    }

    pub(super) fn replicas_of(&self, endpoint: &EndpointId) -> Vec<Replica> {
        self.live.iter().filter(|replica| replica.endpoint == *endpoint).cloned().collect()
    }

    pub(super) fn loads_of(&self, endpoint: &EndpointId) -> Loads<'_> {
        let start = self.loads.partition_point(|report| report.endpoint < *endpoint);
        let length = self.loads[start..].partition_point(|report| report.endpoint == *endpoint);
        Loads::new(&self.loads[start..start + length], self.store_now)
    }

    pub(super) fn observation(&self, replica: &Replica) -> Option<&Observation> {
        let found = self.observed.iter().find(|observed| observed.replica.as_str() == replica.id.as_str());
        found.map(|observed| &observed.observation)
    }

    /// GPUs and ports in use on the machines that the driver places replicas on.
    pub(super) fn taken(&self, reach: &Reach) -> TakenResources {
        let is_here = |replica: &&Replica| {
            replica.driver == DriverKind::Process && replica.node.as_deref().is_some_and(|node| reach.covers(node))
        };
        let here = || self.live.iter().filter(is_here);
        TakenResources {
            devices: here().flat_map(|replica| &replica.gpu_ids).map(|id| DeviceId::new(id)).collect(),
            ports: here().filter_map(port_of).collect(),
        }
    }
}

pub(super) fn port_of(replica: &Replica) -> Option<u16> {
    replica.address.as_deref()?.rsplit_once(':')?.1.parse().ok()
}
