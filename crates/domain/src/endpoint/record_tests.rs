use super::*;
use crate::catalogue::Catalogue;
use crate::endpoint::scaling::ScalingPatch;
use crate::model::{EngineKind, Flavor, Modality, Model};
use crate::money::NanoUsd;

fn flavor(gpu_count: u32, weights: &str) -> Flavor {
    Flavor {
        gpu_count,
        precision: "fp8".into(),
        price_per_gpu_hour: NanoUsd::parse("2.50").unwrap(),
        weights: Some(weights.into()),
        ..Flavor::plain("h100-4x-fp8", GpuType::parse("nvidia/h100-sxm-80gb").unwrap(), EngineKind::Vllm)
    }
}

fn endpoint(scaling: ScalingPatch) -> Endpoint {
    let now = Timestamp::parse("2026-01-05T10:00:00Z").unwrap();
    Endpoint {
        id: EndpointId::new(now, 1),
        organization: OrganizationId::new(now, 2),
        workspace: WorkspaceId::new(now, 3),
        name: EndpointName::parse("chat-prod").unwrap(),
        model: ModelId::parse("meta-llama/Llama-3.3-70B-Instruct").unwrap(),
        shape: Shape { flavor: flavor(4, "w"), modality: Modality::Chat, context_length: 8_192 },
        scaling: Scaling::create(&scaling, None).unwrap(),
        state: State::Serving,
        reason: StateReason::Plain,
        message: String::new(),
        state_since: now,
        started_at: now,
        status: Status { desired: 2, ready: 2, ..Status::default() },
        committed_gpus: 12,
        last_request_at: None,
        labels: Labels::new(),
        created_by: "usr_x".into(),
        created_at: now,
        updated_at: now,
        generation: Generation(7),
    }
}

#[test]
fn a_flavor_that_the_catalogue_dropped_or_moved_to_other_gpus_is_kept() {
    let endpoint = endpoint(ScalingPatch::default());
    let catalogue = |flavors| {
        let model = Model { context_length: 9_000, flavors, ..Model::plain(endpoint.model.clone()) };
        Catalogue::new(vec![model], "hash")
    };
    let weights =
        |catalogue: &Catalogue| endpoint.shape.effective(&endpoint.model, catalogue).flavor.weights.clone().unwrap();
    assert_eq!(weights(&catalogue(vec![flavor(4, "newer")])), "newer");
    assert_eq!(weights(&catalogue(vec![flavor(8, "newer")])), "w");
    assert_eq!(weights(&catalogue(Vec::new())), "w");
    assert_eq!(weights(&Catalogue::default()), "w");
}
