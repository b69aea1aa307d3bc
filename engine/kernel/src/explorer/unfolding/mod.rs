//! Quasi-optimal partial order reduction: Nguyen, Rodríguez, Sousa, Coti, Petrucci, "Quasi-Optimal Partial Order
//! Reduction" (CAV'18), Algorithm 1, on the unfolding of the program.
//!
//! `Explore(C, D, A)` explores all maximal configurations that contain C and no event of D; the first contains A. It
//! disables, one after another, the events with which it continues C, as long as there is an alternative to the disabled
//! ones. With full alternatives every class is explored once; with k-partial ones an exploration may find that it can only
//! go on with disabled events: it is redundant.
//!
//! Where we differ:
//! - The recursion is a stack of levels, one for each event of C; the second recursive call, on the same C, goes on with
//!   the same level.
//! - An event of D that depends on an event which is added to C can never occur again. It leaves D, which therefore holds
//!   at each level what sleep sets of other algorithms do.
//! - The events that are in conflict with a maximal configuration are added where it has been reached (all that its
//!   prefixes would add are among them), and by reversing races instead of by walking up lock trees (section 5.3): for
//!   each race e, e' the event that e' would be after all that does not happen after e. The paper adds every history that
//!   e' can have; those with other subsets of the reads before a write are added when an execution with such a subset has
//!   been explored. That is enough: by the correctness of Optimal-DPOR (Abdulla et al., JACM'17, Theorem 7.6) all that
//!   is left to explore after C and e begins like the reversal of a race that was seen after e, whose events are those
//!   of the execution that it was seen in and this one.
//! - A drawn value is an event for each alternative; these are in conflict with each other.
//!
//! - Line 13 keeps less: what is in immediate conflict with an event of C or D, and its causes. Alternatives are made of
//!   nothing else (`alternatives`).
//!
//! `U` may grow with the number of classes, as in the paper.

mod alternatives;
mod event_structure;
mod trees;

use alternatives::alternative;
use event_structure::{Configuration, EventStructure, Number};

use super::{depth_first_fraction, Decision, End, Explorer, Finished, State};
use crate::execution::Execution;
use crate::memory::MemoryModel;
use crate::operation::ThreadId;

/// Below this many events nothing is removed from U.
const FEW: usize = 256;

/// One call of `Explore`, after the events of the execution up to it.
#[derive(Default)]
struct Level {
    /// D, without what C is in conflict with; the event that was disabled last is at the end.
    disabled: Vec<Number>,
    /// A, in the order in which it can be added.
    add: Vec<Number>,
    /// How many events were disabled here.
    explored: usize,
}

pub struct Unfolding {
    /// How many disabled events an alternative has to be in conflict with; None: all.
    k: Option<usize>,
    /// U
    structure: EventStructure,
    /// The events of the current execution as events of the unfolding.
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

    /// Whether the thread's pending operation with this outcome is disabled. What is in D can be added to C at any time.
    fn is_disabled(&self, thread: ThreadId, outcome: u32, draws: bool) -> bool {
        self.levels.last().is_some_and(|level| {
            level.disabled.iter().any(|event| {
                self.structure.thread(*event) == thread && (!draws || self.structure.outcome(*event) == outcome)
            })
        })
    }

    /// The outcomes that the thread's pending operation can have without being disabled.
    fn free_outcome(&self, state: &State, thread: ThreadId) -> Option<u32> {
        let outcomes = state.outcomes(thread);
        let draws = state.alternatives(thread) > 1;
        outcomes.into_iter().find(|outcome| !self.is_disabled(thread, *outcome, draws))
    }

    /// Line 4, for the whole execution: add what is in conflict with it to U.
    fn add_conflicting_extensions(&mut self, execution: &Execution, memory: &dyn MemoryModel) {
        for race in execution.fresh_races(memory) {
            let second = execution.event(race.second);
            let (clock, accesses) = execution.history_without(race, memory);
            let event = self.structure.intern(second, second.outcome, &clock, &accesses, &self.chains);
            self.structure.list(event);
        }
        for event in execution.fresh_events().iter().filter(|event| event.alternatives > 1) {
            let drawn = self.events[event.id.index()];
            for outcome in 0..event.alternatives {
                self.structure.alternative_outcome(drawn, outcome);
            }
        }
    }

    /// Line 13: U := U ∩ Q; here only when U has doubled.
    fn prune(&mut self, execution: &Execution) {
        if self.structure.len() < self.crowded {
            return;
        }
        let counts: Vec<u32> = self.chains.iter().map(|chain| chain.len() as u32).collect();
        let configuration =
            Configuration { execution, length: self.events.len(), chains: &self.chains, counts: &counts };
        let disabled: Vec<Number> = self.disabled_anywhere();
        let mut keep = vec![false; self.structure.len()];
        let needed = self.levels.iter().flat_map(|level| level.disabled.iter().chain(&level.add)).chain(&self.events);
        needed.for_each(|event| keep[*event as usize] = true);
        for event in 0..self.structure.len() as Number {
            if !keep[event as usize] {
                keep[event as usize] = self.structure.is_in_conflict(event, &configuration, &disabled);
            }
        }
        let numbers = self.structure.retain(keep);
        let rename = |event: &mut Number| *event = numbers[*event as usize];
        self.events.iter_mut().for_each(rename);
        self.chains.iter_mut().flatten().for_each(rename);
        for level in &mut self.levels {
            level.disabled.iter_mut().chain(&mut level.add).for_each(rename);
        }
        self.crowded = FEW.max(2 * self.structure.len());
    }

    /// The events that are disabled at some level.
    fn disabled_anywhere(&self) -> Vec<Number> {
        let mut found: Vec<Number> = Vec::new();
        for level in &self.levels {
            let new = level.disabled.len().saturating_sub(level.explored);
            found.extend(&level.disabled[new..]);
        }
        found
    }

    /// Forget the last event of C. It stays in U for alternatives if it is in conflict with a disabled event.
    fn remove_last(&mut self, thread: ThreadId, disabled: &[Number]) -> Option<Number> {
        let event = self.events.pop()?;
        self.chains[thread.index()].pop();
        if disabled.iter().any(|other| *other != event && self.structure.depends(event, *other)) {
            self.structure.list(event);
        }
        Some(event)
    }
}

impl Explorer for Unfolding {
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
        self.events.push(event);
        self.chains[thread].push(event);
        // Line 10: Explore(C ∪ {e}, D, A \ {e}).
        let structure = &self.structure;
        let next = self.levels.last().map_or_else(Level::default, |level| {
            // What a predicate reads is not always foreseen; then the thread did something else than what A holds.
            let foreseen = level.add.first().is_none_or(|planned| *planned == event);
            Level {
                disabled: level.disabled.iter().copied().filter(|other| !structure.depends(*other, event)).collect(),
                add: if foreseen { level.add.iter().skip(1).copied().collect() } else { Vec::new() },
                explored: 0,
            }
        });
        self.levels.push(next);
    }

    fn finish(&mut self, execution: &Execution, memory: &dyn MemoryModel, _end: End) -> Finished {
        self.add_conflicting_extensions(execution, memory);
        self.levels.truncate(self.events.len() + 1);
        let mut disabled = self.disabled_anywhere();
        let mut counts: Vec<u32> = self.chains.iter().map(|chain| chain.len() as u32).collect();
        while let Some(last) = self.levels.pop() {
            disabled.truncate(disabled.len() - last.explored);
            let Some(done) = execution.events().get(self.levels.len().wrapping_sub(1)) else { break };
            let Some(event) = self.remove_last(done.thread, &disabled) else { break };
            counts[done.thread.index()] -= 1;
            let Some(level) = self.levels.last_mut() else { break };
            // Line 11: is there an alternative to D ∪ {e}?
            level.disabled.push(event);
            level.explored += 1;
            disabled.push(event);
            let configuration =
                Configuration { execution, length: self.events.len(), chains: &self.chains, counts: &counts };
            // Line 12: Explore(C, D ∪ {e}, J \ C).
            if let Some(add) = alternative(&self.structure, &configuration, &level.disabled, self.k) {
                level.add = add;
                self.prune(execution);
                return Finished { more: true, duplicate: false };
            }
        }
        Finished { more: false, duplicate: false }
    }

    fn fraction(&self) -> f64 {
        depth_first_fraction(self.levels.iter().map(|level| (level.explored, level.explored + 1)))
    }
}
