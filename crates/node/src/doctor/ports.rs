//! Checks the addresses to listen on.

use super::finding::Finding;
use config::Config;
use edge::listener;
use std::net::SocketAddr;

const CHECK: &str = "ports";

pub(super) fn check(config: &Config, is_served: bool) -> Vec<Finding> {
    let listeners = [("server.listen", config.server.listen), ("server.ops_listen", config.server.ops_listen)];
    let look = |(key, address): (&str, SocketAddr)| judge(key, address, listener::check(address), is_served);
    listeners.into_iter().map(look).collect()
}

fn judge(key: &str, address: SocketAddr, bound: std::io::Result<()>, is_served: bool) -> Finding {
    match bound {
        Ok(()) => Finding::ok(CHECK, format!("{key}: {address} is free")),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse && is_served => Finding::ok(
            CHECK,
            format!("{key}: {address} is in use by the forebay that serves from this data directory"),
        ),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => Finding::problem(
            CHECK,
            format!("{key}: another program uses {address}"),
            format!("stop it (`ss -ltnp` shows which one it is), or set {key} to another port"),
        ),
        Err(error) => Finding::problem(
            CHECK,
            format!("{key}: cannot listen on {address}: {error}"),
            format!("set {key} to an address of this machine and a port of 1024 or higher"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;
    use std::io::{Error, ErrorKind};

    #[test]
    fn a_port_in_use_is_reported() {
        let address = SocketAddr::from(([127, 0, 0, 1], 80));
        let level = |bound, is_served| judge("server.listen", address, bound, is_served).level;
        assert_eq!(level(Ok(()), false), Level::Ok);
        assert_eq!(level(Err(Error::from(ErrorKind::AddrInUse)), false), Level::Problem);
        assert_eq!(level(Err(Error::from(ErrorKind::AddrInUse)), true), Level::Ok);
        assert_eq!(level(Err(Error::from(ErrorKind::PermissionDenied)), true), Level::Problem);
    }
}
