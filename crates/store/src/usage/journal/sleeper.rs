//! A thread that sleeps while it has nothing to do.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Thread;

/// Waking a thread that is awake costs no system call.
#[derive(Default)]
pub(super) struct Sleeper {
    thread: OnceLock<Thread>,
    is_awake: AtomicBool,
}

impl Sleeper {
    /// Names the thread, once.
    pub(super) fn is(&self, thread: &Thread) {
        let _ = self.thread.set(thread.clone());
    }

    pub(super) fn wake(&self) {
        if !self.is_awake.load(Ordering::Relaxed)
            && !self.is_awake.swap(true, Ordering::Relaxed)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }

    /// The thread is about to park itself, and must be woken from now on.
    pub(super) fn rest(&self) {
        self.is_awake.store(false, Ordering::Relaxed);
    }
}
