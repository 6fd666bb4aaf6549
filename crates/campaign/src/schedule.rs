//! When which fault happens: a pure function of the seed and the length of the campaign.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::random::Random;

pub const NODES: usize = 3;
/// Before the first fault, in milliseconds.
const WARM_UP: u64 = 5_000;
/// After the last fault, for calls that must succeed again.
const CALM_END: u64 = 20_000;
/// An upgrade stops a node for this long at least, goes on to the next node, and returns to the first one.
const UPGRADE_PAUSE: u64 = 1_000;
const UPGRADE_STEP: u64 = 12_000;
const UPGRADE_ROUND: u64 = 45_000;
/// Two hours, forward or back.
const CLOCK_JUMP_SECONDS: i64 = 7_200;

/// Which nodes a fault hits. The leader is looked up when the fault begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Victim {
    Node(usize),
    Leader,
    Followers,
}

/// What a partitioned node cannot reach, or is not reached by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Link {
    Postgres,
    Redis,
    Clients,
    Engines,
}

/// How a node fares whose disk is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    Survives,
    Stopped,
    Killed,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Release {
    Previous,
    Current,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fault {
    /// SIGKILL, and a restart.
    Kill {
        victim: Victim,
    },
    /// SIGTERM, and a restart.
    Stop {
        victim: Victim,
    },
    /// SIGTERM, and a start of this release.
    Install {
        victim: Victim,
        release: Release,
    },
    /// SIGSTOP, and SIGCONT.
    Pause {
        victim: Victim,
    },
    /// Packets in both directions are dropped.
    Partition {
        victim: Victim,
        link: Link,
    },
    SlowDisk {
        victim: Victim,
    },
    FullDisk {
        victim: Victim,
        ending: Ending,
    },
    /// The wall clock jumps, and jumps back.
    ClockJump {
        victim: Victim,
        seconds: i64,
    },
    /// Redis is killed and restarted, empty, several times.
    RedisFlap {
        times: u32,
    },
    RedisPause,
    PostgresPause,
    /// The primary dies and its streaming replica is promoted.
    PostgresFailover,
    /// The clock of PostgreSQL, which all nodes follow, passes into the next month.
    MonthRollover,
}

impl Fault {
    pub fn victim(self) -> Option<Victim> {
        match self {
            Self::Kill { victim }
            | Self::Stop { victim }
            | Self::Install { victim, .. }
            | Self::Pause { victim }
            | Self::Partition { victim, .. }
            | Self::SlowDisk { victim }
            | Self::FullDisk { victim, .. }
            | Self::ClockJump { victim, .. } => Some(victim),
            Self::RedisFlap { .. }
            | Self::RedisPause
            | Self::PostgresPause
            | Self::PostgresFailover
            | Self::MonthRollover => None,
        }
    }

    /// Whether the process of its victim ends.
    pub fn ends_process(self) -> bool {
        matches!(
            self,
            Self::Kill { .. }
                | Self::Stop { .. }
                | Self::Install { .. }
                | Self::FullDisk { ending: Ending::Stopped | Ending::Killed, .. }
        )
    }

    /// Whether the process of its victim ends without a chance to finish its calls.
    pub fn kills(self) -> bool {
        matches!(self, Self::Kill { .. } | Self::FullDisk { ending: Ending::Killed, .. })
    }
}

impl fmt::Display for Victim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(node) => write!(f, "node {node}"),
            Self::Leader => f.write_str("the leader"),
            Self::Followers => f.write_str("the followers"),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kill { victim } => write!(f, "kill {victim}"),
            Self::Stop { victim } => write!(f, "stop {victim}"),
            Self::Install { victim, release: Release::Previous } => write!(f, "roll {victim} back"),
            Self::Install { victim, release: Release::Current } => write!(f, "upgrade {victim}"),
            Self::Pause { victim } => write!(f, "pause {victim}"),
            Self::Partition { victim, link } => {
                let peer = match link {
                    Link::Postgres => "PostgreSQL",
                    Link::Redis => "Redis",
                    Link::Clients => "its clients",
                    Link::Engines => "its engines",
                };
                write!(f, "cut {victim} off from {peer}")
            }
            Self::SlowDisk { victim } => write!(f, "slow disk of {victim}"),
            Self::FullDisk { victim, ending: Ending::Survives } => write!(f, "full disk of {victim}"),
            Self::FullDisk { victim, ending: Ending::Stopped } => write!(f, "full disk of {victim}, which is stopped"),
            Self::FullDisk { victim, ending: Ending::Killed } => write!(f, "full disk of {victim}, which is killed"),
            Self::ClockJump { victim, seconds } => write!(f, "clock of {victim} {seconds:+} s"),
            Self::RedisFlap { times } => write!(f, "Redis dies {times} times"),
            Self::RedisPause => f.write_str("Redis pauses"),
            Self::PostgresPause => f.write_str("PostgreSQL pauses"),
            Self::PostgresFailover => f.write_str("PostgreSQL fails over"),
            Self::MonthRollover => f.write_str("a new month begins"),
        }
    }
}

/// A fault that begins and ends at these milliseconds of the campaign. Recovery may take longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Planned {
    pub at: u64,
    pub until: u64,
    pub fault: Fault,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// In milliseconds.
    pub length: u64,
    /// In the order in which they begin.
    pub faults: Vec<Planned>,
}

impl Schedule {
    /// When the month changes, if it does.
    pub fn rollover(&self) -> Option<u64> {
        self.faults.iter().find(|planned| planned.fault == Fault::MonthRollover).map(|planned| planned.at)
    }
}

/// The faults of CI's short run: each of the most important kinds, once.
pub fn short() -> Schedule {
    let followers = Victim::Followers;
    let faults = [
        (4_000, 6_000, Fault::Kill { victim: Victim::Leader }),
        (12_000, 18_000, Fault::Partition { victim: Victim::Node(1), link: Link::Postgres }),
        (20_000, 23_000, Fault::RedisFlap { times: 2 }),
        (25_000, 28_000, Fault::PostgresFailover),
        (31_000, 39_000, Fault::ClockJump { victim: followers, seconds: -CLOCK_JUMP_SECONDS }),
        (41_000, 44_000, Fault::FullDisk { victim: Victim::Node(2), ending: Ending::Stopped }),
        (47_000, 50_000, Fault::Pause { victim: Victim::Node(0) }),
        (52_000, 54_000, Fault::Stop { victim: Victim::Leader }),
    ];
    let planned = |(at, until, fault)| Planned { at, until, fault };
    Schedule { length: 65_000, faults: faults.map(planned).to_vec() }
}

/// An upgrade of all nodes, one after the other, the way back, and the upgrade again.
pub fn upgrade() -> Schedule {
    let rounds = [(Release::Current, 0), (Release::Previous, 1), (Release::Current, 2)];
    let steps = rounds.into_iter().flat_map(|(release, round)| (0..NODES).map(move |node| (release, round, node)));
    let planned = |(release, round, node): (Release, u64, usize)| {
        let at = WARM_UP + round * UPGRADE_ROUND + node as u64 * UPGRADE_STEP;
        let fault = Fault::Install { victim: Victim::Node(node), release };
        Planned { at, until: at + UPGRADE_PAUSE, fault }
    };
    Schedule { length: WARM_UP + 3 * UPGRADE_ROUND + CALM_END, faults: steps.map(planned).collect() }
}

/// Faults one after the other, each kind once before any is repeated. Some have another fault in their middle.
pub fn plan(seed: u64, seconds: u64) -> Schedule {
    let mut random = Random::new(seed);
    let length = seconds * 1_000;
    let last = length.saturating_sub(CALM_END);
    let (mut faults, mut bag, mut at) = (Vec::new(), Vec::new(), WARM_UP);
    loop {
        if bag.is_empty() {
            bag = one_of_each(&mut random, faults.is_empty());
            random.shuffle(&mut bag);
        }
        let Some(fault) = bag.pop() else { break };
        let until = at + duration(fault, &mut random);
        if until > last {
            break;
        }
        faults.push(Planned { at, until, fault });
        if let Some(second) = companion(fault, &mut random) {
            let middle = at + (until - at) / 3;
            faults.push(Planned { at: middle, until: middle + 2_000, fault: second });
        }
        at = until + random.between(2_000, 5_000);
    }
    faults.sort_by_key(|planned| planned.at);
    Schedule { length, faults }
}

fn one_of_each(random: &mut Random, is_first: bool) -> Vec<Fault> {
    let mut victim = || match random.below(4) {
        0 => Victim::Leader,
        node => Victim::Node(usize::try_from(node - 1).unwrap_or_default()),
    };
    let mut faults = vec![
        Fault::Kill { victim: victim() },
        Fault::Stop { victim: victim() },
        Fault::Pause { victim: victim() },
        Fault::Partition { victim: victim(), link: Link::Postgres },
        Fault::Partition { victim: victim(), link: Link::Redis },
        Fault::Partition { victim: victim(), link: Link::Clients },
        Fault::Partition { victim: victim(), link: Link::Engines },
        Fault::SlowDisk { victim: victim() },
        Fault::FullDisk { victim: victim(), ending: Ending::Survives },
        Fault::FullDisk { victim: victim(), ending: Ending::Stopped },
        Fault::FullDisk { victim: victim(), ending: Ending::Killed },
        Fault::ClockJump { victim: victim(), seconds: CLOCK_JUMP_SECONDS },
        Fault::ClockJump { victim: Victim::Followers, seconds: -CLOCK_JUMP_SECONDS },
        Fault::RedisFlap { times: u32::try_from(random.between(2, 4)).unwrap_or(2) },
        Fault::RedisPause,
        Fault::PostgresPause,
        Fault::PostgresFailover,
    ];
    // A campaign has one new month: the clocks have one start.
    faults.extend(is_first.then_some(Fault::MonthRollover));
    faults
}

/// In milliseconds. A partition or a jump is longer than the term of a leader, some of the time.
fn duration(fault: Fault, random: &mut Random) -> u64 {
    match fault {
        Fault::Kill { .. } | Fault::Stop { .. } | Fault::Install { .. } => random.between(1_000, 4_000),
        Fault::Pause { .. } | Fault::RedisPause | Fault::PostgresPause => random.between(3_000, 14_000),
        Fault::Partition { .. } => random.between(4_000, 18_000),
        Fault::ClockJump { .. } => random.between(12_000, 24_000),
        Fault::SlowDisk { .. } | Fault::FullDisk { .. } => random.between(4_000, 9_000),
        Fault::RedisFlap { .. } | Fault::PostgresFailover => random.between(3_000, 6_000),
        Fault::MonthRollover => 4_000,
    }
}

/// Clocks matter when the leader dies, and a dying node or Redis matters most in the middle of another fault.
fn companion(fault: Fault, random: &mut Random) -> Option<Fault> {
    match fault {
        Fault::ClockJump { .. } => Some(Fault::Kill { victim: Victim::Leader }),
        Fault::Partition { .. } | Fault::SlowDisk { .. } | Fault::PostgresPause if random.one_in(3) => {
            let node = Victim::Node(random.index(NODES));
            let choices = [Fault::Kill { victim: node }, Fault::Stop { victim: node }, Fault::RedisFlap { times: 2 }];
            Some(choices[random.index(choices.len())])
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::mem::discriminant;

    use super::*;

    #[test]
    fn a_seed_gives_one_schedule_and_another_seed_another_one() {
        assert_eq!(plan(1, 600), plan(1, 600));
        assert_ne!(plan(1, 600), plan(2, 600));
    }

    #[test]
    fn ten_minutes_have_every_kind_of_fault_in_order_and_a_calm_end() {
        for seed in 0..200 {
            let schedule = plan(seed, 600);
            let kinds: Vec<_> = schedule.faults.iter().map(|planned| discriminant(&planned.fault)).collect();
            for fault in one_of_each(&mut Random::new(0), true) {
                assert!(kinds.contains(&discriminant(&fault)), "seed {seed} has no `{fault}`");
            }
            assert!(schedule.faults.is_sorted_by_key(|planned| planned.at));
            assert!(schedule.faults.iter().all(|planned| planned.at < planned.until));
            let last = schedule.faults.iter().map(|planned| planned.until).max().unwrap();
            assert!(last + CALM_END <= schedule.length + 2_000, "seed {seed} ends at {last}");
            let months = schedule.faults.iter().filter(|planned| planned.fault == Fault::MonthRollover).count();
            assert_eq!((months, schedule.rollover().is_some()), (1, true));
        }
    }

    #[test]
    fn a_leader_dies_while_clocks_are_wrong() {
        let schedule = plan(3, 600);
        let jump = schedule.faults.iter().find(|one| matches!(one.fault, Fault::ClockJump { .. })).unwrap();
        let mut kills = schedule.faults.iter().filter(|one| one.fault == Fault::Kill { victim: Victim::Leader });
        assert!(kills.any(|kill| jump.at < kill.at && kill.until < jump.until));
    }

    #[test]
    fn the_short_schedule_is_in_order() {
        let schedule = short();
        assert!(schedule.faults.is_sorted_by_key(|planned| planned.at));
        assert!(schedule.faults.iter().all(|planned| planned.until < schedule.length));
    }

    #[test]
    fn an_upgrade_stops_one_node_at_a_time_and_ends_with_the_current_release_everywhere() {
        let schedule = upgrade();
        let is_apart = |pair: &[Planned]| pair[0].until + UPGRADE_STEP / 2 <= pair[1].at;
        assert!(schedule.faults.windows(2).all(is_apart));
        assert!(schedule.faults.last().is_some_and(|last| last.until + CALM_END <= schedule.length));
        for node in 0..NODES {
            let releases: Vec<_> = schedule
                .faults
                .iter()
                .filter_map(|planned| match planned.fault {
                    Fault::Install { victim, release } if victim == Victim::Node(node) => Some(release),
                    _ => None,
                })
                .collect();
            assert_eq!(releases, [Release::Current, Release::Previous, Release::Current]);
        }
    }

    #[test]
    fn a_fault_is_shown_in_words() {
        let shown = plan(1, 600).faults.iter().map(|planned| planned.fault.to_string()).collect::<Vec<_>>();
        assert!(shown.iter().all(|text| !text.is_empty()));
        let jump = Fault::ClockJump { victim: Victim::Followers, seconds: -7_200 };
        assert_eq!(jump.to_string(), "clock of the followers -7200 s");
        let cut = Fault::Partition { victim: Victim::Node(2), link: Link::Redis };
        assert_eq!(cut.to_string(), "cut node 2 off from Redis");
    }
}
