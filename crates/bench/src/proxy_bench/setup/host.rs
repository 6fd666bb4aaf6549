//! Prepares the machine: CPU pinning, file descriptors, and nginx.

use std::process::Command;

use anyhow::{Context, bail};

/// Enough for two thousand streams through a gateway.
const NEEDED_FILES: u64 = 8_192;

/// Installs the package without starting its service; fails without root.
const INSTALL_NGINX: &str = r#"
[ "$(id -u)" = 0 ] || exit 1
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then printf '#!/bin/sh\nexit 101\n' > $policy; chmod +x $policy; trap "rm -f $policy" EXIT; fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq && apt-get install -y -qq nginx-light > /dev/null
"#;

/// Cores that the processes are pinned to; `None` leaves them to the scheduler.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cores {
    pub(crate) gateway: Option<usize>,
    pub(crate) engine: Option<usize>,
}

/// Pins this process, raises its limit of open files, and ensures that nginx is installed.
pub(crate) fn prepare() -> anyhow::Result<Cores> {
    raise_open_files()?;
    find_nginx()?;
    Ok(pin_cores())
}

/// Pins this process, and returns the cores for the others.
pub(crate) fn pin_cores() -> Cores {
    let own_pid = std::process::id().to_string();
    if std::thread::available_parallelism().map_or(1, usize::from) < 2 {
        eprintln!("only one core: gateway, engine and load generator share it, so the figures are not meaningful");
        return Cores { gateway: None, engine: None };
    }
    let pinned = Command::new("taskset").args(["-a", "-c", "-p", "1", &own_pid]).output();
    if !pinned.is_ok_and(|output| output.status.success()) {
        eprintln!("taskset failed: processes are not pinned, so the figures are not meaningful");
        return Cores { gateway: None, engine: None };
    }
    Cores { gateway: Some(0), engine: Some(1) }
}

fn raise_open_files() -> anyhow::Result<()> {
    let (soft, hard) = open_files_limits()?;
    if soft >= NEEDED_FILES {
        return Ok(());
    }
    let limit = format!("--nofile={NEEDED_FILES}:{}", hard.max(NEEDED_FILES));
    let raised = Command::new("prlimit").args([&limit, "--pid", &std::process::id().to_string()]).status();
    if !raised.is_ok_and(|status| status.success()) {
        bail!("the limit of open files is {soft}, but the benchmark needs {NEEDED_FILES}: ulimit -n {NEEDED_FILES}");
    }
    Ok(())
}

fn open_files_limits() -> anyhow::Result<(u64, u64)> {
    let limits = std::fs::read_to_string("/proc/self/limits")?;
    let line = limits.lines().find(|line| line.starts_with("Max open files")).context("no limit of open files")?;
    let mut numbers = line.split_whitespace().skip(3).map(|number| number.parse().unwrap_or(u64::MAX));
    Ok((numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)))
}

fn find_nginx() -> anyhow::Result<()> {
    if nginx_runs() {
        return Ok(());
    }
    eprintln!("installing nginx-light");
    let installed = Command::new("sh").args(["-c", INSTALL_NGINX]).status();
    if !installed.is_ok_and(|status| status.success()) || !nginx_runs() {
        bail!("nginx is missing and could not be installed: apt-get install nginx-light");
    }
    Ok(())
}

fn nginx_runs() -> bool {
    Command::new(crate::proxy_bench::setup::nginx::PROGRAM)
        .arg("-v")
        .output()
        .is_ok_and(|output| output.status.success())
}
