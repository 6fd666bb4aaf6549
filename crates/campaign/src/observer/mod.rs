//! Watches the cluster while it runs, and reads what the store holds at the end.

mod processes;
mod rows;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use bytes::Bytes;
use http::Method;
use serde::Deserialize;
use testkit::http::Client;

use super::cluster::Cluster;
use super::cluster::network::operations;
use super::history::{End, EndpointRow, Record, Recorder, Sample, StoreSample};
use super::schedule::NODES;
use processes::Processes;
pub(super) use rows::read_rows;

const SAMPLE_EVERY: Duration = Duration::from_millis(1_000);
const SCRAPE_TIMEOUT: Duration = Duration::from_millis(900);
/// Time for journals to drain, holds to close and endpoints to go.
const SETTLED_WITHIN: Duration = Duration::from_secs(120);

/// The term and the endpoints in one line of JSON.
const SAMPLE_SQL: &str = "SELECT json_build_object('epoch', l.epoch, 'holder', l.holder, 'renewals', l.renewals, 'endpoints',
    (SELECT coalesce(json_agg(json_build_object('name', e.name, 'state', e.state, 'ceiling', coalesce(e.replicas, e.max_replicas),
        'gpu_count', e.gpu_count, 'committed', e.committed_gpus)), '[]') FROM endpoints e WHERE e.deleted_at IS NULL))
    FROM leader l WHERE l.name = 'control'";

/// The latest observations, for those that act on them.
pub(super) struct Observer {
    cluster: Arc<Cluster>,
    recorder: Recorder,
    stopped: AtomicBool,
    leader: AtomicUsize,
}

#[derive(Deserialize)]
struct Settled {
    holds: u64,
    endpoints: Vec<EndpointRow>,
}

const SETTLED_SQL: &str = "SELECT json_build_object('holds', (SELECT count(*) FROM replica_holds WHERE ended_at IS NULL), 'endpoints',
    (SELECT coalesce(json_agg(json_build_object('name', e.name, 'state', e.state, 'ceiling', coalesce(e.replicas, e.max_replicas),
        'gpu_count', e.gpu_count, 'committed', e.committed_gpus)), '[]') FROM endpoints e WHERE e.deleted_at IS NULL))";

impl Observer {
    pub(super) fn new(cluster: Arc<Cluster>, recorder: Recorder) -> Arc<Self> {
        Arc::new(Self { cluster, recorder, stopped: AtomicBool::new(false), leader: AtomicUsize::new(0) })
    }

    /// The node that led last.
    pub(super) fn leader(&self) -> usize {
        self.leader.load(Ordering::Relaxed)
    }

    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Samples until stopped, and starts nodes again that end unasked.
    pub(super) async fn watch(self: Arc<Self>) -> anyhow::Result<()> {
        let mut processes = Processes::default();
        while !self.stopped.load(Ordering::Relaxed) {
            let begun = Instant::now();
            let sample = self.sample().await;
            if let Some(leader) = sample.leading.iter().position(|leads| *leads == Some(true)) {
                self.leader.store(leader, Ordering::Relaxed);
            }
            self.recorder.add(&Record::Sample(sample))?;
            processes.look(self.recorder.now())?;
            for node in &self.cluster.nodes {
                // A node that a fault is working on is locked.
                if let Ok(mut node) = node.try_lock() {
                    node.revive().await?;
                }
            }
            tokio::time::sleep(SAMPLE_EVERY.saturating_sub(begun.elapsed())).await;
        }
        processes.into_records().iter().try_for_each(|process| self.recorder.add(process))
    }

    async fn sample(&self) -> Sample {
        let at = self.recorder.now();
        let query = async {
            let found = tokio::time::timeout(SCRAPE_TIMEOUT, self.cluster.query(SAMPLE_SQL)).await.ok()?.ok()?;
            serde_json::from_str::<StoreSample>(&found).ok()
        };
        let (store, first, second, third) = tokio::join!(query, leads(0), leads(1), leads(2));
        Sample { at, store, leading: vec![first, second, third] }
    }

    /// Waits until nothing is open: no event in a journal, no hold, no endpoint.
    pub(super) async fn settle(&self) -> anyhow::Result<()> {
        let deadline = Instant::now() + SETTLED_WITHIN;
        loop {
            let (settled, waiting) = (self.settled().await, waiting_bytes().await);
            let is_done = settled.as_ref().is_ok_and(|found| found.holds == 0 && found.endpoints.is_empty())
                && waiting == Some(0);
            if is_done || Instant::now() >= deadline {
                let mut unexpected_exits = Vec::new();
                for node in &self.cluster.nodes {
                    unexpected_exits.extend_from_slice(node.lock().await.unexpected());
                }
                let Some(waiting_bytes) = waiting else { bail!("a node does not report its journal") };
                let endpoints = settled?.endpoints;
                let end = End { at: self.recorder.now(), endpoints, waiting_bytes, unexpected_exits };
                return self.recorder.add(&Record::End(end));
            }
            tokio::time::sleep(SAMPLE_EVERY).await;
        }
    }

    async fn settled(&self) -> anyhow::Result<Settled> {
        let found = self.cluster.query(SETTLED_SQL).await?;
        serde_json::from_str(&found).context("the store returned no JSON")
    }
}

/// A page of metrics; `None` if the node does not respond in time.
async fn metrics(node: usize) -> Option<String> {
    let client = Client::new(operations(node));
    let request = client.try_send(Method::GET, "/metrics", Bytes::new());
    let response = tokio::time::timeout(SCRAPE_TIMEOUT, request).await.ok()?.ok()?;
    (response.status == 200).then(|| response.text())
}

fn gauge(page: &str, name: &str) -> Option<u64> {
    page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?.parse().ok()
}

async fn leads(node: usize) -> Option<bool> {
    gauge(&metrics(node).await?, "forebay_leader").map(|value| value == 1)
}

/// The bytes in the journals of all nodes.
async fn waiting_bytes() -> Option<u64> {
    let mut sum = 0;
    for node in 0..NODES {
        sum += gauge(&metrics(node).await?, "forebay_journal_waiting_bytes")?;
    }
    Some(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gauge_is_found_by_its_whole_name() {
        let page = "# TYPE forebay_leader gauge\nforebay_leader_epoch 7\nforebay_leader 1\n";
        assert_eq!((gauge(page, "forebay_leader"), gauge(page, "forebay_other")), (Some(1), None));
    }
}
