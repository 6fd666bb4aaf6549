//! Which cards or slots a replica gets.

use crate::drivers::{Device, DeviceId, NoRoom};
use std::collections::{BTreeMap, BTreeSet};

/// Best fit: all from the NVLink island with the fewest free ones that has enough, so that large islands stay whole.
/// Where no island has enough, the fullest ones give theirs, so that as few islands as possible are spanned.
pub(super) fn pick(
    devices: &[Device],
    gpu_type: &str,
    count: u32,
    taken: &BTreeSet<DeviceId>,
) -> Result<Vec<DeviceId>, NoRoom> {
    let is_free = |device: &&Device| device.gpu_type == gpu_type && !device.busy && !taken.contains(&device.id);
    let mut islands: BTreeMap<u32, Vec<&Device>> = BTreeMap::new();
    for device in devices.iter().filter(is_free) {
        islands.entry(device.island).or_default().push(device);
    }
    let wanted = usize::try_from(count).unwrap_or(usize::MAX);
    let free = islands.values().map(Vec::len).sum::<usize>();
    if free < wanted {
        let free = u32::try_from(free).unwrap_or(u32::MAX);
        return Err(NoRoom::Devices { gpu_type: gpu_type.to_owned(), wanted: count, free });
    }
    let mut islands: Vec<Vec<&Device>> = islands.into_values().collect();
    islands.sort_by_key(Vec::len);
    let picked: Vec<&Device> = match islands.iter().find(|island| island.len() >= wanted) {
        Some(island) => island.clone(),
        None => islands.into_iter().rev().flatten().collect(),
    };
    Ok(picked.into_iter().take(wanted).map(|device| device.id.clone()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const H100: &str = "nvidia/h100-sxm-80gb";

    /// Cards `g0`, `g1`, … on these islands.
    fn cards(islands: &[u32]) -> Vec<Device> {
        let card = |(index, &island): (usize, &u32)| Device {
            id: DeviceId::new(&format!("g{index}")),
            gpu_type: H100.into(),
            index: u32::try_from(index).ok(),
            island,
            busy: false,
        };
        islands.iter().enumerate().map(card).collect()
    }

    fn picked(devices: &[Device], count: u32, taken: &[&str]) -> String {
        let taken = taken.iter().map(|id| DeviceId::new(id)).collect();
        match pick(devices, H100, count, &taken) {
            Ok(ids) => ids.iter().map(DeviceId::as_str).collect::<Vec<_>>().join(" "),
            Err(no_room) => no_room.to_string(),
        }
    }

    #[test]
    fn the_smallest_island_that_is_large_enough_is_used() {
        let machine = cards(&[0, 0, 0, 0, 1, 1, 2]);
        for (count, taken, expected) in [
            (1, &[][..], "g6"),
            (2, &[], "g4 g5"),
            (2, &["g4"], "g0 g1"),
            (4, &[], "g0 g1 g2 g3"),
            (4, &["g1"], "g0 g2 g3 g4"),
            (7, &[], "g0 g1 g2 g3 g4 g5 g6"),
            (0, &[], ""),
            (7, &["g6"], "7 × nvidia/h100-sxm-80gb wanted, 6 free"),
        ] {
            assert_eq!(picked(&machine, count, taken), expected, "{count} beside {taken:?}");
        }
    }

    #[test]
    fn cards_that_others_use_and_cards_of_another_type_are_not_free() {
        let mut machine = cards(&[0, 0, 0]);
        machine[0].busy = true;
        machine[1].gpu_type = "nvidia/l40s-48gb".into();
        assert_eq!(picked(&machine, 1, &[]), "g2");
        assert_eq!(picked(&machine, 2, &[]), "2 × nvidia/h100-sxm-80gb wanted, 1 free");
    }
}
