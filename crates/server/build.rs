//! The console is embedded from `web/dist`: when it is built anew, so is this crate.

fn main() {
    // The folder is in the repository with nothing but a .gitignore, so that there is always something to watch.
    println!("cargo:rerun-if-changed=../../web/dist");
    println!("cargo:rerun-if-changed=build.rs");
}
