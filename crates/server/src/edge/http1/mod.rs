//! HTTP/1.1 for clients: requests one after another on a connection, each answered before the next is read.
//!
//! A connection, the handler of its request and the body of its answer are one task. While there is nothing to read and
//! nothing to write, a connection holds no buffer (decision 17 says why this is not hyper's part).

mod feed;
mod head;
mod output;
mod patience;
mod spare;
#[cfg(test)]
mod tests;

pub(crate) use feed::{Fed, Gone};

use super::answered::Answered;
use super::body::Body;
use super::headers::Head;
use super::incoming::Incoming;
use feed::Feed;
use head::{Arrived, BadHead};
use http::{HeaderValue, Method, Response, StatusCode, header};
use http_body::Body as _;
use output::{Ending, Output};
use patience::Patience;
use std::future::{Future, poll_fn};
use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::watch;

/// How long a client that still sends is listened to after its last answer: if its connection were closed at once, it
/// might lose the answer.
const LINGER: Duration = Duration::from_secs(2);

/// How long a connection may be idle: longer than any client keeps one that it does not use.
pub(crate) const IDLE: Duration = Duration::from_secs(100);

/// Serves a connection until it ends or is idle for too long, or until `stop` says so and its last answer is out.
pub(crate) async fn serve<S, A, F>(stream: S, idle: Duration, stop: watch::Receiver<bool>, answer: A)
where
    S: AsyncRead + AsyncWrite + Unpin,
    A: Fn(Head, Incoming) -> F,
    F: Future<Output = Answered>,
{
    let mut connection = Connection { stream, input: Vec::new(), output: Output::default() };
    let ended = connection.run(answer, Patience::new(idle, stop)).await;
    if matches!(ended, Ok(End::MoreMayCome)) {
        let _ = tokio::time::timeout(LINGER, connection.hear_out()).await;
    } else if ended.is_ok() {
        let _ = connection.stream.shutdown().await;
    }
}

struct Connection<S> {
    stream: S,
    /// What has arrived and was not taken yet.
    input: Vec<u8>,
    output: Output,
}

/// How a connection ends that did not break.
enum End {
    /// The client sends no more.
    Quiet,
    /// It may be sending, and nobody will read it.
    MoreMayCome,
}

/// A request; its body may be on its way.
struct Asked {
    head: Head,
    body: Incoming,
    feed: Option<Feed>,
    manner: Manner,
}

/// How a request wants to be answered.
struct Manner {
    is_head: bool,
    is_old: bool,
    keep_alive: bool,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Connection<S> {
    async fn run<A, F>(&mut self, answer: A, mut patience: Patience) -> io::Result<End>
    where
        A: Fn(Head, Incoming) -> F,
        F: Future<Output = Answered>,
    {
        loop {
            let asked = match self.next_request(&mut patience).await {
                Ok(Some(asked)) => asked,
                Ok(None) => return Ok(End::Quiet),
                Err(bad) => return self.refuse(bad).await,
            };
            patience.renew();
            let Asked { head, body, mut feed, manner } = asked;
            let answered = {
                let mut answering = pin!(answer(head, body));
                poll_fn(|cx| self.poll_answer(cx, answering.as_mut(), feed.as_mut())).await?
            };
            let all_read = match feed.map(Feed::rest) {
                None => true,
                Some(None) => false,
                Some(Some(mut rest)) => {
                    // More may have come while the handler worked.
                    rest.append(&mut self.input);
                    self.input = rest;
                    true
                }
            };
            let keep_alive = manner.keep_alive && all_read && !patience.is_told_to_stop();
            let (body, ending, goes_on) = self.begin_answer(answered, &Manner { keep_alive, ..manner });
            self.send(body, ending).await?;
            match (goes_on, all_read) {
                (true, _) => {}
                (false, true) => return Ok(End::Quiet),
                (false, false) => return Ok(End::MoreMayCome),
            }
        }
    }

    /// The next request; none where the client has closed, or nothing comes for too long.
    async fn next_request(&mut self, patience: &mut Patience) -> Result<Option<Asked>, BadHead> {
        // It may have come behind the last one.
        if !self.input.is_empty() {
            let arrived = std::mem::take(&mut self.input);
            match self.take_request(&arrived)? {
                Some(asked) => return Ok(Some(asked)),
                None => self.input = arrived,
            }
        }
        poll_fn(|cx| {
            loop {
                match self.poll_read(cx, Self::begin) {
                    Poll::Ready(Some(Ok(None))) => {}
                    Poll::Ready(begun) => return Poll::Ready(begun.unwrap_or(Ok(None))),
                    Poll::Pending => return patience.poll(cx, !self.input.is_empty()).map(|()| Ok(None)),
                }
            }
        })
        .await
    }

    /// A request, if that completes its head. As a rule all of it comes at once, and nothing came before it.
    fn begin(&mut self, arrived: &[u8]) -> Result<Option<Asked>, BadHead> {
        if self.input.is_empty() {
            let asked = self.take_request(arrived)?;
            if asked.is_none() {
                self.input = arrived.to_vec();
            }
            return Ok(asked);
        }
        let mut all = std::mem::take(&mut self.input);
        all.extend_from_slice(arrived);
        let asked = if Arrived::may_end(&all, arrived) { self.take_request(&all)? } else { None };
        if asked.is_none() {
            self.input = all;
        }
        Ok(asked)
    }

    fn take_request(&mut self, arrived: &[u8]) -> Result<Option<Asked>, BadHead> {
        let Some((request, used)) = Arrived::read(arrived)? else { return Ok(None) };
        let manner = Manner {
            is_head: request.head.method == Method::HEAD,
            is_old: request.is_old,
            keep_alive: request.keep_alive,
        };
        let rest = &arrived[used..];
        let (body, feed) = match request.body {
            Some(body) => {
                self.input = rest.to_vec();
                (Incoming::Whole(body), None)
            }
            None => {
                let (feed, fed) = feed::open(request.framing, rest, request.expects_continue);
                (Incoming::Fed(fed), Some(feed))
            }
        };
        Ok(Some(Asked { head: request.head, body, feed, manner }))
    }

    /// Reads what has arrived; none at the end.
    fn poll_read<T>(&mut self, cx: &mut Context<'_>, take: impl FnOnce(&mut Self, &[u8]) -> T) -> Poll<Option<T>> {
        spare::with_input(|buffer| match ready!(pin!(self.stream.read_buf(buffer)).poll(cx)) {
            Ok(0) | Err(_) => Poll::Ready(None),
            Ok(_) => Poll::Ready(Some(take(self, buffer))),
        })
    }

    /// Lets the handler work, gives it what it asks for, and looks after the client.
    fn poll_answer<F: Future<Output = Answered>>(
        &mut self,
        cx: &mut Context<'_>,
        mut answering: Pin<&mut F>,
        mut feed: Option<&mut Feed>,
    ) -> Poll<io::Result<Answered>> {
        loop {
            if let Poll::Ready(answered) = answering.as_mut().poll(cx) {
                return Poll::Ready(Ok(answered));
            }
            match &mut feed {
                Some(feed) if feed.is_wanted() => {
                    if std::mem::take(&mut feed.holds_back) {
                        self.output.add(b"HTTP/1.1 100 Continue\r\n\r\n");
                    }
                    ready!(self.output.poll_flush(cx, &mut self.stream))?;
                    ready!(feed.poll(cx, &mut self.stream));
                }
                // What comes now is a part of the body, which nobody wants yet.
                Some(feed) if !feed.is_over() => return Poll::Pending,
                _ => ready!(self.poll_left(cx))?,
            }
        }
    }

    /// Looks whether the client is still there. If it has sent its next request already, it is.
    fn poll_left(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.input.is_empty() {
            return Poll::Pending;
        }
        match ready!(self.poll_read(cx, |connection, arrived| connection.input = arrived.to_vec())) {
            Some(()) => Poll::Pending,
            None => Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
        }
    }

    /// Writes the head of an answer; returns what is to be sent behind it, and whether the connection goes on.
    fn begin_answer(&mut self, mut answered: Answered, manner: &Manner) -> (Body, Ending, bool) {
        let length = answered.response.body().size_hint().exact();
        let ending = match length {
            _ if manner.is_head || has_no_body(answered.response.status()) => Ending::Over,
            Some(length) => Ending::Length(length),
            None if manner.is_old => Ending::Close,
            None => Ending::Chunked,
        };
        if has_no_body(answered.response.status()) {
            answered.response.headers_mut().remove(header::CONTENT_LENGTH);
        }
        if manner.is_head
            && let Some(length) = length.filter(|length| *length > 0)
        {
            answered.response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(length));
        }
        let keep_alive = manner.keep_alive && ending != Ending::Close;
        let connection = match (keep_alive, manner.is_old) {
            (false, _) => Some("close"),
            (true, true) => Some("keep-alive"),
            (true, false) => None,
        };
        self.output.add_head(&answered, ending, connection);
        (answered.response.into_body(), ending, keep_alive)
    }

    async fn send(&mut self, mut body: Body, mut ending: Ending) -> io::Result<()> {
        poll_fn(|cx| self.poll_send(cx, &mut body, &mut ending)).await
    }

    /// Takes what the body has, writes it, and looks after the client while there is nothing to write.
    fn poll_send(&mut self, cx: &mut Context<'_>, body: &mut Body, ending: &mut Ending) -> Poll<io::Result<()>> {
        loop {
            let mut is_waiting = false;
            while !ending.is_over() && self.output.has_room() && !is_waiting {
                match Pin::new(&mut *body).poll_frame(cx)? {
                    Poll::Ready(Some(frame)) => {
                        if let Ok(piece) = frame.into_data() {
                            self.output.add_piece(piece, ending)?;
                        }
                        if body.is_end_stream() {
                            self.output.end(ending)?;
                        }
                    }
                    Poll::Ready(None) => self.output.end(ending)?,
                    Poll::Pending => is_waiting = true,
                }
            }
            ready!(self.output.poll_flush(cx, &mut self.stream))?;
            if ending.is_over() {
                return Poll::Ready(Ok(()));
            }
            if is_waiting {
                return self.poll_left(cx);
            }
        }
    }

    /// Answers what is no request that could be served. Where the next one begins nobody can tell.
    async fn refuse(&mut self, bad: BadHead) -> io::Result<End> {
        let mut response = Response::new(Body::empty());
        *response.status_mut() = bad.status();
        let manner = Manner { is_head: false, is_old: false, keep_alive: false };
        let (body, ending, _) = self.begin_answer(response.into(), &manner);
        self.send(body, ending).await?;
        Ok(End::MoreMayCome)
    }

    /// Reads on, for nobody, until the client has nothing more to say.
    async fn hear_out(&mut self) -> io::Result<()> {
        self.stream.shutdown().await?;
        while poll_fn(|cx| self.poll_read(cx, |_, _| ())).await.is_some() {}
        Ok(())
    }
}

fn has_no_body(status: StatusCode) -> bool {
    status.is_informational() || status == StatusCode::NO_CONTENT || status == StatusCode::NOT_MODIFIED
}
