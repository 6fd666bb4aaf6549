//! Tells the linker where the program finds llama.cpp's shared libraries: where a package puts them, seen from the
//! program, and where cargo has built them, for everyone who runs it from the source tree.

use std::path::Path;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for place in ["$ORIGIN", "$ORIGIN/../lib/forebay-engine"] {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{place}");
    }
    let built = std::env::var("DEP_LLAMA_BACKENDS_DIR").expect("llama-cpp-sys-2 tells where its backends are");
    let libraries = Path::new(&built).with_file_name("lib");
    println!("cargo:rustc-link-arg=-Wl,-rpath,{}", libraries.display());
}
