//! The ways in which the engine is told to stop.

use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

/// SIGTERM, SIGINT and, where a parent holds it, the end of standard input.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// Ends with standard input; `None` when that means nothing, or has been told.
    stdin: Option<JoinHandle<io::Result<u64>>>,
}

impl Signals {
    pub(crate) fn listen(stop_with_stdin: bool) -> io::Result<Self> {
        let stdin = stop_with_stdin.then(|| tokio::task::spawn_blocking(end_of_stdin));
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())?, stdin })
    }

    /// Returns at the next one.
    pub(crate) async fn next(&mut self) {
        let stdin = async {
            match &mut self.stdin {
                Some(end) => drop(end.await),
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            () = stdin => self.stdin = None,
        }
    }
}

/// Returns when whoever holds the other end has closed it, or has died.
fn end_of_stdin() -> io::Result<u64> {
    io::copy(&mut io::stdin(), &mut io::sink())
}
