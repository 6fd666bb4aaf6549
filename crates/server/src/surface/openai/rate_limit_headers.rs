//! What a client is told about its limits by the minute, with every serverless answer.

use domain::limits::{Standing, Standings};
use http::{HeaderMap, HeaderName, HeaderValue};

/// Limit, remaining and reset of one unit.
type Names = [HeaderName; 3];

const REQUESTS: Names = [
    HeaderName::from_static("x-ratelimit-limit-requests"),
    HeaderName::from_static("x-ratelimit-remaining-requests"),
    HeaderName::from_static("x-ratelimit-reset-requests"),
];
const TOKENS: Names = [
    HeaderName::from_static("x-ratelimit-limit-tokens"),
    HeaderName::from_static("x-ratelimit-remaining-tokens"),
    HeaderName::from_static("x-ratelimit-reset-tokens"),
];

pub(super) fn put(headers: &mut HeaderMap, standings: &Standings) {
    for (names, standing) in [(REQUESTS, standings.requests), (TOKENS, standings.tokens)] {
        let Standing { limit, remaining, reset_millis } = standing;
        let [limit_name, remaining_name, reset_name] = names;
        headers.insert(limit_name, limit.into());
        headers.insert(remaining_name, remaining.into());
        headers.insert(reset_name, duration(reset_millis));
    }
}

/// Whole seconds, rounded up, as `1s`, `6m0s` or `1h0m0s`.
fn duration(millis: u64) -> HeaderValue {
    let seconds = millis.div_ceil(1_000);
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    let text = match (hours, minutes) {
        (0, 0) => format!("{rest}s"),
        (0, _) => format!("{minutes}m{rest}s"),
        (_, _) => format!("{hours}h{minutes}m{rest}s"),
    };
    HeaderValue::try_from(text).expect("digits and letters")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_is_written_as_people_write_durations() {
        for (millis, text) in
            [(0, "0s"), (1, "1s"), (1_000, "1s"), (1_001, "2s"), (360_000, "6m0s"), (3_600_000, "1h0m0s")]
        {
            assert_eq!(duration(millis), text);
        }
    }
}
