//! What a client is told about its limits by the minute, with every serverless answer.

use bytes::BytesMut;
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

/// Enough for six values; all of them share one piece of memory.
const ROOM: usize = 128;

pub(super) fn put(headers: &mut HeaderMap, standings: &Standings) {
    let mut text = BytesMut::with_capacity(ROOM);
    for (names, standing) in [(REQUESTS, standings.requests), (TOKENS, standings.tokens)] {
        let Standing { limit, remaining, reset_millis } = standing;
        let [limit_name, remaining_name, reset_name] = names;
        for (name, count) in [(limit_name, limit), (remaining_name, remaining)] {
            write_number(&mut text, count);
            headers.insert(name, taken(&mut text));
        }
        write_duration(&mut text, reset_millis);
        headers.insert(reset_name, taken(&mut text));
    }
}

fn taken(text: &mut BytesMut) -> HeaderValue {
    HeaderValue::from_maybe_shared(text.split().freeze()).expect("digits and letters")
}

fn write_number(text: &mut BytesMut, number: u64) {
    text.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
}

/// Whole seconds, rounded up, as `1s`, `6m0s` or `1h0m0s`.
fn write_duration(text: &mut BytesMut, millis: u64) {
    let seconds = millis.div_ceil(1_000);
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if hours > 0 {
        write_number(text, hours);
        text.extend_from_slice(b"h");
    }
    if hours > 0 || minutes > 0 {
        write_number(text, minutes);
        text.extend_from_slice(b"m");
    }
    write_number(text, rest);
    text.extend_from_slice(b"s");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reset_is_written_as_people_write_durations() {
        for (millis, text) in
            [(0, "0s"), (1, "1s"), (1_000, "1s"), (1_001, "2s"), (360_000, "6m0s"), (3_600_000, "1h0m0s")]
        {
            let mut written = BytesMut::new();
            write_duration(&mut written, millis);
            assert_eq!(written, text);
        }
    }
}
