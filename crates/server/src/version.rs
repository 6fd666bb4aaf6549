//! The version of this program.

/// Version, commit and kind of this build.
pub(crate) const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("FOREBAY_BUILD"), ")");
