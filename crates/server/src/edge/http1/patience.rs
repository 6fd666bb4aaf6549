//! How long a connection waits for its next request.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::unconstrained;
use tokio::time::{Instant, Sleep, sleep};

/// Ends a wait that is too long, or when the node stops. A clock is looked at when time is up and not with every request.
pub(super) struct Patience {
    /// How long it lasts at least; twice that at most.
    limit: Duration,
    idle: Pin<Box<Sleep>>,
    /// A request came since the time began.
    is_renewed: bool,
    stop: watch::Receiver<bool>,
    told: Pin<Box<dyn Future<Output = ()> + Send>>,
    /// This task will be woken by both.
    listens: bool,
}

impl Patience {
    pub(super) fn new(limit: Duration, stop: watch::Receiver<bool>) -> Self {
        let mut told = stop.clone();
        let told = Box::pin(async move {
            let _ = told.wait_for(|stop| *stop).await;
        });
        Self { limit, idle: Box::pin(sleep(limit)), is_renewed: false, stop, told, listens: false }
    }

    pub(super) fn renew(&mut self) {
        self.is_renewed = true;
    }

    pub(super) fn is_told_to_stop(&self) -> bool {
        self.stop.has_changed().unwrap_or(true) && *self.stop.borrow()
    }

    /// Ready when it is over. A request that has begun is waited for even when the node stops.
    ///
    /// Both are asked once and then wake this task, so they must not put it off because it has done much already.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>, has_begun: bool) -> Poll<()> {
        let is_first = !std::mem::replace(&mut self.listens, true);
        if is_first {
            // It wakes this task; what it says is looked up below.
            let _ = pin!(unconstrained(self.told.as_mut())).poll(cx);
        }
        if !has_begun && self.is_told_to_stop() {
            return Poll::Ready(());
        }
        if is_first || self.idle.is_elapsed() {
            while pin!(unconstrained(self.idle.as_mut())).poll(cx).is_ready() {
                if !std::mem::take(&mut self.is_renewed) {
                    return Poll::Ready(());
                }
                self.idle.as_mut().reset(Instant::now() + self.limit);
            }
        }
        Poll::Pending
    }
}
