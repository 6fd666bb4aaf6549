//! One answer on its way back from a replica.

use super::link::Link;
use super::links::Links;
use bytes::Bytes;
use fleet::Backend;
use std::future::Future;
use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::task::unconstrained;
use tokio::time::{Instant, Sleep, sleep};

/// How long an engine may take to end an answer whose last event it has sent.
const DRAIN_TIME: Duration = Duration::from_secs(1);

/// Reads the body of an answer. Dropped before its end, it closes the connection, and the replica stops working.
pub struct Exchange {
    /// Gone when the answer has ended.
    link: Option<Link>,
    links: Arc<Links>,
    replica: Arc<Backend>,
    /// None until the first event has come: how long that may take is another limit's business.
    patience: Option<Patience>,
}

#[derive(Debug, thiserror::Error)]
pub enum Broken {
    #[error("the connection broke: {0}")]
    Connection(#[from] io::Error),
    #[error("nothing came for {0:?}")]
    Stalled(Duration),
}

impl Exchange {
    pub fn new(link: Link, links: Arc<Links>, replica: Arc<Backend>) -> Self {
        Self { link: Some(link), links, replica, patience: None }
    }

    /// From now on, silence for longer than `limit` breaks the answer off.
    pub fn limit_silence(&mut self, limit: Duration) {
        self.patience = Some(Patience::new(limit));
    }

    pub fn poll_data(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Bytes, Broken>>> {
        let Some(link) = &mut self.link else { return Poll::Ready(None) };
        match link.poll_data(cx) {
            Poll::Ready(Some(Ok(data))) => {
                if let Some(patience) = &mut self.patience {
                    patience.restart();
                }
                Poll::Ready(Some(Ok(data)))
            }
            Poll::Ready(Some(Err(error))) => {
                self.link = None;
                Poll::Ready(Some(Err(error.into())))
            }
            Poll::Ready(None) => {
                self.give_back(cx);
                Poll::Ready(None)
            }
            Poll::Pending => match &mut self.patience {
                Some(patience) => patience.poll(cx).map(|limit| Some(Err(Broken::Stalled(limit)))),
                None => Poll::Pending,
            },
        }
    }

    pub async fn data(&mut self) -> Option<Result<Bytes, Broken>> {
        std::future::poll_fn(|cx| self.poll_data(cx)).await
    }

    /// The whole body, unless it has more than `limit` bytes or a pause longer than `silence`.
    pub async fn collect(&mut self, limit: usize, silence: Duration) -> Result<Bytes, CollectError> {
        let Some(first) = self.data().await.transpose()? else {
            return Ok(Bytes::new());
        };
        self.limit_silence(silence);
        let Some(second) = self.data().await.transpose()? else {
            return Ok(first);
        };
        let mut whole = Vec::with_capacity(2 * (first.len() + second.len()));
        whole.extend_from_slice(&first);
        whole.extend_from_slice(&second);
        while let Some(more) = self.data().await.transpose()? {
            if whole.len() + more.len() > limit {
                return Err(CollectError::TooLarge(limit));
            }
            whole.extend_from_slice(&more);
        }
        Ok(whole.into())
    }

    /// Reads what little may be left, so that the connection can be used again, without anyone waiting for it.
    pub fn drain(mut self) {
        if let Poll::Ready(end) = self.poll_data(&mut Context::from_waker(Waker::noop()))
            && end.is_none_or(|data| data.is_err())
        {
            return;
        }
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let ended = async { while let Some(Ok(_)) = self.data().await {} };
                let _ = tokio::time::timeout(DRAIN_TIME, ended).await;
            });
        }
    }

    fn give_back(&mut self, cx: &mut Context<'_>) {
        if let Some(mut link) = self.link.take()
            && link.is_ready(cx)
        {
            self.links.give_back(&self.replica, link);
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum CollectError {
    #[error(transparent)]
    Broken(#[from] Broken),
    #[error("the answer has more than {0} bytes")]
    TooLarge(usize),
}

/// A limit on silence, or up to an eighth more and some milliseconds: what comes is noted without a look at the clock, and the time that passes
/// in between is counted by a timer.
struct Patience {
    limit: Duration,
    /// Silence is too long when it has ticked so often.
    ticks_left: u32,
    timer: Option<Pin<Box<Sleep>>>,
}

impl Patience {
    const TICKS: u32 = 8;

    fn new(limit: Duration) -> Self {
        Self { limit, ticks_left: Self::TICKS + 1, timer: None }
    }

    fn restart(&mut self) {
        self.ticks_left = Self::TICKS + 1;
    }

    /// The timer wakes whoever asked first: an answer stays with its task.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Duration> {
        let tick = self.limit / Self::TICKS;
        let timer = match &mut self.timer {
            Some(timer) if !timer.is_elapsed() => return Poll::Pending,
            timer => timer.get_or_insert_with(|| Box::pin(sleep(tick))),
        };
        while pin!(unconstrained(timer.as_mut())).poll(cx).is_ready() {
            self.ticks_left = self.ticks_left.saturating_sub(1);
            if self.ticks_left == 0 {
                return Poll::Ready(self.limit);
            }
            timer.as_mut().reset(Instant::now() + tick);
        }
        Poll::Pending
    }
}
