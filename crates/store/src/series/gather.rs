//! What a batch adds to which rows.

use domain::series::{Level, Resolution, Tally, spread};
use domain::usage::Actor;
use domain::{Timestamp, UsageEvent, WorkspaceId};
use std::collections::{BTreeMap, HashMap};

/// One row. The order of the members is the order in which every transaction takes its locks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Place<'a> {
    pub(super) workspace: &'a str,
    pub(super) resolution: i64,
    pub(super) level: i64,
    pub(super) starts_at: i64,
    pub(super) model: &'a str,
    pub(super) actor: &'a str,
}

/// Calls of one minute that were refused alike.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusals {
    pub workspace: WorkspaceId,
    pub actor: Actor,
    /// Nothing where the call named no model of ours.
    pub model: String,
    pub at: Timestamp,
    pub code: String,
    pub calls: u64,
}

/// What is to be added, in the order of the rows.
#[derive(Default)]
pub(super) struct Gathered<'a> {
    pub(super) tallies: BTreeMap<Place<'a>, Tally>,
    pub(super) codes: BTreeMap<(Place<'a>, &'a str), u64>,
}

/// The finest row that a call is counted in; all others are sums of such.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Base<'a> {
    workspace: &'a str,
    minute: Timestamp,
    model: &'a str,
    actor: &'a str,
}

impl<'a> Base<'a> {
    fn of(event: &'a UsageEvent) -> Self {
        Self {
            workspace: event.caller.workspace.as_str(),
            minute: Resolution::Minute.start_of(event.started_at),
            model: event.model.as_str(),
            actor: event.caller.actor.as_str(),
        }
    }
}

pub(super) fn of_events<'a>(events: &[&'a UsageEvent]) -> Gathered<'a> {
    let mut tallies: HashMap<Base<'a>, Tally> = HashMap::new();
    let mut codes: HashMap<(Base<'a>, &'a str), u64> = HashMap::new();
    let minute = |event: &UsageEvent| Resolution::Minute.start_of(event.started_at);
    for run in
        events.chunk_by(|one, next| one.caller == next.caller && one.model == next.model && minute(one) == minute(next))
    {
        let base = Base::of(run[0]);
        let tally = tallies.entry(base).or_default();
        let mut elsewhere = Vec::new();
        for event in run {
            tally.count(event);
            for (minute, micros) in spread(event.started_at, event.duration_micros) {
                if minute == base.minute {
                    tally.busy_micros = tally.busy_micros.saturating_add(micros);
                } else {
                    elsewhere.push((minute, micros));
                }
            }
            if !event.code.is_empty() {
                *codes.entry((base, event.code.as_ref())).or_default() += 1;
            }
        }
        for (minute, micros) in elsewhere {
            let busy = &mut tallies.entry(Base { minute, ..base }).or_default().busy_micros;
            *busy = busy.saturating_add(micros);
        }
    }
    rolled_up(&tallies, &codes)
}

pub(super) fn of_refusals(refusals: &[Refusals]) -> Gathered<'_> {
    let mut tallies: HashMap<Base<'_>, Tally> = HashMap::new();
    let mut codes: HashMap<(Base<'_>, &str), u64> = HashMap::new();
    for refused in refusals {
        let base = Base {
            workspace: refused.workspace.as_str(),
            minute: Resolution::Minute.start_of(refused.at),
            model: &refused.model,
            actor: refused.actor.as_str(),
        };
        tallies.entry(base).or_default().refuse(refused.calls);
        *codes.entry((base, refused.code.as_str())).or_default() += refused.calls;
    }
    rolled_up(&tallies, &codes)
}

fn rolled_up<'a>(tallies: &HashMap<Base<'a>, Tally>, codes: &HashMap<(Base<'a>, &'a str), u64>) -> Gathered<'a> {
    let mut gathered = Gathered::default();
    for (base, tally) in tallies {
        for place in places(*base) {
            gathered.tallies.entry(place).or_default().merge(tally);
        }
    }
    for ((base, code), calls) in codes {
        for place in places(*base) {
            *gathered.codes.entry((place, *code)).or_default() += calls;
        }
    }
    gathered
}

fn places(base: Base<'_>) -> impl Iterator<Item = Place<'_>> {
    let of_level = move |resolution: Resolution, level: Level| Place {
        workspace: base.workspace,
        resolution: resolution.millis(),
        level: level.number(),
        starts_at: resolution.start_of(base.minute).millis(),
        model: if level.tells_models() { base.model } else { "" },
        actor: if level.tells_callers() { base.actor } else { "" },
    };
    Resolution::ALL.into_iter().flat_map(move |resolution| Level::ALL.map(|level| of_level(resolution, level)))
}
