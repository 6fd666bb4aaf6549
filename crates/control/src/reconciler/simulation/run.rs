//! Runs a schedule, checks the rules after every event, and shortens a schedule that breaks one.

use super::invariants::{Rule, Violation};
use super::node::Node;
use super::schedule::{ALL_STEPS, Event, MAX_SKEW_MILLIS, Schedule};
use super::world::{Link, Mutation, World};
use crate::entropy;
use domain::endpoint::state::Trigger;
use parking_lot::Mutex;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

/// Iterations after which the world must match the commands: more than an hour, for the longest backoffs.
const SETTLING_BEATS: u32 = 500;
/// First the steps of a normal day, then longer ones, for backoffs and windows.
const SHORT_BEATS: u32 = 40;
/// The calls of a failure that are shown, from the end.
const SHOWN_CALLS: usize = 150;
/// Runs of a schedule while it is shortened.
const MAX_ATTEMPTS: u32 = 4_000;

/// A broken rule, with the calls that led to it if they were recorded.
pub(super) struct Failure {
    pub(super) violation: Violation,
    pub(super) trace: Vec<String>,
}

/// Runs the schedule, and then the time without faults.
pub(super) fn run(schedule: &Schedule, mutation: Option<Mutation>) -> Result<(), Violation> {
    simulate(schedule, mutation, false).map_err(|failure| failure.violation)
}

/// Like [`run`], with a record of all calls.
pub(super) fn run_traced(schedule: &Schedule, mutation: Option<Mutation>) -> Result<(), Failure> {
    simulate(schedule, mutation, true)
}

fn simulate(schedule: &Schedule, mutation: Option<Mutation>, is_traced: bool) -> Result<(), Failure> {
    entropy::NUMBERED.set(Some(1));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let outcome = runtime.block_on(async {
        let mut simulation = Simulation::new(schedule.nodes, mutation, is_traced);
        for event in &schedule.events {
            simulation.happen(*event).await;
            simulation.check()?;
        }
        simulation.settle().await
    });
    entropy::NUMBERED.set(None);
    outcome
}

struct Simulation {
    world: Arc<Mutex<World>>,
    nodes: Vec<Node>,
}

impl Simulation {
    fn new(nodes: usize, mutation: Option<Mutation>, is_traced: bool) -> Self {
        let mut world = World::new(nodes, mutation);
        world.trace = is_traced.then(Vec::new);
        let world = Arc::new(Mutex::new(world));
        let start = |node| Node::start(Link::new(Arc::clone(&world), node), nodes);
        Self { nodes: (0..nodes).map(start).collect(), world }
    }

    async fn happen(&mut self, event: Event) {
        self.world.lock().note(|| format!("{event:?}"));
        match event {
            Event::Advance(millis) => self.advance(millis).await,
            Event::Elect { node, steps } => self.nodes[node].elect(steps),
            Event::Round { node, steps } => {
                self.nodes[node].round(steps);
                tokio::task::yield_now().await; // its probes run
            }
            Event::Crash { node } => {
                self.nodes[node] = Node::start(Link::new(Arc::clone(&self.world), node), self.nodes.len());
            }
            other => self.world.lock().happen(other),
        }
    }

    async fn advance(&self, millis: u32) {
        {
            let mut world = self.world.lock();
            world.now += i64::from(millis);
            let now = world.now;
            world.machine.advance(now);
        }
        tokio::time::advance(Duration::from_millis(millis.into())).await;
    }

    fn check(&self) -> Result<(), Failure> {
        let mut world = self.world.lock();
        world.check();
        let leaders = self.nodes.iter().filter(|node| node.leads()).count();
        if leaders > 1 {
            world.break_rule(Rule::OneLeader, format!("{leaders} nodes believe that they lead"));
        }
        match world.violation.take() {
            Some(violation) => Err(Failure { violation, trace: world.trace.take().unwrap_or_default() }),
            None => Ok(()),
        }
    }

    /// Without faults, the world comes to match the commands.
    async fn settle(&mut self) -> Result<(), Failure> {
        self.world.lock().heal();
        let mut unsettled = None;
        for beat in 0..SETTLING_BEATS {
            self.beat(if beat < SHORT_BEATS { 1_000 } else { 10_000 }).await?;
            unsettled = self.unsettled();
            if unsettled.is_none() {
                break;
            }
        }
        let mut world = self.world.lock();
        match unsettled {
            Some(detail) => world.break_rule(Rule::Convergence, detail),
            None => world.check_gpu_hours(),
        }
        drop(world);
        self.check()
    }

    async fn beat(&mut self, millis: u32) -> Result<(), Failure> {
        self.happen(Event::Advance(millis)).await;
        for node in 0..self.nodes.len() {
            for event in [
                Event::Report { node, calls: 0 },
                Event::Elect { node, steps: ALL_STEPS },
                Event::Round { node, steps: ALL_STEPS },
            ] {
                self.happen(event).await;
                self.check()?;
            }
        }
        Ok(())
    }

    fn unsettled(&self) -> Option<String> {
        let leads = self.nodes.iter().any(Node::leads);
        if leads { self.world.lock().unsettled() } else { Some("no node leads".to_owned()) }
    }
}

impl World {
    fn happen(&mut self, event: Event) {
        use super::commands::scaling;
        match event {
            Event::SetClock { node, by } => {
                let skew = &mut self.nodes[node].skew;
                *skew = (*skew + i64::from(by)).clamp(-MAX_SKEW_MILLIS, MAX_SKEW_MILLIS);
                self.widest_skew = self.widest_skew.max(skew.abs());
            }
            Event::FailStore { node, fault } => self.nodes[node].store_fault = Some(fault),
            Event::FailDriver { node, fault } => self.nodes[node].driver_fault = Some(fault),
            Event::Create { slot, gpus, mode } => self.create(slot, gpus, mode),
            Event::Scale { slot, mode } => self.apply(slot, |_| Trigger::Rescaled(scaling(mode))),
            Event::Suspend { slot } => self.apply(slot, |_| Trigger::Suspend),
            Event::Resume { slot } => self.apply(slot, |endpoint| Trigger::Resume(endpoint.scaling)),
            Event::Delete { slot } => self.apply(slot, |_| Trigger::Delete),
            Event::SetAllotment(gpus) => self.rows.allotment = gpus,
            Event::Report { node, calls } => self.report(node, calls),
            Event::Fate(fate) => self.machine.fates.push_back(fate),
            Event::Kill { index, recorded } => {
                let now = self.now;
                self.machine.kill(index, recorded, now);
            }
            Event::Sicken { index } => self.machine.sicken(index),
            Event::Evict { index } => {
                let now = self.now;
                self.machine.evict(index, now);
            }
            Event::Hide { index } => self.machine.hide(index),
            Event::Advance(_) | Event::Elect { .. } | Event::Round { .. } | Event::Crash { .. } => {
                unreachable!("these concern nodes")
            }
        }
    }

    /// Removes all faults that would happen later.
    fn heal(&mut self) {
        self.note(|| "faults stop".to_owned());
        self.machine.heal();
        for node in &mut self.nodes {
            (node.store_fault, node.driver_fault) = (None, None);
        }
    }
}

/// Removes events as long as the same rule stays broken: halves first, single events last.
pub(super) fn shortened(schedule: &Schedule, mutation: Option<Mutation>, rule: Rule) -> Schedule {
    let mut shortest = schedule.clone();
    let mut attempts = 0;
    let mut size = shortest.events.len().div_ceil(2);
    while size > 0 {
        let (mut start, length) = (0, shortest.events.len());
        while start < shortest.events.len() && attempts < MAX_ATTEMPTS {
            attempts += 1;
            let mut candidate = shortest.clone();
            candidate.events.drain(start..(start + size).min(candidate.events.len()));
            match run(&candidate, mutation) {
                Err(violation) if violation.rule == rule => shortest = candidate,
                Ok(()) | Err(_) => start += size,
            }
        }
        if shortest.events.len() == length || size > 1 {
            size /= 2;
        }
    }
    shortest
}

/// The text of a failure: the seed, the shortest schedule as Rust, and the calls in it.
pub(super) fn describe(seed: u64, schedule: &Schedule, mutation: Option<Mutation>, violation: &Violation) -> String {
    let shortest = shortened(schedule, mutation, violation.rule);
    let Violation { rule, detail } = violation;
    let mut text = format!("seed {seed} breaks {rule:?}: {detail}\n");
    let _infallible = writeln!(text, "Schedule {{ nodes: {}, events: vec![", shortest.nodes);
    for event in &shortest.events {
        let _infallible = writeln!(text, "    {event:?},");
    }
    text.push_str("] }\n");
    if let Err(failure) = run_traced(&shortest, mutation) {
        let last = failure.trace.len().saturating_sub(SHOWN_CALLS);
        let _infallible = writeln!(text, "{}\n{}", failure.trace[last..].join("\n"), failure.violation.detail);
    }
    text
}
