//! Confines a panic to the request whose handler panicked.

use pin_project_lite::pin_project;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

pin_project! {
    /// Runs a handler; if it panics, `on_panic` provides the response.
    pub(crate) struct PanicGuard<F, P> {
        #[pin]
        pub(crate) handler: F,
        pub(crate) on_panic: P,
    }
}

impl<F: Future, P: Fn() -> F::Output> Future for PanicGuard<F, P> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let polled = catch_unwind(AssertUnwindSafe(|| this.handler.poll(cx)));
        polled.unwrap_or_else(|_panic| Poll::Ready((this.on_panic)()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn handler(waits: usize, has_bug: bool) -> &'static str {
        for _ in 0..waits {
            tokio::task::yield_now().await;
        }
        assert!(!has_bug, "the bug of a handler");
        "served"
    }

    #[tokio::test]
    async fn a_panic_becomes_a_response_at_whichever_poll_it_happens() {
        for waits in [0, 1, 3] {
            for (has_bug, expected) in [(false, "served"), (true, "panicked")] {
                let guard = PanicGuard { handler: handler(waits, has_bug), on_panic: || "panicked" };
                assert_eq!(guard.await, expected, "after {waits} waits");
            }
        }
    }
}
