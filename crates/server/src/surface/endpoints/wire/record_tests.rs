use super::*;
use domain::endpoint::event::EventType;
use domain::endpoint::scaling::{Scaling, ScalingPatch};
use domain::endpoint::state::StateReason;
use domain::endpoint::{EndpointName, Shape};
use domain::model::{EngineKind, Flavor, Modality};
use domain::{EndpointId, EventId, GpuType, KeyId, ModelId, NanoUsd, OrganizationId, WorkspaceId};
use serde_json::json;

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
        labels: BTreeMap::new(),
        created_by: "usr_x".into(),
        created_at: now,
        updated_at: now,
        generation: Generation(7),
    }
}

#[test]
fn the_record_has_the_members_of_the_contract() {
    let patch = ScalingPatch { min: Some(0), max: Some(3), ..ScalingPatch::default() };
    let shown = serde_json::to_value(EndpointView::from(endpoint(patch))).unwrap();
    let moment = "2026-01-05T10:00:00.000Z";
    let expected = json!({
        "id": shown["id"], "object": "endpoint", "name": "chat-prod", "modelId": "dedicated/chat-prod",
        "model": "meta-llama/Llama-3.3-70B-Instruct",
        "organizationId": shown["organizationId"], "workspaceId": shown["workspaceId"], "flavor": "h100-4x-fp8",
        "hardware": {"gpuType": "nvidia/h100-sxm-80gb", "gpuCount": 4, "precision": "fp8"},
        "replicas": null, "minReplicas": 0, "maxReplicas": 3,
        "autoscalingMetric": "concurrency", "autoscalingTarget": 16,
        "scaleToZeroWindowSeconds": 3600, "scaleUpWindowSeconds": 30, "scaleDownWindowSeconds": 600,
        "state": "serving", "stateReason": "", "stateMessage": "", "stateSince": moment,
        "status": {"desired": 2, "pending": 0, "starting": 0, "ready": 2, "draining": 0},
        "committedGpus": 12, "lastRequestAt": null, "labels": {}, "createdBy": "usr_x",
        "createdAt": moment, "updatedAt": moment, "generation": 7
    });
    assert_eq!(shown, expected);
}

#[test]
fn a_fixed_endpoint_shows_its_count_and_a_fraction_is_written_short() {
    let metric = Some(domain::endpoint::scaling::Metric::KvCacheUtilization);
    let patch = ScalingPatch { replicas: Some(2), metric, ..ScalingPatch::default() };
    let shown = serde_json::to_value(EndpointView::from(endpoint(patch))).unwrap();
    assert_eq!(
        (&shown["replicas"], &shown["minReplicas"], &shown["maxReplicas"]),
        (&json!(2), &json!(null), &json!(null))
    );
    assert_eq!(shown["autoscalingTarget"].to_string(), "0.7");
}

#[test]
fn an_event_has_the_members_of_the_contract() {
    let endpoint = endpoint(ScalingPatch::default());
    let (at, key) = (endpoint.created_at, KeyId::new(endpoint.created_at, 9));
    let event = Event {
        to: Some(State::Provisioning),
        reason: "created".into(),
        ..Event::new(EventId::new(at, 1), endpoint.id, EventType::Created, Actor::ApiKey(key.clone()), at)
    };
    let shown = serde_json::to_value(EventView::from(event)).unwrap();
    let expected = json!({
        "id": shown["id"], "type": "endpoint.created", "at": "2026-01-05T10:00:00.000Z",
        "actor": {"kind": "api-key", "id": key.as_str()}, "from": null, "to": "provisioning",
        "reason": "created", "message": "", "replicaId": null, "data": {}
    });
    assert_eq!(shown, expected);
    for kind in EventType::ALL {
        assert_eq!(EventType::parse(kind.as_str()), Some(kind));
    }
}
