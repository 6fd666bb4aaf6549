//! What this machine offers: slots that the configuration names, and the cards that NVML finds.

use super::gpu_type;
use crate::drivers::{Device, DeviceId};
use nvml_wrapper::enum_wrappers::nv_link::IntDeviceType;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device as Card, Nvml};
use std::collections::BTreeMap;

/// Links that a card may have.
const MOST_LINKS: u32 = 18;
/// The island of cards that all meet at a switch. Other islands are numbered after a card in them.
const AT_THE_SWITCH: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Devices {
    slots: BTreeMap<String, u32>,
    /// Absent on a machine without NVIDIA's driver.
    nvml: Option<Nvml>,
}

/// What NVIDIA's driver says on this machine.
#[derive(Debug)]
pub enum Cards {
    NoDriver,
    /// It is there, and does not answer.
    Silent(String),
    Found(Vec<Device>),
}

/// Looks once, for a person.
pub fn look_for_cards() -> Cards {
    match Nvml::init() {
        Ok(nvml) => Cards::Found(Devices { slots: BTreeMap::new(), nvml: Some(nvml) }.all()),
        Err(NvmlError::LibloadingError(_)) => Cards::NoDriver,
        Err(error) => Cards::Silent(error.to_string()),
    }
}

impl Devices {
    pub(super) fn find(slots: BTreeMap<String, u32>) -> Self {
        let nvml = match Nvml::init() {
            Ok(nvml) => Some(nvml),
            Err(NvmlError::LibloadingError(error)) => {
                tracing::debug!(%error, "no NVIDIA driver here");
                None
            }
            Err(error) => {
                tracing::warn!(%error, "NVIDIA's driver is here but does not answer; its cards are not used");
                None
            }
        };
        Self { slots, nvml }
    }

    pub(super) const fn nvml(&self) -> Option<&Nvml> {
        self.nvml.as_ref()
    }

    /// Everything there is now, slots first.
    pub(super) fn all(&self) -> Vec<Device> {
        let slots = self.slots.iter().flat_map(|(gpu_type, &count)| (0..count).map(|number| slot(gpu_type, number)));
        slots.chain(self.cards()).collect()
    }

    fn cards(&self) -> Vec<Device> {
        let Some(nvml) = &self.nvml else { return Vec::new() };
        let count = nvml.device_count().unwrap_or_else(|error| {
            tracing::warn!(%error, "NVIDIA's driver does not say how many cards there are");
            0
        });
        let read = |index| match nvml.device_by_index(index).and_then(|card| read(&card)) {
            Ok(card) => Some(card),
            Err(error) => {
                tracing::warn!(%error, index, "a card cannot be read and is not used");
                None
            }
        };
        let cards: Vec<(Device, Links)> = (0..count).filter_map(read).collect();
        let islands = islands(&cards.iter().map(|(_, links)| links.clone()).collect::<Vec<_>>());
        let placed = cards.into_iter().zip(islands);
        placed.map(|((device, _), island)| Device { island, ..device }).collect()
    }
}

fn slot(gpu_type: &str, number: u32) -> Device {
    let id = DeviceId::slot(gpu_type, number);
    Device { id, gpu_type: gpu_type.to_owned(), index: None, island: 0, busy: false }
}

fn read(card: &Card<'_>) -> Result<(Device, Links), NvmlError> {
    let device = Device {
        id: DeviceId::new(&card.uuid()?),
        gpu_type: gpu_type::of_card(&card.name()?),
        index: Some(card.index()?),
        island: 0,
        // Process numbers may be those of another namespace, so only whether there are any is looked at: cards of
        // our own replicas are known to be taken.
        busy: match card.running_compute_processes_count() {
            Err(NvmlError::NotSupported) => false,
            count => count? > 0,
        },
    };
    Ok((device, links(card)?))
}

/// What a card reaches over NVLink.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Links {
    /// Its own address on the bus.
    address: String,
    switch: bool,
    peers: Vec<String>,
}

fn links(card: &Card<'_>) -> Result<Links, NvmlError> {
    let mut found = Links { address: card.pci_info()?.bus_id, switch: false, peers: Vec::new() };
    for number in 0..MOST_LINKS {
        let link = card.link_wrapper_for(number);
        if !link.is_active().unwrap_or(false) {
            continue;
        }
        match link.remote_device_type(number) {
            Ok(IntDeviceType::Switch) => found.switch = true,
            _ => found.peers.extend(link.remote_pci_info().map(|remote| remote.bus_id)),
        }
    }
    Ok(found)
}

/// The island of each card: those at the switch are one, others are joined to the lowest card that they reach.
fn islands(cards: &[Links]) -> Vec<u32> {
    let number = |index: usize| u32::try_from(index).unwrap_or(AT_THE_SWITCH - 1);
    let mut islands: Vec<u32> =
        cards.iter().enumerate().map(|(index, card)| if card.switch { AT_THE_SWITCH } else { number(index) }).collect();
    for (index, card) in cards.iter().enumerate() {
        let is_peer = |other: &Links| card.peers.iter().any(|peer| peer.eq_ignore_ascii_case(&other.address));
        for other in (0..cards.len()).filter(|&other| is_peer(&cards[other])) {
            let (joined, left) = (islands[index].min(islands[other]), islands[index].max(islands[other]));
            islands.iter_mut().filter(|island| **island == left).for_each(|island| *island = joined);
        }
    }
    islands
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(address: &str, switch: bool, peers: &[&str]) -> Links {
        Links { address: address.into(), switch, peers: peers.iter().map(|&peer| peer.into()).collect() }
    }

    #[test]
    fn cards_that_reach_each_other_form_islands() {
        let bridged =
            [card("a", false, &["B"]), card("b", false, &["a"]), card("c", false, &["d"]), card("d", false, &[])];
        assert_eq!(islands(&bridged), [0, 0, 2, 2]);
        let switched = [card("a", true, &[]), card("b", true, &[]), card("c", false, &[])];
        assert_eq!(islands(&switched), [AT_THE_SWITCH, AT_THE_SWITCH, 2]);
    }

    #[test]
    fn slots_are_there_without_any_driver() {
        let devices = Devices { slots: BTreeMap::from([("local/cpu".into(), 2)]), nvml: None };
        let ids: Vec<String> = devices.all().iter().map(|device| device.id.to_string()).collect();
        assert_eq!(ids, ["local/cpu#0", "local/cpu#1"]);
    }

    #[test]
    #[ignore = "needs an NVIDIA card"]
    fn the_cards_of_this_machine_are_read() {
        let cards = Devices::find(BTreeMap::new()).all();
        println!("{cards:#?}");
        assert!(!cards.is_empty());
        assert!(cards.iter().all(|card| card.id.as_str().starts_with("GPU-") && card.gpu_type.starts_with("nvidia/")));
        assert_eq!(cards[0].index, Some(0));
    }
}
