//! Which machine this is, as far as its processes are concerned.

use std::fs;

/// The same for all gateways that see the same processes, files and ports: one boot, and one set of namespaces. Two
/// containers on one host are two machines here. Nothing where the kernel does not say.
pub fn machine() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let mut parts = vec![boot.trim().to_owned()];
    for space in ["pid", "net", "mnt"] {
        let link = fs::read_link(format!("/proc/self/ns/{space}")).ok()?;
        parts.push(link.to_str()?.to_owned());
    }
    Some(parts.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_itself() {
        let name = machine().unwrap();
        assert_eq!(machine().unwrap(), name);
        assert_eq!(name.split(' ').count(), 4, "{name}");
    }
}
