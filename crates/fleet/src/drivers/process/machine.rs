//! Identity of this machine, as far as its processes are concerned.

use std::fs;

/// Boot id and namespaces: equal for all gateways that share processes, files and ports. Two containers on one host are
/// two machines. `None` if the kernel does not report them.
pub fn machine_id() -> Option<String> {
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
    fn the_id_of_a_machine_is_stable() {
        let id = machine_id().unwrap();
        assert_eq!(machine_id().unwrap(), id);
        assert_eq!(id.split(' ').count(), 4, "{id}");
    }
}
