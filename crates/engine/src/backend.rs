//! llama.cpp's run-time parts: one library for each generation of CPUs, of which it loads the best that runs here.

use anyhow::Context;
use llama_cpp_2::llama_backend::{LlamaBackend, load_backends, load_backends_from_path};
use llama_cpp_2::{LogOptions, list_llama_ggml_backend_devices, send_logs_to_tracing};
use std::path::PathBuf;

/// Where a package puts the libraries, seen from the program.
const BESIDE_THE_PROGRAM: [&str; 2] = ["backends", "../lib/forebay-engine"];

/// Loads the libraries and starts llama.cpp; once for a process.
pub(crate) fn start() -> anyhow::Result<LlamaBackend> {
    send_logs_to_tracing(LogOptions::default());
    match installed_folder() {
        Some(folder) => load_backends_from_path(&folder),
        // A program where cargo built it: the folder of the build.
        None => load_backends(),
    }
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
