//! One client connection: writes a rendered request and reads its response without keeping it.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use memchr::memchr_iter;
use testkit::http::response_reader::ResponseReader;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;

/// Longer than any response of the benchmark takes.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Bytes of an unexpected response in an error message.
const SHOWN_BYTES: usize = 600;

pub(crate) struct Connection {
    stream: TcpStream,
    reader: ResponseReader,
    buffer: Box<[u8]>,
}

/// Result of a call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Exchange {
    pub(crate) status: u16,
    /// Blank lines in the payload: the events of a stream.
    pub(crate) events: u64,
    /// Arrival of the first payload byte.
    pub(crate) first_payload: Instant,
}

impl Connection {
    pub(crate) async fn open(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).await.with_context(|| format!("connect to {address}"))?;
        Self::over(stream)
    }

    /// Connects from a loopback address.
    pub(crate) async fn open_from(own: Ipv4Addr, address: SocketAddr) -> anyhow::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::from((own, 0)))?;
        Self::over(socket.connect(address).await.with_context(|| format!("connect to {address} from {own}"))?)
    }

    fn over(stream: TcpStream) -> anyhow::Result<Self> {
        stream.set_nodelay(true)?;
        Ok(Self { stream, reader: ResponseReader::default(), buffer: vec![0; 16 * 1024].into() })
    }

    /// Sends a request and reads its complete response.
    pub(crate) async fn call(&mut self, request: &[u8]) -> anyhow::Result<Exchange> {
        let whole = self.write_and_read(request, |reader, _| reader.is_done());
        timeout(TIMEOUT, whole).await.context("no response")?
    }

    /// Sends a request and reads its complete response, which must have the status.
    pub(crate) async fn exchange(&mut self, request: &[u8], status: u16) -> anyhow::Result<Exchange> {
        let exchange = self.call(request).await?;
        if exchange.status != status {
            bail!("expected status {status}:\n{}", self.shown());
        }
        Ok(exchange)
    }

    /// Sends a request and returns once this many events have arrived.
    pub(crate) async fn begin(&mut self, request: &[u8], events: u64) -> anyhow::Result<()> {
        let enough = |_: &ResponseReader, seen: u64| seen >= events;
        let exchange = timeout(TIMEOUT, self.write_and_read(request, enough)).await.context("no events")??;
        if exchange.status != 200 {
            bail!("expected a stream:\n{}", self.shown());
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
                bail!("the connection was closed within a response:\n{}", self.shown());
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
        // A short response arrived in one read, including its head.
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
