//! The shim alone, for the tests of this crate. `forebay replica-shim` does the same.

use fleet::drivers::process::shim;
use std::path::PathBuf;

fn main() -> Result<(), shim::ShimError> {
    let mut arguments = std::env::args_os().skip_while(|argument| argument != "--dir").skip(1);
    let folder = PathBuf::from(arguments.next().unwrap_or_default());
    if arguments.any(|argument| argument == shim::DETACHED) { shim::run(&folder) } else { shim::detach() }
}
