//! What identifies an engine on every node, so that nodes share what one of them has found out about it.
//!
//! An engine with other options is another engine: what the old one lacked says nothing about it.

use crate::SecretHash;
use crate::model::{EnginePool, Flavor, Model, ModelId, Serving, Upstream};
use crate::money::NanoUsd;

/// Between the key of an address and the node that has it.
const AT_NODE: &str = " at ";

/// The key of a model server outside of Forebay. The same server may serve several models of the catalogue.
pub fn of_upstream(upstream: &Upstream) -> String {
    let Upstream { url, model, engine, rerank_api, limit_name, .. } = upstream;
    format!("upstream {}", digest(&format!("{url} {model} {engine:?} {rerank_api} {limit_name}")))
}

/// The key of an upstream whose address means another server on each node, such as `localhost`.
pub fn at_node(upstream: &str, node: &str) -> String {
    format!("{upstream}{AT_NODE}{node}")
}

/// The key of the engines of a pool.
pub fn of_pool(model: &ModelId, pool: &EnginePool) -> String {
    let pool = EnginePool { replicas: 0, flavor: pool.flavor.as_deref().map(unpriced).map(Box::new), ..pool.clone() };
    format!("pool {}", digest(&format!("{model} {pool:?}")))
}

/// The key of the replicas of an endpoint.
pub fn of_endpoint(endpoint: &str, flavor: &Flavor) -> String {
    format!("endpoint {endpoint} {}", digest(&format!("{:?}", unpriced(flavor))))
}

/// The keys of all engines of a serverless model, without nodes.
pub fn of_model(model: &Model) -> Vec<String> {
    match &model.serving {
        Serving::Upstreams(upstreams) => upstreams.iter().map(of_upstream).collect(),
        Serving::Engine(pool) => vec![of_pool(&model.id, pool)],
    }
}

/// Whether a result was found at the engine with this key, on whichever node.
pub fn is_of(found_at: &str, key: &str) -> bool {
    found_at.strip_prefix(key).is_some_and(|rest| rest.is_empty() || rest.starts_with(AT_NODE))
}

/// Prices and targets of scaling do not change an engine.
fn unpriced(flavor: &Flavor) -> Flavor {
    Flavor { price_per_gpu_hour: NanoUsd::ZERO, default_target: None, prefill_target: None, ..flavor.clone() }
}

fn digest(text: &str) -> String {
    SecretHash::of(text).to_hex()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::GpuType;
    use crate::model::{EngineKind, EngineOptions};

    #[test]
    fn an_engine_with_other_options_is_another_engine_and_its_price_does_not_matter() {
        let plain = Flavor::plain("one", GpuType::parse("local/cpu").unwrap(), EngineKind::Vllm);
        let options = EngineOptions { tool_parser: Some("hermes".into()), ..EngineOptions::default() };
        let with_tools = Flavor { options, ..plain.clone() };
        let dearer = Flavor { price_per_gpu_hour: NanoUsd::from_nanos(1), default_target: Some(3), ..plain.clone() };
        assert_ne!(of_endpoint("ep_1", &plain), of_endpoint("ep_1", &with_tools));
        assert_eq!(of_endpoint("ep_1", &plain), of_endpoint("ep_1", &dearer));
        assert_ne!(of_endpoint("ep_1", &plain), of_endpoint("ep_2", &plain));
        let upstream = Upstream::plain("http://a/v1", "m");
        let known = Upstream { engine: Some(EngineKind::Vllm), ..upstream.clone() };
        assert_ne!(of_upstream(&upstream), of_upstream(&known), "other calls are made to it");
        let limited = Upstream { max_in_flight: Some(1), ..upstream.clone() };
        assert_eq!(of_upstream(&upstream), of_upstream(&limited));
    }

    #[test]
    fn results_of_all_nodes_belong_to_the_key_of_an_address() {
        let key = of_upstream(&Upstream::plain("http://localhost/v1", "m"));
        assert!(is_of(&key, &key) && is_of(&at_node(&key, "node_a"), &key));
        assert!(!is_of(&format!("{key}0"), &key) && !is_of("upstream", &key));
        let model = Model {
            serving: Serving::Upstreams(vec![Upstream::plain("http://localhost/v1", "m")]),
            ..Model::plain(ModelId::parse("acme/x").unwrap())
        };
        assert_eq!(of_model(&model), [key]);
    }
}
