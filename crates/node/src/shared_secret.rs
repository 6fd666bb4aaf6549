//! Secrets that the nodes of an installation share.

use anyhow::Context;
use store::{Store, secrets};

/// The secret with this name, created by the first node.
pub async fn read(store: &Store, name: &str) -> anyhow::Result<String> {
    let mut fresh = [0; 32];
    getrandom::fill(&mut fresh).map_err(|error| anyhow::anyhow!("no randomness from the system: {error}"))?;
    let fresh: String = fresh.iter().map(|byte| format!("{byte:02x}")).collect();
    secrets::share(store, name, &fresh).await.with_context(|| format!("cannot read the secret {name}"))
}
