//! Create, patch, suspend, resume and delete.

use super::platform::{Platform, endpoint_ref, new};
use crate::databases::on_both;
use control::endpoints::{
    self, EndpointCommand, EndpointErrorKind, EndpointRef, EndpointRules, Outcome, RunMode, Scope,
};
use control::workspaces::{self, KeysOfWorkspace};
use domain::endpoint::{Generation, State};
use serde_json::json;
use std::sync::Arc;
use store::{Engine, audit, idempotency};
use tokio::task::JoinSet;

#[tokio::test]
async fn a_create_is_checked_in_order_and_a_name_clash_beats_the_allotment() {
    on_both(async |_, store| {
        let mut platform = Platform::new(store, 2).await;
        let created = platform.create("chat", "1x", json!({"maxReplicas": 2})).await.unwrap();
        assert_eq!((created.outcome, created.replayed), (Outcome::Created, false));
        let record = created.endpoint.unwrap();
        assert_eq!((record.generation, record.state.as_str()), (Generation(1), "provisioning"));
        assert_eq!((record.reason.as_str(), record.created_by), ("created", platform.author.to_string()));

        let code = async |name: &str, flavor: &str, body| platform.create(name, flavor, body).await.unwrap_err().code();
        assert_eq!(code("chat", "4x", json!({"replicas": 64})).await, "ENDPOINT_NAME_IN_USE");
        assert_eq!(code("other", "9x", json!({})).await, "FLAVOR_NOT_OFFERED");
        let kv = json!({"autoscalingMetric": "kv-cache-utilization", "replicas": 64});
        assert_eq!(code("other", "llama", kv).await, "METRIC_NOT_SUPPORTED");
        assert_eq!(code("other", "1x", json!({"replicas": 64})).await, "GPU_ALLOTMENT_EXCEEDED");
        platform.catalogue = domain::Catalogue::default();
        assert_eq!(platform.create("chat", "1x", json!({})).await.unwrap_err().code(), "MODEL_NOT_FOUND");
        let log = audit::list(&platform.store, &audit::Filter::default(), 50).await.unwrap();
        let entry =
            log.iter().map(|recorded| &recorded.entry).find(|entry| entry.action == "endpoint.created").unwrap();
        assert_eq!(
            (&entry.actor, &*entry.detail),
            (&platform.author.to_string(), "chat, provisioning, 2 GPUs committed")
        );
    })
    .await;
}

#[tokio::test]
async fn a_workspace_has_a_bounded_number_of_endpoints() {
    on_both(async |_, store| {
        let platform = Platform::new(store, 1).await;
        let rules = EndpointRules { max_endpoints: 2, ..platform.rules() };
        let create = async |name: &'static str, call: &str| {
            let command = EndpointCommand { rules, ..platform.keyed(call, call) };
            endpoints::create(command, &new(name, "1x", json!({"replicas": 1})), RunMode::Real).await
        };
        for (name, call) in [("one", "1"), ("two", "2")] {
            create(name, call).await.unwrap();
            // A suspended endpoint commits nothing, so the allotment has room for the next one.
            endpoints::suspend(platform.keyed(name, name), &endpoint_ref(name)).await.unwrap();
        }
        let error = create("three", "3").await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (EndpointErrorKind::Conflict, "ENDPOINT_LIMIT_REACHED"));
        assert!(error.to_string().contains("has 2 endpoints"), "{error}");
    })
    .await;
}

#[tokio::test]
async fn a_dry_run_makes_every_check_and_changes_nothing() {
    on_both(async |_, store| {
        let platform = Platform::new(store, 4).await;
        let dry = async |flavor, body| {
            endpoints::create(platform.keyed("k", "f"), &new("chat", flavor, body), RunMode::Dry).await
        };
        let response = dry("4x", json!({})).await.unwrap();
        assert_eq!((response.outcome, response.endpoint.unwrap().committed_gpus), (Outcome::Done, 4));
        assert_eq!(dry("4x", json!({"replicas": 2})).await.unwrap_err().code(), "GPU_ALLOTMENT_EXCEEDED");
        assert_eq!(platform.committed().await, 0);
        platform.create("chat", "1x", json!({})).await.unwrap();
        assert_eq!(dry("1x", json!({})).await.unwrap_err().code(), "ENDPOINT_NAME_IN_USE");
    })
    .await;
}

#[tokio::test]
async fn an_idempotency_key_replays_a_response_and_may_be_reused_after_an_error() {
    on_both(async |_, store| {
        let platform = Platform::new(store, 2).await;
        let create = async |key, fingerprint, flavor| {
            let command = platform.keyed(key, fingerprint);
            endpoints::create(command, &new("chat", flavor, json!({})), RunMode::Real).await
        };
        assert_eq!(create("k", "f", "4x").await.unwrap_err().code(), "GPU_ALLOTMENT_EXCEEDED");
        let first = create("k", "f", "2x").await.unwrap();
        let again = create("k", "f", "2x").await.unwrap();
        assert_eq!((again.replayed, again.outcome, &again.body), (true, Outcome::Created, &first.body));
        assert_eq!(create("k", "g", "2x").await.unwrap_err().code(), "IDEMPOTENCY_KEY_REUSED");
        assert_eq!(create("l", "f", "2x").await.unwrap_err().code(), "ENDPOINT_NAME_IN_USE");
        assert_eq!(platform.committed().await, 2, "one endpoint, counted once");

        let suspend =
            async || endpoints::suspend(platform.keyed("s", "f"), &endpoint_ref("chat")).await.unwrap().replayed;
        assert_eq!((suspend().await, suspend().await), (false, true));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_requests_with_one_key_create_one_endpoint() {
    on_both(async |_, store| {
        let platform = Arc::new(Platform::new(store, 50).await);
        let mut crowd = JoinSet::new();
        for _ in 0..8 {
            let platform = Arc::clone(&platform);
            crowd.spawn(async move {
                let body = new("chat", "1x", json!({}));
                endpoints::create(platform.keyed("k", "f"), &body, RunMode::Real).await.unwrap()
            });
        }
        let responses = crowd.join_all().await;
        assert_eq!(responses.iter().filter(|response| !response.replayed).count(), 1);
        assert!(responses.iter().all(|response| response.body == responses[0].body));
        assert_eq!(platform.committed().await, 1);
    })
    .await;
}

#[tokio::test]
async fn a_key_whose_first_request_has_no_response_yet_is_in_progress() {
    on_both(async |database, store| {
        if store.engine() == Engine::Sqlite {
            return; // one writer at a time
        }
        let platform = Platform::new(store, 4).await;
        let mut first = database.open().await.begin().await.unwrap();
        let request = idempotency::Request { workspace: &platform.workspace.id, key: "k", fingerprint: "f" };
        idempotency::claim(&mut first, request, platform.now).await.unwrap();
        let body = new("chat", "1x", json!({}));
        let second = endpoints::create(platform.keyed("k", "f"), &body, RunMode::Real).await;
        assert_eq!(second.unwrap_err().code(), "IDEMPOTENCY_IN_PROGRESS");
    })
    .await;
}

#[tokio::test]
async fn a_workspace_with_endpoints_cannot_be_deleted() {
    on_both(async |_, store| {
        let platform = Platform::new(store, 4).await;
        let neighbour = &platform.neighbour.id;
        let command =
            EndpointCommand { scope: Scope { workspace: neighbour, ..platform.scope() }, ..platform.command() };
        endpoints::create(command, &new("chat", "1x", json!({})), RunMode::Real).await.unwrap();
        let delete = async || workspaces::delete(platform.command().base, neighbour, KeysOfWorkspace::Keep).await;
        assert_eq!(delete().await.unwrap_err().code(), "workspace_in_use");
    })
    .await;
}

#[tokio::test]
async fn a_patch_applies_only_to_the_generation_it_names() {
    on_both(async |_, store| {
        let platform = Platform::new(store, 20).await;
        platform.create("chat", "4x", json!({"maxReplicas": 2, "labels": {"team": "a", "env": "x"}})).await.unwrap();
        let patched = platform.patch_if("chat", json!({"maxReplicas": 3}), Some("\"1\"")).await.unwrap();
        assert_eq!((patched.outcome, patched.endpoint.unwrap().generation), (Outcome::Done, Generation(2)));
        let stale = platform.patch_if("chat", json!({"maxReplicas": 4}), Some("\"1\"")).await.unwrap_err();
        assert_eq!((stale.code(), stale.kind()), ("ENDPOINT_MODIFIED", EndpointErrorKind::Conflict));

        let labels = platform.patch("chat", json!({"labels": {"env": null, "who": "me"}})).await.unwrap();
        let labels = labels.endpoint.unwrap().labels;
        assert_eq!(labels.keys().map(String::as_str).collect::<Vec<_>>(), ["team", "who"]);
        let unchanged = platform.patch("chat", json!({})).await.unwrap().endpoint.unwrap();
        assert_eq!(unchanged.generation, Generation(3), "nothing to write");
        assert_eq!(platform.patch("chat", json!({"minReplicas": 9})).await.unwrap_err().code(), "INVALID_COMBINATION");
        let kv = platform.patch("chat", json!({"autoscalingMetric": "kv-cache-utilization"})).await.unwrap();
        let back = platform.patch("chat", json!({"autoscalingMetric": "concurrency"})).await.unwrap();
        let target = |response: endpoints::CommandResponse| response.endpoint.unwrap().scaling.target.milli();
        assert_eq!((target(kv), target(back)), (700, 32_000), "the flavor's own default");
        assert_eq!(platform.events("chat").await, ["created", "updated", "updated", "updated", "updated"]);
    })
    .await;
}

#[tokio::test]
async fn suspend_resume_and_delete_are_idempotent() {
    on_both(async |_, store| {
        let platform = Platform::new(store, 4).await;
        platform.create("chat", "4x", json!({})).await.unwrap();
        for _ in 0..2 {
            let suspended = platform.suspend("chat").await.unwrap();
            assert_eq!(suspended.endpoint.unwrap().state, State::Suspended);
        }
        for _ in 0..2 {
            platform.resume("chat", json!({})).await.unwrap();
        }
        for _ in 0..2 {
            assert_eq!(platform.delete("chat").await.unwrap().outcome, Outcome::Accepted);
        }
        assert_eq!(platform.events("chat").await, ["created", "suspended", "resumed", "deleting"]);
        for rejected in [
            platform.suspend("chat").await,
            platform.resume("chat", json!({})).await,
            platform.patch("chat", json!({"labels": {"a": "b"}})).await,
        ] {
            assert_eq!(rejected.unwrap_err().code(), "ENDPOINT_DELETING");
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suspend_wins_against_concurrent_patches() {
    on_both(async |_, store| {
        let parallel = if store.engine() == Engine::Postgres { 4 } else { 2 };
        let platform = Arc::new(Platform::new(store, 64).await);
        platform.create("chat", "1x", json!({"replicas": 1})).await.unwrap();
        let mut patches = JoinSet::new();
        for number in 0..parallel {
            let platform = Arc::clone(&platform);
            patches.spawn(async move { platform.patch("chat", json!({"replicas": 2 + number})).await.map(drop) });
        }
        platform.suspend("chat").await.unwrap();
        for outcome in patches.join_all().await {
            assert!(outcome.is_ok() || outcome.as_ref().is_err_and(|error| error.code() == "ENDPOINT_MODIFIED"));
        }
        assert_eq!((platform.show("chat").await.state, platform.committed().await), (State::Suspended, 0));
    })
    .await;
}

#[tokio::test]
async fn only_the_owning_workspace_sees_an_endpoint() {
    on_both(async |_, store| {
        let platform = Platform::new(store, 4).await;
        platform.create("chat", "1x", json!({})).await.unwrap();
        let id = platform.show("chat").await.id;
        let neighbour = Scope { workspace: &platform.neighbour.id, ..platform.scope() };
        let stranger = domain::OrganizationId::new(platform.now, 99);
        let elsewhere = Scope { organization: &stranger, workspace: &platform.neighbour.id };
        for which in [endpoint_ref("chat"), EndpointRef::Id(id)] {
            let code = async |scope| endpoints::show(&platform.store, scope, &which).await.unwrap_err().code();
            assert_eq!(code(neighbour).await, "WRONG_WORKSPACE");
            assert_eq!(code(elsewhere).await, "ENDPOINT_NOT_FOUND");
        }
        assert_eq!(EndpointRef::parse("No Name").unwrap_err().code(), "ENDPOINT_NOT_FOUND");
        let command = EndpointCommand { scope: neighbour, ..platform.command() };
        let taken = endpoints::create(command, &new("chat", "1x", json!({})), RunMode::Real).await;
        assert_eq!(taken.unwrap_err().code(), "ENDPOINT_NAME_IN_USE", "names are unique within the organization");
        let rejected = endpoints::delete(command, &endpoint_ref("chat")).await.unwrap_err();
        assert_eq!(rejected.kind(), EndpointErrorKind::OtherWorkspace);
    })
    .await;
}
