//! A schedule: what happens to the world, in order. A seed defines one; a failing one is made shorter.

use super::random::Random;
use domain::endpoint::failure::FailureClass;
use domain::endpoint::scaling::Mode;

/// Endpoints that a schedule has at once.
pub(super) const SLOTS: u32 = 3;
/// More operations than any round has.
pub(super) const ALL_STEPS: u32 = 1_000;
/// Clocks of nodes are at most this far from the right time.
pub(super) const MAX_SKEW_MILLIS: i64 = 60_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Schedule {
    pub(super) nodes: usize,
    pub(super) events: Vec<Event>,
}

/// A node runs until it would call the store or the driver; the event says how many of these calls it makes. So other
/// events may happen before each of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Event {
    /// Time passes, in milliseconds.
    Advance(u32),
    /// A node's election makes up to this many calls.
    Elect {
        node: usize,
        steps: u32,
    },
    /// A node's round makes up to this many calls.
    Round {
        node: usize,
        steps: u32,
    },
    /// A node's process is killed and starts again without its memory.
    Crash {
        node: usize,
    },
    /// A node's clock is set, in milliseconds.
    SetClock {
        node: usize,
        by: i32,
    },
    /// The next call of a node to the store or to the driver fails.
    FailStore {
        node: usize,
        fault: Fault,
    },
    FailDriver {
        node: usize,
        fault: Fault,
    },
    Create {
        slot: u32,
        gpus: u32,
        mode: Mode,
    },
    Scale {
        slot: u32,
        mode: Mode,
    },
    Suspend {
        slot: u32,
    },
    Resume {
        slot: u32,
    },
    Delete {
        slot: u32,
    },
    /// The operator sets the organization's cap.
    SetAllotment(u64),
    /// A node reports its calls to each endpoint, and wakes those at zero that have some.
    Report {
        node: usize,
        calls: u32,
    },
    /// The course of the process that is started next.
    Fate(Fate),
    /// One of the running processes ends by itself, with or without a record.
    Kill {
        index: u32,
        recorded: bool,
    },
    /// One of the running processes no longer responds to probes, or does again.
    Sicken {
        index: u32,
    },
    /// Something else asks one of the running processes to end.
    Evict {
        index: u32,
    },
    /// The driver does not know the state of one of the processes, or does again.
    Hide {
        index: u32,
    },
}

/// How a call fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// It has no effect.
    Before,
    /// It has its effect, but the response is lost.
    After,
}

/// The course of a process, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Fate {
    /// From its start until it is healthy.
    pub(super) ready: u32,
    /// From its start until it fails by itself.
    pub(super) crash: Option<(u32, FailureClass)>,
    /// From the request to stop until it ends.
    pub(super) stop: u32,
    /// From its end until its GPUs are free.
    pub(super) release: u32,
}

impl Fate {
    pub(super) const HEALTHY: Self = Self { ready: 1_000, crash: None, stop: 300, release: 0 };
}

impl Schedule {
    pub(super) fn of_seed(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let nodes = 1 + random.below(3) as usize;
        let mut events = vec![create(&mut random)];
        for _ in 0..20 + random.below(50) {
            add_event(&mut events, nodes, &mut random);
        }
        Self { nodes, events }
    }
}

fn add_event(events: &mut Vec<Event>, nodes: usize, random: &mut Random) {
    let node = random.below(u32::try_from(nodes).expect("few nodes")) as usize;
    let fault = random.pick(&[Fault::Before, Fault::After]);
    let (slot, index) = (random.below(SLOTS), random.below(6));
    let event = match random.below(100) {
        0..42 => return add_beat(events, nodes, random),
        42..46 => return add_pause(events, nodes, node, random),
        46..55 => Event::Round { node, steps: 1 + random.below(16) },
        55..58 => Event::Elect { node, steps: 1 + random.below(3) },
        58..62 => Event::Advance(random.below(25_000)),
        62..68 => Event::FailStore { node, fault },
        68..73 => Event::FailDriver { node, fault },
        73..76 => Event::Crash { node },
        76..78 => Event::SetClock { node, by: i32::try_from(random.below(60_000)).expect("small") - 30_000 },
        78..80 => create(random),
        80..84 => Event::Scale { slot, mode: mode(random) },
        84..86 => Event::Suspend { slot },
        86..88 => Event::Resume { slot },
        88..90 => Event::Delete { slot },
        90 => Event::SetAllotment(u64::from(random.below(9))),
        91..94 => Event::Report { node, calls: random.below(60) },
        94..96 => Event::Fate(fate(random)),
        96 => Event::Kill { index, recorded: random.chance(70) },
        97 => Event::Sicken { index },
        98 => Event::Evict { index },
        _ => Event::Hide { index },
    };
    events.push(event);
}

/// Some time in which everything works: each node has its turn.
fn add_beat(events: &mut Vec<Event>, nodes: usize, random: &mut Random) {
    events.push(Event::Advance(500 + random.below(3_000)));
    let calls = if random.chance(50) { 0 } else { random.below(40) };
    for node in 0..nodes {
        if random.chance(70) {
            events.push(Event::Report { node, calls });
        }
        events.push(Event::Elect { node, steps: ALL_STEPS });
        events.push(Event::Round { node, steps: ALL_STEPS });
    }
}

/// A node stops in the middle of a round, until others have taken over and acted.
fn add_pause(events: &mut Vec<Event>, nodes: usize, paused: usize, random: &mut Random) {
    events.push(Event::Round { node: paused, steps: 1 + random.below(14) });
    for _ in 0..1 + random.below(5) {
        events.push(Event::Advance(2_000 + random.below(10_000)));
        for node in (0..nodes).filter(|node| *node != paused) {
            events.push(Event::Elect { node, steps: ALL_STEPS });
            events.push(Event::Round { node, steps: ALL_STEPS });
        }
    }
    events.push(Event::Round { node: paused, steps: ALL_STEPS });
}

fn create(random: &mut Random) -> Event {
    Event::Create { slot: random.below(SLOTS), gpus: 1 + random.below(2), mode: mode(random) }
}

fn mode(random: &mut Random) -> Mode {
    if random.chance(40) {
        return Mode::Fixed { replicas: 1 + random.below(3) };
    }
    let min = random.below(3);
    Mode::Autoscaled { min, max: min.max(1) + random.below(3) }
}

fn fate(random: &mut Random) -> Fate {
    use FailureClass::{Crash, EngineRejectedConfig, OutOfMemory, PortTaken, WeightsMissing};
    let crash = random.chance(50).then(|| {
        let class = random.pick(&[Crash, OutOfMemory, PortTaken, WeightsMissing, EngineRejectedConfig]);
        (random.below(20_000), class)
    });
    Fate {
        ready: random.below(30_000),
        crash,
        stop: random.below(20_000),
        release: random.pick(&[0, 0, 5_000, 60_000]),
    }
}
