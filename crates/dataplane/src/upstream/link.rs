//! One connection to a replica.
//!
//! The connection is driven by whoever uses it, in the same task, instead of by a task of its own: an event on its way
//! to a client wakes one task, and dropping the link closes the connection at once.

use super::Outgoing;
use fleet::{Connector, Replica, Stream};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::http1::{Builder, Connection, SendRequest};
use hyper_util::rt::TokioIo;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Instant;

pub struct Link {
    sender: SendRequest<Outgoing>,
    driver: Box<Connection<TokioIo<Stream>, Outgoing>>,
    closed: bool,
    /// It has carried a call before, so the replica may have closed it meanwhile.
    pub used: bool,
    pub idle_since: Instant,
}

/// Why a link could not be made.
#[derive(Debug, thiserror::Error)]
pub enum Unlinked {
    #[error("cannot connect: {0}")]
    Connect(#[from] std::io::Error),
    #[error("cannot speak HTTP: {0}")]
    Handshake(#[from] hyper::Error),
}

impl Link {
    pub async fn open(connector: &Connector, replica: &Replica) -> Result<Self, Unlinked> {
        let stream = connector.connect(&replica.address).await?;
        let (sender, driver) = Builder::new().handshake(TokioIo::new(stream)).await?;
        Ok(Self { sender, driver: Box::new(driver), closed: false, used: false, idle_since: Instant::now() })
    }

    /// Sends a request and waits for the head of the answer.
    pub async fn send(&mut self, request: Request<Outgoing>) -> Result<Response<Incoming>, hyper::Error> {
        let Self { sender, driver, closed, .. } = self;
        let mut answer = pin!(sender.send_request(request));
        poll_fn(|cx| {
            drive(driver, closed, cx);
            answer.as_mut().poll(cx)
        })
        .await
    }

    /// Moves bytes in both directions as far as they go now.
    pub fn drive(&mut self, cx: &mut Context<'_>) {
        drive(&mut self.driver, &mut self.closed, cx);
    }

    /// Whether the connection is open and ready for another request.
    pub fn is_ready(&mut self, cx: &mut Context<'_>) -> bool {
        self.drive(cx);
        !self.closed && matches!(self.sender.poll_ready(cx), Poll::Ready(Ok(())))
    }
}

fn drive(driver: &mut Connection<TokioIo<Stream>, Outgoing>, closed: &mut bool, cx: &mut Context<'_>) {
    if !*closed {
        // How it ended is told to whoever waits for the answer.
        *closed = Pin::new(driver).poll(cx).is_ready();
    }
}
