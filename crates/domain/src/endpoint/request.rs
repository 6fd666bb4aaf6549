//! Requests as they are written: which members there are, of which type, in which range.
//!
//! This is all that can be said of a request before it is known who asks and what there is. What is missing is found
//! before what is wrong; null counts as not sent.

use super::field_error::{FieldError, FieldErrorCode};
use super::labels::{self, LabelsPatch};
use super::name::EndpointName;
use super::scaling::{Metric, Milli, Scaling, ScalingPatch};
use crate::model::ModelId;
use serde_json::{Map, Number, Value};

const IMMUTABLE: [&str; 3] = ["name", "model", "flavor"];
const SCALING: [&str; 8] = [
    "replicas",
    "minReplicas",
    "maxReplicas",
    "autoscalingMetric",
    "autoscalingTarget",
    "scaleToZeroWindowSeconds",
    "scaleUpWindowSeconds",
    "scaleDownWindowSeconds",
];
const LABELS: &str = "labels";

/// The body of a create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEndpoint {
    pub name: EndpointName,
    pub model: ModelId,
    pub flavor: String,
    pub scaling: ScalingPatch,
    pub labels: LabelsPatch,
}

/// The body of a PATCH.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Change {
    pub scaling: ScalingPatch,
    pub labels: LabelsPatch,
}

impl NewEndpoint {
    pub fn read(body: &Value) -> Result<Self, FieldError> {
        let members = object(body)?;
        for field in IMMUTABLE {
            if sent(members, field).is_none() {
                return Err(FieldError::new(field, FieldErrorCode::MissingField, "is required"));
            }
        }
        only(members, |field| IMMUTABLE.contains(&field) || SCALING.contains(&field) || field == LABELS)?;
        let invalid = |field: &'static str, why: String| FieldError::new(field, FieldErrorCode::InvalidFormat, why);
        let name = EndpointName::parse(text(members, "name")?).map_err(|bad| invalid("name", bad.to_string()))?;
        let model = ModelId::parse(text(members, "model")?)
            .map_err(|_| invalid("model", "must be a Model ID of the form <provider>/<model-name>".into()))?;
        let flavor = text(members, "flavor")?.to_owned();
        let scaling = read_scaling(members)?;
        // What the defaults add is in the request's bytes, too: a target without a metric is one of concurrency.
        Scaling::create(&scaling, None)?;
        Ok(Self { name, model, flavor, scaling, labels: read_labels(members)? })
    }
}

impl Change {
    pub fn read(body: &Value) -> Result<Self, FieldError> {
        let members = object(body)?;
        if let Some(field) = IMMUTABLE.into_iter().find(|field| sent(members, field).is_some()) {
            return Err(FieldError::new(field, FieldErrorCode::FieldImmutable, "cannot be changed"));
        }
        only(members, |field| IMMUTABLE.contains(&field) || SCALING.contains(&field) || field == LABELS)?;
        Ok(Self { scaling: read_scaling(members)?, labels: read_labels(members)? })
    }
}

/// The body of a resume: nothing, or how to scale from now on.
pub fn read_resume(body: &Value) -> Result<ScalingPatch, FieldError> {
    let members = object(body)?;
    if let Some(field) = IMMUTABLE.into_iter().find(|field| sent(members, field).is_some()) {
        return Err(FieldError::new(field, FieldErrorCode::FieldImmutable, "cannot be changed"));
    }
    only(members, |field| IMMUTABLE.contains(&field) || SCALING.contains(&field))?;
    read_scaling(members)
}

/// What does not parse as JSON.
pub fn malformed() -> FieldError {
    FieldError::new("body", FieldErrorCode::MalformedJson, "is not valid JSON")
}

fn read_scaling(members: &Map<String, Value>) -> Result<ScalingPatch, FieldError> {
    let patch = ScalingPatch {
        replicas: whole(members, "replicas")?,
        min: whole(members, "minReplicas")?,
        max: whole(members, "maxReplicas")?,
        metric: metric(members)?,
        target: target(members)?,
        to_zero_secs: whole(members, "scaleToZeroWindowSeconds")?,
        up_secs: whole(members, "scaleUpWindowSeconds")?,
        down_secs: whole(members, "scaleDownWindowSeconds")?,
    };
    patch.check()?;
    Ok(patch)
}

fn metric(members: &Map<String, Value>) -> Result<Option<Metric>, FieldError> {
    let Some(value) = sent(members, "autoscalingMetric") else { return Ok(None) };
    let known = value.as_str().and_then(Metric::parse);
    let why = "must be concurrency or kv-cache-utilization";
    known.map(Some).ok_or_else(|| FieldError::new("autoscalingMetric", FieldErrorCode::InvalidFormat, why))
}

fn target(members: &Map<String, Value>) -> Result<Option<Milli>, FieldError> {
    let fault = |why| FieldError::new("autoscalingTarget", FieldErrorCode::InvalidFormat, why);
    match sent(members, "autoscalingTarget") {
        None => Ok(None),
        Some(Value::Number(number)) => {
            thousandths(number).map(Some).ok_or_else(|| fault("must have at most three digits after the point"))
        }
        Some(_) => Err(fault("must be a number")),
    }
}

/// Exact for what people write; a number below zero is as far out of range as zero is.
fn thousandths(number: &Number) -> Option<Milli> {
    const FAR_OUT: f64 = 1e9;
    const SLACK: f64 = 1e-6;
    let scaled = (number.as_f64()? * 1_000.0).clamp(0.0, FAR_OUT);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to what fits")]
    let milli = scaled.round() as u64;
    ((scaled - scaled.round()).abs() < SLACK).then_some(milli)
}

/// A number beyond what any range allows becomes the largest there is.
fn whole(members: &Map<String, Value>, field: &'static str) -> Result<Option<u32>, FieldError> {
    let Some(value) = sent(members, field) else { return Ok(None) };
    if let Some(number) = value.as_u64() {
        return Ok(Some(u32::try_from(number).unwrap_or(u32::MAX)));
    }
    match value.as_f64() {
        Some(number) if number < 0.0 && number.fract() == 0.0 => {
            Err(FieldError::new(field, FieldErrorCode::OutOfRange, "must not be negative"))
        }
        Some(_) | None => Err(FieldError::new(field, FieldErrorCode::InvalidFormat, "must be a whole number")),
    }
}

fn read_labels(members: &Map<String, Value>) -> Result<LabelsPatch, FieldError> {
    let Some(value) = sent(members, LABELS) else { return Ok(LabelsPatch::new()) };
    let Some(object) = value.as_object() else {
        return Err(FieldError::new(LABELS, FieldErrorCode::InvalidFormat, "must be an object of texts"));
    };
    let mut patch = LabelsPatch::new();
    for (key, value) in object {
        let value = match value {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                let field = format!("{LABELS}.{}", key.chars().take(64).collect::<String>());
                return Err(FieldError::new(field, FieldErrorCode::InvalidFormat, "must be a text"));
            }
        };
        patch.insert(key.clone(), value);
    }
    labels::check(&patch)?;
    Ok(patch)
}

fn object(body: &Value) -> Result<&Map<String, Value>, FieldError> {
    body.as_object().ok_or_else(|| FieldError::new("body", FieldErrorCode::MalformedJson, "must be a JSON object"))
}

fn sent<'a>(members: &'a Map<String, Value>, field: &str) -> Option<&'a Value> {
    members.get(field).filter(|value| !value.is_null())
}

fn text<'a>(members: &'a Map<String, Value>, field: &'static str) -> Result<&'a str, FieldError> {
    let found = sent(members, field).and_then(Value::as_str);
    found.ok_or_else(|| FieldError::new(field, FieldErrorCode::InvalidFormat, "must be a text"))
}

fn only(members: &Map<String, Value>, known: impl Fn(&str) -> bool) -> Result<(), FieldError> {
    match members.keys().find(|field| !known(field)) {
        Some(field) => {
            let field: String = field.chars().take(64).collect();
            Err(FieldError::new(field, FieldErrorCode::UnknownField, "is not a field of this request"))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
