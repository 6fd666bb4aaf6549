//! The metrics of dashboards.

use super::Division;

/// A metric that a dashboard can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// All calls: served, failed and rejected.
    Requests,
    /// Calls that failed, were rejected, or whose client disconnected.
    Errors,
    Tokens,
    /// Time to the first token of streams.
    Ttft,
    /// Time from one token of a stream to the next.
    TimePerOutputToken,
    /// From the request to the end of the response, of served calls.
    Latency,
    /// Average number of concurrent calls.
    InFlight,
    /// How long calls to dedicated endpoints were held until a replica was ready, without calls that were not held.
    Hold,
    /// From the request until it was sent to a replica, without the hold.
    Queue,
    /// How often an endpoint was woken. The duration is not reported.
    ColdStarts,
    RateLimitHits,
    /// How busy the GPUs of endpoints were, while measured.
    GpuBusy,
    /// How full the KV caches of endpoints' engines were.
    KvCache,
    /// Calls that wait in the engines of endpoints.
    Waiting,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a metric; there are {known}", known = Metric::ALL.map(Metric::as_str).join(", "))]
pub struct MetricError(String);

/// The unit of a metric's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Calls,
    Errors,
    Tokens,
    Seconds,
    Starts,
    /// From 0 to 1.
    Fraction,
}

impl Unit {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Calls => "calls",
            Self::Errors => "errors",
            Self::Tokens => "tokens",
            Self::Seconds => "seconds",
            Self::Starts => "starts",
            Self::Fraction => "fraction",
        }
    }
}

impl Metric {
    pub const ALL: [Self; 14] = [
        Self::Requests,
        Self::Errors,
        Self::Tokens,
        Self::Ttft,
        Self::TimePerOutputToken,
        Self::Latency,
        Self::InFlight,
        Self::Hold,
        Self::Queue,
        Self::ColdStarts,
        Self::RateLimitHits,
        Self::GpuBusy,
        Self::KvCache,
        Self::Waiting,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Errors => "errors",
            Self::Tokens => "tokens",
            Self::Ttft => "ttft",
            Self::TimePerOutputToken => "time_per_output_token",
            Self::Latency => "latency",
            Self::InFlight => "in_flight",
            Self::Hold => "hold",
            Self::Queue => "queue",
            Self::ColdStarts => "cold_starts",
            Self::RateLimitHits => "rate_limit_hits",
            Self::GpuBusy => "gpu_busy",
            Self::KvCache => "kv_cache",
            Self::Waiting => "waiting",
        }
    }

    pub fn parse(text: &str) -> Result<Self, MetricError> {
        let known = Self::ALL.into_iter().find(|metric| metric.as_str() == text);
        known.ok_or_else(|| MetricError(text.chars().take(64).collect()))
    }

    pub const fn unit(self) -> Unit {
        match self {
            Self::Requests | Self::InFlight | Self::Waiting => Unit::Calls,
            Self::Errors | Self::RateLimitHits => Unit::Errors,
            Self::Tokens => Unit::Tokens,
            Self::Ttft | Self::TimePerOutputToken | Self::Latency | Self::Hold | Self::Queue => Unit::Seconds,
            Self::ColdStarts => Unit::Starts,
            Self::GpuBusy | Self::KvCache => Unit::Fraction,
        }
    }

    /// Whether the metric can be divided this way. Measurements of endpoints have no key, and only errors have codes.
    pub const fn divides_by(self, division: Division) -> bool {
        match division {
            Division::Endpoint => true,
            Division::Model | Division::Key => !self.is_of_endpoints(),
            Division::Code => matches!(self, Self::Errors | Self::RateLimitHits),
        }
    }

    /// Whether it is measured at endpoints rather than for each call.
    pub const fn is_of_endpoints(self) -> bool {
        matches!(self, Self::ColdStarts | Self::GpuBusy | Self::KvCache | Self::Waiting)
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
        assert_eq!((by(Division::Code), by(Division::Key)), (2, 10));
    }
}
