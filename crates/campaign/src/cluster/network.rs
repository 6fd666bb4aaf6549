//! The network inside: addresses on the loopback interface, and nftables between them.
//!
//! Each node has its own addresses for its clients and for the services it uses, so a rule can cut one node off from one
//! service. Nodes share a network namespace: replicas of the process driver listen on 127.0.0.1, and gateways that share
//! replicas must be on one machine, which is a network namespace (decision 15).

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, ensure};

use crate::namespace::run;
use crate::schedule::{Link, NODES};

pub(super) const POSTGRES_PORT: u16 = 5_432;
pub(super) const REDIS_PORT: u16 = 6_379;
pub(super) const ENGINE_PORT: u16 = 9_000;
const PUBLIC_PORT: u16 = 8_080;
const OPERATIONS_PORT: u16 = 9_090;

fn address(network: u8, node: usize) -> Ipv4Addr {
    Ipv4Addr::new(10, 77, network, u8::try_from(node + 1).unwrap_or(u8::MAX))
}

/// Where a node finds PostgreSQL, Redis and the engines.
pub(super) fn services(node: usize) -> Ipv4Addr {
    address(1, node)
}

pub(crate) fn public(node: usize) -> SocketAddr {
    SocketAddr::from((address(2, node), PUBLIC_PORT))
}

pub(crate) fn operations(node: usize) -> SocketAddr {
    SocketAddr::from((address(3, node), OPERATIONS_PORT))
}

pub(crate) struct Network {
    cuts: Mutex<BTreeSet<(usize, Link)>>,
}

impl Network {
    pub(super) fn create() -> anyhow::Result<Self> {
        run("ip", ["link", "set", "lo", "up"])?;
        for node in 0..NODES {
            for network in 1..=3 {
                run("ip", ["address", "add", &format!("{}/32", address(network, node)), "dev", "lo"])?;
            }
        }
        apply("add table inet campaign\nadd chain inet campaign output { type filter hook output priority 0; }\n")?;
        Ok(Self { cuts: Mutex::default() })
    }

    /// Drops the packets between a node and its peer, in both directions.
    pub(crate) fn cut(&self, node: usize, link: Link) -> anyhow::Result<()> {
        self.change(|cuts| {
            cuts.insert((node, link));
        })
    }

    pub(crate) fn restore(&self, node: usize, link: Link) -> anyhow::Result<()> {
        self.change(|cuts| {
            cuts.remove(&(node, link));
        })
    }

    fn change(&self, change: impl FnOnce(&mut BTreeSet<(usize, Link)>)) -> anyhow::Result<()> {
        let mut cuts = self.cuts.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut cuts);
        apply(&rules(&cuts))
    }
}

/// Replaces all rules at once.
fn rules(cuts: &BTreeSet<(usize, Link)>) -> String {
    let mut text = "flush chain inet campaign output\n".to_owned();
    for (node, link) in cuts {
        let (host, port) = match link {
            Link::Postgres => (services(*node), POSTGRES_PORT),
            Link::Redis => (services(*node), REDIS_PORT),
            Link::Engines => (services(*node), ENGINE_PORT),
            Link::Clients => (address(2, *node), PUBLIC_PORT),
        };
        let _ = writeln!(text, "add rule inet campaign output ip daddr {host} tcp dport {port} drop");
        let _ = writeln!(text, "add rule inet campaign output ip saddr {host} tcp sport {port} drop");
    }
    text
}

fn apply(text: &str) -> anyhow::Result<()> {
    let mut nft = Command::new("nft").args(["-f", "-"]).stdin(Stdio::piped()).spawn().context("cannot start nft")?;
    nft.stdin.take().context("nft has no input")?.write_all(text.as_bytes())?;
    ensure!(nft.wait()?.success(), "nft rejected:\n{text}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_drops_both_directions_of_one_link() {
        let expected = "flush chain inet campaign output\n\
            add rule inet campaign output ip daddr 10.77.1.2 tcp dport 6379 drop\n\
            add rule inet campaign output ip saddr 10.77.1.2 tcp sport 6379 drop\n";
        assert_eq!(rules(&BTreeSet::from([(1, Link::Redis)])), expected);
    }

    #[test]
    fn clients_reach_a_node_at_its_own_address() {
        assert_eq!(public(0).to_string(), "10.77.2.1:8080");
        assert!(rules(&BTreeSet::from([(2, Link::Clients)])).contains("ip saddr 10.77.2.3 tcp sport 8080"));
    }
}
