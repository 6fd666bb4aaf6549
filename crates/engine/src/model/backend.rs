//! llama.cpp's runtime libraries: for the CPU of the build machine, or one per CPU generation, of which the best for this
//! machine is loaded.

use anyhow::Context;
use llama_cpp_2::llama_backend::{LlamaBackend, load_backends_from_path};
use llama_cpp_2::{LogOptions, list_llama_ggml_backend_devices, send_logs_to_tracing};
use std::path::{Path, PathBuf};

/// Library folders of an installed package, relative to the program.
const INSTALLED_FOLDERS: [&str; 2] = ["backends", "../lib/forebay-engine"];
/// Library folder of a cargo build, see `build.rs`.
const BUILD_FOLDER: &str = env!("FOREBAY_BACKENDS");

/// Loads the libraries and initializes llama.cpp; once per process.
pub(crate) fn start() -> anyhow::Result<LlamaBackend> {
    send_logs_to_tracing(LogOptions::default());
    let installed = installed_folder();
    load_backends_from_path(installed.as_deref().unwrap_or(Path::new(BUILD_FOLDER)));
    let backend = LlamaBackend::init().context("cannot initialize llama.cpp")?;
    if list_llama_ggml_backend_devices().is_empty() {
        anyhow::bail!(
            "llama.cpp found no library for this CPU: libggml-cpu*.so must be in the folder `backends` next to this program"
        );
    }
    Ok(backend)
}

/// Names of the compute devices, for the log.
pub(crate) fn describe() -> String {
    let devices = list_llama_ggml_backend_devices();
    let names: Vec<String> =
        devices.into_iter().map(|device| format!("{} ({})", device.name, device.description)).collect();
    names.join(", ")
}

fn installed_folder() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let folder = program.parent()?;
    INSTALLED_FOLDERS.iter().map(|name| folder.join(name)).find(|folder| folder.is_dir())
}
