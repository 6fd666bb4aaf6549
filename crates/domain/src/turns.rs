//! Weighted turns by virtual time (start-time fair queueing).
//!
//! Each line has a virtual time: the cost of what was served to it, divided by its weight. The next turn belongs to the line
//! with the least virtual time among those where something waits. A line that begins to wait starts at the virtual time of
//! the last turn at least, so that it gains nothing from the time when it was idle; if it was served more than that, it
//! keeps its debt. Example: two lines of weights 1 and 3, each with calls that cost 300:
//!
//! ```text
//! virtual times before a turn   0/0   300/0   300/100   300/200   300/300   600/300 …
//! whose turn it is              one   three   three     three     one       three …
//! ```

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;

/// Cost by weight, in parts of [`FRACTION`].
type VirtualTime = u128;

/// A multiple of no weight in particular: the loss by rounding is less than a token in a million calls.
const FRACTION: u128 = 1 << 32;

#[derive(Debug)]
pub(crate) struct Turns<K> {
    /// When the last turn began.
    now: VirtualTime,
    lines: HashMap<K, Line>,
    /// Lines in which something waits; equal ones in the order in which they began to wait.
    waiting: BTreeSet<(VirtualTime, u64, K)>,
    /// Other lines that are ahead of `now`: their debt is kept.
    indebted: BTreeSet<(VirtualTime, K)>,
    /// Numbers the beginnings of waits.
    count: u64,
}

#[derive(Debug)]
struct Line {
    time: VirtualTime,
    weight: u16,
    /// The number of the wait; `None` if nothing waits.
    wait: Option<u64>,
    /// What is served and may be corrected.
    running: u32,
    /// How often it lost the credit of an idle time.
    lifts: u32,
}

/// What a line was charged with, for [`Turns::end`] to correct.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Charge {
    cost: u64,
    lifts: u32,
}

impl<K> Default for Turns<K> {
    fn default() -> Self {
        Self { now: 0, lines: HashMap::new(), waiting: BTreeSet::new(), indebted: BTreeSet::new(), count: 0 }
    }
}

impl<K: Clone + Ord + Hash> Turns<K> {
    /// Whether nothing has to be remembered.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.waiting.is_empty() && self.indebted.is_empty()
    }

    /// The line whose turn it is.
    pub(crate) fn first(&self) -> Option<&K> {
        self.waiting.first().map(|(_, _, key)| key)
    }

    /// Something begins to wait in the line, or more of it.
    pub(crate) fn wait(&mut self, key: &K, weight: u16) {
        self.count += 1;
        let (now, number) = (self.now, self.count);
        self.change(key, |line| {
            line.weight = weight;
            if line.wait.is_none() {
                line.wait = Some(number);
                if line.time < now {
                    line.time = now;
                    line.lifts = line.lifts.wrapping_add(1);
                }
            }
        });
    }

    /// Nothing waits in the line any more.
    pub(crate) fn rest(&mut self, key: &K) {
        self.change(key, |line| line.wait = None);
        if self.waiting.is_empty() {
            // The next to wait begin as equals.
            self.now = self.indebted.last().map_or(self.now, |(time, _)| self.now.max(*time));
            self.forgive();
        }
    }

    /// Serves something of this cost to the line.
    pub(crate) fn serve(&mut self, key: &K, cost: u64) -> Charge {
        let (began, lifts) = self.lines.get(key).map_or((self.now, 0), |line| (line.time, line.lifts));
        self.now = self.now.max(began);
        self.change(key, |line| {
            line.time += virtual_cost(cost, line.weight);
            line.running = line.running.saturating_add(1);
        });
        self.forgive();
        Charge { cost, lifts }
    }

    /// What was served has ended, at this cost. A refund from before an idle time would be a credit for it, so there is none.
    pub(crate) fn end(&mut self, key: &K, charge: Charge, actual: u64) {
        if !self.lines.contains_key(key) {
            return;
        }
        self.change(key, |line| {
            let (charged, actual) = (virtual_cost(charge.cost, line.weight), virtual_cost(actual, line.weight));
            if actual >= charged || charge.lifts == line.lifts {
                line.time = line.time.saturating_sub(charged) + actual;
            }
            line.running = line.running.saturating_sub(1);
        });
    }

    /// Changes a line and keeps the order. A line with nothing to remember is removed.
    fn change(&mut self, key: &K, change: impl FnOnce(&mut Line)) {
        let line = self.lines.entry(key.clone()).or_insert(Line {
            time: self.now,
            weight: 1,
            wait: None,
            running: 0,
            lifts: 0,
        });
        match line.wait {
            Some(number) => self.waiting.remove(&(line.time, number, key.clone())),
            None => self.indebted.remove(&(line.time, key.clone())),
        };
        change(line);
        if let Some(number) = line.wait {
            self.waiting.insert((line.time, number, key.clone()));
        } else if line.time > self.now {
            self.indebted.insert((line.time, key.clone()));
        } else if line.running == 0 {
            self.lines.remove(key);
        }
    }

    /// Forgets debts that the others have caught up with.
    fn forgive(&mut self) {
        while let Some((time, _)) = self.indebted.first()
            && *time <= self.now
            && let Some((_, key)) = self.indebted.pop_first()
        {
            if self.lines.get(&key).is_some_and(|line| line.running == 0) {
                self.lines.remove(&key);
            }
        }
    }
}

fn virtual_cost(cost: u64, weight: u16) -> VirtualTime {
    u128::from(cost) * FRACTION / u128::from(weight.max(1))
}
