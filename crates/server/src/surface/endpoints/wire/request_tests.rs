use super::*;
use serde::de::DeserializeOwned;
use serde_json::json;

fn read<T: DeserializeOwned>(body: &Value) -> T {
    serde_json::from_value(body.clone()).unwrap()
}

fn change(body: &Value) -> Result<Change, FieldError> {
    Change::try_from(read::<ChangeRequest>(body))
}

fn resume(body: &Value) -> Result<ScalingPatch, FieldError> {
    ScalingPatch::try_from(read::<ResumeRequest>(body))
}

fn create(changes: &Value) -> Result<NewEndpoint, FieldError> {
    let mut body = json!({"name": "chat", "model": "acme/tiny", "flavor": "cpu"});
    for (field, value) in changes.as_object().unwrap() {
        body[field] = value.clone();
    }
    NewEndpoint::try_from(read::<NewEndpointRequest>(&body))
}

#[test]
fn a_create_has_name_model_and_flavor() {
    let read = create(&json!({"minReplicas": 0, "maxReplicas": 3, "autoscalingTarget": 8, "labels": {"team": "a"}}));
    let read = read.unwrap();
    assert_eq!((read.name.as_str(), read.model.as_str(), read.flavor.as_str()), ("chat", "acme/tiny", "cpu"));
    assert_eq!((read.scaling.min, read.scaling.max, read.scaling.target), (Some(0), Some(3), Some(8_000)));
    assert_eq!(read.labels["team"].as_deref(), Some("a"));
    assert!(create(&json!({"replicas": null, "labels": null})).unwrap().scaling.is_empty());
}

#[test]
fn every_fault_has_its_code_and_begins_with_its_field() {
    for (changes, code, detail) in [
        (json!({"name": null}), "MISSING_FIELD", "name: is required"),
        (json!({"flavor": null, "replicas": "x"}), "MISSING_FIELD", "flavor: is required"),
        (json!({"name": 7}), "INVALID_FORMAT", "name: must be a text"),
        (json!({"name": "flavors"}), "INVALID_FORMAT", "name: is reserved"),
        (json!({"model": "tiny"}), "INVALID_FORMAT", "model: must be a Model ID of the form <provider>/<model-name>"),
        (json!({"maxReplicas": 65}), "OUT_OF_RANGE", "maxReplicas: must be between 1 and 64"),
        (json!({"maxReplicas": 99_999_999_999_u64}), "OUT_OF_RANGE", "maxReplicas: must be between 1 and 64"),
        (json!({"replicas": 0}), "OUT_OF_RANGE", "replicas: must be between 1 and 64"),
        (json!({"minReplicas": -1}), "OUT_OF_RANGE", "minReplicas: must not be negative"),
        (json!({"replicas": 1.5}), "INVALID_FORMAT", "replicas: must be a whole number"),
        (json!({"replicas": "3"}), "INVALID_FORMAT", "replicas: must be a whole number"),
        (
            json!({"scaleToZeroWindowSeconds": 59}),
            "OUT_OF_RANGE",
            "scaleToZeroWindowSeconds: must be between 60 and 86400",
        ),
        (
            json!({"minReplicas": 3, "maxReplicas": 2}),
            "INVALID_COMBINATION",
            "minReplicas: must not be above maxReplicas (2)",
        ),
        (
            json!({"replicas": 1, "maxReplicas": 2}),
            "INVALID_COMBINATION",
            "replicas: a fixed count cannot be combined with minReplicas or maxReplicas",
        ),
        (
            json!({"autoscalingMetric": "cpu"}),
            "INVALID_FORMAT",
            "autoscalingMetric: must be concurrency or kv-cache-utilization",
        ),
        (json!({"autoscalingTarget": 0}), "OUT_OF_RANGE", "autoscalingTarget: must be between 1 and 1024"),
        (json!({"autoscalingTarget": -3}), "OUT_OF_RANGE", "autoscalingTarget: must be between 1 and 1024"),
        (json!({"autoscalingTarget": "8"}), "INVALID_FORMAT", "autoscalingTarget: must be a number"),
        (
            json!({"autoscalingTarget": 0.5}),
            "INVALID_FORMAT",
            "autoscalingTarget: must be a whole number for concurrency",
        ),
        (
            json!({"autoscalingMetric": "kv-cache-utilization", "autoscalingTarget": 0.96}),
            "OUT_OF_RANGE",
            "autoscalingTarget: must be between 0.10 and 0.95 for kv-cache-utilization",
        ),
        (
            json!({"autoscalingMetric": "kv-cache-utilization", "autoscalingTarget": 0.7005}),
            "INVALID_FORMAT",
            "autoscalingTarget: must have at most three digits after the point",
        ),
        (json!({"labels": []}), "INVALID_FORMAT", "labels: must be an object of texts"),
        (json!({"labels": {"a": 1}}), "INVALID_FORMAT", "labels.a: must be a text"),
        (json!({"gpus": 1}), "UNKNOWN_FIELD", "gpus: is not a field of this request"),
    ] {
        let fault = create(&changes).unwrap_err();
        assert_eq!((fault.code.as_str(), fault.to_string().as_str()), (code, detail), "{changes}");
    }
    assert!(FieldErrorCode::MissingField.is_malformed() && !FieldErrorCode::OutOfRange.is_malformed());
}

#[test]
fn both_ends_of_the_kv_target_are_in_range() {
    for target in [json!(0.1), json!(0.10), json!(0.95), json!(0.333)] {
        let read = create(&json!({"autoscalingMetric": "kv-cache-utilization", "autoscalingTarget": target}));
        assert!(read.is_ok(), "{target}");
    }
}

#[test]
fn name_model_and_flavor_cannot_be_changed() {
    for field in ["name", "model", "flavor"] {
        let fault = change(&json!({field: "x"})).unwrap_err();
        assert_eq!((fault.code, fault.field.as_ref()), (FieldErrorCode::FieldImmutable, field));
        assert!(change(&json!({field: null})).is_ok());
        assert_eq!(resume(&json!({field: "x"})).unwrap_err().code, FieldErrorCode::FieldImmutable);
    }
    assert_eq!(change(&json!({})), Ok(Change::default()));
    let labels = change(&json!({"labels": {"gone": null, "here": "1"}})).unwrap().labels;
    assert_eq!(labels, LabelsPatch::from([("gone".into(), None), ("here".into(), Some("1".into()))]));
    assert_eq!(resume(&json!({"labels": {}})).unwrap_err().code, FieldErrorCode::UnknownField);
    assert_eq!(resume(&json!({"replicas": 2})).unwrap().replicas, Some(2));
    // The endpoint's metric is not known yet.
    assert!(change(&json!({"autoscalingTarget": 0.5})).is_ok() && change(&json!({"autoscalingTarget": 8})).is_ok());
    assert_eq!(change(&json!({"autoscalingTarget": 5000})).unwrap_err().code, FieldErrorCode::OutOfRange);
}
