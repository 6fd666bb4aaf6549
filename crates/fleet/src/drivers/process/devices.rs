//! Devices of this machine: configured slots, and the GPUs that NVML finds.

use super::gpu_type;
use crate::drivers::{Device, DeviceId};
use nvml_wrapper::enum_wrappers::nv_link::IntDeviceType;
use nvml_wrapper::error::NvmlError;
use nvml_wrapper::{Device as Gpu, Nvml};
use std::collections::BTreeMap;

/// Most NVLink links of a GPU.
const MAX_LINKS: u32 = 18;
/// Island of the GPUs on an NVSwitch. Other islands are numbered after their lowest GPU.
const SWITCH_ISLAND: u32 = u32::MAX;

#[derive(Debug)]
pub(super) struct Devices {
    slots: BTreeMap<String, u32>,
    /// `None` on a machine without NVIDIA's driver.
    nvml: Option<Nvml>,
}

/// Result of looking for NVIDIA GPUs.
#[derive(Debug)]
pub enum GpuScan {
    NoDriver,
    /// The driver is installed, but does not work.
    DriverError(String),
    Found(Vec<Device>),
}

/// The memory of a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuMemory {
    pub id: DeviceId,
    pub gpu_type: String,
    pub total_bytes: u64,
    pub free_bytes: u64,
}

/// Looks for GPUs once.
pub fn scan_gpus() -> GpuScan {
    match Nvml::init() {
        Ok(nvml) => GpuScan::Found(Devices { slots: BTreeMap::new(), nvml: Some(nvml) }.all()),
        Err(NvmlError::LibloadingError(_)) => GpuScan::NoDriver,
        Err(error) => GpuScan::DriverError(error.to_string()),
    }
}

impl Devices {
    pub(super) fn find(slots: BTreeMap<String, u32>) -> Self {
        let nvml = match Nvml::init() {
            Ok(nvml) => Some(nvml),
            Err(NvmlError::LibloadingError(error)) => {
                tracing::debug!(%error, "no NVIDIA driver found");
                None
            }
            Err(error) => {
                tracing::warn!(%error, "NVIDIA's driver is installed but does not work; its GPUs are not used");
                None
            }
        };
        Self { slots, nvml }
    }

    pub(super) const fn nvml(&self) -> Option<&Nvml> {
        self.nvml.as_ref()
    }

    /// All devices, slots first.
    pub(super) fn all(&self) -> Vec<Device> {
        let slots = self.slots.iter().flat_map(|(gpu_type, &count)| (0..count).map(|number| slot(gpu_type, number)));
        slots.chain(self.gpus()).collect()
    }

    /// The memory of all GPUs that report it.
    pub(super) fn gpu_memory(&self) -> Vec<GpuMemory> {
        let Some(nvml) = &self.nvml else { return Vec::new() };
        let read = |index| {
            let gpu = nvml.device_by_index(index)?;
            let (id, gpu_type, memory) =
                (DeviceId::new(&gpu.uuid()?), gpu_type::from_name(&gpu.name()?), gpu.memory_info()?);
            Ok::<_, NvmlError>(GpuMemory { id, gpu_type, total_bytes: memory.total, free_bytes: memory.free })
        };
        (0..nvml.device_count().unwrap_or(0)).filter_map(|index| read(index).ok()).collect()
    }

    fn gpus(&self) -> Vec<Device> {
        let Some(nvml) = &self.nvml else { return Vec::new() };
        let count = nvml.device_count().unwrap_or_else(|error| {
            tracing::warn!(%error, "NVIDIA's driver does not report the number of GPUs");
            0
        });
        let read = |index| match nvml.device_by_index(index).and_then(|gpu| read(&gpu)) {
            Ok(gpu) => Some(gpu),
            Err(error) => {
                tracing::warn!(%error, index, "a GPU cannot be read and is not used");
                None
            }
        };
        let gpus: Vec<(Device, Links)> = (0..count).filter_map(read).collect();
        let islands = islands(&gpus.iter().map(|(_, links)| links.clone()).collect::<Vec<_>>());
        gpus.into_iter().zip(islands).map(|((device, _), island)| Device { island, ..device }).collect()
    }
}

fn slot(gpu_type: &str, number: u32) -> Device {
    let id = DeviceId::slot(gpu_type, number);
    Device { id, gpu_type: gpu_type.to_owned(), index: None, island: 0, busy: false }
}

fn read(gpu: &Gpu<'_>) -> Result<(Device, Links), NvmlError> {
    let device = Device {
        id: DeviceId::new(&gpu.uuid()?),
        gpu_type: gpu_type::from_name(&gpu.name()?),
        index: Some(gpu.index()?),
        island: 0,
        // Process ids may belong to another namespace, so only their number is used. GPUs of our own replicas are
        // known to be taken anyway.
        busy: match gpu.running_compute_processes_count() {
            Err(NvmlError::NotSupported) => false,
            count => count? > 0,
        },
    };
    Ok((device, links(gpu)?))
}

/// NVLink connections of a GPU.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Links {
    /// Its own PCI address.
    address: String,
    switch: bool,
    peers: Vec<String>,
}

fn links(gpu: &Gpu<'_>) -> Result<Links, NvmlError> {
    let mut found = Links { address: gpu.pci_info()?.bus_id, switch: false, peers: Vec::new() };
    for number in 0..MAX_LINKS {
        let link = gpu.link_wrapper_for(number);
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

/// The island of each GPU. GPUs on a switch form one island; others join the lowest GPU that they reach.
///
/// Example: with bridges a–b and c–d the islands of a, b, c, d are 0, 0, 2, 2.
fn islands(gpus: &[Links]) -> Vec<u32> {
    let number = |index: usize| u32::try_from(index).unwrap_or(SWITCH_ISLAND - 1);
    let mut islands: Vec<u32> =
        gpus.iter().enumerate().map(|(index, gpu)| if gpu.switch { SWITCH_ISLAND } else { number(index) }).collect();
    for (index, gpu) in gpus.iter().enumerate() {
        let is_peer = |other: &Links| gpu.peers.iter().any(|peer| peer.eq_ignore_ascii_case(&other.address));
        for other in (0..gpus.len()).filter(|&other| is_peer(&gpus[other])) {
            let (joined, dissolved) = (islands[index].min(islands[other]), islands[index].max(islands[other]));
            islands.iter_mut().filter(|island| **island == dissolved).for_each(|island| *island = joined);
        }
    }
    islands
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gpu(address: &str, switch: bool, peers: &[&str]) -> Links {
        Links { address: address.into(), switch, peers: peers.iter().map(|&peer| peer.into()).collect() }
    }

    #[test]
    fn gpus_that_reach_each_other_form_islands() {
        let bridged = [gpu("a", false, &["B"]), gpu("b", false, &["a"]), gpu("c", false, &["d"]), gpu("d", false, &[])];
        assert_eq!(islands(&bridged), [0, 0, 2, 2]);
        let switched = [gpu("a", true, &[]), gpu("b", true, &[]), gpu("c", false, &[])];
        assert_eq!(islands(&switched), [SWITCH_ISLAND, SWITCH_ISLAND, 2]);
    }

    #[test]
    fn slots_exist_without_a_driver() {
        let devices = Devices { slots: BTreeMap::from([("local/cpu".into(), 2)]), nvml: None };
        let ids: Vec<String> = devices.all().iter().map(|device| device.id.to_string()).collect();
        assert_eq!(ids, ["local/cpu#0", "local/cpu#1"]);
    }

    #[test]
    #[ignore = "needs an NVIDIA GPU"]
    fn the_gpus_of_this_machine_are_read() {
        let gpus = Devices::find(BTreeMap::new()).all();
        println!("{gpus:#?}");
        assert!(!gpus.is_empty());
        assert!(gpus.iter().all(|gpu| gpu.id.as_str().starts_with("GPU-") && gpu.gpu_type.starts_with("nvidia/")));
        assert_eq!(gpus[0].index, Some(0));
    }
}
