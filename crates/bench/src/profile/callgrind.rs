//! Forebay under Callgrind, and the profiles that it writes.
//!
//! A profile is a list of lines. `fl=`, `fi=` and `fe=` name the source file that the following costs belong to, also within
//! one function, where code of another file was inlined; `fn=` names the function. `calls=` says that the next line is the
//! cost of callees, which are listed themselves. A name is written once, as `(12) name`, and later as `(12)`:
//!
//! ```text
//! fl=(1) /build/crates/edge/src/connection.rs
//! fn=(7) edge::connection::serve
//! 40 12              12 instructions of this file
//! fi=(2) /rustc/…/library/core/src/option.rs
//! 55 3               3 instructions that were inlined from it
//! calls=1 9
//! 41 900             inclusive, skipped
//! ```

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use super::components::{Component, Place};

/// Instructions of one thread, by component.
pub(super) type ThreadCounts = BTreeMap<Component, u64>;

/// Callgrind's control of one process.
pub(super) struct Callgrind {
    profiles: PathBuf,
    pid: u32,
}

/// A program that starts Forebay under Callgrind, which does not count before [`Callgrind::begin`].
pub(super) fn launcher(forebay: &Path, folder: &Path) -> anyhow::Result<PathBuf> {
    let program = folder.join("forebay-counted");
    let (forebay, profiles) = (fs::canonicalize(forebay)?, folder.join("profile"));
    let text = format!(
        "#!/bin/sh\nexec valgrind -q --tool=callgrind --separate-threads=yes --instr-atstart=no \
         --callgrind-out-file='{}' '{}' \"$@\"\n",
        profiles.display(),
        forebay.display()
    );
    fs::write(&program, text)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    Ok(program)
}

impl Callgrind {
    pub(super) fn new(folder: &Path, pid: u32) -> Self {
        Self { profiles: folder.to_owned(), pid }
    }

    /// Counts from now on.
    pub(super) fn begin(&self) -> anyhow::Result<()> {
        self.control("instrumentation on")?;
        self.control("zero")
    }

    /// What each thread has done since [`Self::begin`].
    pub(super) fn end(&self) -> anyhow::Result<Vec<ThreadCounts>> {
        self.control("dump")?;
        self.control("instrumentation off")?;
        let mut threads = Vec::new();
        for file in fs::read_dir(&self.profiles)? {
            let path = file?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if name.starts_with("profile.") {
                threads.push(read(&fs::read_to_string(&path)?));
                fs::remove_file(&path)?;
            }
        }
        Ok(threads)
    }

    fn control(&self, command: &str) -> anyhow::Result<()> {
        let output = Command::new("vgdb").arg(format!("--pid={}", self.pid)).args(command.split(' ')).output();
        let output = output.context("vgdb, which is a part of Valgrind")?;
        if !output.status.success() {
            bail!("Callgrind does not respond to {command:?}: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(())
    }
}

/// Reads a profile.
fn read(text: &str) -> ThreadCounts {
    let mut counts = ThreadCounts::new();
    let mut names = Names::default();
    let (mut file, mut function) = (String::new(), String::new());
    let mut is_call = false;
    for line in text.lines() {
        match line.split_once('=') {
            Some(("fl" | "fi" | "fe", name)) => file = names.files.resolve(name),
            Some(("fn", name)) => function = names.functions.resolve(name),
            // They define names that later lines refer to.
            Some(("cfi" | "cfl", name)) => drop(names.files.resolve(name)),
            Some(("cfn", name)) => drop(names.functions.resolve(name)),
            Some(("calls", _)) => is_call = true,
            Some(_) => {}
            None if std::mem::take(&mut is_call) => {}
            None => {
                let Some(cost) = self_cost(line) else { continue };
                *counts.entry(Component::of(Place { file: &file, function: &function })).or_default() += cost;
            }
        }
    }
    counts
}

/// The cost of a line such as `+3 120`; `None` for the head of the file.
fn self_cost(line: &str) -> Option<u64> {
    let (position, cost) = line.split_once(' ')?;
    let is_position = position == "*" || position.trim_start_matches(['+', '-']).parse::<u64>().is_ok();
    if is_position { cost.parse().ok() } else { None }
}

#[derive(Default)]
struct Names {
    files: Numbered,
    functions: Numbered,
}

/// Names by their number.
#[derive(Default)]
struct Numbered(HashMap<String, String>);

impl Numbered {
    fn resolve(&mut self, text: &str) -> String {
        let Some((number, name)) = text.split_once(')') else { return text.to_owned() };
        match name.trim_start() {
            "" => self.0.get(number).cloned().unwrap_or_default(),
            name => {
                self.0.insert(number.to_owned(), name.to_owned());
                name.to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_belong_to_the_file_that_the_code_was_written_in() {
        let profile = "version: 1\npositions: line\nevents: Ir\nsummary: 1000\n\n\
            fl=(1) /b/crates/http1/src/server/mod.rs\nfn=(1) http1::server::serve\n40 12\n\
            fi=(2) /b/crates/store/src/usage/journal/mod.rs\n+3 5\n\
            cfi=(3) ???\ncfn=(2) malloc\ncalls=2 0\n41 900\n* 1\n\
            fe=(1)\n-2 7\n\nfl=(3)\nfn=(2)\n0 90\ntotals: 1000\n";
        let counts = read(profile);
        let expected = [("client connections", 19), ("journal", 6), ("memory allocation", 90)];
        let counted: Vec<_> = counts.iter().map(|(component, cost)| (component.name(), *cost)).collect();
        let mut expected = expected.to_vec();
        expected.sort_by_key(|(name, _)| counted.iter().position(|(other, _)| other == name));
        assert_eq!(counted, expected);
    }
}
