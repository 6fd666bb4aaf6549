//! The calls that are counted and sampled.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use testkit::fake_engine::Script;
use testkit::process::{Child, Forebay, ForebayLaunch};

use super::Options;
use super::callgrind::{self, Callgrind, ThreadCounts};
use super::components::{Component, SERVING};
use super::perf::{self, Samples};
use crate::proxy_bench::load::closed_loop::{self, warm_connections};
use crate::proxy_bench::load::connection::Connection;
use crate::proxy_bench::load::{requests, streams};
use crate::proxy_bench::setup::gateways::{Gateway, Variant, configuration, gateway_of, set_script, start_engine};
use crate::proxy_bench::setup::host::Cores;

const KIB: usize = 1024;
/// Calls before the counting, so that caches are filled and connections open.
const WARM_UP: usize = 30;
/// Repetitions, of which the least counts: timers, and data that arrives in two pieces, can only add instructions.
const COUNTS: usize = 12;
const COUNTED_EVENTS: usize = 40;
/// Longer than Callgrind takes for an event on a busy machine: events that are read together cost less.
const COUNTED_PACE_MS: u64 = 50;
const SAMPLED_CALLS: usize = 60_000;
const SAMPLED_STREAMS: usize = 200;
const SAMPLED_EVENTS: usize = 100;
const PACE: Duration = Duration::from_millis(20);
const CONNECTIONS: usize = 32;
const REPLICAS: usize = 8;

/// A kind of call. The model of all of them has [`REPLICAS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Workload {
    /// A prompt of 1 KiB.
    Unary,
    /// One event of a stream.
    Event,
    /// A prompt of 48 KiB.
    LongPrompt,
}

impl Workload {
    pub(super) const ALL: [Self; 3] = [Self::Unary, Self::Event, Self::LongPrompt];

    /// As in the file of expected numbers.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Unary => "unary",
            Self::Event => "event",
            Self::LongPrompt => "prompt_48k",
        }
    }

    /// Calls of one count.
    const fn calls(self) -> usize {
        match self {
            Self::Unary => 100,
            Self::Event => 1,
            Self::LongPrompt => 20,
        }
    }

    fn request(self, gateway: &Gateway) -> Bytes {
        match self {
            Self::Unary => requests::chat(gateway, KIB),
            Self::Event => requests::stream(gateway),
            Self::LongPrompt => requests::chat(gateway, 48 * KIB),
        }
    }
}

/// Instructions per call or event.
#[derive(Debug)]
pub(super) struct Counts {
    /// The instructions of the thread that serves it.
    pub(super) serving: u64,
    /// The same by component, largest first.
    pub(super) components: Vec<(Component, f64)>,
    /// The instructions of all other threads, which depend on how many calls they handle at once.
    pub(super) background: u64,
}

/// The engine and a gateway in front of it, under Callgrind.
pub(super) struct Workloads<'a> {
    options: &'a Options,
    cores: Cores,
    scratch: &'a Path,
    engine: SocketAddr,
    _engine: Child,
    counted: (Forebay, Gateway),
}

impl<'a> Workloads<'a> {
    pub(super) async fn start(options: &'a Options, cores: Cores, scratch: &'a Path) -> anyhow::Result<Self> {
        let launcher = callgrind::launcher(&options.forebay, scratch)?;
        let (child, engine) = start_engine(options.fake_engine.clone(), cores.engine, scratch).await?;
        let counted = start_gateway(engine, cores, &launcher).await?;
        Ok(Self { options, cores, scratch, engine, _engine: child, counted })
    }

    /// Counts the instructions of the workload, one call at a time, until there are at most `enough` of them.
    pub(super) async fn count(&self, workload: Workload, enough: Option<u64>) -> anyhow::Result<Counts> {
        let script = Script { chunks: COUNTED_EVENTS, chunk_delay_ms: COUNTED_PACE_MS, ..Script::default() };
        self.script(workload, script).await?;
        let (forebay, gateway) = &self.counted;
        let callgrind = Callgrind::new(self.scratch, forebay.child.pid());
        let (request, calls) = (workload.request(gateway), workload.calls());
        let mut connection = Connection::open(gateway.address).await?;
        for _ in 0..WARM_UP.min(calls) {
            connection.exchange(&request, 200).await?;
        }
        let mut least: Option<Counts> = None;
        for _ in 0..COUNTS {
            callgrind.begin()?;
            let mut units = 0;
            for _ in 0..calls {
                let events = connection.exchange(&request, 200).await?.events;
                units += if workload == Workload::Event { events } else { 1 };
            }
            let counts = counts_of(callgrind.end()?, units)?;
            if least.as_ref().is_none_or(|least| counts.serving < least.serving) {
                least = Some(counts);
            }
            if least.as_ref().is_some_and(|least| enough.is_some_and(|enough| least.serving <= enough)) {
                break;
            }
        }
        least.context("nothing was counted")
    }

    /// Samples the CPU time of the workload at full speed, with many connections; `None` if perf does not work here.
    pub(super) async fn sample(&self, workload: Workload) -> anyhow::Result<Option<Samples>> {
        let pace = u64::try_from(PACE.as_millis())?;
        self.script(workload, Script { chunks: SAMPLED_EVENTS, chunk_delay_ms: pace, ..Script::default() }).await?;
        let (_forebay, gateway) = start_gateway(self.engine, self.cores, &self.options.forebay).await?;
        let request = workload.request(&gateway);
        let load = async {
            match workload {
                Workload::Event => {
                    let first = requests::chat(&gateway, KIB);
                    let connections = warm_connections(&gateway, SAMPLED_STREAMS, &first, 200).await?;
                    perf::sample(&gateway.pids, self.scratch, streams::run_paced(connections, &request, PACE)).await
                }
                Workload::Unary | Workload::LongPrompt => {
                    let connections = warm_connections(&gateway, CONNECTIONS, &request, 200).await?;
                    let load = async {
                        let done =
                            closed_loop::run(connections, std::slice::from_ref(&request), SAMPLED_CALLS, 200).await?;
                        Ok(done.calls)
                    };
                    perf::sample(&gateway.pids, self.scratch, load).await
                }
            }
        };
        load.await
    }

    async fn script(&self, workload: Workload, stream: Script) -> anyhow::Result<()> {
        let script = if workload == Workload::Event { stream } else { Script::default() };
        set_script(self.engine, &script).await
    }
}

async fn start_gateway(engine: SocketAddr, cores: Cores, binary: &Path) -> anyhow::Result<(Forebay, Gateway)> {
    let variant = Variant { upstreams: REPLICAS, ..Variant::default() };
    let launch = ForebayLaunch::default().binary(binary).core(cores.gateway);
    let forebay = launch.start(&configuration(engine, &variant, "")).await?;
    let gateway = gateway_of(&forebay, &variant)?;
    Ok((forebay, gateway))
}

fn counts_of(mut threads: Vec<ThreadCounts>, units: u64) -> anyhow::Result<Counts> {
    threads.sort_by_key(|thread| thread.get(&SERVING).copied().unwrap_or(0));
    let serving = threads.pop().filter(|thread| thread.contains_key(&SERVING));
    let serving = serving.context("no thread served calls: has the binary no line tables?")?;
    let background: u64 = threads.iter().flat_map(ThreadCounts::values).sum();
    let mut components: Vec<_> =
        serving.iter().map(|(component, cost)| (*component, *cost as f64 / units as f64)).collect();
    components.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    Ok(Counts { serving: serving.values().sum::<u64>() / units, components, background: background / units })
}
