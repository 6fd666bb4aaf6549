//! Runs a container's command as a process.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use k8s_openapi::api::core::v1::{Container, Pod};
use tokio::process::{Child, Command};

use super::Shared;

/// Offset of exit codes for processes that were ended by a signal.
const SIGNAL_BASE: i32 = 128;
/// Exit code that kubelets report if a program cannot be started.
pub(super) const CANNOT_RUN: i32 = 128;

/// Mounts that processes share with this machine.
const SHARED_WITH_HOST: [&str; 2] = ["/dev/shm", "/tmp"];

/// Replacements in commands and environment variables: addresses and volume paths.
pub(super) struct Translation {
    /// Longest first, so that nested folders match.
    pairs: Vec<(String, String)>,
}

impl Translation {
    pub(super) fn of(pod: &Pod, container: &Container, address: &str, folder: &Path) -> Self {
        let volumes = pod.spec.iter().flat_map(|spec| &spec.volumes).flatten();
        let sources: BTreeMap<&str, PathBuf> = volumes
            .map(|volume| {
                let on_host = volume.host_path.as_ref().map(|host| PathBuf::from(&host.path));
                (volume.name.as_str(), on_host.unwrap_or_else(|| folder.join(&volume.name)))
            })
            .collect();
        let mounts = container
            .volume_mounts
            .iter()
            .flatten()
            .filter(|mount| !SHARED_WITH_HOST.contains(&mount.mount_path.as_str()));
        let mut pairs: Vec<(String, String)> = mounts
            .filter_map(|mount| {
                let source = sources.get(mount.name.as_str())?;
                std::fs::create_dir_all(source).ok()?;
                Some((mount.mount_path.clone(), source.to_string_lossy().into_owned()))
            })
            .collect();
        pairs.push(("0.0.0.0".to_owned(), address.to_owned()));
        pairs.sort_by_key(|(path, _)| std::cmp::Reverse(path.len()));
        Self { pairs }
    }

    fn apply(&self, word: &str) -> String {
        let found = self.pairs.iter().find(|(from, _)| word.contains(from.as_str()));
        found.map_or_else(|| word.to_owned(), |(from, to)| word.replace(from.as_str(), to))
    }
}

/// Starts the process in its own process group, with its output in the log.
pub(super) fn start(
    shared: &Shared,
    container: &Container,
    translation: &Translation,
    log: &Path,
) -> std::io::Result<Child> {
    let words = container.command.iter().flatten().chain(container.args.iter().flatten());
    let mut words = words.map(|word| translation.apply(word));
    let program = words.next().unwrap_or_default();
    let output = File::options().create(true).append(true).open(log)?;
    let mut command = Command::new(find(shared, &program));
    command.args(words).stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
    for variable in container.env.iter().flatten() {
        if let Some(value) = &variable.value {
            command.env(&variable.name, translation.apply(value));
        }
    }
    command.process_group(0).kill_on_drop(true).spawn()
}

fn find(shared: &Shared, program: &str) -> PathBuf {
    let own = shared.options.programs.iter().map(|folder| folder.join(program)).find(|path| path.is_file());
    own.unwrap_or_else(|| PathBuf::from(program))
}

pub(super) fn code_of(status: ExitStatus) -> i32 {
    use std::os::unix::process::ExitStatusExt;
    status.code().or_else(|| status.signal().map(|signal| SIGNAL_BASE + signal)).unwrap_or(-1)
}

/// Sends a signal such as `-TERM`.
pub(super) fn signal(child: &Child, signal: &str) {
    if let Some(pid) = child.id() {
        let _ = std::process::Command::new("kill").args([signal, &pid.to_string()]).status();
    }
}
