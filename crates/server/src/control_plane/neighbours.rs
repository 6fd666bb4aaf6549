//! Gateways on one machine that serve from one store: whoever of them leads looks after the replicas of all.
//!
//! Each writes down where it keeps its replicas. A folder counts only if it says itself that it belongs to this store:
//! its gateway may have been given another one since.

use control::reconciler::Parts;
use fleet::drivers::Drivers;
use fleet::drivers::process::machine;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;
use store::replica_roots::{self, ReplicaRoot};
use store::{Store, secrets};

const LOOK_EVERY: Duration = Duration::from_secs(2);
/// Its name cannot be that of a replica.
const OWNER_FILE: &str = ".store";
const OWNER_SECRET: &str = "owner-of-replicas";

/// Keeps the driver's neighbours as they are, for ever.
pub(super) async fn keep(parts: Parts<Drivers>) {
    let Some(machine) = machine() else { return };
    let mut owner = None;
    loop {
        if owner.is_none() {
            owner = introduce(&parts, &machine).await;
        }
        if let Some(owner) = &owner {
            look(&parts, &machine, owner).await;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// Tells the others where our replicas are; what folders of this store are marked with.
async fn introduce(parts: &Parts<Drivers>, machine: &str) -> Option<String> {
    let said = async {
        let owner = owner_of(&parts.store).await?;
        std::fs::write(parts.driver.process.root().join(OWNER_FILE), &owner)?;
        let path =
            parts.driver.process.root().to_str().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidFilename))?;
        let root = ReplicaRoot { node: parts.node.clone(), machine: machine.to_owned(), path: path.to_owned() };
        let mut tx = parts.store.begin().await?;
        replica_roots::record(&mut tx, &root).await?;
        tx.commit().await?;
        Ok::<_, anyhow::Error>(owner)
    };
    said.await.inspect_err(|error| tracing::debug!(%error, "neighbours were not told of this node")).ok()
}

/// What tells this store from every other one.
pub(super) async fn owner_of(store: &Store) -> anyhow::Result<String> {
    let fresh = getrandom::u64().map_err(|error| anyhow::anyhow!("no randomness: {error}"))?;
    Ok(secrets::share(store, OWNER_SECRET, &format!("{fresh:016x}")).await?)
}

async fn look(parts: &Parts<Drivers>, machine: &str, owner: &str) {
    let Ok(roots) = replica_roots::on_machine(&parts.store, machine).await else { return };
    let is_ours = |root: &&ReplicaRoot| root.node == parts.node || is_owned(Path::new(&root.path), owner);
    let roots: Vec<&ReplicaRoot> = roots.iter().filter(is_ours).collect();
    let others =
        roots.iter().filter(|root| root.node != parts.node && Path::new(&root.path) != parts.driver.process.root());
    parts.driver.process.look_after(others.map(|root| PathBuf::from(&root.path)).collect());
    let own = std::iter::once(parts.node.clone());
    parts.reach.set(roots.iter().map(|root| root.node.clone()).chain(own).collect::<BTreeSet<_>>());
}

fn is_owned(root: &Path, owner: &str) -> bool {
    std::fs::read_to_string(root.join(OWNER_FILE)).is_ok_and(|text| text.trim() == owner)
}
