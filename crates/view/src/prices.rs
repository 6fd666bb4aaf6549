use domain::{NanoUsd, Timestamp};
use serde::Serialize;
use store::prices::PriceVersion;
use utoipa::ToSchema;

/// The price of a model in a span of time.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PriceVersion)]
pub struct PriceVersionView {
    model: String,
    #[schema(value_type = String, format = DateTime)]
    valid_from: Timestamp,
    /// The start of the next version; null for the current one.
    #[schema(value_type = Option<String>, format = DateTime)]
    valid_until: Option<Timestamp>,
    #[schema(value_type = String, example = "0.10")]
    input_per_1m: NanoUsd,
    #[schema(value_type = String, example = "0.05")]
    cached_input_per_1m: NanoUsd,
    #[schema(value_type = String, example = "0.40")]
    output_per_1m: NanoUsd,
}

impl PriceVersionView {
    /// `versions` must be ordered by model and time.
    pub fn list(versions: &[PriceVersion]) -> Vec<Self> {
        let followers = versions.iter().skip(1).map(Some).chain([None]);
        let view = |(version, follower): (&PriceVersion, Option<&PriceVersion>)| Self {
            model: version.model.to_string(),
            valid_from: version.valid_from,
            valid_until: follower.filter(|next| next.model == version.model).map(|next| next.valid_from),
            input_per_1m: version.price.input_per_1m,
            cached_input_per_1m: version.price.cached_input_per_1m,
            output_per_1m: version.price.output_per_1m,
        };
        versions.iter().zip(followers).map(view).collect()
    }
}
