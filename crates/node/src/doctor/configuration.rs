//! Checks the configuration file and the TLS files it names.

use super::finding::Finding;
use config::Config;
use config::load;
use edge::tls;
use std::path::Path;

const CHECK: &str = "configuration";

/// The configuration, if it is valid.
pub(super) fn check(file: Option<&Path>) -> (Option<Config>, Vec<Finding>) {
    let config = match load(file) {
        Ok(config) => config,
        Err(problems) => {
            let remedy = "fix these lines; until then the store, the engines and the rest cannot be checked";
            return (None, vec![Finding::problem(CHECK, problems.to_string(), remedy)]);
        }
    };
    let models = config.catalogue.ids().count();
    let source =
        file.map_or_else(|| "no file: all settings have their defaults".to_owned(), |file| file.display().to_string());
    let what = format!("{source}; {models} models, catalogue {}", config.catalogue.hash);
    let mut findings = vec![Finding::ok(CHECK, what)];
    if let Some(Err(error)) = config.server.tls.as_ref().map(tls::acceptor) {
        let remedy = "set server.tls_cert and server.tls_key to readable PEM files that match";
        findings.push(Finding::problem(CHECK, format!("{error:#}"), remedy));
    }
    (Some(config), findings)
}
