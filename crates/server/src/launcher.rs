//! Where the built-in engine and its files are.

use fleet::Launcher;
use std::path::{Path, PathBuf};

/// Launches engines from the binary beside this one, or from the one that `FOREBAY_ENGINE` names.
pub(crate) fn launcher(data_dir: &Path) -> anyhow::Result<Launcher> {
    let beside = || Ok::<_, std::io::Error>(std::env::current_exe()?.with_file_name("forebay-engine"));
    let binary = std::env::var_os("FOREBAY_ENGINE").map(PathBuf::from).map_or_else(beside, Ok)?;
    let data_dir = std::path::absolute(data_dir)?;
    Ok(Launcher { binary, run_dir: data_dir.join("engines"), cache_dir: data_dir.join("cache") })
}
