//! Makes the faults of the schedule happen, and ends them.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;

use super::cluster::Cluster;
use super::finish;
use super::history::{FaultSpan, Record, Recorder};
use super::observer::Observer;
use super::schedule::{Ending, Fault, NODES, Planned, Schedule, Victim};

/// How long a node runs on with a full disk before it ends.
const BEFORE_ENDING: Duration = Duration::from_millis(1_500);
/// At least this much time follows the last recovery, in milliseconds.
const CALM_END: u64 = 12_000;

pub(super) struct Nemesis {
    pub(super) cluster: Arc<Cluster>,
    pub(super) recorder: Recorder,
    pub(super) observer: Arc<Observer>,
}

impl Nemesis {
    /// Runs the schedule to its end, recovery included.
    pub(super) async fn run(self: Arc<Self>, schedule: Schedule) -> anyhow::Result<()> {
        let mut faults = JoinSet::new();
        for planned in schedule.faults {
            self.sleep_until(planned.at).await;
            faults.spawn(Arc::clone(&self).inflict(planned));
            // An upgrade goes on to the next node when this one serves.
            if matches!(planned.fault, Fault::Install { .. }) {
                finish(&mut faults).await?;
            }
            while let Some(ended) = faults.try_join_next() {
                ended??;
            }
        }
        finish(&mut faults).await?;
        self.sleep_until(schedule.length.max(self.recorder.now() + CALM_END)).await;
        Ok(())
    }

    async fn sleep_until(&self, at: u64) {
        tokio::time::sleep(Duration::from_millis(at.saturating_sub(self.recorder.now()))).await;
    }

    async fn inflict(self: Arc<Self>, planned: Planned) -> anyhow::Result<()> {
        let nodes = self.nodes(planned.fault);
        let began = self.recorder.now();
        print(began, "begins", planned.fault, &nodes);
        match planned.fault.victim() {
            Some(_) => {
                let mut each = JoinSet::new();
                for node in &nodes {
                    each.spawn(Arc::clone(&self).inflict_on(*node, planned));
                }
                finish(&mut each).await?;
            }
            None => self.inflict_on_services(planned).await?,
        }
        let ended = self.recorder.now();
        print(ended, "has ended", planned.fault, &nodes);
        self.recorder.add(&Record::Fault(FaultSpan { fault: planned.fault, nodes, began, ended }))
    }

    fn nodes(&self, fault: Fault) -> Vec<usize> {
        let leader = self.observer.leader();
        match fault.victim() {
            Some(Victim::Node(node)) => vec![node],
            Some(Victim::Leader) => vec![leader],
            Some(Victim::Followers) => (0..NODES).filter(|node| *node != leader).collect(),
            None => Vec::new(),
        }
    }

    async fn inflict_on(self: Arc<Self>, index: usize, Planned { until, fault, .. }: Planned) -> anyhow::Result<()> {
        let node = &self.cluster.nodes[index];
        match fault {
            Fault::Kill { .. } => {
                let mut node = node.lock().await;
                node.kill();
                self.sleep_until(until).await;
                node.start().await
            }
            Fault::Stop { .. } => {
                let mut node = node.lock().await;
                node.stop().await?;
                self.sleep_until(until).await;
                node.start().await
            }
            Fault::Install { release, .. } => {
                let mut node = node.lock().await;
                node.stop().await?;
                node.install(self.cluster.gateway(release)?, release)?;
                self.sleep_until(until).await;
                node.start().await
            }
            Fault::Pause { .. } => {
                let node = node.lock().await;
                node.pause()?;
                self.sleep_until(until).await;
                node.resume()
            }
            Fault::Partition { link, .. } => {
                self.cluster.network.cut(index, link)?;
                self.sleep_until(until).await;
                self.cluster.network.restore(index, link)
            }
            Fault::SlowDisk { .. } => {
                node.lock().await.disk.slow_down()?;
                self.sleep_until(until).await;
                node.lock().await.disk.speed_up()
            }
            Fault::FullDisk { ending, .. } => self.fill_disk(index, ending, until).await,
            Fault::ClockJump { seconds, .. } => {
                node.lock().await.clock.jump(seconds)?;
                self.sleep_until(until).await;
                node.lock().await.clock.jump(0)
            }
            Fault::RedisFlap { .. }
            | Fault::RedisPause
            | Fault::PostgresPause
            | Fault::PostgresFailover
            | Fault::MonthRollover => Ok(()),
        }
    }

    /// A disk that is full, and a node that ends before there is room again.
    async fn fill_disk(&self, index: usize, ending: Ending, until: u64) -> anyhow::Result<()> {
        let mut node = self.cluster.nodes[index].lock().await;
        node.disk.fill()?;
        match ending {
            Ending::Survives => {
                self.sleep_until(until).await;
                return node.disk.free();
            }
            Ending::Stopped => {
                tokio::time::sleep(BEFORE_ENDING).await;
                node.stop().await?;
            }
            Ending::Killed => {
                tokio::time::sleep(BEFORE_ENDING).await;
                node.kill();
            }
        }
        self.sleep_until(until).await;
        node.disk.free()?;
        node.start().await
    }

    async fn inflict_on_services(&self, Planned { at, until, fault }: Planned) -> anyhow::Result<()> {
        match fault {
            Fault::RedisFlap { times } => {
                let mut redis = self.cluster.redis.lock().await;
                let (times, span) = (u64::from(times.max(1)), until - at);
                for round in 1..=times {
                    redis.kill();
                    self.sleep_until(at + span * (2 * round - 1) / (2 * times)).await;
                    redis.restart().await?;
                    self.sleep_until(at + span * round / times).await;
                }
                Ok(())
            }
            Fault::RedisPause => {
                let redis = self.cluster.redis.lock().await;
                redis.pause()?;
                self.sleep_until(until).await;
                redis.resume()
            }
            Fault::PostgresPause => {
                let postgres = self.cluster.postgres.lock().await;
                postgres.pause()?;
                self.sleep_until(until).await;
                postgres.resume()
            }
            Fault::PostgresFailover => {
                let mut postgres = self.cluster.postgres.lock().await;
                postgres.fail_over().await?;
                postgres.add_standby().await
            }
            // The clocks were set so that it happens now.
            Fault::MonthRollover => {
                self.sleep_until(until).await;
                Ok(())
            }
            Fault::Kill { .. }
            | Fault::Stop { .. }
            | Fault::Install { .. }
            | Fault::Pause { .. }
            | Fault::Partition { .. }
            | Fault::SlowDisk { .. }
            | Fault::FullDisk { .. }
            | Fault::ClockJump { .. } => Ok(()),
        }
    }
}

fn print(at: u64, verb: &str, fault: Fault, nodes: &[usize]) {
    let hit = match fault.victim() {
        Some(Victim::Leader | Victim::Followers) => format!(" (nodes {nodes:?})"),
        Some(Victim::Node(_)) | None => String::new(),
    };
    println!("{:>7.1} s  {fault}{hit} {verb}", at as f64 / 1_000.0);
}
