//! Request bodies, and their conversion to domain values.
//!
//! Members are read as any JSON value first, so that the order of errors is fixed: a missing member, an unknown one, then
//! values from name to labels. `null` counts as absent.

use domain::ModelId;
use domain::endpoint::labels::{self, LabelsPatch};
use domain::endpoint::request::{Change, NewEndpoint};
use domain::endpoint::scaling::{Metric, Milli, Scaling, ScalingPatch};
use domain::endpoint::{EndpointName, FieldError, FieldErrorCode};
use serde::Deserialize;
use serde_json::{Map, Number, Value};
use utoipa::ToSchema;

/// How much of a member's name is quoted in an error.
const SHOWN_CHARS: usize = 64;

/// The body of a create.
#[derive(Deserialize, ToSchema)]
#[schema(as = NewEndpoint)]
pub(crate) struct NewEndpointRequest {
    #[schema(value_type = String, pattern = "^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$")]
    name: Option<Value>,
    #[schema(value_type = String)]
    model: Option<Value>,
    #[schema(value_type = String)]
    flavor: Option<Value>,
    #[serde(flatten)]
    #[schema(inline)]
    scaling: ScalingMembers,
    /// Texts by name.
    #[schema(value_type = Option<BTreeMap<String, Option<String>>>)]
    labels: Option<Value>,
    #[serde(flatten)]
    #[schema(ignore)]
    unknown: Map<String, Value>,
}

/// The body of a PATCH.
#[derive(Deserialize, ToSchema)]
#[schema(as = EndpointChange)]
pub(crate) struct ChangeRequest {
    #[serde(flatten)]
    #[schema(ignore)]
    immutable: ImmutableMembers,
    #[serde(flatten)]
    #[schema(inline)]
    scaling: ScalingMembers,
    /// A label with `null` is removed.
    #[schema(value_type = Option<BTreeMap<String, Option<String>>>)]
    labels: Option<Value>,
    #[serde(flatten)]
    #[schema(ignore)]
    unknown: Map<String, Value>,
}

/// The body of a resume.
#[derive(Deserialize)]
pub(crate) struct ResumeRequest {
    #[serde(flatten)]
    immutable: ImmutableMembers,
    #[serde(flatten)]
    scaling: ScalingMembers,
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

/// The body of a suspend: empty.
#[derive(Deserialize)]
pub(crate) struct SuspendRequest {
    #[serde(flatten)]
    unknown: Map<String, Value>,
}

/// Members that only a create may have.
#[derive(Deserialize)]
struct ImmutableMembers {
    name: Option<Value>,
    model: Option<Value>,
    flavor: Option<Value>,
}

/// Either `replicas`, or `minReplicas` and `maxReplicas`.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = EndpointScaling)]
pub(crate) struct ScalingMembers {
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 64)]
    replicas: Option<Value>,
    #[schema(value_type = Option<u32>, minimum = 0, maximum = 64)]
    min_replicas: Option<Value>,
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 64)]
    max_replicas: Option<Value>,
    /// `concurrency` or `kv-cache-utilization`.
    #[schema(value_type = Option<String>)]
    autoscaling_metric: Option<Value>,
    /// Calls (1 to 1024), or a fraction of the cache (0.10 to 0.95).
    #[schema(value_type = Option<f64>)]
    autoscaling_target: Option<Value>,
    #[schema(value_type = Option<u32>, minimum = 60, maximum = 86400)]
    scale_to_zero_window_seconds: Option<Value>,
    #[schema(value_type = Option<u32>, maximum = 3600)]
    scale_up_window_seconds: Option<Value>,
    #[schema(value_type = Option<u32>, maximum = 3600)]
    scale_down_window_seconds: Option<Value>,
}

impl TryFrom<NewEndpointRequest> for NewEndpoint {
    type Error = FieldError;

    fn try_from(request: NewEndpointRequest) -> Result<Self, FieldError> {
        let required = |field: &'static str, value: &Option<Value>| match value {
            Some(_) => Ok(()),
            None => Err(FieldError::new(field, FieldErrorCode::MissingField, "is required")),
        };
        required("name", &request.name)?;
        required("model", &request.model)?;
        required("flavor", &request.flavor)?;
        reject_unknown(&request.unknown)?;
        let name = EndpointName::parse(&text("name", request.name)?)
            .map_err(|error| FieldError::new("name", FieldErrorCode::InvalidFormat, error.to_string()))?;
        let why = "must be a Model ID of the form <provider>/<model-name>";
        let model = ModelId::parse(&text("model", request.model)?)
            .map_err(|_| FieldError::new("model", FieldErrorCode::InvalidFormat, why))?;
        let flavor = text("flavor", request.flavor)?;
        let scaling = ScalingPatch::try_from(request.scaling)?;
        // Also checks against the defaults: a target without a metric is one of concurrency.
        Scaling::create(&scaling, None)?;
        Ok(Self { name, model, flavor, scaling, labels: labels_patch(request.labels)? })
    }
}

impl TryFrom<ChangeRequest> for Change {
    type Error = FieldError;

    fn try_from(request: ChangeRequest) -> Result<Self, FieldError> {
        request.immutable.reject()?;
        reject_unknown(&request.unknown)?;
        Ok(Self { scaling: request.scaling.try_into()?, labels: labels_patch(request.labels)? })
    }
}

impl TryFrom<ResumeRequest> for ScalingPatch {
    type Error = FieldError;

    fn try_from(request: ResumeRequest) -> Result<Self, FieldError> {
        request.immutable.reject()?;
        reject_unknown(&request.unknown)?;
        request.scaling.try_into()
    }
}

impl SuspendRequest {
    pub(crate) fn check(&self) -> Result<(), FieldError> {
        reject_unknown(&self.unknown)
    }
}

impl ImmutableMembers {
    fn reject(&self) -> Result<(), FieldError> {
        let members = [("name", &self.name), ("model", &self.model), ("flavor", &self.flavor)];
        match members.into_iter().find(|(_, value)| value.is_some()) {
            Some((field, _)) => Err(FieldError::new(field, FieldErrorCode::FieldImmutable, "cannot be changed")),
            None => Ok(()),
        }
    }
}

impl TryFrom<ScalingMembers> for ScalingPatch {
    type Error = FieldError;

    fn try_from(members: ScalingMembers) -> Result<Self, FieldError> {
        let patch = Self {
            replicas: whole("replicas", members.replicas)?,
            min: whole("minReplicas", members.min_replicas)?,
            max: whole("maxReplicas", members.max_replicas)?,
            metric: metric(members.autoscaling_metric)?,
            target: target(members.autoscaling_target)?,
            to_zero_secs: whole("scaleToZeroWindowSeconds", members.scale_to_zero_window_seconds)?,
            up_secs: whole("scaleUpWindowSeconds", members.scale_up_window_seconds)?,
            down_secs: whole("scaleDownWindowSeconds", members.scale_down_window_seconds)?,
        };
        patch.check()?;
        Ok(patch)
    }
}

fn reject_unknown(unknown: &Map<String, Value>) -> Result<(), FieldError> {
    match unknown.keys().next() {
        Some(field) => {
            Err(FieldError::new(shortened(field), FieldErrorCode::UnknownField, "is not a field of this request"))
        }
        None => Ok(()),
    }
}

/// A client's name for a field, short enough to be quoted.
pub(crate) fn shortened(field: &str) -> String {
    field.chars().take(SHOWN_CHARS).collect()
}

fn text(field: &'static str, value: Option<Value>) -> Result<String, FieldError> {
    match value {
        Some(Value::String(text)) => Ok(text),
        _ => Err(FieldError::new(field, FieldErrorCode::InvalidFormat, "must be a text")),
    }
}

/// A number above `u32::MAX` becomes `u32::MAX`, which is out of every range.
fn whole(field: &'static str, value: Option<Value>) -> Result<Option<u32>, FieldError> {
    let Some(value) = value else { return Ok(None) };
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

fn metric(value: Option<Value>) -> Result<Option<Metric>, FieldError> {
    let Some(value) = value else { return Ok(None) };
    let why = "must be concurrency or kv-cache-utilization";
    let metric = value.as_str().and_then(Metric::parse);
    metric.map(Some).ok_or_else(|| FieldError::new("autoscalingMetric", FieldErrorCode::InvalidFormat, why))
}

fn target(value: Option<Value>) -> Result<Option<Milli>, FieldError> {
    let fault = |why| FieldError::new("autoscalingTarget", FieldErrorCode::InvalidFormat, why);
    match value {
        None => Ok(None),
        Some(Value::Number(number)) => {
            thousandths(&number).map(Some).ok_or_else(|| fault("must have at most three digits after the point"))
        }
        Some(_) => Err(fault("must be a number")),
    }
}

/// Thousandths of a number; `None` if it has more than three decimals. A negative number becomes 0, which is out of range.
fn thousandths(number: &Number) -> Option<Milli> {
    const FAR_OUT: f64 = 1e9;
    const SLACK: f64 = 1e-6;
    let scaled = (number.as_f64()? * 1_000.0).clamp(0.0, FAR_OUT);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to what fits")]
    let milli = scaled.round() as u64;
    ((scaled - scaled.round()).abs() < SLACK).then_some(milli)
}

fn labels_patch(value: Option<Value>) -> Result<LabelsPatch, FieldError> {
    let members = match value {
        None => return Ok(LabelsPatch::new()),
        Some(Value::Object(members)) => members,
        Some(_) => return Err(FieldError::new("labels", FieldErrorCode::InvalidFormat, "must be an object of texts")),
    };
    let mut patch = LabelsPatch::new();
    for (key, value) in members {
        let value = match value {
            Value::Null => None,
            Value::String(text) => Some(text),
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                let field = format!("labels.{}", shortened(&key));
                return Err(FieldError::new(field, FieldErrorCode::InvalidFormat, "must be a text"));
            }
        };
        patch.insert(key, value);
    }
    labels::check(&patch)?;
    Ok(patch)
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
