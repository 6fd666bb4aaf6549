//! The file, and what it names.

use super::finding::Finding;
use crate::config::Config;
use crate::config::load;
use crate::edge::tls;
use std::path::Path;

const CHECK: &str = "configuration";

/// The configuration, if it can be used.
pub(super) fn check(file: Option<&Path>) -> (Option<Config>, Vec<Finding>) {
    let config = match load(file) {
        Ok(config) => config,
        Err(problems) => {
            let remedy = "mend these lines; until then the store, the engines and the rest cannot be looked at";
            return (None, vec![Finding::problem(CHECK, problems.to_string(), remedy)]);
        }
    };
    let models = config.catalogue.ids().count();
    let place =
        file.map_or_else(|| "no file: every setting has its default".to_owned(), |file| file.display().to_string());
    let mut findings = vec![match models {
        0 => Finding::warning(CHECK, format!("{place}; no models"), "add [[models]] tables, as in config/example.toml"),
        _ => Finding::ok(CHECK, format!("{place}; {models} models, catalogue {}", config.catalogue.hash)),
    }];
    if let Some(Err(error)) = config.server.tls.as_ref().map(tls::acceptor) {
        let remedy = "give server.tls_cert and server.tls_key PEM files that belong together and can be read";
        findings.push(Finding::problem(CHECK, format!("{error:#}"), remedy));
    }
    (Some(config), findings)
}
