//! The receiver of traces, where one is set.

use super::finding::Finding;
use crate::config::Config;
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
            format!("{} answers, and prompts and answers are told to it", traces.url),
            "set telemetry.record_content = false unless that is wanted",
        ),
        Ok(()) => Finding::ok(CHECK, format!("{} answers", traces.url)),
        Err(error) => Finding::warning(
            CHECK,
            format!("the receiver of traces at {} does not answer: {error}", traces.url),
            "look whether it runs, and takes OTLP over HTTP at telemetry.otlp_endpoint; calls are served without it",
        ),
    })
}
