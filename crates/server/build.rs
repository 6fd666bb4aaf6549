//! Rebuilds this crate when the console in `web/dist`, which it embeds, was built again, and names the build for
//! `forebay --version`.

use std::process::Command;
use std::{env, path::Path};

/// Commit of a build outside a git checkout, such as in a container.
const COMMIT: &str = "FOREBAY_COMMIT";

fn main() {
    // The repository contains the folder with only a .gitignore, so that there is always something to watch.
    println!("cargo:rerun-if-changed=../../web/dist");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed={COMMIT}");
    println!("cargo:rustc-env=FOREBAY_BUILD={}", build());
}

/// Commit, kind of build and target. Debug builds have no commit: each commit would make cargo compile them again.
fn build() -> String {
    let target = env::var("TARGET").unwrap_or_default();
    if env::var("PROFILE").is_ok_and(|profile| profile == "debug") {
        return format!("debug build for {target}");
    }
    match env::var(COMMIT).ok().filter(|commit| !commit.is_empty()).or_else(commit_of_checkout) {
        Some(commit) => format!("commit {commit}, release build for {target}"),
        None => format!("release build for {target}"),
    }
}

fn commit_of_checkout() -> Option<String> {
    // Written by every commit and checkout.
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    if Path::new(&log).exists() {
        println!("cargo:rerun-if-changed={log}");
    }
    git(&["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"])
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}
