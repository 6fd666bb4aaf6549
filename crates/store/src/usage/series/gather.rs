//! Adds up a batch per row of the series.

use domain::series::{Level, Resolution, Tally, spread};
use domain::usage::{Actor, CallSurface};
use domain::{ModelId, Timestamp, UsageEvent, WorkspaceId};
use std::collections::{BTreeMap, HashMap};

/// The key of a row. The order of the fields, which `roll_up` repeats, is the order in which every transaction locks its rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct SeriesKey<'a> {
    pub(super) workspace: &'a str,
    pub(super) resolution: i64,
    pub(super) level: i64,
    pub(super) starts_at: i64,
    pub(super) model: &'a str,
    pub(super) actor: &'a str,
}

/// Calls of one minute that were rejected for the same reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejections {
    pub workspace: WorkspaceId,
    pub actor: Actor,
    /// `None` if the calls named no known model.
    pub model: Option<ModelId>,
    pub at: Timestamp,
    pub surface: Option<CallSurface>,
    pub code: String,
    pub calls: u64,
}

/// The amounts to add, in the order of the rows.
#[derive(Default)]
pub(super) struct Gathered<'a> {
    tallies: Vec<Tally>,
    rows: Vec<(SeriesKey<'a>, usize)>,
    pub(super) codes: BTreeMap<(SeriesKey<'a>, &'a str), u64>,
}

/// A row, and the tallies to add to it.
pub(super) struct SeriesRow<'g, 'a> {
    pub(super) key: SeriesKey<'a>,
    tallies: &'g [Tally],
    parts: &'g [(SeriesKey<'a>, usize)],
}

impl<'a> Gathered<'a> {
    pub(super) fn rows(&self) -> Vec<SeriesRow<'_, 'a>> {
        let parts = self.rows.chunk_by(|one, next| one.0 == next.0);
        parts.map(|parts| SeriesRow { key: parts[0].0, tallies: &self.tallies, parts }).collect()
    }
}

impl SeriesRow<'_, '_> {
    pub(super) fn add_to(&self, tally: &mut Tally) {
        for (_, part) in self.parts {
            tally.merge(&self.tallies[*part]);
        }
    }
}

/// The finest row that counts a call: all other rows are sums of these.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Base<'a> {
    workspace: &'a str,
    minute: Timestamp,
    model: &'a str,
    actor: &'a str,
    surface: Option<CallSurface>,
}

impl<'a> Base<'a> {
    fn of(event: &'a UsageEvent) -> Self {
        Self {
            workspace: event.caller.workspace.as_str(),
            minute: Resolution::Minute.start_of(event.started_at),
            model: event.model.as_str(),
            actor: event.caller.actor.as_str(),
            surface: event.origin.surface,
        }
    }
}

pub(super) fn of_events<'a>(events: &[&'a UsageEvent]) -> Gathered<'a> {
    let mut tallies: HashMap<Base<'a>, Tally> = HashMap::new();
    let mut codes: HashMap<(Base<'a>, &'a str), u64> = HashMap::new();
    for run in events.chunk_by(|one, next| has_same_base(one, next)) {
        let base = Base::of(run[0]);
        let tally = tallies.entry(base).or_default();
        let mut other_minutes = Vec::new();
        for event in run {
            tally.count(event);
            for (minute, micros) in spread(event.started_at, event.duration_micros) {
                if minute == base.minute {
                    tally.busy_micros = tally.busy_micros.saturating_add(micros);
                } else {
                    other_minutes.push((minute, micros));
                }
            }
            if !event.code.is_empty() {
                *codes.entry((base, event.code.as_ref())).or_default() += 1;
            }
        }
        for (minute, micros) in other_minutes {
            let busy = &mut tallies.entry(Base { minute, ..base }).or_default().busy_micros;
            *busy = busy.saturating_add(micros);
        }
    }
    roll_up(tallies, &codes)
}

/// Whether two events are counted in the same base row.
fn has_same_base(one: &UsageEvent, next: &UsageEvent) -> bool {
    let minute = |event: &UsageEvent| Resolution::Minute.start_of(event.started_at);
    one.caller == next.caller
        && one.model == next.model
        && one.origin.surface == next.origin.surface
        && minute(one) == minute(next)
}

pub(super) fn of_rejections(rejections: &[Rejections]) -> Gathered<'_> {
    let mut tallies: HashMap<Base<'_>, Tally> = HashMap::new();
    let mut codes: HashMap<(Base<'_>, &str), u64> = HashMap::new();
    for rejection in rejections {
        let base = Base {
            workspace: rejection.workspace.as_str(),
            minute: Resolution::Minute.start_of(rejection.at),
            model: rejection.model.as_ref().map_or("", ModelId::as_str),
            actor: rejection.actor.as_str(),
            surface: rejection.surface,
        };
        tallies.entry(base).or_default().add_rejected(rejection.calls);
        *codes.entry((base, rejection.code.as_str())).or_default() += rejection.calls;
    }
    roll_up(tallies, &codes)
}

/// Adds every base row to its rows of all resolutions and levels.
fn roll_up<'a>(tallies: HashMap<Base<'a>, Tally>, codes: &HashMap<(Base<'a>, &'a str), u64>) -> Gathered<'a> {
    let mut gathered = Gathered::default();
    // Rows are sorted by the places of their texts in the order of all texts: comparing texts took most of the time.
    let mut texts: Vec<&str> = tallies.keys().flat_map(|base| [base.workspace, base.model, base.actor]).collect();
    texts.push("");
    texts.sort_unstable();
    texts.dedup();
    let places: HashMap<&str, usize> = texts.iter().enumerate().map(|(place, text)| (*text, place)).collect();
    let mut rows = Vec::with_capacity(tallies.len());
    for (part, (base, tally)) in tallies.into_iter().enumerate() {
        for key in keys(base) {
            // The order of the fields of SeriesKey, with places instead of texts.
            let order = (
                places[key.workspace],
                (key.resolution, key.level, key.starts_at),
                (places[key.model], places[key.actor]),
            );
            rows.push((order, key, part));
        }
        gathered.tallies.push(tally);
    }
    rows.sort_unstable_by_key(|(order, ..)| *order);
    gathered.rows = rows.into_iter().map(|(_, key, part)| (key, part)).collect();
    for ((base, code), calls) in codes {
        for key in keys(*base) {
            *gathered.codes.entry((key, *code)).or_default() += calls;
        }
    }
    gathered
}

fn keys(base: Base<'_>) -> impl Iterator<Item = SeriesKey<'_>> {
    let of_level = move |resolution: Resolution, level: Level| SeriesKey {
        workspace: base.workspace,
        resolution: resolution.millis(),
        level: level.number(),
        starts_at: resolution.start_of(base.minute).millis(),
        model: if level.has_models() { base.model } else { "" },
        actor: if level.has_actors() { base.actor } else { "" },
    };
    Resolution::ALL
        .into_iter()
        .flat_map(move |resolution| Level::of_call(base.surface).map(move |level| of_level(resolution, level)))
}
