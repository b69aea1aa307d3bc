//! Quasi-optimal partial order reduction: Nguyen, Rodríguez, Sousa, Coti, Petrucci, "Quasi-Optimal Partial Order
//! Reduction" (CAV'18), Algorithm 1, on the unfolding of the program.
//!
//! `Explore(C, D, A)` explores all maximal configurations that contain C and no event of D; the first contains A. It
//! disables, one after another, the events with which it continues C, as long as there is an alternative to the
//! disabled ones. With full alternatives every class is explored once; with k-partial ones an exploration may find that
//! it can only go on with disabled events: it is redundant.
//!
//! Where we differ:
//! - The recursion is a stack of levels, one for each event of C; the second recursive call, on the same C, goes on
//!   with the same level.
//! - An event of D that depends on an event which is added to C can never occur again. It leaves D, which therefore
//!   holds at each level what sleep sets of other algorithms do.
//! - The events that are in conflict with a maximal configuration are added where it has been reached (all that its
//!   prefixes would add are among them), and by reversing races instead of by walking up lock trees (section 5.3): for
//!   each race e, e' the event that e' would be after all that does not happen after e. The paper adds every history
//!   that e' can have; here each is added when a configuration has been reached in which it is all that e' comes after
//!   but e.
//! - A drawn value is an event for each alternative; these are in conflict with each other.
//! - Line 13 keeps less. Of U, an event e of C or D has its kept conflicts (`levels`): the events in immediate conflict
//!   with it that were added while C ∪ {e} was explored. Alternatives to D are made of the kept conflicts of D.
//!
//! Why they are enough. Let D be d1, d2, ... in the order in which they were disabled, with those that have left it,
//! and M a maximal configuration that contains C and nothing of D. For each di take an event fi of M in immediate
//! conflict with it, one of C if there is one. Claim: fi is kept for di, or else di is in conflict with the history of
//! some fj, j < i, that is kept for dj. Assume the second is false, and the claim true for all j < i. Then the
//! histories of those fj that are kept, what is in the history of fi before it, and di form a configuration with what C
//! was where di was disabled. It is in conflict with all that was disabled there before di, so the exploration after di
//! has visited it, continued by what the thread of fi does next. That is in a race with di, whose reversal is fi, which
//! is kept for di. So the kept conflicts that are in M are in conflict with all of D; and if none is kept for the event
//! that was disabled first that can be added to C, there is no such M at all.
//!
//! The kept conflicts may grow with the number of classes, as wakeup trees can, and U in the paper.

mod alternatives;
mod event_structure;
mod levels;
mod trees;

use alternatives::alternative;
use event_structure::{EventStructure, Number};
use levels::Level;
use trees::NONE;

use super::{depth_first_fraction, Decision, End, Explorer, Finished, Requirements, State};
use crate::execution::Execution;
use crate::memory::MemoryModel;
use crate::operation::ThreadId;

/// Below this many events nothing is removed from U.
const FEW: usize = 256;

pub struct Unfolding {
    /// How many disabled events an alternative has to be in conflict with; None: all.
    k: Option<usize>,
    /// U, with C and D
    structure: EventStructure,
    /// C, in the order of the current execution.
    events: Vec<Number>,
    /// The same by thread.
    chains: Vec<Vec<Number>>,
    /// One level more than there are events in C.
    levels: Vec<Level>,
    /// The size of U after which it is pruned.
    crowded: usize,
}

impl Unfolding {
    pub fn new(k: Option<usize>) -> Unfolding {
        Unfolding {
            k,
            structure: EventStructure::default(),
            events: Vec::new(),
            chains: Vec::new(),
            levels: vec![Level::default()],
            crowded: FEW,
        }
    }

    /// Whether the thread's pending operation with this outcome is disabled. What is in D can be added to C at any
    /// time.
    fn is_disabled(&self, thread: ThreadId, outcome: u32, draws: bool) -> bool {
        self.levels.last().is_some_and(|level| {
            level.disabled().any(|event| {
                self.structure.thread(event) == thread && (!draws || self.structure.outcome(event) == outcome)
            })
        })
    }

    /// The outcomes that the thread's pending operation can have without being disabled.
    fn free_outcome(&self, state: &State, thread: ThreadId) -> Option<u32> {
        let outcomes = state.outcomes(thread);
        let draws = state.alternatives(thread) > 1;
        outcomes.into_iter().find(|outcome| !self.is_disabled(thread, *outcome, draws))
    }

    /// Line 4, for the whole execution: add what is in immediate conflict with it to U.
    fn add_conflicting_extensions(&mut self, execution: &Execution, memory: &dyn MemoryModel) {
        for race in execution.fresh_races(memory) {
            let second = execution.event(race.second);
            let (clock, accesses) = execution.history_without(race, memory);
            let event = self.structure.intern(second, second.outcome, &clock, &accesses, &self.chains);
            self.levels[race.first.index()].note(event);
        }
        for event in execution.fresh_events().iter().filter(|event| event.alternatives > 1) {
            let drawn = self.events[event.id.index()];
            for outcome in (0..event.alternatives).filter(|outcome| *outcome != event.outcome) {
                let other = self.structure.alternative_outcome(drawn, outcome);
                self.levels[event.id.index()].note(other);
            }
        }
    }

    /// Line 11: what J has beyond C for an alternative J to D after C, where the last level stands.
    fn alternative(&mut self) -> Option<Vec<Number>> {
        let (structure, configuration) = (&self.structure, &self.events);
        let count = self.levels.last()?.disabled().len();
        let mut conflicts: Vec<Number> = Vec::new();
        for index in 0..count {
            conflicts.extend(levels::conflicts(&mut self.levels, index, structure, configuration));
            // For what was disabled first there is a conflict of its own, or none of use among the others.
            if conflicts.is_empty() && self.k.is_none() {
                return None;
            }
        }
        // The k events that were disabled last.
        let selected: Vec<Number> = self.levels.last()?.disabled().rev().take(self.k.unwrap_or(count)).collect();
        alternative(structure, configuration.len() as u32, &selected, &conflicts)
    }

    /// Line 13: U := U ∩ Q; here only when U has doubled.
    fn prune(&mut self) {
        if self.structure.len() < self.crowded {
            return;
        }
        let needed = self.levels.iter().flat_map(Level::events).chain(self.events.iter().copied());
        self.structure.retain(needed);
        self.crowded = FEW.max(2 * self.structure.len());
    }

    /// Forget the last event of C.
    fn remove_last(&mut self, thread: ThreadId) -> Option<Number> {
        let event = self.events.pop()?;
        self.chains[thread.index()].pop();
        self.structure.set_place(event, NONE);
        Some(event)
    }
}

impl Explorer for Unfolding {
    fn requirements(&self) -> Requirements {
        Requirements::OF_EVENTS
    }

    fn begin(&mut self) -> usize {
        self.events.len()
    }

    fn choose(&mut self, state: &State) -> Decision {
        // Lines 8 and 9: follow A.
        let planned = self.levels.last().and_then(|level| level.add.first().copied());
        if let Some(event) = planned {
            let (thread, outcome) = (self.structure.thread(event), self.structure.outcome(event));
            if state.is_enabled(thread) {
                return Decision::Take(state.choice(thread, outcome));
            }
        }
        // Lines 6 and 7: choose from en(C) \ D; line 5: there is nothing left to choose.
        let Some(thread) = state.preferred(|thread| self.free_outcome(state, thread).is_some()) else {
            return Decision::GiveUp;
        };
        let outcome = self.free_outcome(state, thread).unwrap_or(0);
        Decision::Take(state.choice(thread, outcome))
    }

    fn performed(&mut self, execution: &Execution) {
        let Some(performed) = execution.events().last() else { return };
        let thread = performed.thread.index();
        if self.chains.len() <= thread {
            self.chains.resize_with(thread + 1, Vec::new);
        }
        let clock = execution.clocks().row(performed.id);
        let event = self.structure.intern(performed, performed.outcome, clock, &performed.accesses, &self.chains);
        self.structure.set_place(event, self.events.len() as u32);
        self.events.push(event);
        self.chains[thread].push(event);
        // Line 10: Explore(C ∪ {e}, D, A \ {e}).
        let Some(level) = self.levels.last() else { return };
        // What a predicate reads is not always known before; then the thread did something else than what A holds.
        let as_planned = level.add.first().is_none_or(|planned| *planned == event);
        let add = if as_planned { level.add.iter().skip(1).copied().collect() } else { Vec::new() };
        let next = level.after(event, add, &self.structure);
        self.levels.push(next);
    }

    fn finish(&mut self, execution: &Execution, memory: &dyn MemoryModel, _end: End) -> Finished {
        self.add_conflicting_extensions(execution, memory);
        while self.levels.pop().is_some() {
            let Some(done) = execution.events().get(self.levels.len().wrapping_sub(1)) else { break };
            let Some(event) = self.remove_last(done.thread) else { break };
            let Some(level) = self.levels.last_mut() else { break };
            // Line 11: is there an alternative to D ∪ {e}?
            level.disable(event);
            let Some(add) = self.alternative() else { continue };
            // Line 12: Explore(C, D ∪ {e}, J \ C).
            if let Some(level) = self.levels.last_mut() {
                level.add = add;
            }
            self.prune();
            return Finished { more: true, duplicate: false };
        }
        Finished { more: false, duplicate: false }
    }

    fn fraction(&self) -> f64 {
        depth_first_fraction(self.levels.iter().map(|level| (level.explored(), level.explored() + 1)))
    }
}
