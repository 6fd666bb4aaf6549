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
