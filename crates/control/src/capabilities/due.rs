//! When an engine is asked again what it can do.

use domain::Timestamp;
use store::capabilities::EngineRecord;

const MINUTE: u64 = 60_000;
const DAY: u64 = 24 * 60 * MINUTE;
/// An engine of our own may be asked again after this time, if it restarted or a call was rejected for what it lacks.
const OWN_PAUSE: u64 = 2 * MINUTE;
/// Calls to other services cost money and count towards their limits.
const HOSTED_PAUSE: u64 = DAY;
/// What is known of a service without a version is looked at again after this time.
const UNVERSIONED_AGE: u64 = 7 * DAY;

/// What is known of an engine at the time of the decision.
#[derive(Debug, Clone, Copy)]
pub(super) struct EngineView<'a> {
    pub(super) version: Option<&'a str>,
    /// Its kind is known, or Forebay runs it: it is not a hosted service.
    pub(super) is_own: bool,
    /// It was down since, or a call was rejected for what it lacks.
    pub(super) is_doubted: bool,
}

/// Whether what is known is old, whatever the engine says now.
pub(super) fn is_old(last: &EngineRecord, now: Timestamp) -> bool {
    let age = now.millis_since(last.asked_at);
    (last.version.is_none() && age >= UNVERSIONED_AGE) || (!last.is_complete && age >= HOSTED_PAUSE)
}

/// Whether all questions are asked now.
pub(super) fn is_due(last: Option<&EngineRecord>, seen: EngineView<'_>, now: Timestamp) -> bool {
    let Some(last) = last else { return true };
    let age = now.millis_since(last.asked_at);
    let pause = if seen.is_own { OWN_PAUSE } else { HOSTED_PAUSE };
    let has_changed = last.version.as_deref().zip(seen.version).is_some_and(|(before, after)| before != after);
    has_changed || ((seen.is_doubted || !last.is_complete) && age >= pause) || is_old(last, now)
}

#[cfg(test)]
mod tests {
    use super::*;
    use domain::ModelId;
    use domain::capabilities::Capabilities;

    fn record(version: Option<&str>, is_complete: bool) -> EngineRecord {
        EngineRecord {
            engine: "x".to_owned(),
            model: ModelId::parse("acme/x").unwrap(),
            version: version.map(str::to_owned),
            capabilities: Capabilities::default(),
            is_complete,
            asked_at: Timestamp::from_millis(0),
        }
    }

    #[test]
    fn an_engine_is_asked_once_per_version_and_again_after_doubts() {
        let (old, new) = (Some("1"), Some("2"));
        for (version, is_complete, seen, is_own, is_doubted, age, expected) in [
            (old, true, old, true, false, 90 * DAY, false),
            (old, true, new, true, false, 0, true),
            (old, true, new, false, false, 0, true),
            // A version that cannot be read now is not another one.
            (old, true, None, true, false, 0, false),
            (old, true, old, true, true, OWN_PAUSE - 1, false),
            (old, true, old, true, true, OWN_PAUSE, true),
            (None, true, None, false, true, HOSTED_PAUSE - 1, false),
            (None, true, None, false, true, HOSTED_PAUSE, true),
            (None, true, None, false, false, UNVERSIONED_AGE - 1, false),
            (None, true, None, false, false, UNVERSIONED_AGE, true),
            (old, false, old, true, false, OWN_PAUSE, true),
            (old, false, old, false, false, OWN_PAUSE, false),
            (old, false, old, false, false, HOSTED_PAUSE, true),
        ] {
            let seen = EngineView { version: seen, is_own, is_doubted };
            let now = Timestamp::from_millis(i64::try_from(age).unwrap());
            assert_eq!(is_due(Some(&record(version, is_complete)), seen, now), expected, "{seen:?} after {age}");
        }
        let seen = EngineView { version: None, is_own: false, is_doubted: false };
        assert!(is_due(None, seen, Timestamp::from_millis(0)), "it was never asked");
    }
}
