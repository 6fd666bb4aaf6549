//! What there is at the beginning of a round.

use super::Reach;
use domain::endpoint::replica::Replica;
use domain::endpoint_load::{LoadReport, Loads};
use domain::model::DriverKind;
use domain::{EndpointId, Timestamp};
use fleet::drivers::{DeviceId, Observed, Taken};

pub(super) struct Picture {
    /// Replicas that are not over.
    pub(super) live: Vec<Replica>,
    /// What the driver found.
    pub(super) seen: Vec<Observed>,
    /// What nodes told of their calls, by endpoint, and the store's time when that was read.
    pub(super) loads: Vec<LoadReport>,
    pub(super) told_at: Timestamp,
}

impl Picture {
    pub(super) fn replicas_of(&self, endpoint: &EndpointId) -> Vec<Replica> {
        self.live.iter().filter(|replica| replica.endpoint == *endpoint).cloned().collect()
    }

    pub(super) fn loads_of(&self, endpoint: &EndpointId) -> Loads<'_> {
        let start = self.loads.partition_point(|report| report.endpoint < *endpoint);
        let length = self.loads[start..].partition_point(|report| report.endpoint == *endpoint);
        Loads::new(&self.loads[start..start + length], self.told_at)
    }

    /// By the name of its row.
    pub(super) fn sighting(&self, replica: &Replica) -> Option<&Observed> {
        self.seen.iter().find(|observed| observed.replica.as_str() == replica.id.as_str())
    }

    /// What replicas have on the machines that the driver places on.
    pub(super) fn taken(&self, reach: &Reach) -> Taken {
        let is_here = |replica: &&Replica| {
            replica.driver == DriverKind::Process && replica.node.as_deref().is_some_and(|node| reach.covers(node))
        };
        let here = || self.live.iter().filter(is_here);
        Taken {
            devices: here().flat_map(|replica| &replica.gpu_ids).map(|id| DeviceId::new(id)).collect(),
            ports: here().filter_map(port_of).collect(),
        }
    }
}

pub(super) fn port_of(replica: &Replica) -> Option<u16> {
    replica.address.as_deref()?.rsplit_once(':')?.1.parse().ok()
}
