//! Stops the parts in the reverse order of their start. Each step has a bound on its time.
//!
//! 1. Calls: `/readyz` turns 503, the listening sockets close when no new connections come, and open streams continue up to
//!    `server.drain_timeout`. Lines of batches that run may end in this time; the others run on other nodes, or after the
//!    next start.
//! 2. Engines and the control plane: replicas of dedicated endpoints keep running unless the operator pressed Ctrl-C.
//! 3. Quota leases are returned. A lease that changed after its run has ended would stay reserved.
//! 4. Loops, then the usage events that are still in the journal, then traces and the last lines of the log.
//!
//! Events that stay in the journal are stored by the next start. Events that the journal could not write and that did not
//! reach the store either are lost: they are logged, and the exit status is not 0.

use super::background::Background;
use super::build::Parts;
use super::signals::{End, Signals};
use crate::batch_runner::BatchRunner;
use domain::UsageEvent;
use edge::workers::Workers;
use node::first_start;
use std::path::Path;
use std::time::Duration;
use store::Journal;
use tokio::time::timeout;

/// How long quota leases, and then usage events, may take to reach the store.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(10);
/// How long the last log lines, traces and rejections may take.
pub(super) const LAST_MOMENT: Duration = Duration::from_secs(2);

pub(super) async fn stop(
    parts: &Parts,
    background: Background,
    (workers, runner): (Workers, BatchRunner),
    end: End,
    signals: &mut Signals,
    data_dir: &Path,
) -> anyhow::Result<()> {
    tracing::info!("stopping: open responses may finish");
    parts.node.drain();
    runner.drain();
    tokio::select! {
        () = workers.stop() => {}
        () = signals.wait_for_termination() => tracing::warn!("second signal: open responses are cut"),
    }
    runner.stop().await;
    parts.context.exports.abort().await;
    first_start::forget_listen(data_dir);
    background.engines.stop().await;
    parts.control_plane.leave().await;
    if end == End::Interrupted {
        parts.control_plane.stop_replicas().await;
    }
    parts.control_plane.resign().await;

    let leases_are_back = timeout(FLUSH_TIMEOUT, parts.quota.close()).await.is_ok();
    for failing in background.loops.loops().into_iter().filter(|status| status.failures > 0) {
        let error = failing.last_error.unwrap_or_default();
        tracing::warn!(task = failing.name, failures = failing.failures, %error, "{} was failing", failing.name);
    }
    background.loops.abort().await;
    let _ = timeout(LAST_MOMENT, parts.rejections.flush(&parts.store)).await;
    // The usage writer closes this run's leases at its end, so it must not end while one may still change.
    if !leases_are_back || timeout(FLUSH_TIMEOUT, background.usage_writer.finish()).await.is_err() {
        tracing::warn!(bytes = parts.journal.waiting_bytes(), "usage events stay in the journal for the next start");
    }
    let lost = report_lost(&parts.journal);
    let last_reports = async { tokio::join!(parts.log.flush(), background.trace_export.finish()) };
    let _ = timeout(LAST_MOMENT, last_reports).await;
    parts.store.close().await;
    tracing::info!("stopped");
    anyhow::ensure!(
        lost == 0,
        "{lost} usage events are lost: the journal could not be written and the store not reached"
    );
    Ok(())
}

/// Logs the events that exist only in memory, so that they can be billed by hand. Returns their number.
fn report_lost(journal: &Journal) -> usize {
    let lost = journal.unwritten_events();
    for event in &lost {
        let UsageEvent { request, caller, model, tokens, cost, .. } = event;
        let (workspace, nanos) = (&caller.workspace, cost.nanos());
        tracing::error!(%request, %workspace, %model, ?tokens, cost_nano_usd = nanos, "a usage event is lost");
    }
    lost.len()
}
