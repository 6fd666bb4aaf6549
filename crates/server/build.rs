//! Rebuilds this crate when the console in `web/dist`, which it embeds, was built again.

fn main() {
    // The repository contains the folder with only a .gitignore, so that there is always something to watch.
    println!("cargo:rerun-if-changed=../../web/dist");
    println!("cargo:rerun-if-changed=build.rs");
}
