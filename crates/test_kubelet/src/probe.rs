//! Probes with the intervals, timeouts and thresholds of the Pod.

use std::time::Duration;

use k8s_openapi::api::core::v1::Probe;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

/// A probe and its consecutive failures.
pub(super) struct ProbeState {
    probe: Probe,
    next: Instant,
    failures: i32,
}

impl ProbeState {
    pub(super) fn new(probe: &Probe) -> Self {
        let delay = Duration::from_secs(seconds(probe.initial_delay_seconds, 0));
        Self { probe: probe.clone(), next: Instant::now() + delay, failures: 0 }
    }

    pub(super) fn is_due(&self) -> bool {
        Instant::now() >= self.next
    }

    /// Runs the probe once.
    pub(super) async fn run(&mut self, address: &str) -> ProbeResult {
        self.next = Instant::now() + Duration::from_secs(seconds(self.probe.period_seconds, 10));
        let timeout = Duration::from_secs(seconds(self.probe.timeout_seconds, 1));
        let success = tokio::time::timeout(timeout, succeeds(&self.probe, address)).await.unwrap_or(false);
        if success {
            self.failures = 0;
            return ProbeResult::Success;
        }
        self.failures += 1;
        if self.failures >= self.probe.failure_threshold.unwrap_or(3) {
            ProbeResult::ThresholdReached
        } else {
            ProbeResult::Failure
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProbeResult {
    Success,
    Failure,
    /// Failed as often as the failure threshold.
    ThresholdReached,
}

fn seconds(value: Option<i32>, default: u64) -> u64 {
    value.and_then(|value| u64::try_from(value).ok()).unwrap_or(default)
}

async fn succeeds(probe: &Probe, address: &str) -> bool {
    if let Some(get) = &probe.http_get {
        let path = get.path.as_deref().unwrap_or("/");
        return match &get.port {
            IntOrString::Int(port) => status(address, *port, path).await.is_some_and(|code| (200..400).contains(&code)),
            IntOrString::String(_) => false,
        };
    }
    match probe.tcp_socket.as_ref().map(|socket| &socket.port) {
        Some(IntOrString::Int(port)) => TcpStream::connect(format!("{address}:{port}")).await.is_ok(),
        Some(IntOrString::String(_)) => false,
        None => true,
    }
}

async fn status(address: &str, port: i32, path: &str) -> Option<u16> {
    let mut stream = TcpStream::connect(format!("{address}:{port}")).await.ok()?;
    let request = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut head = [0; 12];
    stream.read_exact(&mut head).await.ok()?;
    std::str::from_utf8(&head).ok()?.split(' ').nth(1)?.parse().ok()
}
