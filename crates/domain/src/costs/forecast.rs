//! Linear forecast of a month's costs. It ignores weekends and trends.

use crate::money::NanoUsd;
use crate::time::{Month, Timestamp};

/// No forecast earlier than this into the month: there is too little data.
const EARLIEST_MILLIS: u64 = 3_600_000;

/// The cost so far × length of the month ÷ elapsed time, rounded half up. `None` in the first hour of the month.
///
/// For a past month, the forecast is the actual cost.
pub fn linear(so_far: NanoUsd, month: Month, now: Timestamp) -> Option<NanoUsd> {
    let (start, end) = (month.start(), month.end());
    if now >= end {
        return Some(so_far);
    }
    let elapsed = now.millis_since(start);
    if elapsed < EARLIEST_MILLIS {
        return None;
    }
    let (whole, elapsed) = (i128::from(end.millis_since(start)), i128::from(elapsed));
    let nanos = (i128::from(so_far.nanos()) * whole + elapsed / 2).div_euclid(elapsed);
    Some(NanoUsd::from_nanos(i64::try_from(nanos).unwrap_or(i64::MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn costs_are_extrapolated_to_the_end_of_the_month() {
        let month = Month::parse("2026-11").unwrap();
        let usd = |text| NanoUsd::parse(text).unwrap();
        for (now, so_far, forecast) in [
            ("2026-11-16T00:00:00Z", "15.00", Some("30.00")),
            ("2026-11-11T00:00:00Z", "1.00", Some("3.00")),
            ("2026-11-10T00:00:00Z", "0.000000001", Some("0.000000003")),
            ("2026-11-01T00:59:59Z", "1.00", None),
            ("2026-11-01T01:00:00Z", "0.10", Some("72.00")),
            ("2026-12-01T00:00:00Z", "7.00", Some("7.00")),
            ("2027-06-01T00:00:00Z", "7.00", Some("7.00")),
        ] {
            let found = linear(usd(so_far), month, Timestamp::parse(now).unwrap());
            assert_eq!(found, forecast.map(usd), "{now}");
        }
    }
}
