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

const REFRESH_EVERY: Duration = Duration::from_secs(5);
/// Not a valid name of a replica.
const OWNER_FILE: &str = ".store";

/// Starts keeping the driver's list of neighbours up to date. The store's id marks the folders of its replicas.
pub(super) fn start(parts: Parts<Drivers>, store_id: String, tasks: &Tasks) {
    let Some(machine) = machine_id() else { return };
    let mut is_registered = false;
    let rounds = tasks.every("neighbours", REFRESH_EVERY);
    tasks.spawn(rounds.run(async move || {
        if !is_registered {
            register(&parts, &machine, &store_id).await?;
            is_registered = true;
        }
        refresh(&parts, &machine, &store_id).await
    }));
}

/// Records where this node keeps its replicas, and marks the folder.
async fn register(parts: &Parts<Drivers>, machine: &str, store_id: &str) -> anyhow::Result<()> {
    let root = parts.driver.process.root();
    std::fs::write(root.join(OWNER_FILE), store_id)?;
    let path = root.to_str().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidFilename))?;
    let recorded = ReplicaRoot { node: parts.node.clone(), machine: machine.to_owned(), path: path.to_owned() };
    let mut tx = parts.store.begin().await?;
    replica_roots::record(&mut tx, &recorded).await?;
    Ok(tx.commit().await?)
}

async fn refresh(parts: &Parts<Drivers>, machine: &str, store_id: &str) -> anyhow::Result<()> {
    let roots = replica_roots::on_machine(&parts.store, machine).await?;
    let is_ours = |root: &&ReplicaRoot| root.node == parts.node || is_owned(Path::new(&root.path), store_id);
    let roots: Vec<&ReplicaRoot> = roots.iter().filter(is_ours).collect();
    let others =
        roots.iter().filter(|root| root.node != parts.node && Path::new(&root.path) != parts.driver.process.root());
    parts.driver.process.set_neighbours(others.map(|root| PathBuf::from(&root.path)).collect());
    let own = std::iter::once(parts.node.clone());
    parts.reach.set(roots.iter().map(|root| root.node.clone()).chain(own).collect::<BTreeSet<_>>());
    Ok(())
}

fn is_owned(root: &Path, store_id: &str) -> bool {
    std::fs::read_to_string(root.join(OWNER_FILE)).is_ok_and(|text| text.trim() == store_id)
}
