//! The set of tasks that shutdown waits for.

use crate::{Loop, LoopStatus};
use parking_lot::Mutex;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::task::{JoinError, JoinSet};

/// Tasks on one runtime. Clones share the set, so any part can start a task and shutdown still knows of it.
#[derive(Debug, Clone)]
pub struct Tasks {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    runtime: Handle,
    running: Mutex<JoinSet<()>>,
    loops: Mutex<Vec<Arc<Mutex<LoopStatus>>>>,
}

impl Tasks {
    /// An empty set whose tasks run on `runtime`, whichever thread starts them.
    pub fn new(runtime: Handle) -> Self {
        let shared = Shared { runtime, running: Mutex::new(JoinSet::new()), loops: Mutex::default() };
        Self { shared: Arc::new(shared) }
    }

    /// The runtime of the tasks.
    pub fn runtime(&self) -> &Handle {
        &self.shared.runtime
    }

    /// Starts a task.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut running = self.shared.running.lock();
        while let Some(ended) = running.try_join_next() {
            report(ended);
        }
        running.spawn_on(task, &self.shared.runtime);
    }

    /// A loop with this period, whose status is listed by [`Tasks::loops`].
    pub fn every(&self, name: &'static str, period: Duration) -> Loop {
        self.register(Loop::every(name, period))
    }

    /// Lists the loop's status from now on.
    pub fn register(&self, registered: Loop) -> Loop {
        self.shared.loops.lock().push(registered.status());
        registered
    }

    /// The status of every registered loop.
    pub fn loops(&self) -> Vec<LoopStatus> {
        self.shared.loops.lock().iter().map(|status| status.lock().clone()).collect()
    }

    /// Aborts all tasks at their next `await` and waits until they are gone.
    pub async fn abort(&self) {
        let mut running = std::mem::take(&mut *self.shared.running.lock());
        running.shutdown().await;
    }

    /// Waits until all tasks have ended by themselves, including those started meanwhile.
    pub async fn finish(&self) {
        loop {
            let mut running = std::mem::take(&mut *self.shared.running.lock());
            if running.is_empty() {
                return;
            }
            while let Some(ended) = running.join_next().await {
                report(ended);
            }
        }
    }
}

fn report(ended: Result<(), JoinError>) {
    if let Err(error) = ended
        && error.is_panic()
    {
        tracing::error!(%error, "a background task panicked");
    }
}
