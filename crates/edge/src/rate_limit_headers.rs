//! The `x-ratelimit-*` and `anthropic-ratelimit-*` headers of serverless responses.

use domain::Timestamp;
use domain::limits::{LimitStatus, RateLimitStatus};

/// Writes six header lines.
pub(crate) fn write(out: &mut Vec<u8>, rate_limits: &RateLimitStatus) {
    for (unit, bucket) in [("requests", rate_limits.requests), ("tokens", rate_limits.tokens)] {
        let LimitStatus { limit, remaining, reset_millis } = bucket;
        for (name, count) in [("x-ratelimit-limit-", limit), ("x-ratelimit-remaining-", remaining)] {
            write_name(out, name, unit);
            write_number(out, count);
            out.extend_from_slice(b"\r\n");
        }
        write_name(out, "x-ratelimit-reset-", unit);
        write_duration(out, reset_millis);
        out.extend_from_slice(b"\r\n");
    }
}

/// The same six in the words of Anthropic's API, where a reset is a moment.
pub(crate) fn write_anthropic(out: &mut Vec<u8>, rate_limits: &RateLimitStatus, now: Timestamp) {
    for (unit, bucket) in [("requests", rate_limits.requests), ("tokens", rate_limits.tokens)] {
        let LimitStatus { limit, remaining, reset_millis } = bucket;
        for (name, count) in [("limit", limit), ("remaining", remaining)] {
            write_name(out, "anthropic-ratelimit-", &format!("{unit}-{name}"));
            write_number(out, count);
            out.extend_from_slice(b"\r\n");
        }
        write_name(out, "anthropic-ratelimit-", &format!("{unit}-reset"));
        let millis = now.millis().saturating_add(i64::try_from(reset_millis).unwrap_or(i64::MAX));
        out.extend_from_slice(format!("{}\r\n", Timestamp::from_millis(millis)).as_bytes());
    }
}

fn write_name(out: &mut Vec<u8>, name: &str, unit: &str) {
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(unit.as_bytes());
    out.extend_from_slice(b": ");
}

fn write_number(out: &mut Vec<u8>, number: u64) {
    out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Writes whole seconds, rounded up, as `1s`, `6m0s` or `1h0m0s`.
fn write_duration(out: &mut Vec<u8>, millis: u64) {
    let seconds = millis.div_ceil(1_000);
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        write_number(out, hours);
        out.push(b'h');
    }
    if hours > 0 || minutes > 0 {
        write_number(out, minutes);
        out.push(b'm');
    }
    write_number(out, rest);
    out.push(b's');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_hours_minutes_and_seconds() {
        for (millis, text) in
            [(0, "0s"), (1, "1s"), (1_000, "1s"), (1_001, "2s"), (360_000, "6m0s"), (3_600_000, "1h0m0s")]
        {
            let mut written = Vec::new();
            write_duration(&mut written, millis);
            assert_eq!(written, text.as_bytes());
        }
    }
}
