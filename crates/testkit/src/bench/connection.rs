//! One client connection: writes a rendered request, reads its answer, keeps nothing.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use memchr::memchr_iter;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::http::response_reader::ResponseReader;

/// No answer of the benchmark takes this long.
const PATIENCE: Duration = Duration::from_secs(60);
/// The part of an unexpected answer that is shown.
const SHOWN_BYTES: usize = 600;

pub(super) struct Connection {
    stream: TcpStream,
    reader: ResponseReader,
    buffer: Box<[u8]>,
}

/// What came back.
#[derive(Debug, Clone, Copy)]
pub(super) struct Exchange {
    pub(super) status: u16,
    /// Blank lines in the payload: the events of a stream.
    pub(super) events: u64,
    /// When the first payload byte was here.
    pub(super) first_payload: Instant,
}

impl Connection {
    pub(super) async fn open(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await.with_context(|| format!("connect to {address}"))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, reader: ResponseReader::default(), buffer: vec![0; 16 * 1024].into() })
    }

    /// One request and its whole answer, which must have the status.
    pub(super) async fn exchange(&mut self, request: &[u8], status: u16) -> anyhow::Result<Exchange> {
        let whole = self.write_and_read(request, |reader, _| reader.is_done());
        let exchange = timeout(PATIENCE, whole).await.context("no answer")??;
        if exchange.status != status {
            bail!("{status} was expected:\n{}", self.shown());
        }
        Ok(exchange)
    }

    /// One request and the beginning of its answer: returns once this many events are here.
    pub(super) async fn begin(&mut self, request: &[u8], events: u64) -> anyhow::Result<()> {
        let enough = |_: &ResponseReader, seen: u64| seen >= events;
        let exchange = timeout(PATIENCE, self.write_and_read(request, enough)).await.context("no events")??;
        if exchange.status != 200 {
            bail!("a stream was expected:\n{}", self.shown());
        }
        Ok(())
    }

    async fn write_and_read(
        &mut self,
        request: &[u8],
        enough: impl Fn(&ResponseReader, u64) -> bool,
    ) -> anyhow::Result<Exchange> {
        self.reader.reset();
        self.stream.write_all(request).await?;
        let (mut events, mut last_byte, mut first_payload) = (0, 0, None);
        while !self.reader.is_done() && !enough(&self.reader, events) {
            let count = self.stream.read(&mut self.buffer).await?;
            if count == 0 {
                bail!("the connection was closed in the middle of an answer:\n{}", self.shown());
            }
            self.reader.feed(&self.buffer[..count], |payload| {
                first_payload.get_or_insert_with(Instant::now);
                events += blank_lines(payload, &mut last_byte);
            })?;
        }
        let first_payload = first_payload.unwrap_or_else(Instant::now);
        Ok(Exchange { status: self.reader.status(), events, first_payload })
    }

    fn shown(&self) -> String {
        let last_read = String::from_utf8_lossy(&self.buffer[..SHOWN_BYTES]);
        let head = String::from_utf8_lossy(self.reader.head());
        // A short answer came in one read, with its head.
        let head = if last_read.starts_with(head.as_ref()) { "" } else { head.as_ref() };
        format!("{head}{}", last_read.trim_matches('\0'))
    }
}

/// Counts `\n\n` across reads.
fn blank_lines(payload: &[u8], last_byte: &mut u8) -> u64 {
    let before = |at: usize| if at == 0 { *last_byte } else { payload[at - 1] };
    let count = memchr_iter(b'\n', payload).filter(|&at| before(at) == b'\n').count();
    if let Some(last) = payload.last() {
        *last_byte = *last;
    }
    count as u64
}
