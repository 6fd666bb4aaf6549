//! Checks the GPUs of this machine against the flavors.

use super::engines::own_flavors;
use super::finding::Finding;
use config::Config;
use fleet::drivers::process::{GpuScan, scan_gpus};
use std::collections::{BTreeMap, BTreeSet};

const CHECK: &str = "gpus";
const NVIDIA: &str = "nvidia/";

pub(super) fn check(config: &Config) -> Finding {
    let flavors = config.catalogue.iter().flat_map(|model| own_flavors(model));
    let wanted: BTreeSet<String> = flavors.map(|flavor| flavor.gpu_type.to_string()).collect();
    let offered: BTreeMap<String, u32> =
        config.drivers.process_slots.iter().map(|(gpu_type, count)| (gpu_type.to_string(), *count)).collect();
    judge(scan_gpus(), &wanted, &offered)
}

/// `wanted`: GPU types of flavors; `slots`: configured slots per type.
fn judge(cards: GpuScan, wanted: &BTreeSet<String>, slots: &BTreeMap<String, u32>) -> Finding {
    let mut found: BTreeMap<String, u32> = BTreeMap::new();
    let what = match cards {
        GpuScan::DriverError(error) => {
            let remedy =
                "check `nvidia-smi`: driver and library must have the same version, and the devices must be readable";
            return Finding::problem(
                CHECK,
                format!("the NVIDIA driver is installed but does not respond: {error}"),
                remedy,
            );
        }
        GpuScan::NoDriver => "no NVIDIA driver".to_owned(),
        GpuScan::Found(devices) => {
            for device in devices {
                *found.entry(device.gpu_type).or_default() += 1;
            }
            let each: Vec<String> = found.iter().map(|(gpu_type, count)| format!("{count} × {gpu_type}")).collect();
            if each.is_empty() { "the NVIDIA driver finds no GPU".to_owned() } else { each.join(", ") }
        }
    };
    let has = |gpu_type: &String| found.contains_key(gpu_type) || slots.get(gpu_type).is_some_and(|count| *count > 0);
    let missing: Vec<&str> = wanted.iter().filter(|gpu_type| !has(gpu_type)).map(String::as_str).collect();
    if missing.is_empty() {
        return Finding::ok(CHECK, what);
    }
    let remedy = if missing.iter().all(|gpu_type| gpu_type.starts_with(NVIDIA)) {
        "nothing if other nodes have them; otherwise endpoints of these flavors never start"
    } else {
        "offer them with drivers.process.slots, unless other nodes do; otherwise endpoints of these flavors never start"
    };
    Finding::warning(
        CHECK,
        format!("{what}; flavors need {}, which this machine does not have", missing.join(", ")),
        remedy,
    )
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;
    use fleet::drivers::{Device, DeviceId};

    fn card(gpu_type: &str) -> Device {
        Device { id: DeviceId::new("GPU-1"), gpu_type: gpu_type.into(), index: Some(0), island: 0, busy: false }
    }

    #[test]
    fn flavors_without_matching_gpus_are_reported() {
        let wanted = |types: &[&str]| types.iter().map(|&gpu_type| gpu_type.to_owned()).collect::<BTreeSet<_>>();
        let slots = BTreeMap::from([("local/cpu".to_owned(), 4)]);
        let none = BTreeMap::new();
        let h100 = || GpuScan::Found(vec![card("nvidia/h100"), card("nvidia/h100")]);
        for (cards, wanted, slots, level, what) in [
            (GpuScan::NoDriver, wanted(&[]), &none, Level::Ok, "no NVIDIA driver"),
            (GpuScan::NoDriver, wanted(&["local/cpu"]), &slots, Level::Ok, "no NVIDIA driver"),
            (h100(), wanted(&["nvidia/h100"]), &none, Level::Ok, "2 × nvidia/h100"),
            (h100(), wanted(&["nvidia/b200"]), &none, Level::Warning, "flavors need nvidia/b200"),
            (GpuScan::NoDriver, wanted(&["local/cpu"]), &none, Level::Warning, "flavors need local/cpu"),
            (GpuScan::DriverError("mismatch".into()), wanted(&[]), &none, Level::Problem, "does not respond: mismatch"),
        ] {
            let found = judge(cards, &wanted, slots);
            assert_eq!(found.level, level, "{}", found.what);
            assert!(found.what.contains(what), "{} has no {what}", found.what);
        }
    }
}
