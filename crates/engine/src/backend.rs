//! llama.cpp's run-time parts: one library for each generation of CPUs, of which it loads the best that runs here.

use anyhow::Context;
use llama_cpp_2::llama_backend::{LlamaBackend, load_backends_from_path};
use llama_cpp_2::{LogOptions, list_llama_ggml_backend_devices, send_logs_to_tracing};
use std::path::{Path, PathBuf};

/// Where a package puts the libraries, seen from the program.
const BESIDE_THE_PROGRAM: [&str; 2] = ["backends", "../lib/forebay-engine"];
/// Where cargo has put them, see `build.rs`.
const IN_THE_SOURCE_TREE: &str = env!("FOREBAY_BACKENDS");

/// Loads the libraries and starts llama.cpp; once for a process.
pub(crate) fn start() -> anyhow::Result<LlamaBackend> {
    send_logs_to_tracing(LogOptions::default());
    let installed = installed_folder();
    load_backends_from_path(installed.as_deref().unwrap_or(Path::new(IN_THE_SOURCE_TREE)));
    let backend = LlamaBackend::init().context("llama.cpp did not start")?;
    if list_llama_ggml_backend_devices().is_empty() {
        anyhow::bail!(
            "llama.cpp found no library for this CPU: libggml-cpu-*.so belong into the folder `backends` beside this program"
        );
    }
    Ok(backend)
}

/// What computes, for the log.
pub(crate) fn describe() -> String {
    let devices = list_llama_ggml_backend_devices();
    let names: Vec<String> =
        devices.into_iter().map(|device| format!("{} ({})", device.name, device.description)).collect();
    names.join(", ")
}

fn installed_folder() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let folder = program.parent()?;
    BESIDE_THE_PROGRAM.iter().map(|name| folder.join(name)).find(|folder| folder.is_dir())
}
