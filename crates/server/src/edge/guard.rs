//! A handler that panics fails its own request and nothing else.

use pin_project_lite::pin_project;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

pin_project! {
    /// Runs a handler to its end; where it panics, there is another answer instead.
    pub(super) struct Guarded<F: Future> {
        #[pin]
        pub(super) handler: F,
        pub(super) instead: fn() -> F::Output,
    }
}

impl<F: Future> Future for Guarded<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let polled = catch_unwind(AssertUnwindSafe(|| this.handler.poll(cx)));
        polled.unwrap_or_else(|_panic| Poll::Ready((this.instead)()))
    }
}
