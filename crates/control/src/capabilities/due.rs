//! When an engine is probed again.

use domain::Timestamp;
use store::capabilities::EngineRecord;

const MINUTE: u64 = 60_000;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;
/// What is known of a service without a version is found out again after this time.
const UNVERSIONED_AGE: u64 = 7 * DAY;

/// The least times between two probes of an engine.
#[derive(Debug, Clone, Copy)]
struct Pauses {
    /// If it says another version. Replicas behind one address may have different ones.
    changed: u64,
    /// If it has restarted, or a call was rejected for what it lacks.
    stale: u64,
    /// If the last probes did not make all of their calls: one, two, three, or more of them.
    failed: [u64; 4],
}

const OWN: Pauses = Pauses { changed: MINUTE, stale: 2 * MINUTE, failed: [2 * MINUTE, 10 * MINUTE, HOUR, DAY] };
/// Calls to other services cost money and count towards their limits.
const HOSTED: Pauses = Pauses { changed: HOUR, stale: DAY, failed: [DAY; 4] };

/// What is known of an engine at the time of the decision.
#[derive(Debug, Clone, Copy)]
pub(super) struct EngineView<'a> {
    pub(super) version: Option<&'a str>,
    /// Its kind is known, or Forebay runs it: it is not a hosted service.
    pub(super) is_own: bool,
    /// It has restarted since, or a call was rejected for what it lacks.
    pub(super) is_stale: bool,
}

/// Whether an engine is probed now.
pub(super) fn is_due(last: Option<&EngineRecord>, seen: EngineView<'_>, now: Timestamp) -> bool {
    let Some(last) = last else { return true };
    let age = now.millis_since(last.probed_at);
    let pauses = if seen.is_own { OWN } else { HOSTED };
    let has_changed = last.version.as_deref().zip(seen.version).is_some_and(|(before, after)| before != after);
    // A probe may itself be why the engine has restarted, so failures count before that.
    let pause = if has_changed {
        pauses.changed
    } else if !last.is_complete() {
        let failures = usize::try_from(last.failures).unwrap_or(usize::MAX);
        pauses.failed[failures.min(pauses.failed.len()) - 1]
    } else if seen.is_stale {
        pauses.stale
    } else if last.version.is_none() {
        UNVERSIONED_AGE
    } else {
        return false;
    };
    age >= pause
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::ModelId;
    use domain::capabilities::Capabilities;

    fn record(version: Option<&str>, failures: u32) -> EngineRecord {
        EngineRecord {
            engine: "x".to_owned(),
            model: ModelId::parse("acme/x").unwrap(),
            version: version.map(str::to_owned),
            capabilities: Capabilities::default(),
            failures,
            fatal_calls: Vec::new(),
            probed_at: Timestamp::from_millis(0),
        }
    }

    /// Checks that it is due after a time, and not before.
    fn assert_due_after(last: &EngineRecord, seen: EngineView<'_>, expected: u64) {
        for (age, is_expected) in [(expected - 1, false), (expected, true)] {
            let now = Timestamp::from_millis(i64::try_from(age).unwrap());
            assert_eq!(is_due(Some(last), seen, now), is_expected, "{last:?} {seen:?} after {age}");
        }
    }

    #[test]
    fn an_engine_is_probed_once_per_version_and_again_when_it_is_stale() {
        let seen = |version, is_own, is_stale| EngineView { version, is_own, is_stale };
        let (old, new) = (Some("1"), Some("2"));
        assert!(is_due(None, seen(None, false, false), Timestamp::from_millis(0)), "it was never probed");
        for view in [seen(old, true, false), seen(None, true, false)] {
            let later = Timestamp::from_millis(i64::try_from(90 * DAY).unwrap());
            assert!(
                !is_due(Some(&record(old, 0)), view, later),
                "a version that cannot be read now is not another one"
            );
        }
        assert_due_after(&record(old, 0), seen(new, true, false), MINUTE);
        assert_due_after(&record(old, 0), seen(new, false, false), HOUR);
        assert_due_after(&record(old, 0), seen(old, true, true), 2 * MINUTE);
        assert_due_after(&record(None, 0), seen(None, false, true), DAY);
        assert_due_after(&record(None, 0), seen(None, false, false), UNVERSIONED_AGE);
    }

    #[test]
    fn a_probe_that_failed_is_repeated_after_a_growing_pause() {
        for (failures, pause) in [(1, 2 * MINUTE), (2, 10 * MINUTE), (3, HOUR), (4, DAY), (40, DAY)] {
            for is_stale in [false, true] {
                let own = EngineView { version: Some("1"), is_own: true, is_stale };
                assert_due_after(&record(Some("1"), failures), own, pause);
                assert_due_after(&record(Some("1"), failures), EngineView { is_own: false, ..own }, DAY);
            }
        }
    }
}
