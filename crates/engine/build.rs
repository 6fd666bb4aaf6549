//! Tells the program where llama.cpp's shared libraries are: where a package puts them, seen from the program, and
//! where cargo has built them, for everyone who runs it from the source tree.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// With this file llama.cpp's library for AMX is built so that it works. Cargo learns of it from `.cargo/config.toml`, which
/// it reads only when it runs inside of the source tree; for everyone else the library is left out, and such CPUs take
/// the next best one.
const AMX_REPAIR: (&str, &str) = ("CMAKE_PROJECT_INCLUDE", "llama-cpp.cmake");
const AMX_LIBRARY: &str = "libggml-cpu-sapphirerapids.so";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed={}", AMX_REPAIR.0);
    for place in ["$ORIGIN", "$ORIGIN/../lib/forebay-engine"] {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{place}");
    }
    let built = env::var("DEP_LLAMA_BACKENDS_DIR").expect("llama-cpp-sys-2 tells where its backends are");
    let libraries = Path::new(&built).with_file_name("lib");
    println!("cargo:rustc-link-arg=-Wl,-rpath,{}", libraries.display());

    let own = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it"));
    let chosen = own.join("backends");
    link_backends(Path::new(&built), &chosen).expect("the backends can be linked into the build folder");
    println!("cargo:rustc-env=FOREBAY_BACKENDS={}", chosen.display());
    remove_dangling_links(&own).expect("links in the target folder can be removed");
}

/// Makes a folder with the libraries that the engine chooses from.
fn link_backends(built: &Path, chosen: &Path) -> io::Result<()> {
    if chosen.exists() {
        fs::remove_dir_all(chosen)?;
    }
    fs::create_dir_all(chosen)?;
    let amx_works = env::var(AMX_REPAIR.0).is_ok_and(|file| file.ends_with(AMX_REPAIR.1));
    for library in fs::read_dir(built)? {
        let library = library?;
        if amx_works || library.file_name() != AMX_LIBRARY {
            fs::hard_link(library.path(), chosen.join(library.file_name()))?;
        }
    }
    Ok(())
}

/// llama-cpp-sys-2 leaves links to nowhere in the target folder (`libllama.so` to a `libllama.so.0` that is elsewhere),
/// and its next build fails on them with "File exists". Nothing here needs them.
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
