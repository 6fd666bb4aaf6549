//! A node: the real election and the real rounds of the reconciler, on a simulated store and driver.

use super::commands::catalogue;
use super::world::{Link, Pause};
use crate::reconciler::autoscale::Autoscaler;
use crate::reconciler::leader::{Elector, Leadership};
use crate::reconciler::round::{Probes, Round};
use crate::reconciler::{Parts, Reach};
use domain::Timestamp;
use fleet::{Endpoints, Routes};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Waker};

thread_local! {
    /// The clock of the node that runs.
    static CLOCK: Cell<Timestamp> = const { Cell::new(Timestamp::from_millis(0)) };
}

fn clock() -> Timestamp {
    CLOCK.get()
}

pub(super) struct Node {
    link: Link,
    elections: Task,
    rounds: Task,
    leadership: Leadership,
}

impl Node {
    /// Starts without a memory. All nodes are on the same machine.
    pub(super) fn start(link: Link, nodes: usize) -> Self {
        let name = |number: usize| format!("node-{number}");
        let (routes, node) = (Routes::default(), name(link.node));
        routes.apply(&catalogue()).unwrap();
        let reach = Reach::of_node(&node);
        reach.set((0..nodes).map(name).collect::<BTreeSet<_>>());
        let parts = Parts {
            store: link.clone(),
            driver: link.clone(),
            routes,
            endpoints: Endpoints::default(),
            node,
            reach,
            now: clock,
            nudge: Arc::default(),
            metrics: Arc::default(),
        };
        let leadership = Leadership::default();
        let elector = Elector::new(&parts, leadership.clone());
        let elections = Task::new(|idle| elections(elector, idle));
        let rounds = Task::new(|idle| rounds(parts, leadership.clone(), idle));
        Self { link, elections, rounds, leadership }
    }

    /// Whether it believes that it leads.
    pub(super) fn leads(&self) -> bool {
        self.leadership.epoch().is_some()
    }

    pub(super) fn elect(&mut self, steps: u32) {
        self.elections.run(&self.link, steps);
    }

    pub(super) fn round(&mut self, steps: u32) {
        self.rounds.run(&self.link, steps);
    }
}

async fn elections(mut elector: Elector<Link>, idle: Idle) {
    loop {
        idle.wait().await;
        // A failed attempt is repeated, as the loop does.
        let _outcome = elector.tick().await;
    }
}

async fn rounds(parts: Parts<Link, Link>, leadership: Leadership, idle: Idle) {
    let (mut probes, mut autoscaler) = (Probes::default(), Autoscaler::default());
    loop {
        idle.wait().await;
        let Some(epoch) = leadership.epoch() else { continue };
        let Ok(Some(mut round)) = Round::begin(&parts, &mut probes, &leadership, epoch).await else { continue };
        if round.reconcile().await.is_ok() {
            let _outcome = autoscaler.tick(&round).await;
        }
    }
}

/// A loop of a node, which stops before each call to the store or to the driver.
struct Task {
    future: Pin<Box<dyn Future<Output = ()>>>,
    is_idle: Arc<AtomicBool>,
}

impl Task {
    fn new<F: Future<Output = ()> + 'static>(body: impl FnOnce(Idle) -> F) -> Self {
        let is_idle = Arc::new(AtomicBool::new(false));
        let future = Box::pin(body(Idle(Arc::clone(&is_idle))));
        let mut task = Self { future, is_idle };
        task.poll(); // to its first wait
        task
    }

    /// Makes up to `steps` calls of its current iteration, or begins the next one.
    fn run(&mut self, link: &Link, steps: u32) {
        let now = link.lock().clock_of(link.node);
        CLOCK.set(now);
        for _ in 0..steps {
            self.poll();
            if self.is_idle.load(Ordering::Relaxed) {
                return;
            }
        }
    }

    fn poll(&mut self) {
        let outcome = self.future.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        assert!(outcome.is_pending(), "a loop never ends");
    }
}

/// The wait between two iterations.
struct Idle(Arc<AtomicBool>);

impl Idle {
    async fn wait(&self) {
        self.0.store(true, Ordering::Relaxed);
        Pause::default().await;
        self.0.store(false, Ordering::Relaxed);
    }
}
