//! The metrics of dashboards.

use super::Division;
use crate::named_enum;

named_enum! {
    /// A metric that a dashboard can show.
    pub enum Metric or MetricError {
        /// All calls: served, failed and rejected.
        Requests = "requests",
        /// Calls that failed or were rejected.
        Errors = "errors",
        /// Calls whose client disconnected before the response ended.
        Cancelled = "cancelled",
        Tokens = "tokens",
        /// Time to the first token of streams.
        Ttft = "ttft",
        /// Time from one token of a stream to the next.
        TimePerOutputToken = "time_per_output_token",
        /// From the request to the end of the response, of served calls.
        Latency = "latency",
        /// Average number of concurrent calls.
        InFlight = "in_flight",
        /// How long calls to dedicated endpoints were held until a replica was ready, without calls that were not held.
        Hold = "hold",
        /// From the request until it was sent to a replica, without the hold.
        Queue = "queue",
        /// How often an endpoint was woken. The duration is not reported.
        ColdStarts = "cold_starts",
        RateLimitHits = "rate_limit_hits",
        /// How busy the GPUs of endpoints were, while measured.
        GpuBusy = "gpu_busy",
        /// GPUs that endpoints held on average, and how many of them were busy.
        Gpus = "gpus",
        /// How full the KV caches of endpoints' engines were.
        KvCache = "kv_cache",
        /// Calls that wait in the engines of endpoints.
        Waiting = "waiting",
        /// Uncached prompt tokens in flight at the replicas of endpoints.
        PrefillQueue = "prefill_queue",
        /// Replicas that an endpoint should have, and those that were ready.
        Replicas = "replicas",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a metric; there are {known}", known = Metric::ALL.map(Metric::as_str).join(", "))]
pub struct MetricError(String);

named_enum! {
    /// The unit of a metric's values.
    pub enum Unit {
        Calls = "calls",
        Errors = "errors",
        Tokens = "tokens",
        Seconds = "seconds",
        Starts = "starts",
        Gpus = "gpus",
        Replicas = "replicas",
        /// From 0 to 1.
        Fraction = "fraction",
    }
}

impl Metric {
    pub const fn unit(self) -> Unit {
        match self {
            Self::Requests | Self::Cancelled | Self::InFlight | Self::Waiting => Unit::Calls,
            Self::Errors | Self::RateLimitHits => Unit::Errors,
            Self::Tokens | Self::PrefillQueue => Unit::Tokens,
            Self::Ttft | Self::TimePerOutputToken | Self::Latency | Self::Hold | Self::Queue => Unit::Seconds,
            Self::ColdStarts => Unit::Starts,
            Self::Gpus => Unit::Gpus,
            Self::Replicas => Unit::Replicas,
            Self::GpuBusy | Self::KvCache => Unit::Fraction,
        }
    }

    /// Whether the metric can be divided this way. Measurements of endpoints have no key, and only errors have codes.
    pub const fn divides_by(self, division: Division) -> bool {
        match division {
            Division::Endpoint => true,
            Division::Replica => matches!(self, Self::PrefillQueue),
            Division::Model | Division::Key => !self.is_of_endpoints(),
            Division::Code => matches!(self, Self::Errors | Self::RateLimitHits),
        }
    }

    /// Whether its points are whole windows of measurement.
    pub const fn has_windows(self) -> bool {
        matches!(self, Self::GpuBusy | Self::Gpus)
    }

    /// Whether it is measured at endpoints rather than for each call.
    pub const fn is_of_endpoints(self) -> bool {
        matches!(
            self,
            Self::ColdStarts
                | Self::GpuBusy
                | Self::Gpus
                | Self::KvCache
                | Self::Waiting
                | Self::PrefillQueue
                | Self::Replicas
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_is_parsed_by_its_name() {
        for metric in Metric::ALL {
            assert_eq!(Metric::parse(metric.as_str()), Ok(metric));
        }
        let error = Metric::parse("colour").unwrap_err().to_string();
        assert!(error.starts_with("`colour` is not a metric; there are requests, errors,"), "{error}");
    }

    #[test]
    fn only_errors_have_codes_and_metrics_of_endpoints_have_no_key() {
        let by = |division| Metric::ALL.into_iter().filter(|metric| metric.divides_by(division)).count();
        assert_eq!(by(Division::Endpoint), Metric::ALL.len());
        assert_eq!((by(Division::Code), by(Division::Key), by(Division::Replica)), (2, 11, 1));
    }
}
