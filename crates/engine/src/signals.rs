//! Stop signals.

use std::io;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

/// SIGTERM, SIGINT and, optionally, the end of standard input.
pub(crate) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// Finishes at the end of standard input; `None` if not enabled, or already reported.
    stdin: Option<JoinHandle<io::Result<u64>>>,
}

impl Signals {
    pub(crate) fn listen(stop_with_stdin: bool) -> io::Result<Self> {
        let stdin = stop_with_stdin.then(|| tokio::task::spawn_blocking(end_of_stdin));
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())?, stdin })
    }

    /// Waits for the next signal.
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

/// Returns when the writer has closed standard input or has exited.
fn end_of_stdin() -> io::Result<u64> {
    io::copy(&mut io::stdin(), &mut io::sink())
}
