//! Spares a connection a look at itself.
//!
//! When a piece of a request's body is taken, hyper wakes the connection, which is the very task that takes it: there may
//! be more to read. Behind the last piece there is nothing, and the connection and all that waits in it would be polled
//! once in vain with every call. So such a wake is held back until it is known whether that was the last piece.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

thread_local! {
    /// Whether wakes are held back now, and the one that was.
    static HOLDS_BACK: Cell<bool> = const { Cell::new(false) };
    static HELD: Cell<Option<Waker>> = const { Cell::new(None) };
}

/// Polls something, and returns the wake of a connection that came of it instead of waking.
pub(super) fn held_back<T>(poll: impl FnOnce() -> T) -> (T, Option<Waker>) {
    HOLDS_BACK.set(true);
    let polled = poll();
    HOLDS_BACK.set(false);
    (polled, HELD.take())
}

/// Polls a connection so that its wakes can be held back.
#[derive(Default)]
pub(super) struct SelfWake(Option<(Waker, Waker)>);

impl SelfWake {
    pub(super) fn poll<C: Future>(&mut self, connection: Pin<&mut C>, cx: &Context<'_>) -> Poll<C::Output> {
        let ours = match &self.0 {
            Some((task, ours)) if task.will_wake(cx.waker()) => ours,
            _ => {
                let task = cx.waker().clone();
                &self.0.insert((task.clone(), Arc::new(Holdable(task)).into())).1
            }
        };
        connection.poll(&mut Context::from_waker(ours))
    }
}

struct Holdable(Waker);

impl Wake for Holdable {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if HOLDS_BACK.get() {
            HELD.set(Some(self.0.clone()));
        } else {
            self.0.wake_by_ref();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_wake_that_is_held_back_can_be_made_up_for() {
        let count = Arc::new(Count::default());
        let woken = || count.0.load(Ordering::Relaxed);
        let task = Waker::from(Arc::clone(&count));
        let mut wakes_itself = pin!(poll_fn(|cx| {
            cx.waker().wake_by_ref();
            Poll::<()>::Pending
        }));
        let mut wake = SelfWake::default();
        let _ = wake.poll(wakes_itself.as_mut(), &Context::from_waker(&task));
        assert_eq!(woken(), 1);
        let (_, held) = held_back(|| wake.poll(wakes_itself.as_mut(), &Context::from_waker(&task)));
        assert_eq!(woken(), 1);
        held.unwrap().wake();
        assert_eq!(woken(), 2);
        assert!(held_back(|| ()).1.is_none());
    }
}
