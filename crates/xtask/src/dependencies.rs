//! Checks the dependencies of Rust with cargo-deny, and those of the console and of the client tests with npm's lock
//! files, against `deny.toml`.
//!
//! Advisories need data: the RustSec database, which cargo-deny clones, and a registry that supports `npm audit`. What
//! could not be checked is always printed, and a problem if the advisories were asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::repository::{Repository, output};

const NPM_REGISTRY: &str = "https://registry.npmjs.org/";
const NPM_LOCKS: [&str; 2] = ["web/package-lock.json", "tests/clients/package-lock.json"];
/// Licences of npm packages that are used while building or testing, or contain data or fonts.
const NPM_LICENSES: [&str; 5] = ["BlueOak-1.0.0", "CC0-1.0", "CC-BY-4.0", "OFL-1.1", "Python-2.0"];
/// Programs under their own terms, which tests start as a user would and which are in no package of ours.
const TEST_CLIENTS: [&str; 2] = ["node_modules/@anthropic-ai/claude-code-linux-x64", "node_modules/opencode-linux-x64"];

pub(crate) fn check(repository: &Repository, needs_advisories: bool) -> Result<Vec<String>> {
    let (mut problems, mut unchecked) = (Vec::new(), Vec::new());
    check_crates(repository, &mut problems, &mut unchecked)?;
    let deny = repository.text("deny.toml")?;
    let allowed = allowed_licenses(&deny)?;
    for file in NPM_LOCKS {
        let packages = read_lock(&repository.text(file)?).context(file)?;
        println!("{} packages in {file}: licences, sources, checksums, scripts", packages.len());
        problems.extend(check_packages(&packages, &allowed).map(|problem| format!("{file}: {problem}")));
        match npm_audit(repository, file) {
            Ok(found) => problems.extend(found.into_iter().map(|problem| format!("{file}: {problem}"))),
            Err(why) => unchecked.push(format!("advisories of {file}: {why:#}")),
        }
    }
    for line in &unchecked {
        println!("NOT CHECKED: {line}");
    }
    if needs_advisories {
        problems.append(&mut unchecked);
    }
    Ok(problems)
}

/// cargo-deny prints what it finds itself.
fn check_crates(repository: &Repository, problems: &mut Vec<String>, unchecked: &mut Vec<String>) -> Result<()> {
    let program = output(Command::new(repository.path("scripts/tool")).arg("cargo-deny"))?;
    let deny = |arguments: &[&str]| {
        let mut command = Command::new(program.trim());
        command.current_dir(&repository.root).env("GIT_TERMINAL_PROMPT", "0");
        command.args(["--locked", "--log-level", "error"]).args(arguments);
        command
    };
    if !deny(&["check", "licenses", "bans", "sources"]).status()?.success() {
        problems.push("cargo-deny found problems, see above".to_owned());
    }
    match output(&mut deny(&["fetch", "db"])) {
        Ok(_) if deny(&["check", "advisories"]).status()?.success() => {}
        Ok(_) => problems.push("cargo-deny found advisories or yanked crates, see above".to_owned()),
        Err(error) => unchecked.push(format!("advisories of crates, yanked crates: {}", last_line(&error.to_string()))),
    }
    Ok(())
}

fn last_line(text: &str) -> &str {
    text.trim().lines().last().unwrap_or("no output")
}

/// The licences that `deny.toml` allows: the quoted names of the list.
fn allowed_licenses(deny: &str) -> Result<BTreeSet<&str>> {
    let (_, rest) = deny.split_once("\nallow = [").context("deny.toml has no `allow = [`")?;
    let (list, _) = rest.split_once("\n]").context("the list of licences in deny.toml has no end")?;
    let names = list.lines().filter_map(|line| line.trim().strip_prefix('"')?.split_once('"'));
    Ok(names.map(|(name, _)| name).chain(NPM_LICENSES).collect())
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Package {
    resolved: Option<String>,
    integrity: String,
    license: Option<String>,
    has_install_script: bool,
    optional: bool,
    link: bool,
}

/// The packages of a lock file by their folder, without our own.
fn read_lock(text: &str) -> Result<BTreeMap<String, Package>> {
    #[derive(Deserialize)]
    struct Lock {
        packages: BTreeMap<String, Package>,
    }
    let mut packages = serde_json::from_str::<Lock>(text)?.packages;
    packages.retain(|folder, package| !folder.is_empty() && !package.link);
    Ok(packages)
}

fn check_packages(packages: &BTreeMap<String, Package>, allowed: &BTreeSet<&str>) -> impl Iterator<Item = String> {
    packages.iter().flat_map(|(folder, package)| {
        let mut problems = Vec::new();
        if let Some(source) = package.resolved.as_deref().filter(|source| !source.starts_with(NPM_REGISTRY)) {
            problems.push(format!("{folder} comes from {source}"));
        }
        if !["sha512-", "sha384-", "sha256-"].iter().any(|kind| package.integrity.starts_with(kind)) {
            problems.push(format!("{folder} has no strong checksum"));
        }
        if package.has_install_script && !package.optional {
            problems.push(format!("{folder} runs a script when it is installed"));
        }
        let license = package.license.as_deref().unwrap_or_default();
        if !TEST_CLIENTS.contains(&folder.as_str()) && !is_allowed(license, allowed) {
            problems.push(format!("{folder} is licensed as `{license}`, which is not allowed"));
        }
        problems
    })
}

/// Evaluates a flat SPDX expression: alternatives of licences that apply together.
fn is_allowed(expression: &str, allowed: &BTreeSet<&str>) -> bool {
    let expression = expression.trim_start_matches('(').trim_end_matches(')');
    expression.split(" OR ").any(|all| all.split(" AND ").all(|license| allowed.contains(license)))
}

/// The packages with high or critical advisories.
fn npm_audit(repository: &Repository, lock: &str) -> Result<Vec<String>> {
    #[derive(Deserialize)]
    struct Audit {
        message: Option<String>,
        vulnerabilities: Option<BTreeMap<String, Vulnerability>>,
    }
    #[derive(Deserialize)]
    struct Vulnerability {
        severity: String,
    }
    let folder = repository.path(lock.trim_end_matches("package-lock.json"));
    // It fails if it finds something.
    let done = Command::new("npm").current_dir(folder).args(["audit", "--json", "--package-lock-only"]).output()?;
    let audit: Audit = serde_json::from_slice(&done.stdout)
        .with_context(|| last_line(&String::from_utf8_lossy(&done.stderr)).to_owned())?;
    let found = audit.vulnerabilities.with_context(|| audit.message.unwrap_or("no reason given".to_owned()))?;
    let serious = found.into_iter().filter(|(_, found)| matches!(found.severity.as_str(), "high" | "critical"));
    Ok(serious.map(|(name, found)| format!("{name} has an advisory of severity {}", found.severity)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DENY: &str =
        "[licenses]\nallow = [\n    \"MIT\",\n    \"Zlib\", # a comment\n]\n[bans]\ndeny = [\n    \"GPL\",\n]\n";

    #[test]
    fn licence_expressions_are_evaluated() {
        let allowed = allowed_licenses(DENY).unwrap();
        for expression in ["MIT", "(GPL OR MIT)", "MIT AND Zlib", "GPL OR MIT AND OFL-1.1"] {
            assert!(is_allowed(expression, &allowed), "{expression}");
        }
        for expression in ["", "GPL", "MIT AND GPL", "(GPL OR LGPL)", "MIT AND (GPL OR LGPL)", "SEE LICENSE IN X"] {
            assert!(!is_allowed(expression, &allowed), "{expression}");
        }
    }

    #[test]
    fn every_rule_for_npm_packages_is_applied() {
        let lock = r#"{"packages": {
            "": {"license": "Other"},
            "node_modules/ours": {"link": true},
            "node_modules/good": {"resolved": "https://registry.npmjs.org/good", "integrity": "sha512-a", "license": "MIT"},
            "node_modules/bad": {"resolved": "https://example.org/bad", "integrity": "sha1-a", "license": "GPL",
                "hasInstallScript": true},
            "node_modules/opencode-linux-x64": {"integrity": "sha512-a"},
            "node_modules/unnamed": {"integrity": "sha512-a", "hasInstallScript": true, "optional": true}}}"#;
        let packages = read_lock(lock).unwrap();
        let problems: Vec<String> = check_packages(&packages, &allowed_licenses(DENY).unwrap()).collect();
        let expected = [
            "node_modules/bad comes from https://example.org/bad",
            "node_modules/bad has no strong checksum",
            "node_modules/bad runs a script when it is installed",
            "node_modules/bad is licensed as `GPL`, which is not allowed",
            "node_modules/unnamed is licensed as ``, which is not allowed",
        ];
        assert_eq!(problems, expected);
    }
}
