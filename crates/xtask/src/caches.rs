//! Runs every step that fills a cache with empty caches, so that a cache of an earlier run cannot hide a step that is
//! broken.
//!
//! The steps run in a copy of the repository without `.cache`, `data` and `target`, and with an empty folder for the
//! caches of the user. `caches.txt` has the fingerprint of the files with which a step last passed; with `--changed`,
//! only steps run whose files differ. It is in git, because CI starts from a clone. Cargo's downloads are kept. The
//! previous release of `make test-upgrade` is not built: that takes half an hour, and a commit does not change. Nor is
//! Go unpacked for other versions of Kubernetes; llama-server's step tests unpacking.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

use crate::repository::{Repository, Scratch, output};

const RECORD: &str = "crates/xtask/caches.txt";
const RECORD_HEAD: &str = "# The files with which each step of `cargo xtask test-caches` last passed. Written by it.\n";

/// Installs what the steps need on the machine.
const PACKAGES: &str = "scripts/system-packages test-caches";

struct Step {
    name: &'static str,
    /// What decides how the cache is filled.
    files: &'static [&'static str],
    commands: &'static [&'static str],
}

const STEPS: [Step; 12] = [
    Step {
        name: "tools",
        files: &["scripts/tool"],
        commands: &[
            "scripts/tool cargo-auditable",
            "scripts/tool cargo-cyclonedx",
            "scripts/tool cargo-deb",
            "scripts/tool cargo-deny",
            "scripts/tool helm",
            "scripts/tool mdbook",
        ],
    },
    Step { name: "models", files: &["scripts/fetch-models"], commands: &["scripts/fetch-models"] },
    Step {
        name: "console",
        files: &["web/package.json", "web/package-lock.json"],
        commands: &["make web/node_modules/.package-lock.json"],
    },
    Step {
        name: "clients",
        files: &[
            "scripts/test-dependencies",
            "tests/clients/package.json",
            "tests/clients/package-lock.json",
            "tests/clients/requirements.txt",
        ],
        commands: &["scripts/test-dependencies clients"],
    },
    Step {
        name: "oidc",
        files: &["scripts/test-dependencies", "tests/oidc/package.json"],
        commands: &["scripts/test-dependencies oidc"],
    },
    Step {
        name: "openapi",
        files: &["scripts/test-dependencies", "tests/openapi/package.json", "tests/openapi/requirements.txt"],
        commands: &["scripts/test-dependencies openapi"],
    },
    Step {
        name: "tracing",
        files: &["scripts/test-dependencies", "tests/tracing/requirements.txt"],
        commands: &["scripts/test-dependencies tracing"],
    },
    Step {
        name: "buckets",
        files: &["scripts/test-dependencies", "tests/buckets/requirements.txt"],
        commands: &["scripts/test-dependencies buckets"],
    },
    Step {
        name: "llama-server",
        files: &["scripts/unpack-debian-sid", "scripts/with-llama-server"],
        commands: &["scripts/fetch-models", "scripts/with-llama-server true"],
    },
    Step {
        name: "vllm",
        files: &["tests/engines/install_vllm.py"],
        commands: &[
            "scripts/fetch-models",
            "tests/engines/install_vllm.py .cache/vllm \
             data/models/smollm2-135m-instruct/SmolLM2-135M-Instruct.Q4_1.gguf",
        ],
    },
    Step { name: "debian", files: &["scripts/test-packages"], commands: &["scripts/test-packages debian"] },
    Step {
        name: "kubernetes",
        files: &["tests/cluster/kubernetes-build", "tests/cluster/kubernetes-control-plane"],
        commands: &[
            "tests/cluster/kubernetes-control-plane build",
            "tests/cluster/kubernetes-control-plane build node",
        ],
    },
];

pub(crate) fn check(repository: &Repository, only_changed: bool) -> Result<Vec<String>> {
    check_steps(repository, &[PACKAGES], &STEPS, only_changed)
}

/// Runs the steps that are due, after `first`.
fn check_steps(repository: &Repository, first: &[&str], steps: &[Step], only_changed: bool) -> Result<Vec<String>> {
    let mut record = read_record(&fs::read_to_string(repository.path(RECORD)).unwrap_or_default());
    let mut due = Vec::new();
    for step in steps {
        let fingerprint = fingerprint(repository, step.files)?;
        if !only_changed || record.get(step.name) != Some(&fingerprint) {
            due.push((step, fingerprint));
        }
    }
    if due.is_empty() {
        println!("No script that fills a cache has changed since it passed with empty caches");
        return Ok(Vec::new());
    }
    let scratch = Scratch::create("caches")?;
    let tree = scratch.folder.join("tree");
    repository.copy("", &tree)?;
    run(first, &tree, &scratch.folder)?;
    let mut problems = Vec::new();
    for (step, fingerprint) in due {
        println!("==> {}, with empty caches", step.name);
        let began = Instant::now();
        match run(step.commands, &tree, &scratch.folder) {
            Ok(()) => {
                println!("    passed in {} s", began.elapsed().as_secs());
                record.insert(step.name.to_owned(), fingerprint);
                fs::write(repository.path(RECORD), write_record(&record))?;
            }
            Err(error) => problems.push(format!("{}: {error:#}", step.name)),
        }
    }
    println!("What passed is recorded in {RECORD}, which belongs to the commit");
    Ok(problems)
}

fn run(commands: &[&str], tree: &Path, caches: &Path) -> Result<()> {
    for command in commands {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).current_dir(tree).stdout(Stdio::null());
        shell.env("XDG_CACHE_HOME", caches.join("user")).env("npm_config_cache", caches.join("npm"));
        let status = shell.env_remove("CARGO_TARGET_DIR").status()?;
        ensure!(status.success(), "`{command}` failed");
    }
    Ok(())
}

/// One name for the contents of all files.
fn fingerprint(repository: &Repository, files: &[&str]) -> Result<String> {
    let git = |arguments: &[&str]| output(Command::new("git").current_dir(&repository.root).args(arguments));
    let mut arguments = vec!["hash-object", "--"];
    arguments.extend(files);
    let contents = git(&arguments).context("a file of a step is missing")?;
    Ok(contents.split_whitespace().map(|id| &id[..12]).collect::<Vec<_>>().join("-"))
}

fn read_record(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().filter_map(|line| line.split_once(' ').filter(|_| !line.starts_with('#')));
    lines.map(|(name, fingerprint)| (name.to_owned(), fingerprint.to_owned())).collect()
}

fn write_record(record: &BTreeMap<String, String>) -> String {
    let lines = record.iter().map(|(name, fingerprint)| format!("{name} {fingerprint}\n"));
    std::iter::once(RECORD_HEAD.to_owned()).chain(lines).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: [Step; 2] = [
        Step { name: "good", files: &["good"], commands: &["mkdir .cache && echo $XDG_CACHE_HOME/x >.cache/x"] },
        Step { name: "hidden", files: &["bad"], commands: &["cat .cache/model"] },
    ];

    #[test]
    fn a_step_that_works_only_with_a_filled_cache_fails_until_it_changes() {
        let (folder, mut repository) =
            Repository::sample(&[("good", ""), ("bad", ""), (RECORD, ""), (".cache/model", "")]);
        repository.files.retain(|file| !file.starts_with(".cache"));
        let check = |only_changed| check_steps(&repository, &["test -e good"], &SAMPLE, only_changed).unwrap();
        assert_eq!(check(true), ["hidden: `cat .cache/model` failed"]);
        let record = read_record(&repository.text(RECORD).unwrap());
        assert_eq!(record.keys().collect::<Vec<_>>(), ["good"]);
        // What has passed does not run again until one of its files changes.
        assert_eq!(check_steps(&repository, &["false"], &SAMPLE[..1], true).unwrap(), [] as [String; 0]);
        assert_eq!(fingerprint(&repository, &["good"]).unwrap(), record["good"]);
        fs::write(folder.path().join("good"), "changed").unwrap();
        assert_ne!(fingerprint(&repository, &["good"]).unwrap(), record["good"]);
    }

    #[test]
    fn every_tool_every_list_of_packages_and_every_script_that_installs_is_in_a_step() {
        let repository = Repository::open().unwrap();
        let files: Vec<&str> = STEPS.iter().flat_map(|step| step.files).copied().collect();
        let lists = ["package.json", "package-lock.json", "requirements.txt"];
        let installers = ["apt-get -q", "cargo install", "mmdebstrap --", "npm install", "pip\", \"", "-m venv"];
        let installs = |file: &String| {
            (file.starts_with("scripts/") || file.starts_with("tests/"))
                && repository.text(file).is_ok_and(|text| installers.iter().any(|installer| text.contains(installer)))
        };
        let fills = |file: &String| lists.iter().any(|list| file.ends_with(list)) || installs(file);
        for file in repository.files.iter().filter(|file| fills(file)) {
            assert!(files.contains(&file.as_str()), "{file} is in no step");
        }
        let tools = repository.text("scripts/tool").unwrap();
        for (name, _) in tools.lines().filter_map(|line| line.split_once(") version=")) {
            let command = format!("scripts/tool {name}");
            assert!(STEPS[0].commands.contains(&command.as_str()), "{name} is in no step");
        }
    }
}
