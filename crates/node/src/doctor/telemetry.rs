//! Checks the receiver of traces, if one is configured.

use super::finding::Finding;
use config::Config;
use fleet::{Address, Connector};

const CHECK: &str = "telemetry";

pub(super) async fn check(config: &Config, connector: &Connector) -> Option<Finding> {
    let traces = config.telemetry.traces.as_ref()?;
    let connected = match Address::parse(&traces.url) {
        Ok(address) => connector.connect(&address).await.map(drop).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    Some(match connected {
        Ok(()) if traces.record_content => Finding::warning(
            CHECK,
            format!("{} responds, and receives prompts and completions", traces.url),
            "set telemetry.record_content = false unless this is intended",
        ),
        Ok(()) => Finding::ok(CHECK, format!("{} responds", traces.url)),
        Err(error) => Finding::warning(
            CHECK,
            format!("the receiver of traces at {} does not respond: {error}", traces.url),
            "check that it runs and accepts OTLP over HTTP at telemetry.otlp_endpoint; calls are served without it",
        ),
    })
}
