//! Runs the campaign in namespaces of its own: whatever it does to processes, mounts and the network ends with it.

use std::env;
use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail, ensure};

/// Set in the process inside.
const INSIDE: &str = "FOREBAY_CAMPAIGN_INSIDE";
const PROGRAMS: [&str; 8] = ["unshare", "ip", "nft", "mkfs.ext4", "mount", "setpriv", "redis-server", "date"];

/// Starts this program again in new namespaces and becomes it. Returns at once if this is already the process inside.
pub fn enter() -> anyhow::Result<()> {
    if env::var_os(INSIDE).is_some() {
        return Ok(());
    }
    let owner = std::fs::metadata("/proc/self").context("/proc is not mounted")?.uid();
    ensure!(owner == 0, "the campaign needs root: it creates namespaces, mounts disks and drops packets");
    let missing: Vec<&str> = PROGRAMS.into_iter().filter(|program| !is_installed(program)).collect();
    if !missing.is_empty() {
        bail!("the campaign needs {}: run scripts/system-packages campaign", missing.join(", "));
    }
    let program = env::current_exe().context("this program has no path")?;
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--"]);
    command.arg(program).args(env::args_os().skip(1)).env(INSIDE, "1");
    Err(command.exec()).context("cannot create namespaces")
}

fn is_installed(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    let mut folders = env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(|folder| Path::new(folder).to_owned()));
    folders.any(|folder| folder.join(program).is_file())
}

/// Runs a command that must succeed. Returns its standard output.
pub(super) fn run<S: AsRef<OsStr>>(program: &str, arguments: impl IntoIterator<Item = S>) -> anyhow::Result<String> {
    let mut command = Command::new(program);
    command.args(arguments);
    let output = command.output().with_context(|| format!("cannot start {program}"))?;
    ensure!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
