//! Nodes on one machine with one store: the one that leads manages the replicas of all.
//!
//! Each node records where it keeps its replicas. A folder counts only if it is marked with this store's id: its node may use
//! another store by now.

use background::Tasks;
use control::reconciler::Parts;
use fleet::drivers::Drivers;
use fleet::drivers::process::machine_id;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::replica_roots::{self, ReplicaRoot};
use store::{Store, secrets};

const REFRESH_EVERY: Duration = Duration::from_secs(2);
/// Not a valid name of a replica.
const OWNER_FILE: &str = ".store";
const OWNER_SECRET: &str = "owner-of-replicas";

/// Starts keeping the driver's list of neighbours up to date.
pub(super) fn start(parts: Parts<Drivers>, tasks: &Tasks) {
    let Some(machine) = machine_id() else { return };
    let mut owner = None;
    let rounds = tasks.every("neighbours", REFRESH_EVERY);
    tasks.spawn(rounds.run(async move || {
        if owner.is_none() {
            owner = Some(register(&parts, &machine).await?);
        }
        refresh(&parts, &machine, owner.as_deref().unwrap_or_default()).await
    }));
}

/// Records where this node keeps its replicas. Returns the mark of this store's folders.
async fn register(parts: &Parts<Drivers>, machine: &str) -> anyhow::Result<String> {
    let root = parts.driver.process.root();
    let owner = owner_of(&parts.store).await?;
    std::fs::write(root.join(OWNER_FILE), &owner)?;
    let path = root.to_str().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidFilename))?;
    let recorded = ReplicaRoot { node: parts.node.clone(), machine: machine.to_owned(), path: path.to_owned() };
    let mut tx = parts.store.begin().await?;
    replica_roots::record(&mut tx, &recorded).await?;
    tx.commit().await?;
    Ok(owner)
}

/// The store's id, which distinguishes it from every other store.
pub(super) async fn owner_of(store: &Store) -> anyhow::Result<String> {
    let fresh = getrandom::u64().map_err(|error| anyhow::anyhow!("no randomness: {error}"))?;
    Ok(secrets::share(store, OWNER_SECRET, &format!("{fresh:016x}")).await?)
}

async fn refresh(parts: &Parts<Drivers>, machine: &str, owner: &str) -> anyhow::Result<()> {
    let roots = replica_roots::on_machine(&parts.store, machine).await?;
    let is_ours = |root: &&ReplicaRoot| root.node == parts.node || is_owned(Path::new(&root.path), owner);
    let roots: Vec<&ReplicaRoot> = roots.iter().filter(is_ours).collect();
    let others =
        roots.iter().filter(|root| root.node != parts.node && Path::new(&root.path) != parts.driver.process.root());
    parts.driver.process.set_neighbours(others.map(|root| PathBuf::from(&root.path)).collect());
    let own = std::iter::once(parts.node.clone());
    parts.reach.set(roots.iter().map(|root| root.node.clone()).chain(own).collect::<BTreeSet<_>>());
    Ok(())
}

fn is_owned(root: &Path, owner: &str) -> bool {
    std::fs::read_to_string(root.join(OWNER_FILE)).is_ok_and(|text| text.trim() == owner)
}
