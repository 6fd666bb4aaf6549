//! Parses and formats durations and sizes: `300s`, `5m`, `250ms`, `90d`; `16MiB`, `64KiB`, `1048576`.

use std::time::Duration;

const DURATION_UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
const SIZE_UNITS: [(&str, u64); 6] =
    [("", 1), ("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("TiB", 1 << 40)];

/// A whole number and one unit: `ms`, `s`, `m`, `h` or `d`.
pub(super) fn parse_duration(text: &str) -> Option<Duration> {
    parse_with_unit(text, &DURATION_UNITS).map(Duration::from_millis)
}

/// A whole number and one unit, or bytes without one.
pub(super) fn parse_size(text: &str) -> Option<u64> {
    parse_with_unit(text, &SIZE_UNITS)
}

fn parse_with_unit(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

/// In whole seconds if exact, else in milliseconds.
pub(super) fn show_duration(duration: Duration) -> String {
    let millis = duration.as_millis();
    if millis.is_multiple_of(1_000) { format!("{}s", millis / 1_000) } else { format!("{millis}ms") }
}

/// In the largest exact unit.
pub fn show_size(bytes: u64) -> String {
    let fitting = SIZE_UNITS.iter().rev().find(|(_, factor)| bytes >= *factor && bytes.is_multiple_of(*factor));
    let (name, factor) = fitting.copied().unwrap_or(("B", 1));
    format!("{}{name}", bytes / factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_unit() {
        for (text, millis) in
            [("300s", 300_000), ("5m", 300_000), ("1h", 3_600_000), ("2d", 172_800_000), ("250ms", 250)]
        {
            assert_eq!(parse_duration(text), Some(Duration::from_millis(millis)), "{text}");
        }
        for bad in ["", "s", "300", "-1s", "1.5s", "1w", "1m30s", "99999999999999999999s", "18446744073709551615h"] {
            assert_eq!(parse_duration(bad), None, "{bad}");
        }
        assert_eq!(show_duration(Duration::from_secs(900)), "900s");
        assert_eq!(show_duration(Duration::from_millis(1_500)), "1500ms");
    }

    #[test]
    fn sizes_are_binary_or_plain_bytes() {
        for (text, bytes) in [("16MiB", 16 << 20), ("1GiB", 1 << 30), ("64KiB", 64 << 10), ("7", 7), ("7B", 7)] {
            assert_eq!(parse_size(text), Some(bytes), "{text}");
        }
        for bad in ["", "MiB", "1MB", "1.5MiB", "-1", "1 Mi"] {
            assert_eq!(parse_size(bad), None, "{bad}");
        }
        for (bytes, shown) in [(1 << 30, "1GiB"), (1 << 20, "1MiB"), (1_500, "1500B"), (0, "0B"), (1, "1B")] {
            assert_eq!(show_size(bytes), shown);
        }
    }
}
