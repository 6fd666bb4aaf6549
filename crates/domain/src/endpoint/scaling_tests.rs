use super::*;

const fn autoscaled(min: u32, max: u32) -> Mode {
    Mode::Autoscaled { min, max }
}

const fn fixed(replicas: u32) -> Mode {
    Mode::Fixed { replicas }
}

const NOTHING: ScalingPatch = ScalingPatch {
    replicas: None,
    min: None,
    max: None,
    metric: None,
    target: None,
    to_zero_secs: None,
    up_secs: None,
    down_secs: None,
};

#[test]
fn a_new_endpoint_gets_the_defaults() {
    let plain = Scaling::create(&NOTHING, None).unwrap();
    assert_eq!((plain.mode, plain.target), (autoscaled(1, 1), Target::Concurrency(16)));
    assert_eq!(plain.windows, Windows { to_zero_secs: 3_600, up_secs: 30, down_secs: 600 });

    for (patch, mode) in [
        (ScalingPatch { min: Some(0), ..NOTHING }, autoscaled(0, 1)),
        (ScalingPatch { min: Some(3), ..NOTHING }, autoscaled(3, 3)),
        (ScalingPatch { max: Some(4), ..NOTHING }, autoscaled(1, 4)),
        (ScalingPatch { min: Some(0), max: Some(2), ..NOTHING }, autoscaled(0, 2)),
        (ScalingPatch { replicas: Some(2), ..NOTHING }, fixed(2)),
    ] {
        assert_eq!(Scaling::create(&patch, Some(8)).unwrap().mode, mode);
    }
    let kv = ScalingPatch { metric: Some(Metric::KvCacheUtilization), ..NOTHING };
    assert_eq!(Scaling::create(&kv, Some(8)).unwrap().target, Target::KvCacheUsage(700));
    assert_eq!(Scaling::create(&NOTHING, Some(8)).unwrap().target, Target::Concurrency(8));
}

#[test]
fn a_patch_changes_its_fields_and_switches_the_mode() {
    let ranged = Scaling::create(&ScalingPatch { min: Some(1), max: Some(4), ..NOTHING }, None).unwrap();
    let pinned = Scaling { mode: fixed(3), ..ranged };
    for (start, patch, mode) in [
        (ranged, NOTHING, autoscaled(1, 4)),
        (ranged, ScalingPatch { max: Some(5), ..NOTHING }, autoscaled(1, 5)),
        (ranged, ScalingPatch { min: Some(0), ..NOTHING }, autoscaled(0, 4)),
        (ranged, ScalingPatch { replicas: Some(2), ..NOTHING }, fixed(2)),
        (pinned, ScalingPatch { replicas: Some(2), ..NOTHING }, fixed(2)),
        (pinned, ScalingPatch { up_secs: Some(0), ..NOTHING }, fixed(3)),
        (pinned, ScalingPatch { min: Some(2), ..NOTHING }, autoscaled(2, 2)),
        (pinned, ScalingPatch { max: Some(6), ..NOTHING }, autoscaled(1, 6)),
    ] {
        assert_eq!(start.patched(&patch, None).unwrap().mode, mode, "{patch:?}");
    }
    let stored_ceiling = ranged.patched(&ScalingPatch { min: Some(5), ..NOTHING }, None).unwrap_err();
    assert_eq!(stored_ceiling.code, FieldErrorCode::InvalidCombination);
    assert_eq!(stored_ceiling.to_string(), "minReplicas: must not be above maxReplicas (4)");
}

#[test]
fn a_target_belongs_to_its_metric() {
    let start = Scaling::create(&ScalingPatch { target: Some(20_000), ..NOTHING }, Some(8)).unwrap();
    let kv = ScalingPatch { metric: Some(Metric::KvCacheUtilization), ..NOTHING };
    let concurrency = ScalingPatch { metric: Some(Metric::Concurrency), ..NOTHING };
    assert_eq!(start.patched(&concurrency, Some(8)).unwrap().target, Target::Concurrency(20), "repeated, it stays");
    let switched = start.patched(&kv, Some(8)).unwrap();
    assert_eq!(switched.target, Target::KvCacheUsage(700));
    assert_eq!(switched.patched(&concurrency, Some(8)).unwrap().target, Target::Concurrency(8));
    let lower = ScalingPatch { target: Some(500), ..NOTHING };
    assert_eq!(switched.patched(&lower, None).unwrap().target, Target::KvCacheUsage(500));
    assert_eq!(start.patched(&lower, None).unwrap_err().code, FieldErrorCode::InvalidFormat, "half a concurrent call");
}

#[test]
fn every_range_has_its_two_bounds() {
    type Set = fn(u32) -> ScalingPatch;
    let cases: [(&str, Set, u32, u32); 6] = [
        ("replicas", |value| ScalingPatch { replicas: Some(value), ..NOTHING }, 1, 64),
        ("minReplicas", |value| ScalingPatch { min: Some(value), ..NOTHING }, 0, 64),
        ("maxReplicas", |value| ScalingPatch { max: Some(value), ..NOTHING }, 1, 64),
        ("scaleToZeroWindowSeconds", |value| ScalingPatch { to_zero_secs: Some(value), ..NOTHING }, 60, 86_400),
        ("scaleUpWindowSeconds", |value| ScalingPatch { up_secs: Some(value), ..NOTHING }, 0, 3_600),
        ("scaleDownWindowSeconds", |value| ScalingPatch { down_secs: Some(value), ..NOTHING }, 0, 3_600),
    ];
    for (field, set, low, high) in cases {
        assert_eq!((set(low).check(), set(high).check()), (Ok(()), Ok(())), "{field}");
        for outside in [low.checked_sub(1), Some(high + 1)].into_iter().flatten() {
            let error = set(outside).check().unwrap_err();
            assert_eq!(error.code, FieldErrorCode::OutOfRange);
            assert_eq!(error.to_string(), format!("{field}: must be between {low} and {high}"));
        }
    }
    for (metric, good, bad) in
        [(Metric::Concurrency, [1_000, 1_024_000], [0, 1_025_000]), (Metric::KvCacheUtilization, [100, 950], [99, 951])]
    {
        let check = |target| ScalingPatch { metric: Some(metric), target: Some(target), ..NOTHING }.check();
        assert!(good.into_iter().all(|target| check(target).is_ok()), "{metric:?}");
        assert!(
            bad.into_iter().all(|target| check(target).unwrap_err().code == FieldErrorCode::OutOfRange),
            "{metric:?}"
        );
    }
}

#[test]
fn both_modes_together_and_a_floor_above_the_ceiling_are_invalid() {
    for patch in [
        ScalingPatch { replicas: Some(1), min: Some(0), ..NOTHING },
        ScalingPatch { replicas: Some(1), max: Some(1), ..NOTHING },
        ScalingPatch { min: Some(3), max: Some(2), ..NOTHING },
    ] {
        assert_eq!(patch.check().unwrap_err().code, FieldErrorCode::InvalidCombination, "{patch:?}");
    }
}
