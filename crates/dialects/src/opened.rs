//! Whether a stream was begun before its engine.

use std::sync::atomic::{AtomicBool, Ordering};

/// Set once the first events of a stream were sent before its engine began. All attempts of a call share it.
#[derive(Debug, Default)]
pub struct Opened(AtomicBool);

impl Opened {
    pub(crate) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
