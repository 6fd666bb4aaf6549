//! Checks the catalogue of the store, and that there are models at all.

use super::finding::Finding;
use crate::catalogue_keeper::{self, Snapshot};
use crate::upstream_keys;
use config::Config;
use domain::Catalogue;
use std::path::Path;
use store::Store;

const CHECK: &str = "catalogue";

/// The whole catalogue; without a store, that of the file.
pub(super) async fn check(config: &Config, data_dir: &Path, store: Option<&Store>) -> (Catalogue, Vec<Finding>) {
    let snapshot = match store {
        // A store that was not migrated yet has no catalogue; its own check says so.
        Some(store) => {
            // A file that cannot be read keeps the node from starting; its keys are missing here.
            let keys = upstream_keys::read(config, data_dir, store.engine()).ok().flatten();
            catalogue_keeper::inspect(store, config, keys.as_ref()).await.ok()
        }
        None => None,
    };
    let catalogue = snapshot.as_ref().map_or_else(|| config.catalogue.clone(), Snapshot::merged);
    let mut findings = snapshot.as_ref().map(judge).unwrap_or_default();
    if catalogue.ids().count() == 0 {
        let remedy = "add [[models]] tables, as in config/example.toml, or models in the console";
        findings.push(Finding::warning(CHECK, "no models", remedy));
    }
    (catalogue, findings)
}

fn judge(snapshot: &Snapshot) -> Vec<Finding> {
    let mut findings = Vec::new();
    let clashes = snapshot.clashes();
    if !clashes.is_empty() {
        let what = format!("the configuration file and the store both have {}", clashes.join(", "));
        let remedy = "remove them from one of the two, or set server.catalogue to \"file\" or \"store\"";
        findings.push(Finding::problem(CHECK, what, remedy));
    }
    for entry in snapshot.models.iter().filter(|entry| entry.stored.enabled) {
        if let Some(problem) = &entry.problem {
            let what = format!("model {} of the store is not served: {problem}", entry.stored.id);
            findings.push(Finding::problem(CHECK, what, "correct or disable the model in the console"));
        }
    }
    findings
}
