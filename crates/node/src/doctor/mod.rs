//! `forebay admin doctor`: checks everything that a node needs, changes nothing, and reports problems with remedies.
//!
//! Each check is a file: one function observes, a pure function `judge` decides. `docs/operations.md` lists the checks.

mod capabilities;
mod catalogue;
mod clock;
mod cluster;
mod configuration;
mod data_directory;
mod descriptors;
mod disk;
mod engines;
mod files;
mod finding;
mod gpus;
mod journal;
mod limits;
mod ports;
mod replicas;
mod resident;
mod store;
mod telemetry;

pub use engines::missing_programs;
pub use finding::{Finding, Level, Report};
pub use resident::ResidentDoctor;

use crate::data_dir;
use fleet::{Connector, Launcher};
use std::path::Path;

/// Runs all checks that are possible.
pub async fn examine(config_file: Option<&Path>, data_dir: &Path) -> Report {
    let (config, mut findings) = configuration::check(config_file);
    findings.push(data_directory::check(data_dir));
    findings.push(descriptors::check());
    let Some(config) = config else { return Report::new(findings) };
    let is_served = data_dir::is_claimed(data_dir);
    let connector = Connector::default();
    let (store, found) = store::check(&config, data_dir).await;
    findings.push(found);
    let (redis_clock, found) = limits::check(&config, store.as_ref()).await;
    findings.push(found);
    findings.push(journal::check(&config, data_dir, is_served));
    let (whole_catalogue, found) = catalogue::check(&config, data_dir, store.as_ref()).await;
    findings.extend(found);
    findings.extend(engines::check(&whole_catalogue, &Launcher::find(data_dir), &connector).await);
    findings.extend(capabilities::check(&whole_catalogue, store.as_ref()).await);
    findings.extend(replicas::check(data_dir).await);
    findings.push(gpus::check(&config));
    findings.extend(cluster::check(&config).await);
    findings.push(clock::check(store.as_ref(), redis_clock).await);
    findings.extend(files::check(&config, &connector, store.as_ref()).await);
    findings.push(disk::check(data_dir, config.journal.max_bytes));
    findings.extend(ports::check(&config, is_served));
    findings.extend(telemetry::check(&config, &connector).await);
    if let Some(store) = store {
        store.close().await;
    }
    Report::new(findings)
}
