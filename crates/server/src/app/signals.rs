//! Signals: SIGHUP reloads the catalogue, SIGTERM and SIGINT end the process.

use config::load;
use node::catalogue_keeper::CatalogueKeeper;
use std::path::Path;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals of this process, caught from the start.
pub(super) struct Signals {
    terminate: Signal,
    interrupt: Signal,
    hang_up: Signal,
}

/// The signal that ended the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// SIGTERM: another process takes over, so replicas of dedicated endpoints keep running.
    Terminated,
    /// SIGINT: replicas of this machine end, too.
    Interrupted,
}

impl Signals {
    pub(super) fn listen() -> anyhow::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// Reloads the catalogue on SIGHUP and returns on SIGTERM or SIGINT.
    pub(super) async fn wait_for_end(&mut self, catalogue: &CatalogueKeeper, config_file: Option<&Path>) -> End {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return End::Terminated,
                _ = self.interrupt.recv() => return End::Interrupted,
                _ = self.hang_up.recv() => reload(catalogue, config_file).await,
            }
        }
    }

    /// Returns on the next SIGTERM or SIGINT.
    pub(super) async fn wait_for_termination(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// An invalid catalogue changes nothing.
async fn reload(catalogue: &CatalogueKeeper, config_file: Option<&Path>) {
    let reloaded = match load(config_file) {
        Ok(config) => catalogue.reload(&config).await,
        Err(error) => Err(error),
    };
    if let Err(error) = reloaded {
        tracing::error!("the catalogue was not reloaded: {error:#}");
    }
}
