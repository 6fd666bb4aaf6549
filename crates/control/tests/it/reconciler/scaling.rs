//! Autoscaling.

use super::stage::Stage;
use crate::databases::on_both;
use domain::autoscaler::PrefillQueue;
use fleet::engine::EngineLoad;
use serde_json::json;

fn busy(kv_cache_usage: Option<f64>) -> EngineLoad {
    EngineLoad { kv_cache_usage, running: Some(10.0), waiting: Some(0.0) }
}

impl Stage {
    async fn set_cache_usage(&self, usage: Option<f64>) {
        for replica in self.driver.all().values_mut() {
            replica.load = busy(usage);
        }
        self.report("me", 1, &[]).await;
    }
}

#[tokio::test]
async fn a_full_cache_scales_up_and_the_event_explains_it() {
    on_both(async |_, store| {
        let mut stage = Stage::new(store).await;
        let metric = json!("kv-cache-utilization");
        stage.create(json!({"minReplicas": 2, "maxReplicas": 4, "autoscalingMetric": metric})).await;
        stage.after(1).await;
        stage.all_become_healthy().await;
        for _ in 0..4 {
            stage.set_cache_usage(Some(0.91)).await;
            stage.after(10).await;
        }
        assert_eq!(stage.summary().await, "serving () 2/3");
        let scaled = stage.events().await.into_iter().find(|event| event.kind.as_str() == "endpoint.scaled").unwrap();
        assert_eq!(scaled.message, "2 → 3: kv-cache 0.91 against 0.70 for 30 s");
        assert_eq!((scaled.actor.kind(), scaled.actor.id()), ("system", "autoscaler"));
        let data: serde_json::Value = serde_json::from_str(&scaled.data).unwrap();
        assert_eq!((&data["oldReplicas"], &data["newReplicas"]), (&json!(2), &json!(3)));
        assert_eq!((&data["meanPerReplica"], &data["target"]), (&json!("0.91"), &json!("0.70")));
        assert_eq!(stage.live().await.len(), 3, "and the third one is starting");
    })
    .await;
}

#[tokio::test]
async fn waiting_prompts_scale_up_and_the_event_explains_it() {
    on_both(async |_, store| {
        let mut stage = Stage::new(store).await;
        stage.create(json!({"minReplicas": 1, "maxReplicas": 4})).await;
        stage.after(1).await;
        stage.all_become_healthy().await;
        let replica = stage.live().await[0].id.clone();
        for _ in 0..4 {
            stage.report_prompts("other", &replica, PrefillQueue { tokens: 90_000, calls: 5 }).await;
            stage.after(10).await;
        }
        assert_eq!(stage.summary().await, "serving () 1/3");
        let scaled = stage.events().await.into_iter().find(|event| event.kind.as_str() == "endpoint.scaled").unwrap();
        assert_eq!(
            scaled.message,
            "1 → 3: 90000 prompt tokens of 5 calls in flight, at most 32768 per replica, for 30 s"
        );
        let data: serde_json::Value = serde_json::from_str(&scaled.data).unwrap();
        assert_eq!((&data["prefillTokens"], &data["prefillTarget"]), (&json!(90_000), &json!(32_768)));
    })
    .await;
}

#[tokio::test]
async fn a_missing_metric_is_reported_and_concurrency_may_still_scale_up() {
    on_both(async |_, store| {
        let mut stage = Stage::new(store).await;
        let metric = json!("kv-cache-utilization");
        stage.create(json!({"minReplicas": 1, "maxReplicas": 4, "autoscalingMetric": metric})).await;
        stage.after(1).await;
        stage.all_become_healthy().await;
        for _ in 0..9 {
            stage.set_cache_usage(None).await;
            stage.report("other", 40, &[]).await;
            stage.after(10).await;
        }
        let kinds = async |stage: &Stage| -> Vec<&str> {
            stage.events().await.iter().map(|event| event.kind.as_str()).collect()
        };
        assert!(kinds(&stage).await.contains(&"autoscaler.metrics-missing"));
        let grown = stage.events().await.into_iter().find(|event| event.kind.as_str() == "endpoint.scaled").unwrap();
        assert_eq!(grown.message, "1 → 3: kv-cache is unknown, and 41 concurrent calls need more replicas at 16 each");
        stage.all_become_healthy().await;
        stage.set_cache_usage(Some(0.5)).await;
        stage.after(10).await;
        assert!(kinds(&stage).await.contains(&"autoscaler.metrics-recovered"));
    })
    .await;
}

#[tokio::test]
async fn an_idle_endpoint_scales_to_zero_after_its_window_and_not_before() {
    on_both(async |_, store| {
        let mut stage = Stage::new(store).await;
        stage.create(json!({"minReplicas": 0, "maxReplicas": 2, "scaleToZeroWindowSeconds": 120})).await;
        stage.after(1).await;
        stage.all_become_healthy().await;
        for _ in 0..30 {
            stage.report("other", 1, &[]).await;
            stage.after(10).await;
        }
        assert_eq!(stage.summary().await, "serving () 1/1", "another node has calls");
        for quiet in [0, 10, 60, 110] {
            stage.report_quiet("other", quiet).await;
            stage.after(10).await;
            assert_eq!(stage.summary().await, "serving () 1/1", "{quiet} s are not enough");
        }
        stage.report_quiet("other", 120).await;
        stage.after(10).await;
        assert_eq!(stage.summary().await, "scaled-to-zero () 0/0");
        let idled = stage.events().await.into_iter().rfind(|event| event.message.contains("no call")).unwrap();
        assert_eq!(idled.message, "1 → 0: no call for 120 s");
    })
    .await;
}
