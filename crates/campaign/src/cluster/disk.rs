//! A small disk per node: a file system in a file, which can be filled, and slowed down by the kernel.

use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use crate::namespace::run;

const SIZE: u64 = 96 << 20;
/// Writes of the whole system to one device per second: a control group of version 1, at its root, so that it applies to
/// the kernel's own threads, which write what was buffered.
const THROTTLE: &str = "/sys/fs/cgroup/blkio/blkio.throttle.write_iops_device";
const SLOW_WRITES_PER_SECOND: u64 = 20;
const FILLER: &str = "filler";

pub(crate) struct Disk {
    folder: PathBuf,
    device: String,
}

impl Disk {
    /// Creates and mounts it.
    pub(super) fn create(scratch: &Path, name: &str) -> anyhow::Result<Self> {
        let (image, folder) = (scratch.join(format!("{name}.image")), scratch.join(name));
        File::create(&image)?.set_len(SIZE)?;
        let image = image.to_str().context("the scratch folder is not text")?;
        run("mkfs.ext4", ["-q", "-m", "0", image])?;
        fs::create_dir(&folder)?;
        let mount_point = folder.to_str().context("the scratch folder is not text")?;
        run("mount", ["-o", "loop", image, mount_point]).context("loop devices are needed for disks that fill up")?;
        let device = fs::metadata(&folder)?.dev();
        let (major, minor) = ((device >> 8) & 0xfff, (device & 0xff) | ((device >> 12) & 0xf_ff00));
        let disk = Self { folder, device: format!("{major}:{minor}") };
        disk.throttle(0)?;
        Ok(disk)
    }

    pub(super) fn data_folder(&self) -> PathBuf {
        self.folder.join("data")
    }

    /// Leaves no byte free.
    pub(crate) fn fill(&self) -> anyhow::Result<()> {
        let mut file = File::options().create(true).append(true).open(self.folder.join(FILLER))?;
        for size in [1 << 20, 4_096, 1] {
            let block = vec![0; size];
            loop {
                match file.write(&block) {
                    Ok(0) => break,
                    Ok(_) => {}
                    Err(error) if error.kind() == ErrorKind::StorageFull => break,
                    Err(error) => return Err(error).context("cannot fill the disk"),
                }
            }
        }
        Ok(())
    }

    pub(crate) fn free(&self) -> anyhow::Result<()> {
        fs::remove_file(self.folder.join(FILLER)).context("cannot free the disk")
    }

    pub(crate) fn slow_down(&self) -> anyhow::Result<()> {
        self.throttle(SLOW_WRITES_PER_SECOND)
    }

    pub(crate) fn speed_up(&self) -> anyhow::Result<()> {
        self.throttle(0)
    }

    fn throttle(&self, writes_per_second: u64) -> anyhow::Result<()> {
        ensure!(
            Path::new(THROTTLE).exists(),
            "a slow disk needs the block controller of control groups, version 1: {THROTTLE} is missing"
        );
        fs::write(THROTTLE, format!("{} {writes_per_second}", self.device)).context("cannot throttle a disk")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // The rule would outlive us and apply to the next user of the device.
        let _ = self.throttle(0);
    }
}
