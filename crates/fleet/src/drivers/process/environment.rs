//! Environment variables of a replica: what every engine gets, its marks, and its GPUs.

use crate::drivers::Device;
use crate::engine::environment::{allowed, allowed_names};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;

/// Names the replica that a process belongs to.
pub(super) const REPLICA_MARK: &str = "GW_REPLICA_ID";
/// Names its folder, since another gateway on this machine has other folders.
pub(super) const DIRECTORY_MARK: &str = "GW_REPLICA_DIR";

/// The variables that select GPUs.
const GPU_VARIABLES: [&str; 2] = ["CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES"];

/// Names of the variables of a replica that is started by this process.
pub(in crate::drivers) fn names() -> Vec<String> {
    let own = [REPLICA_MARK, DIRECTORY_MARK].into_iter().chain(GPU_VARIABLES).map(ToOwned::to_owned);
    allowed_names().chain(own).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The allowed part of `ours`, and the marks of the replica.
pub(super) fn for_replica(
    ours: impl Iterator<Item = (OsString, OsString)>,
    replica: &str,
    directory: &Path,
) -> Vec<(OsString, OsString)> {
    let marks = [(REPLICA_MARK.into(), replica.into()), (DIRECTORY_MARK.into(), directory.into())];
    allowed(ours).chain(marks).collect()
}

/// The variables that select GPUs. They are stored by UUID and passed by index, since some engines cannot parse UUIDs.
pub(super) fn of_gpus(bound: &[&Device]) -> BTreeMap<String, String> {
    let indices: Vec<String> = bound.iter().filter_map(|device| device.index).map(|index| index.to_string()).collect();
    // Slots of the CPU get no GPU. Assigning other slots is the operator's task.
    let on_cpu = bound.iter().all(|device| device.gpu_type.starts_with("local/"));
    if indices.is_empty() && !on_cpu {
        return BTreeMap::new();
    }
    let [order, visible] = GPU_VARIABLES.map(ToOwned::to_owned);
    BTreeMap::from([(order, "PCI_BUS_ID".to_owned()), (visible, indices.join(","))])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drivers::DeviceId;

    #[test]
    fn gpus_are_passed_by_index_and_cpu_slots_get_none() {
        let device = |id: &str, gpu_type: &str, index| Device {
            id: DeviceId::new(id),
            gpu_type: gpu_type.into(),
            index,
            island: 0,
            busy: false,
        };
        let h100 = "nvidia/h100-sxm-80gb";
        let gpus = [device("GPU-8f1c", h100, Some(2)), device("GPU-02ab", h100, Some(3))];
        let slots = [device("local/cpu#0", "local/cpu", None), device("amd/mi300x#1", "amd/mi300x", None)];
        let shown = |bound: &[&Device]| {
            of_gpus(bound).iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(shown(&[&gpus[0], &gpus[1]]), "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=2,3");
        assert_eq!(shown(&[&slots[0]]), "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=");
        assert_eq!(shown(&[&slots[1]]), "", "custom slots are the operator's task");
    }

    #[test]
    fn a_replica_gets_what_every_engine_gets_and_its_own_marks() {
        let ours = ["PATH", "FOREBAY_STORE_URL", "GW_REPLICA_ID"];
        let ours = ours.iter().map(|&name| (name.into(), "ours".into()));
        let variables = for_replica(ours, "rep_1", Path::new("/data/replicas/rep_1"));
        let shown: Vec<_> =
            variables.iter().map(|(name, value)| format!("{}={}", name.display(), value.display())).collect();
        assert_eq!(shown, ["PATH=ours", "GW_REPLICA_ID=rep_1", "GW_REPLICA_DIR=/data/replicas/rep_1"]);
    }
}
