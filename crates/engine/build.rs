//! Tells the linker where the program finds llama.cpp's shared libraries: beside itself, or where cargo puts them.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // `deps` is where cargo hard-links them for tests, which lie in that folder themselves.
    for place in ["$ORIGIN", "$ORIGIN/deps", "$ORIGIN/../lib/forebay-engine"] {
        println!("cargo:rustc-link-arg=-Wl,-rpath,{place}");
    }
}
