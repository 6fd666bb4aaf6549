//! Threads for work that must not delay calls.

use rustix::process::setpriority_process;
use std::future::pending;
use std::panic::resume_unwind;
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinError;

/// How much lower the priority of the threads is, as a nice value.
const NICE: i32 = 10;

/// Threads of a lower priority than those that serve calls, because they may share a core. They are started when they are
/// needed. Processes must not be started here, because they would inherit the priority. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LowPriorityThreads(Arc<Threads>);

/// A runtime that only has threads for work that blocks; `None` once it is dropped.
#[derive(Debug)]
struct Threads(Option<Runtime>);

impl LowPriorityThreads {
    /// At most this many threads; further work waits.
    pub fn new(threads: usize) -> Self {
        let runtime = Builder::new_current_thread()
            .thread_name("low-priority")
            .max_blocking_threads(threads.max(1))
            .on_thread_start(lower_priority)
            .build();
        Self(Arc::new(Threads(Some(runtime.expect("a runtime without events needs nothing of the system")))))
    }

    /// Does the work, also if the caller does not wait for it. If it panics, so does the caller.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> T {
        let Some(runtime) = &self.0.0 else { return pending().await };
        match runtime.spawn_blocking(work).await.map_err(JoinError::try_into_panic) {
            Ok(done) => done,
            Err(Ok(panic)) => resume_unwind(panic),
            // The runtime is shutting down, and this task with it.
            Err(Err(_cancelled)) => pending().await,
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // A runtime that is dropped by a task would panic.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Lowers the priority of the calling thread.
pub fn lower_priority() {
    if let Err(error) = setpriority_process(None, NICE) {
        tracing::warn!(%error, "cannot lower the priority of a thread");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::process::getpriority_process;

    #[tokio::test]
    async fn work_runs_at_a_lower_priority_wherever_it_is_asked_for() {
        let own = getpriority_process(None).unwrap();
        let threads = LowPriorityThreads::new(1);
        assert_eq!(threads.run(|| getpriority_process(None).unwrap()).await, NICE.max(own));
        assert_eq!(getpriority_process(None).unwrap(), own);
    }

    #[tokio::test]
    #[should_panic(expected = "broken")]
    async fn a_panic_reaches_the_caller() {
        let () = LowPriorityThreads::new(1).run(|| panic!("broken")).await;
    }
}
