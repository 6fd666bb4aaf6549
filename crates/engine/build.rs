//! Tells the program where llama.cpp's shared libraries are: where a package puts them, seen from the program, and
//! where cargo has built them, for everyone who runs it from the source tree.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The library for CPUs with AMX is left out. GCC 12 drops most of its tile configuration as dead stores, and the first
/// prompt ends in an illegal instruction; and it computes from a copy of the weights instead of the mapped file. These
/// CPUs take the next best one.
const LEFT_OUT: &str = "sapphirerapids";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for place in ["$ORIGIN", "$ORIGIN/../lib/forebay-engine"] {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{place}");
    }
    let built = env::var("DEP_LLAMA_BACKENDS_DIR").expect("llama-cpp-sys-2 tells where its backends are");
    let libraries = Path::new(&built).with_file_name("lib");
    println!("cargo:rustc-link-arg=-Wl,-rpath,{}", libraries.display());

    let chosen = PathBuf::from(env::var("OUT_DIR").expect("cargo sets it")).join("backends");
    link_backends(Path::new(&built), &chosen).expect("the backends can be linked into the build folder");
    println!("cargo:rustc-env=FOREBAY_BACKENDS={}", chosen.display());
}

/// Makes a folder with the backends that the engine chooses from.
fn link_backends(built: &Path, chosen: &Path) -> io::Result<()> {
    if chosen.exists() {
        fs::remove_dir_all(chosen)?;
    }
    fs::create_dir_all(chosen)?;
    for library in fs::read_dir(built)? {
        let library = library?;
        if !library.file_name().to_string_lossy().contains(LEFT_OUT) {
            fs::hard_link(library.path(), chosen.join(library.file_name()))?;
        }
    }
    Ok(())
}
