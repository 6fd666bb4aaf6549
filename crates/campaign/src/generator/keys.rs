//! Keys that are created, used for a while and revoked.

use std::sync::Arc;
use std::time::Duration;

use super::{Load, UsableKey, lock, text};
use crate::history::{Action, CommandOutcome};

const EVERY: Duration = Duration::from_secs(4);
/// How long a key is used before it is revoked, in milliseconds.
const USED_FOR: u64 = 12_000;

pub(super) async fn create_and_revoke(load: Arc<Load>) -> anyhow::Result<()> {
    let mut number = 0;
    while !load.is_stopped() {
        number += 1;
        create(&load, number).await?;
        revoke_oldest(&load).await?;
        load.sleep(EVERY).await;
    }
    Ok(())
}

/// Its text is printed once, so a creation whose result is unknown gives no key to use.
async fn create(load: &Load, number: u64) -> anyhow::Result<()> {
    let workspace = load.tenants.steady.workspace.clone();
    let began = load.recorder.now();
    let line = format!("keys create --workspace {workspace} --name campaign-{number}");
    let Ok(created) = load.cluster.admin(&line).await else { return Ok(()) };
    let key = UsableKey { id: text(&created["id"])?, text: text(&created["key"])?, workspace };
    load.record_command(began, Action::CreateKey { key: key.id.clone() }, CommandOutcome::Acknowledged)?;
    lock(&load.valid).push((key, load.recorder.now()));
    Ok(())
}

/// A revocation without an acknowledgement is repeated in the next round.
async fn revoke_oldest(load: &Load) -> anyhow::Result<()> {
    let now = load.recorder.now();
    let oldest = lock(&load.valid).first().filter(|(_, created)| created + USED_FOR < now).map(|(key, _)| key.clone());
    let Some(key) = oldest else { return Ok(()) };
    let action = Action::RevokeKey { key: key.id.clone() };
    if load.administrate(&format!("keys revoke {}", key.id), action).await? == CommandOutcome::Acknowledged {
        lock(&load.valid).retain(|(valid, _)| valid.id != key.id);
        lock(&load.revoked).push(key);
    }
    Ok(())
}
