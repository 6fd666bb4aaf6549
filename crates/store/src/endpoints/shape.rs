//! The snapshot of an endpoint's flavor, stored as JSON in its row.

use domain::endpoint::Shape;
use domain::model::{DriverKind, EngineKind, EngineOptions, Flavor, Launch, Modality};
use domain::{GpuType, NanoUsd};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Text {
    name: String,
    gpu_type: String,
    gpu_count: u32,
    precision: String,
    /// `None` in rows from before there were several drivers.
    #[serde(default)]
    driver: Option<String>,
    engine: Option<String>,
    argv: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tool_parser: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reasoning_parser: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chat_template: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    args: Vec<String>,
    #[serde(default)]
    image: Option<String>,
    price_per_gpu_hour: i64,
    weights: Option<String>,
    default_target: Option<u32>,
    #[serde(default)]
    prefill_target: Option<u64>,
    max_len: Option<u64>,
    modality: String,
    context_length: u64,
}

pub(super) fn write(shape: &Shape) -> String {
    let flavor = &shape.flavor;
    let (engine, argv) = match &flavor.launch {
        Launch::Engine(kind) => (Some(kind.as_str().to_owned()), None),
        Launch::Argv(argv) => (None, Some(argv.clone())),
    };
    let options = flavor.options.clone();
    let text = Text {
        name: flavor.name.clone(),
        gpu_type: flavor.gpu_type.to_string(),
        gpu_count: flavor.gpu_count,
        precision: flavor.precision.clone(),
        driver: Some(flavor.driver.as_str().to_owned()),
        engine,
        argv,
        tool_parser: options.tool_parser,
        reasoning_parser: options.reasoning_parser,
        chat_template: options.chat_template,
        args: options.args,
        image: flavor.image.clone(),
        price_per_gpu_hour: flavor.price_per_gpu_hour.nanos(),
        weights: flavor.weights.clone(),
        default_target: flavor.default_target,
        prefill_target: flavor.prefill_target,
        max_len: flavor.max_len,
        modality: shape.modality.as_str().to_owned(),
        context_length: shape.context_length,
    };
    serde_json::to_string(&text).unwrap_or_default()
}

pub(super) fn read(text: &str) -> Option<Shape> {
    let text: Text = serde_json::from_str(text).ok()?;
    let launch = match (text.engine, text.argv) {
        (Some(engine), None) => Launch::Engine(EngineKind::parse(&engine)?),
        (None, Some(argv)) => Launch::Argv(argv),
        (Some(_), Some(_)) | (None, None) => return None,
    };
    let driver = text.driver.as_deref().map_or(Some(DriverKind::Process), DriverKind::parse)?;
    let flavor = Flavor {
        name: text.name,
        gpu_type: GpuType::parse(&text.gpu_type).ok()?,
        gpu_count: text.gpu_count,
        precision: text.precision,
        driver,
        launch,
        options: EngineOptions {
            tool_parser: text.tool_parser,
            reasoning_parser: text.reasoning_parser,
            chat_template: text.chat_template,
            args: text.args,
        },
        image: text.image,
        price_per_gpu_hour: NanoUsd::from_nanos(text.price_per_gpu_hour),
        weights: text.weights,
        default_target: text.default_target,
        prefill_target: text.prefill_target,
        max_len: text.max_len,
    };
    let modality = Modality::parse(&text.modality)?;
    Some(Shape { flavor, modality, context_length: text.context_length })
}
