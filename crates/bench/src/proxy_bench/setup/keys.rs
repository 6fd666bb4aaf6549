//! Creates many keys at once: copies of the first one with different segments and the same secret.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, ensure};

/// The key with this number, counted from 1.
pub(crate) fn text(number: usize, secret: &str) -> String {
    format!("sk-{number:012}-{secret}")
}

/// Lets the calls of all keys name the people behind them. Nodes must not have cached the keys yet.
pub(crate) fn trust_end_users(store: &Path) -> anyhow::Result<()> {
    run(store, "UPDATE api_keys SET trusts_end_user = 1;")
}

/// Inserts keys into the store of a running Forebay.
pub(crate) fn fill(store: &Path, count: usize) -> anyhow::Result<()> {
    let numbers = format!("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count})");
    let script = format!(
        "BEGIN IMMEDIATE;
         {numbers} INSERT INTO api_keys (id, workspace_id, name, created_at)
             SELECT 'key_' || printf('%026d', i), first.workspace_id, 'bench', first.created_at
             FROM n, (SELECT workspace_id, created_at FROM api_keys LIMIT 1) first;
         {numbers} INSERT INTO api_key_secrets (segment, key_id, hash, created_at)
             SELECT printf('%012d', i), 'key_' || printf('%026d', i), first.hash, first.created_at
             FROM n, (SELECT hash, created_at FROM api_key_secrets LIMIT 1) first;
         COMMIT;"
    );
    run(store, &script)
}

fn run(store: &Path, script: &str) -> anyhow::Result<()> {
    let mut sqlite = Command::new("sqlite3");
    let filled = sqlite.args(["-bail", "-cmd", ".timeout 60000"]).arg(store).arg(script).output();
    let filled = filled.context("sqlite3 is missing: apt-get install sqlite3")?;
    ensure!(filled.status.success(), "cannot change keys: {}", String::from_utf8_lossy(&filled.stderr));
    Ok(())
}
