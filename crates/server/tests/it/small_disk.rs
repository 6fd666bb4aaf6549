//! A real file system that a test can fill, for the journal of a gateway. Needs the rights to mount one.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;
use tokio::task::JoinSet;

use crate::app::{Setup, TestApp, error_line};

/// Room for eight files of the journal at its smallest size.
const SIZE: &str = "size=512k";
const FILLER: &str = "filler";

/// A data folder whose journal is on a file system of its own; unmounted on drop.
pub(crate) struct SmallDisk {
    folder: TempDir,
}

impl SmallDisk {
    pub(crate) fn mount() -> Self {
        let disk = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir(disk.journal()).unwrap();
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", SIZE, "tmpfs"]).arg(disk.journal()).status();
        assert!(mounted.unwrap().success(), "this test mounts a file system, which needs root");
        disk
    }

    /// A gateway on this disk, with the smallest files.
    pub(crate) fn place(&self, setup: Setup) -> Setup {
        setup.data_dir(self.data_dir()).table("[journal]\nmax_bytes = \"512KiB\"")
    }

    pub(crate) fn data_dir(&self) -> &Path {
        self.folder.path()
    }

    fn journal(&self) -> PathBuf {
        self.folder.path().join("journal")
    }

    /// Takes all space that is left.
    pub(crate) fn fill(&self) {
        let mut file = File::options().create(true).append(true).open(self.journal().join(FILLER)).unwrap();
        while file.write_all(&[1; 4096]).is_ok() {}
    }

    /// Takes also the space that the journal has set aside, so that its next write fails as on a broken disk.
    pub(crate) fn take_space_of_journal(&self) {
        for entry in fs::read_dir(self.journal()).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|end| end == "jsonl") {
                File::options().write(true).open(path).unwrap().set_len(0).unwrap();
            }
        }
        self.fill();
    }

    pub(crate) fn free(&self) {
        fs::remove_file(self.journal().join(FILLER)).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.journal()).status();
    }
}

/// Sends calls from several clients at once until each of them is rejected. Returns the request ids of the served ones.
pub(crate) async fn call_until_rejected(app: &TestApp, body: &Value) -> Vec<String> {
    let mut clients = JoinSet::new();
    for _ in 0..20 {
        let (client, body) = (app.client(), body.clone());
        clients.spawn(async move {
            let mut served = Vec::new();
            loop {
                let response = client.post_json("/chat/completions", body.clone()).await;
                if response.status != 200 {
                    assert_eq!(error_line(&response), "503 journal_full");
                    return served;
                }
                served.push(response.header("x-request-id").unwrap().to_owned());
                assert!(served.len() < 1_000, "the disk is full, but calls are served");
            }
        });
    }
    clients.join_all().await.concat()
}

/// Every call is in the store exactly once.
pub(crate) async fn assert_stored(app: &TestApp, served: &[String]) {
    let events = app.usage(served.len()).await;
    for id in served {
        let found = events.iter().filter(|event| event.request.as_str() == id).count();
        assert_eq!(found, 1, "{id} of {} served calls", served.len());
    }
}
