//! `/v1/models`: the catalogue as clients see it.

use crate::surface::Body;
use crate::surface::inference::{InferenceError, call_error};
use crate::surface::json;
use dataplane::{CallError, Dataplane};
use domain::capabilities::Capabilities;
use domain::model::Modality;
use domain::{Caller, NanoUsd, PriceShare};
use fleet::Route;
use http::{Response, StatusCode};
use percent_encoding::percent_decode_str;
use serde::Serialize;
use std::collections::BTreeMap;
use utoipa::ToSchema;

#[derive(Serialize, ToSchema)]
#[schema(as = ModelList)]
struct ModelList<'a> {
    /// `list`
    object: &'static str,
    data: Vec<ModelView<'a>>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = Model)]
struct ModelView<'a> {
    id: &'a str,
    /// `model`
    object: &'static str,
    created: i64,
    owned_by: &'a str,
    name: &'a str,
    provider: &'a str,
    /// `chat`, `embedding` or `rerank`
    modality: &'static str,
    /// `available`, `degraded` or `unavailable`
    status: &'static str,
    context_length: u64,
    optimized: bool,
    pricing: Pricing,
    /// What its engines have shown, such as `"tools": true`. A capability that is absent is not known.
    #[schema(value_type = std::collections::BTreeMap<String, bool>)]
    capabilities: BTreeMap<&'static str, bool>,
    /// The model that an alias stands for.
    #[serde(skip_serializing_if = "Option::is_none")]
    alias_of: Option<&'a str>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ModelPricing)]
struct Pricing {
    /// `USD`
    currency: &'static str,
    /// Decimal text.
    input_per_1m: String,
    cached_input_per_1m: String,
    output_per_1m: String,
    /// For 1,000 rerank calls, beside their tokens; absent if they cost nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "2.00")]
    per_1k_searches: Option<String>,
    /// The share of these prices that batches and `service_tier: "flex"` pay; absent if they pay all of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, example = "0.5")]
    batch_discount: Option<String>,
}

/// The catalogue has no dates, but clients expect a number.
const CREATED: i64 = 1_767_225_600;

impl<'a> From<&'a Route> for ModelView<'a> {
    fn from(route: &'a Route) -> Self {
        let model = &route.model;
        Self {
            id: model.id.as_str(),
            object: "model",
            created: CREATED,
            owned_by: model.id.provider(),
            name: &model.name,
            provider: model.id.provider(),
            modality: model.modality.as_str(),
            status: route.pool.availability().as_str(),
            context_length: model.context_length,
            optimized: model.optimized,
            pricing: Pricing {
                currency: "USD",
                input_per_1m: model.price.input_per_1m.to_string(),
                cached_input_per_1m: model.price.cached_input_per_1m.to_string(),
                output_per_1m: model.price.output_per_1m.to_string(),
                per_1k_searches: Some(model.per_1k_searches)
                    .filter(|price| *price != NanoUsd::ZERO)
                    .map(|price| price.to_string()),
                batch_discount: Some(model.batch_discount)
                    .filter(|share| *share != PriceShare::WHOLE)
                    .map(|share| share.to_string()),
            },
            capabilities: known(model.modality, &route.pool.capabilities()),
            alias_of: None,
        }
    }
}

/// The capabilities that engines have shown. Batches run on any model that can do what it is for.
fn known(modality: Modality, capabilities: &Capabilities) -> BTreeMap<&'static str, bool> {
    let sets = [(capabilities.present(), true), (capabilities.missing(), false)];
    let of_engines = sets.into_iter().flat_map(|(set, can)| set.iter().map(move |one| (one.as_str(), can)));
    of_engines.chain([("batch", !capabilities.missing().contains(modality.purpose()))]).collect()
}

impl<'a> ModelView<'a> {
    /// The record of the model under the name that the client knows, which may be an alias.
    fn named(name: &'a str, route: &'a Route) -> Self {
        let view = Self::from(route);
        let alias_of = (view.id != name).then_some(view.id);
        Self { id: name, alias_of, ..view }
    }
}

/// The catalogue: models, then exact aliases. Only those that the key may call.
#[utoipa::path(get, path = "/v1/models", operation_id = "listModels", tag = "inference",
    params(("provider" = Option<String>, Query), ("modality" = Option<String>, Query), ("status" = Option<String>, Query)),
    responses((status = 200, body = ModelList<'static>)))]
pub(super) fn list(dataplane: &Dataplane, caller: &Caller, query: Option<&str>) -> Response<Body> {
    let table = dataplane.routes().table();
    let aliases = dataplane.exact_aliases(caller);
    let filters = filters(query.unwrap_or(""));
    let matches = |view: &ModelView<'_>| {
        filters.iter().all(|(name, value)| match name.as_str() {
            "provider" => view.provider == value,
            "modality" => view.modality == value,
            "status" => view.status == value,
            _ => true,
        })
    };
    let allowed = table.iter().filter(|route| dataplane.is_allowed(caller, route));
    let models = allowed.map(|route| ModelView::from(&**route));
    let aliases = aliases.iter().map(|(name, route)| ModelView::named(name.as_str(), route));
    let data = models.chain(aliases).filter(matches).collect();
    encoded(&ModelList { object: "list", data })
}

/// One model; the slash of its id raw.
#[utoipa::path(get, path = "/v1/models/{provider}/{name}", operation_id = "getModel", tag = "inference",
    responses((status = 200, body = ModelView<'static>)))]
pub(super) fn show(dataplane: &Dataplane, caller: &Caller, path: &str) -> Result<Response<Body>, InferenceError> {
    let id = percent_decode_str(path).decode_utf8_lossy();
    let route = dataplane.route(caller, &id).map_err(|error| call_error(error, caller))?;
    match route {
        Some(route) => Ok(encoded(&ModelView::named(&id, &route))),
        None => Err(InferenceError::Call(CallError::UnknownModel { model: id.chars().take(200).collect() })),
    }
}

/// The filters of a query; an empty value is none.
fn filters(query: &str) -> Vec<(String, String)> {
    let decode = |text: &str| percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned();
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| (decode(name), decode(value)))
        .collect()
}

fn encoded(view: &impl Serialize) -> Response<Body> {
    json(StatusCode::OK, serde_json::to_vec(view).expect("views have only text keys"))
}
