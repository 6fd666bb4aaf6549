//! Applies every overlay of `deploy/kubernetes` as a server-side dry run.
//!
//! Servers before Kubernetes 1.21 have no policy/v1; there the budget is checked as policy/v1beta1, which is equivalent.
//! The admission policy is checked where the server has such policies.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result};
use regex_lite::Regex;
use serde::Deserialize;

use crate::repository::{Repository, Scratch, output};

const MANIFESTS: &str = "deploy/kubernetes";
const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
/// The first minor version of kubectl that reads the overlays as they are.
const CURRENT_KUBECTL: u32 = 26;

pub(crate) fn check(repository: &Repository, kubectl: &Path, kubeconfig: &str) -> Result<Vec<String>> {
    let kubectl = |arguments: &[&str]| output(Command::new(kubectl).env("KUBECONFIG", kubeconfig).args(arguments));
    let is_old = client_minor(&kubectl(&["version", "--client", "-o", "json"])?)? < CURRENT_KUBECTL;
    let has_policy_v1 = kubectl(&["api-versions"])?.lines().any(|version| version == "policy/v1");
    let scratch = Scratch::create("manifests")?;
    repository.copy(MANIFESTS, &scratch.folder)?;
    for file in repository.files.iter().filter_map(|file| file.strip_prefix("deploy/kubernetes/")) {
        adapt(&scratch.folder.join(file), is_old, has_policy_v1)?;
    }
    for namespace in ["forebay", "forebay-replicas"] {
        // A dry run needs the namespace but does not create it. It may exist.
        let _ = kubectl(&["create", "namespace", namespace]);
    }
    let mut problems = Vec::new();
    let mut dry_run = |option: &str, folder: &Path| {
        let applied = kubectl(&["apply", "--dry-run=server", option, &folder.to_string_lossy()]);
        match applied {
            Ok(applied) => applied.lines().for_each(|line| println!("    {line}")),
            Err(error) => problems.push(format!("{}: {error}", folder.display())),
        }
    };
    if !has_policy_v1 {
        println!("    this server has no policy/v1; the disruption budget is checked as policy/v1beta1");
    }
    for overlay in overlays(repository) {
        dry_run("-k", &scratch.folder.join("overlays").join(overlay));
    }
    if kubectl(&["get", "--raw", POLICIES]).is_ok() {
        dry_run("-f", &scratch.folder.join("admission"));
    } else {
        println!("    admission: this server has no ValidatingAdmissionPolicy (Kubernetes 1.30); not checked");
    }
    Ok(problems)
}

fn client_minor(json: &str) -> Result<u32> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Versions {
        client_version: Version,
    }
    #[derive(Deserialize)]
    struct Version {
        minor: String,
    }
    let versions: Versions = serde_json::from_str(json).context("kubectl's version")?;
    Ok(versions.client_version.minor.trim_end_matches('+').parse()?)
}

fn overlays(repository: &Repository) -> Vec<&str> {
    let inside = repository.files.iter().filter_map(|file| file.strip_prefix("deploy/kubernetes/overlays/"));
    let mut overlays: Vec<&str> = inside.filter_map(|file| Some(file.split_once('/')?.0)).collect();
    overlays.dedup();
    overlays
}

fn adapt(file: &Path, is_old: bool, has_policy_v1: bool) -> Result<()> {
    let name = file.file_name().unwrap_or_default();
    if is_old && name == "kustomization.yaml" {
        fs::write(file, for_old_kubectl(&fs::read_to_string(file)?)?)?;
    }
    if !has_policy_v1 && name == "disruption-budget.yaml" {
        let text = fs::read_to_string(file)?;
        fs::write(file, text.replace("apiVersion: policy/v1\n", "apiVersion: policy/v1beta1\n"))?;
    }
    Ok(())
}

/// Debian's kubectl is older than the manifests require; its kustomize uses other names for the same things.
fn for_old_kubectl(text: &str) -> Result<String> {
    let base = Regex::new(r"(?m)^  - (\.\./.*)\n")?;
    let bases: String = base.find_iter(text).map(|found| found.as_str()).collect();
    let text = base.replace_all(text, "").replace("patches:\n  - path: ", "patchesStrategicMerge:\n  - ");
    // A list of which nothing is left.
    let is_empty = |rest: &str| !rest.starts_with("  ");
    let text = match text.split_once("resources:\n") {
        Some((before, rest)) if is_empty(rest) => format!("{before}{rest}"),
        _ => text,
    };
    Ok(if bases.is_empty() { text } else { format!("{text}bases:\n{bases}") })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    const OVERLAY: &str = "kind: Kustomization\nresources:\n  - ../../base\npatches:\n  - path: gateway.yaml\n";
    const BUDGET: &str = "apiVersion: policy/v1\nkind: PodDisruptionBudget\n";

    #[test]
    fn an_overlay_is_rewritten_for_an_old_kubectl() {
        let expected = "kind: Kustomization\npatchesStrategicMerge:\n  - gateway.yaml\nbases:\n  - ../../base\n";
        assert_eq!(for_old_kubectl(OVERLAY).unwrap(), expected);
        let plain = "resources:\n  - gateway.yaml\n";
        assert_eq!(for_old_kubectl(plain).unwrap(), plain);
    }

    #[test]
    fn an_overlay_that_the_server_rejects_is_reported() {
        let files = [
            ("deploy/kubernetes/overlays/bad/kustomization.yaml", "resources:\n  - nonexistent.yaml\n"),
            ("deploy/kubernetes/overlays/good/kustomization.yaml", OVERLAY),
            ("deploy/kubernetes/overlays/good/disruption-budget.yaml", BUDGET),
        ];
        let (folder, repository) = Repository::sample(&files);
        // Kubernetes 1.20: it rejects policy/v1, and overlays that are not in its words.
        let kubectl = r#"#!/bin/sh
case "$1 $3" in
"version -o") echo '{"clientVersion": {"minor": "20+"}}' ;;
"api-versions ") echo policy/v1beta1 ;;
"apply -k") ! grep -q nonexistent "$4/kustomization.yaml" && grep -q '^bases:' "$4/kustomization.yaml" &&
    grep -qx 'apiVersion: policy/v1beta1' "$4/disruption-budget.yaml" || { echo rejected >&2; exit 1; } ;;
*) exit 1 ;;
esac
"#;
        let program = folder.path().join("kubectl");
        fs::write(&program, kubectl).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let problems = check(&repository, &program, "").unwrap();
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains("overlays/bad: ") && problems[0].ends_with("rejected"), "{problems:?}");
    }
}
