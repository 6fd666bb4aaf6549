//! Signals: SIGHUP reloads the catalogue, SIGTERM and SIGINT end the process.

use crate::config::load;
use crate::price_keeper::Served;
use fleet::Routes;
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
    pub(super) async fn wait_for_end(&mut self, routes: &Routes, served: &Served, config_file: Option<&Path>) -> End {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return End::Terminated,
                _ = self.interrupt.recv() => return End::Interrupted,
                _ = self.hang_up.recv() => reload(routes, served, config_file),
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
fn reload(routes: &Routes, served: &Served, config_file: Option<&Path>) {
    let loaded = load(config_file).and_then(|config| {
        routes.apply(&config.catalogue)?;
        Ok(config.catalogue)
    });
    match loaded {
        Ok(catalogue) => {
            tracing::info!(models = catalogue.ids().count(), hash = %catalogue.hash, "catalogue reloaded");
            served.replace(catalogue);
        }
        Err(error) => tracing::error!("the catalogue was not reloaded: {error:#}"),
    }
}
