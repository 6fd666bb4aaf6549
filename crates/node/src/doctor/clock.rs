//! Compares this machine's clock with those of the store and of Redis. Nodes live by the store's clock, but log lines have the
//! machine's time, and single sign-on compares the provider's with it.

use super::finding::Finding;
use super::limits::RedisClock;
use crate::clock;
use store::Store;

const CHECK: &str = "clock";
const GOOD_MILLIS: u64 = 1_000;
const MOST_MILLIS: u64 = 5_000;

pub(super) async fn check(store: Option<&Store>, redis: Option<RedisClock>) -> Finding {
    let mut skews = Vec::new();
    if let Some(store) = store
        && let Ok(ahead) = clock::follow(store).await
    {
        skews.push(("the store's", ahead));
    }
    skews.extend(redis.map(|RedisClock { ahead_millis }| ("Redis'", ahead_millis)));
    judge(&skews)
}

/// `skews`: whose clock, and by how many milliseconds this machine is ahead of it.
fn judge(skews: &[(&str, i64)]) -> Finding {
    let Some((whose, worst)) = skews.iter().max_by_key(|(_, ahead)| ahead.unsigned_abs()) else {
        let remedy = "fix the store and Redis first";
        return Finding::warning(CHECK, "neither the store nor Redis returned the time", remedy);
    };
    let direction = if *worst < 0 { "behind" } else { "ahead of" };
    let seconds = worst.unsigned_abs() as f64 / 1_000.0;
    let what = format!("{seconds} s {direction} {whose}");
    let remedy = "run a time service (chrony, systemd-timesyncd) on both machines: otherwise log lines are wrong, and single sign-on may reject tokens";
    match worst.unsigned_abs() {
        millis if millis > MOST_MILLIS => Finding::problem(CHECK, what, remedy),
        millis if millis > GOOD_MILLIS => Finding::warning(CHECK, what, remedy),
        _ => Finding::ok(CHECK, what),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Level;
    use super::*;

    #[test]
    fn a_wrong_clock_is_reported_with_the_one_it_differs_from() {
        for (skews, level, what) in [
            (&[("the store's", 20), ("Redis'", -30)][..], Level::Ok, "0.03 s behind Redis'"),
            (&[("the store's", 1_500)], Level::Warning, "1.5 s ahead of the store's"),
            (&[("the store's", 0), ("Redis'", -61_000)], Level::Problem, "61 s behind Redis'"),
            (&[], Level::Warning, "neither the store nor Redis returned the time"),
        ] {
            let found = judge(skews);
            assert_eq!((found.level, found.what.as_str()), (level, what));
        }
    }
}
