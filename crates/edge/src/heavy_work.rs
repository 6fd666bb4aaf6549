//! Work on large bodies, on threads of its own: nothing else on the core would be served meanwhile.
//!
//! A few threads do it, at a lower priority than those that serve calls, because they may share a core. The priority decides
//! who gets how much of it, but not when: Linux lets a thread finish its turn of about 3 ms before one that wakes up. So
//! work of more than a tenth of a millisecond gives way now and then. Each holder of memory has one piece of work there at a
//! time, so that one which sends many large bodies does not delay others that send one.

use crate::memory_budget::Holder;
use background::{LowPriorityThreads, Turns};

/// What a core does itself, in bytes of the body. It takes about a tenth of a millisecond.
pub const INLINE_BYTES: usize = 128 << 10;

#[derive(Debug, Clone)]
pub struct HeavyWork {
    turns: Turns<Holder>,
    threads: LowPriorityThreads,
}

impl HeavyWork {
    /// At most `threads` pieces of work at a time.
    pub fn new(threads: usize) -> Self {
        Self { turns: Turns::new(threads), threads: LowPriorityThreads::new(threads) }
    }

    /// Does the work once it is the holder's turn. If it panics, so does the caller.
    pub async fn run<T: Send + 'static>(&self, holder: &Holder, work: impl FnOnce() -> T + Send + 'static) -> T {
        let turn = self.turns.take(holder).await;
        let work = move || {
            // Also if the client has disconnected, the next piece of work waits for this one.
            let _turn = turn;
            work()
        };
        self.threads.run(work).await
    }
}

/// Lets other threads of this core run. If there are none, it takes less than a microsecond.
pub(crate) fn give_way() {
    std::thread::yield_now();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;
    use std::sync::mpsc;
    use tokio::task::JoinSet;

    fn holder(last: u8) -> Holder {
        Holder::client(IpAddr::from([192, 0, 2, last]))
    }

    #[tokio::test]
    async fn a_holder_with_much_work_does_not_delay_another_one() {
        let heavy = HeavyWork::new(1);
        let (done, order) = mpsc::channel();
        let mut running = JoinSet::new();
        let (start, started) = mpsc::channel::<()>();
        let (first, blocked) = (heavy.clone(), done.clone());
        running.spawn(async move {
            let work = move || {
                started.recv().unwrap();
                blocked.send("first").unwrap();
            };
            first.run(&holder(1), work).await;
        });
        tokio::task::yield_now().await;
        for (last, name) in [(1, "second"), (1, "third"), (2, "other")] {
            let (heavy, done) = (heavy.clone(), done.clone());
            running.spawn(async move { heavy.run(&holder(last), move || done.send(name).unwrap()).await });
            tokio::task::yield_now().await;
        }
        start.send(()).unwrap();
        running.join_all().await;
        assert_eq!(order.try_iter().collect::<Vec<_>>(), ["first", "other", "second", "third"]);
    }
}
