//! Sets the search paths of llama.cpp's shared libraries: the location in an installed package, relative to the program,
//! and the cargo build folder, for running from the source tree.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// CMake file that works around a miscompilation of llama.cpp's AMX library. Cargo passes it on from
/// `.cargo/config.toml`, which it only reads inside the source tree; elsewhere the library is left out, and AMX CPUs use
/// the next best one.
const AMX_FIX: (&str, &str) = ("CMAKE_PROJECT_INCLUDE", "llama-cpp.cmake");
const AMX_LIBRARY: &str = "libggml-cpu-sapphirerapids.so";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed={}", AMX_FIX.0);
    for place in ["$ORIGIN", "$ORIGIN/../lib/forebay-engine"] {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{place}");
    }
    let built = env::var("DEP_LLAMA_BACKENDS_DIR").expect("llama-cpp-sys-2 sets the path of its backends");
    let libraries = Path::new(&built).with_file_name("lib");
    println!("cargo:rustc-link-arg=-Wl,-rpath,{}", libraries.display());

    let own = PathBuf::from(env::var("OUT_DIR").expect("cargo sets OUT_DIR"));
    let chosen = own.join("backends");
    link_backends(Path::new(&built), &chosen).expect("the backends can be linked into the build folder");
    println!("cargo:rustc-env=FOREBAY_BACKENDS={}", chosen.display());
    remove_dangling_links(&own).expect("links in the target folder can be removed");
}

/// Creates a folder with the libraries that the engine can load.
fn link_backends(built: &Path, chosen: &Path) -> io::Result<()> {
    if chosen.exists() {
        fs::remove_dir_all(chosen)?;
    }
    fs::create_dir_all(chosen)?;
    let amx_works = env::var(AMX_FIX.0).is_ok_and(|file| file.ends_with(AMX_FIX.1));
    for library in fs::read_dir(built)? {
        let library = library?;
        if amx_works || library.file_name() != AMX_LIBRARY {
            fs::hard_link(library.path(), chosen.join(library.file_name()))?;
        }
    }
    Ok(())
}

/// Removes dangling links that llama-cpp-sys-2 leaves in the target folder (`libllama.so` to a missing `libllama.so.0`),
/// because its next build fails on them with "File exists".
fn remove_dangling_links(own: &Path) -> io::Result<()> {
    // target/PROFILE/build/engine-HASH/out
    let Some(profile) = own.ancestors().nth(3) else { return Ok(()) };
    for folder in [profile.to_owned(), profile.join("deps"), profile.join("examples")] {
        let Ok(entries) = fs::read_dir(folder) else { continue };
        for path in entries.filter_map(Result::ok).map(|entry| entry.path()) {
            if path.is_symlink() && !path.exists() && path.extension().is_some_and(|extension| extension == "so") {
                fs::remove_file(path)?;
            }
        }
    }
    Ok(())
}
