//! Checks the repository: `cargo xtask COMMAND`, see [`USAGE`]. The Makefile runs these as steps of `make test`.

mod caches;
mod dependencies;
mod docs;
mod language;
mod manifests;
mod repository;
mod steps;

use std::process::ExitCode;

use anyhow::{Result, bail};

use repository::Repository;

const USAGE: &str = "\
usage: cargo xtask COMMAND
  check-language [PATH…]               phrases that the house style replaces, in all files or in these files and folders
  check-docs SITE                      links, anchors and paths of the documents; SITE is the output of `make docs`
  check-dependencies [--advisories]    licences, sources, bans, advisories; with the option, fails if advisories cannot be checked
  check-manifests KUBECONFIG           every overlay of deploy/kubernetes as a server-side dry run
  test-caches [--changed]              every step that fills a cache, with empty caches; or only those that changed
  run-steps STEP…                      make targets with their times: `a b+c,d` runs a, then b beside c and d";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    run(&arguments).unwrap_or_else(|error| {
        eprintln!("xtask: {error:#}");
        ExitCode::FAILURE
    })
}

fn run(arguments: &[String]) -> Result<ExitCode> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let repository = Repository::open()?;
    let problems = match arguments[..] {
        ["run-steps", ref steps @ ..] if !steps.is_empty() => return steps::run(&repository, steps),
        ["check-language", ref paths @ ..] => language::check(&repository, paths)?,
        ["check-docs", site] => docs::check(&repository, site.as_ref())?,
        ["check-dependencies"] => dependencies::check(&repository, false)?,
        ["check-dependencies", "--advisories"] => dependencies::check(&repository, true)?,
        ["check-manifests", kubeconfig] => manifests::check(&repository, "kubectl".as_ref(), kubeconfig)?,
        ["test-caches"] => caches::check(&repository, false)?,
        ["test-caches", "--changed"] => caches::check(&repository, true)?,
        _ => bail!("{USAGE}"),
    };
    for problem in &problems {
        eprintln!("{problem}");
    }
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
