//! The order in which waiting calls are served.
//!
//! Interactive calls come before flex calls, and these before lines of batches. Within a class, workspaces take turns by
//! the tokens that were served to them and by their weights, see [`crate::turns`]; within a workspace, its keys and users do so
//! as equals; the calls of one of them are served in order of arrival. A call is charged with its expected tokens when it
//! is served, and corrected when it ends. A decision takes logarithmic time in the number of workspaces and of calls.

use crate::call_class::CallClass;
use crate::caller::Actor;
use crate::ids::WorkspaceId;
use crate::queue_weight::QueueWeight;
use crate::turns::{Charge, Turns};
use std::collections::{BTreeMap, HashMap};
use std::time::Instant;

/// The bounds of each class of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueBounds {
    /// The most calls of a workspace.
    pub of_workspace: usize,
    /// The calls that all workspaces share: if `n` of them have waiting calls, another one may join that has fewer than the
    /// `n`th part, so that those who came first do not keep out others.
    pub shared: usize,
}

/// A call that is about to wait.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Newcomer {
    pub class: CallClass,
    pub workspace: WorkspaceId,
    pub weight: QueueWeight,
    pub actor: Actor,
    /// What it will probably cost, for those who want to know what waits.
    pub tokens: u64,
    pub since: Instant,
}

/// The place of a waiting call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    class: CallClass,
    workspace: WorkspaceId,
    actor: Actor,
    number: u64,
}

/// What a served call was charged with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueCharge {
    class: CallClass,
    workspace: WorkspaceId,
    charge: Charge,
}

/// The workspace has as many waiting calls as it may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the workspace has {waiting} waiting calls, the most that it may have now")]
pub struct QueueFullError {
    pub waiting: usize,
}

/// The waiting calls of a workspace in one class.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingCalls {
    pub class: CallClass,
    pub workspace: WorkspaceId,
    pub weight: QueueWeight,
    pub calls: usize,
    pub tokens: u64,
    /// When the first of them began to wait.
    pub since: Instant,
}

/// Waiting calls, each with a payload.
#[derive(Debug)]
pub struct FairQueue<T> {
    bounds: QueueBounds,
    /// In the order of [`CallClass::ALL`].
    classes: [ClassQueue<T>; CallClass::ALL.len()],
    count: u64,
}

#[derive(Debug)]
struct ClassQueue<T> {
    turns: Turns<WorkspaceId>,
    workspaces: HashMap<WorkspaceId, WorkspaceQueue<T>>,
    calls: usize,
    tokens: u64,
}

/// The calls of a workspace, at least one.
#[derive(Debug)]
struct WorkspaceQueue<T> {
    turns: Turns<Actor>,
    actors: HashMap<Actor, BTreeMap<u64, WaitingCall<T>>>,
    weight: QueueWeight,
    calls: usize,
    tokens: u64,
}

#[derive(Debug)]
struct WaitingCall<T> {
    tokens: u64,
    since: Instant,
    payload: T,
}

impl<T> Default for ClassQueue<T> {
    fn default() -> Self {
        Self { turns: Turns::default(), workspaces: HashMap::new(), calls: 0, tokens: 0 }
    }
}

impl<T> WorkspaceQueue<T> {
    fn new(weight: QueueWeight) -> Self {
        Self { turns: Turns::default(), actors: HashMap::new(), weight, calls: 0, tokens: 0 }
    }
}

impl<T> FairQueue<T> {
    pub fn new(bounds: QueueBounds) -> Self {
        Self { bounds, classes: Default::default(), count: 0 }
    }

    fn class(&self, class: CallClass) -> &ClassQueue<T> {
        &self.classes[class as usize]
    }

    fn class_mut(&mut self, class: CallClass) -> &mut ClassQueue<T> {
        &mut self.classes[class as usize]
    }

    /// Waiting calls of a class.
    pub fn calls(&self, class: CallClass) -> usize {
        self.class(class).calls
    }

    /// What waiting calls of a class will probably cost.
    pub fn tokens(&self, class: CallClass) -> u64 {
        self.class(class).tokens
    }

    /// Puts a call in the queue.
    pub fn join(&mut self, newcomer: Newcomer, payload: T) -> Result<Ticket, QueueFullError> {
        let Newcomer { class, workspace, weight, actor, tokens, since } = newcomer;
        let bounds = self.bounds;
        self.count += 1;
        let number = self.count;
        let queue = self.class_mut(class);
        let waiting = queue.workspaces.get(&workspace).map_or(0, |own| own.calls);
        let workspaces = queue.workspaces.len() + usize::from(waiting == 0);
        if waiting >= bounds.of_workspace.min((bounds.shared / workspaces).max(1)) {
            return Err(QueueFullError { waiting });
        }
        queue.calls += 1;
        queue.tokens = queue.tokens.saturating_add(tokens);
        queue.turns.wait(&workspace, weight.get());
        let own = queue.workspaces.entry(workspace.clone()).or_insert_with(|| WorkspaceQueue::new(weight));
        own.weight = weight;
        own.calls += 1;
        own.tokens = own.tokens.saturating_add(tokens);
        own.turns.wait(&actor, 1);
        own.actors.entry(actor.clone()).or_default().insert(number, WaitingCall { tokens, since, payload });
        Ok(Ticket { class, workspace, actor, number })
    }

    /// The call that is to be served next.
    pub fn first(&self) -> Option<&T> {
        self.first_place().map(|(_, _, _, call)| &call.payload)
    }

    pub fn is_first(&self, ticket: &Ticket) -> bool {
        self.first_place().is_some_and(|(class, _, number, _)| class == ticket.class && number == ticket.number)
    }

    fn first_place(&self) -> Option<(CallClass, &WorkspaceId, u64, &WaitingCall<T>)> {
        CallClass::ALL.into_iter().find_map(|class| {
            let queue = self.class(class);
            let workspace = queue.turns.first()?;
            let own = queue.workspaces.get(workspace)?;
            let (number, call) = own.actors.get(own.turns.first()?)?.first_key_value()?;
            Some((class, workspace, *number, call))
        })
    }

    /// Removes a call because it is served, at this cost.
    pub fn serve(&mut self, ticket: &Ticket, tokens: u64) -> QueueCharge {
        let Ticket { class, workspace, actor, .. } = ticket;
        let queue = self.class_mut(*class);
        let charge = queue.turns.serve(workspace, tokens);
        if let Some(own) = queue.workspaces.get_mut(workspace) {
            // What a key has cost in the end counts for its workspace only.
            let charge = own.turns.serve(actor, tokens);
            own.turns.end(actor, charge, tokens);
        }
        self.leave(ticket);
        QueueCharge { class: *class, workspace: workspace.clone(), charge }
    }

    /// Removes a call that does not wait any more.
    pub fn leave(&mut self, ticket: &Ticket) {
        let Ticket { class, workspace, actor, number } = ticket;
        let queue = self.class_mut(*class);
        let Some(own) = queue.workspaces.get_mut(workspace) else { return };
        let Some(calls) = own.actors.get_mut(actor) else { return };
        let Some(call) = calls.remove(number) else { return };
        queue.calls -= 1;
        queue.tokens = queue.tokens.saturating_sub(call.tokens);
        own.calls -= 1;
        own.tokens = own.tokens.saturating_sub(call.tokens);
        if calls.is_empty() {
            own.actors.remove(actor);
            own.turns.rest(actor);
        }
        if own.calls == 0 {
            queue.workspaces.remove(workspace);
            queue.turns.rest(workspace);
        }
    }

    /// A served call has ended after `actual` tokens.
    pub fn end(&mut self, charge: &QueueCharge, actual: u64) {
        let QueueCharge { class, workspace, charge } = charge;
        self.class_mut(*class).turns.end(workspace, *charge, actual);
    }

    /// Whether no call waits and none that was served may still be corrected.
    #[cfg(test)]
    fn is_forgotten(&self) -> bool {
        self.classes.iter().all(|class| class.workspaces.is_empty() && class.turns.is_empty())
    }

    /// About how many calls are served before this one. Looks at every workspace, so it is not for decisions.
    pub fn ahead(&self, ticket: &Ticket) -> usize {
        let Ticket { class, workspace, actor, number } = ticket;
        let before: usize =
            CallClass::ALL.into_iter().filter(|other| other < class).map(|other| self.calls(other)).sum();
        let queue = self.class(*class);
        let Some(own) = queue.workspaces.get(workspace) else { return before };
        let earlier = own.actors.get(actor).map_or(0, |calls| calls.range(..*number).count());
        let others = own.actors.iter().filter(|(other, _)| *other != actor);
        let beside: usize = others.map(|(_, calls)| calls.len().min(earlier)).sum();
        let of_workspace = earlier + beside;
        let others = queue.workspaces.iter().filter(|(other, _)| *other != workspace);
        let of_others = others.map(|(_, other)| {
            let share = of_workspace * usize::from(other.weight.get()) / usize::from(own.weight.get());
            other.calls.min(share)
        });
        before + of_workspace + of_others.sum::<usize>()
    }

    /// What waits, by class and workspace.
    pub fn waiting(&self) -> Vec<WaitingCalls> {
        let of_class = |class: CallClass| {
            self.class(class).workspaces.iter().filter_map(move |(workspace, own)| {
                let firsts = own.actors.values().filter_map(BTreeMap::first_key_value);
                let since = firsts.map(|(_, call)| call.since).min()?;
                let (weight, calls, tokens) = (own.weight, own.calls, own.tokens);
                Some(WaitingCalls { class, workspace: workspace.clone(), weight, calls, tokens, since })
            })
        };
        CallClass::ALL.into_iter().flat_map(of_class).collect()
    }
}

#[cfg(test)]
#[path = "fair_queue_tests.rs"]
mod tests;
