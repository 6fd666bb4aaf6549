//! Selection of the devices for a replica.

use crate::drivers::{Device, DeviceId, PlacementError};
use std::collections::{BTreeMap, BTreeSet};

/// Best fit: takes all devices from the NVLink island with the fewest free ones that has enough, so that large islands
/// stay whole. If no island has enough, those with the most free devices go first, so that few islands are spanned.
///
/// Example: with islands of 4, 2 and 1 free GPUs, 2 GPUs come from the second, and 5 from the first two.
pub(super) fn pick(
    devices: &[Device],
    gpu_type: &str,
    count: u32,
    taken: &BTreeSet<DeviceId>,
) -> Result<Vec<DeviceId>, PlacementError> {
    let is_free = |device: &&Device| device.gpu_type == gpu_type && !device.busy && !taken.contains(&device.id);
    let mut islands: BTreeMap<u32, Vec<&Device>> = BTreeMap::new();
    for device in devices.iter().filter(is_free) {
        islands.entry(device.island).or_default().push(device);
    }
    let needed = usize::try_from(count).unwrap_or(usize::MAX);
    let free = islands.values().map(Vec::len).sum::<usize>();
    if free < needed {
        let free = u32::try_from(free).unwrap_or(u32::MAX);
        return Err(PlacementError::Devices { gpu_type: gpu_type.to_owned(), needed: count, free });
    }
    let mut islands: Vec<Vec<&Device>> = islands.into_values().collect();
    islands.sort_by_key(Vec::len);
    let picked: Vec<&Device> = match islands.iter().find(|island| island.len() >= needed) {
        Some(island) => island.clone(),
        None => islands.into_iter().rev().flatten().collect(),
    };
    Ok(picked.into_iter().take(needed).map(|device| device.id.clone()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const H100: &str = "nvidia/h100-sxm-80gb";

    /// GPUs `g0`, `g1`, … on these islands.
    fn gpus(islands: &[u32]) -> Vec<Device> {
        let gpu = |(index, &island): (usize, &u32)| Device {
            id: DeviceId::new(&format!("g{index}")),
            gpu_type: H100.into(),
            index: u32::try_from(index).ok(),
            island,
            busy: false,
        };
        islands.iter().enumerate().map(gpu).collect()
    }

    fn picked(devices: &[Device], count: u32, taken: &[&str]) -> String {
        let taken = taken.iter().map(|id| DeviceId::new(id)).collect();
        match pick(devices, H100, count, &taken) {
            Ok(ids) => ids.iter().map(DeviceId::as_str).collect::<Vec<_>>().join(" "),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn the_smallest_island_that_is_large_enough_is_used() {
        let machine = gpus(&[0, 0, 0, 0, 1, 1, 2]);
        for (count, taken, expected) in [
            (1, &[][..], "g6"),
            (2, &[], "g4 g5"),
            (2, &["g4"], "g0 g1"),
            (4, &[], "g0 g1 g2 g3"),
            (4, &["g1"], "g0 g2 g3 g4"),
            (7, &[], "g0 g1 g2 g3 g4 g5 g6"),
            (0, &[], ""),
            (7, &["g6"], "7 × nvidia/h100-sxm-80gb needed, 6 free"),
        ] {
            assert_eq!(picked(&machine, count, taken), expected, "{count} with {taken:?} taken");
        }
    }

    #[test]
    fn busy_gpus_and_gpus_of_another_type_are_not_free() {
        let mut machine = gpus(&[0, 0, 0]);
        machine[0].busy = true;
        machine[1].gpu_type = "nvidia/l40s-48gb".into();
        assert_eq!(picked(&machine, 1, &[]), "g2");
        assert_eq!(picked(&machine, 2, &[]), "2 × nvidia/h100-sxm-80gb needed, 1 free");
    }
}
