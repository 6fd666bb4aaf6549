//! Large bodies take turns, so that they do not delay small ones.
//!
//! The connections of a thread share its time. One that moves a large body as fast as it can would keep the thread busy
//! for milliseconds, and a hundred of them a hundred times as long. So beyond its first [`FREE_BYTES`] a body moves in
//! turns of [`TURN_BYTES`]: in each pass of the event loop, one connection has one turn, in the order in which they asked
//! for it. Whatever else is ready runs in between.
//!
//! Example: fifty clients send 16 MiB each, as fast as the network allows. A small request that arrives meanwhile waits
//! for the one turn that is running, about 100 µs, not for fifty of them.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A body up to this size needs no turn. Nearly all are smaller.
const FREE_BYTES: usize = 64 << 10;
const TURN_BYTES: usize = 256 << 10;

thread_local! {
    /// Its one permit is the right to a turn. Waiting connections get it in order of arrival, also if some of them end.
    static LANE: Arc<Semaphore> = Arc::new(Semaphore::new(1));
}

/// The turns of one body.
pub(crate) struct BulkTurns {
    moved: usize,
    /// What is left of the current turn.
    left: usize,
    turn: Turn,
}

impl Default for BulkTurns {
    fn default() -> Self {
        Self { moved: 0, left: TURN_BYTES, turn: Turn::None }
    }
}

#[derive(Default)]
enum Turn {
    #[default]
    None,
    Waiting(Pin<Box<dyn Future<Output = OwnedSemaphorePermit> + Send>>),
    Running(OwnedSemaphorePermit),
    /// All of it was used. It ends in the next pass of the event loop.
    Used(OwnedSemaphorePermit),
}

impl BulkTurns {
    /// Ready with the number of bytes that may be moved now, at least one.
    pub(crate) fn poll_room(&mut self, cx: &mut Context<'_>) -> Poll<usize> {
        if self.moved < FREE_BYTES {
            return Poll::Ready(FREE_BYTES - self.moved);
        }
        loop {
            self.turn = match std::mem::take(&mut self.turn) {
                Turn::None => match LANE.with(Arc::clone).try_acquire_owned() {
                    Ok(permit) => Turn::Running(permit),
                    Err(_taken) => Turn::Waiting(Box::pin(wait())),
                },
                Turn::Waiting(mut waiting) => match waiting.as_mut().poll(cx) {
                    Poll::Ready(permit) => Turn::Running(permit),
                    Poll::Pending => {
                        self.turn = Turn::Waiting(waiting);
                        return Poll::Pending;
                    }
                },
                Turn::Running(permit) if self.left == 0 => {
                    self.turn = Turn::Used(permit);
                    wake_in_next_pass(cx);
                    return Poll::Pending;
                }
                Turn::Running(permit) => {
                    self.turn = Turn::Running(permit);
                    return Poll::Ready(self.left);
                }
                Turn::Used(permit) => {
                    drop(permit);
                    self.left = TURN_BYTES;
                    Turn::None
                }
            };
        }
    }

    /// Counts bytes that were moved.
    pub(crate) fn moved(&mut self, bytes: usize) {
        self.moved = self.moved.saturating_add(bytes);
        if let Turn::Running(_) = self.turn {
            self.left = self.left.saturating_sub(bytes);
        }
    }

    /// There is nothing to move until the peer acts, so others get the turn.
    fn pause(&mut self) {
        if let Turn::Running(_) = self.turn {
            self.turn = Turn::None;
            self.left = TURN_BYTES;
        }
    }

    /// The body, or the part that was asked for, has been moved. To be called before any other await: the task
    /// may need a turn for another body first, and would wait for itself.
    pub(crate) fn release(&mut self) {
        if let Turn::Running(_) = self.turn {
            self.turn = Turn::None;
        }
    }

    /// Moves bytes if it is this body's turn. `transfer` gets the number of bytes that it may move and returns how many it
    /// has moved.
    pub(crate) fn poll<E>(
        &mut self,
        cx: &mut Context<'_>,
        transfer: impl FnOnce(&mut Context<'_>, usize) -> Poll<Result<usize, E>>,
    ) -> Poll<Result<usize, E>> {
        let room = ready!(self.poll_room(cx));
        let polled = transfer(cx, room);
        match &polled {
            Poll::Ready(Ok(bytes)) => self.moved(*bytes),
            Poll::Ready(Err(_)) | Poll::Pending => self.pause(),
        }
        polled
    }
}

async fn wait() -> OwnedSemaphorePermit {
    LANE.with(Arc::clone).acquire_owned().await.expect("the lane is never closed")
}

/// Wakes the task after the event loop has looked for new events, which is what `yield_now` does.
fn wake_in_next_pass(cx: &mut Context<'_>) {
    let _ = pin!(tokio::task::yield_now()).poll(cx);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::convert::Infallible;
    use std::future::poll_fn;
    use std::rc::Rc;
    use tokio::task::{LocalSet, spawn_local, yield_now};

    type Log = Rc<RefCell<Vec<&'static str>>>;

    /// Moves a body as fast as it may.
    async fn transfer(name: &'static str, bytes: usize, log: Log) {
        let (mut turns, mut left) = (BulkTurns::default(), bytes);
        while left > 0 {
            let moved = poll_fn(|cx| turns.poll(cx, |_, room| Poll::Ready(Ok::<_, Infallible>(room.min(left))))).await;
            left -= moved.unwrap();
            log.borrow_mut().push(name);
        }
    }

    /// Runs on a thread of its own, and with it a lane.
    fn run(test: impl Future<Output = ()>) {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(LocalSet::new().run_until(test));
    }

    #[test]
    fn large_bodies_alternate_and_small_ones_run_in_between() {
        run(async {
            let log = Log::default();
            let large: Vec<_> = ["a", "b", "c"]
                .map(|name| spawn_local(transfer(name, FREE_BYTES + 3 * TURN_BYTES, Rc::clone(&log))))
                .into();
            let other = Rc::clone(&log);
            let small = spawn_local(async move {
                for _ in 0..6 {
                    yield_now().await;
                    other.borrow_mut().push("small");
                }
            });
            for task in large {
                task.await.unwrap();
            }
            small.await.unwrap();
            let log = log.borrow();
            let turns: Vec<_> = log.iter().filter(|name| **name != "small").skip(3).copied().collect();
            assert_eq!(turns[3..], ["a", "b", "c", "a", "b", "c"], "in order of arrival: {log:?}");
            let last_small = log.iter().rposition(|name| *name == "small").unwrap();
            let before = log[..last_small].iter().filter(|name| **name != "small").count();
            assert!(before <= 3 + 8, "one turn in each pass, not three: {log:?}");
        });
    }

    #[test]
    fn a_body_that_waits_for_its_peer_gives_the_turn_to_others() {
        run(async {
            let mut waiting = BulkTurns::default();
            waiting.moved(FREE_BYTES);
            let pending = poll_fn(|cx| {
                let polled = waiting.poll(cx, |_, _| Poll::<Result<usize, Infallible>>::Pending);
                Poll::Ready(polled.is_pending())
            });
            assert!(pending.await);
            let log = Log::default();
            transfer("other", FREE_BYTES + 2 * TURN_BYTES, Rc::clone(&log)).await;
            assert_eq!(log.borrow().len(), 3);
        });
    }

    #[test]
    fn a_body_that_was_moved_leaves_the_lane_to_the_next_one_of_its_task() {
        run(async {
            let log = Log::default();
            let mut first = BulkTurns::default();
            first.moved(FREE_BYTES);
            assert_eq!(poll_fn(|cx| first.poll_room(cx)).await, TURN_BYTES);
            first.moved(TURN_BYTES / 2);
            first.release();
            transfer("second", FREE_BYTES + TURN_BYTES, Rc::clone(&log)).await;
            assert_eq!(poll_fn(|cx| first.poll_room(cx)).await, TURN_BYTES / 2, "the turn goes on");
        });
    }

    #[test]
    fn a_body_that_ends_while_it_waits_does_not_block_the_lane() {
        run(async {
            let mut first = BulkTurns::default();
            first.moved(FREE_BYTES);
            assert_eq!(poll_fn(|cx| first.poll_room(cx)).await, TURN_BYTES);
            let mut second = BulkTurns::default();
            second.moved(FREE_BYTES);
            assert!(poll_fn(|cx| Poll::Ready(second.poll_room(cx).is_pending())).await);
            let log = Log::default();
            let third = spawn_local(transfer("third", FREE_BYTES + TURN_BYTES, Rc::clone(&log)));
            yield_now().await;
            drop(first);
            drop(second);
            third.await.unwrap();
        });
    }
}
