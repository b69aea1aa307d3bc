//! Source-DPOR: Abdulla, Aronis, Jonsson and Sagonas, "Source Sets: A Foundation for Optimal Dynamic Partial Order
//! Reduction" (JACM'17; POPL'14), Algorithm 1, with the treatment of blocking operations of the journal version.
//!
//! Each prefix keeps a backtrack set that grows into a source set, and a sleep set. Every class is explored at least
//! once; an exploration whose enabled threads all sleep is redundant. Memory is bounded by the length of one execution.

use super::{
    depth_first_fraction, sleep_after, sleeps, Decision, End, Explorer, Finished, Requirements, SleepSet, State,
};
use crate::execution::{initials, Execution, Outcomes};
use crate::memory::MemoryModel;
use crate::operation::ThreadId;

/// One prefix E of the current execution.
struct Node {
    /// `backtrack(E)`: threads to explore from here, the explored ones and the current one first.
    backtrack: Vec<ThreadId>,
    /// How many of `backtrack` are explored; the current one is at this position.
    explored: usize,
    /// The sleep set at E, with the threads explored from here so far.
    sleep: SleepSet,
    /// The outcomes that the current thread's operation can have; empty until it is chosen. The current one is at
    /// position `outcome`.
    outcomes: Outcomes,
    outcome: usize,
}

#[derive(Default)]
pub struct Source {
    nodes: Vec<Node>,
    depth: usize,
    /// The sleep set at the end of the current execution.
    sleep: SleepSet,
}

impl Source {
    /// Add the threads that races demand: for a race e, e' the first steps of `v = notdep(e, E) . e'`.
    fn add_backtrack_points(&mut self, execution: &Execution, memory: &dyn MemoryModel) {
        for race in execution.fresh_races(memory) {
            let v = execution.reversal(race, race.second.index(), memory);
            let node = &mut self.nodes[race.first.index()];
            let initial = |thread: ThreadId| initials(&v).any(|position| v[position].thread == thread);
            let covered = node.backtrack.iter().copied().any(initial)
                || node.sleep.iter().any(|sleeper| initial(sleeper.thread));
            if covered {
                continue;
            }
            let first = initials(&v).map(|position| v[position].thread).next();
            let last = v.last().map(|step| step.thread).filter(|thread| initial(*thread));
            if let Some(thread) = last.or(first) {
                node.backtrack.push(thread);
            }
        }
    }
}

impl Explorer for Source {
    fn requirements(&self) -> Requirements {
        Requirements::OF_EVENTS
    }

    fn begin(&mut self) -> usize {
        self.depth = self.nodes.len().saturating_sub(1);
        self.sleep = self.nodes.last().map(|node| node.sleep.clone()).unwrap_or_default();
        self.depth
    }

    fn choose(&mut self, state: &State) -> Decision {
        if self.depth < self.nodes.len() {
            let node = &mut self.nodes[self.depth];
            let thread = node.backtrack[node.explored];
            if node.outcomes.is_empty() {
                node.outcomes = state.outcomes(thread);
            }
            return Decision::Take(state.choice(thread, node.outcomes[node.outcome]));
        }
        let awake = |thread: ThreadId| !sleeps(&self.sleep, thread);
        let Some(thread) = state.branching().or_else(|| state.preferred(awake)) else {
            return Decision::GiveUp;
        };
        let outcomes = state.outcomes(thread);
        let choice = state.choice(thread, outcomes[0]);
        self.nodes.push(Node {
            backtrack: vec![thread],
            explored: 0,
            sleep: self.sleep.clone(),
            outcomes,
            outcome: 0,
        });
        Decision::Take(choice)
    }

    fn performed(&mut self, execution: &Execution) {
        self.sleep = sleep_after(&self.sleep, &execution.step(execution.len() - 1));
        self.depth += 1;
    }

    fn finish(&mut self, execution: &Execution, memory: &dyn MemoryModel, _end: End) -> Finished {
        self.add_backtrack_points(execution, memory);
        self.nodes.truncate(execution.len());
        while let Some(depth) = self.nodes.len().checked_sub(1) {
            let node = &mut self.nodes[depth];
            node.outcome += 1;
            if node.outcome < node.outcomes.len() {
                return Finished { more: true, duplicate: false };
            }
            node.sleep.push(execution.step(depth));
            node.outcome = 0;
            node.outcomes.clear();
            node.explored += 1;
            if node.explored < node.backtrack.len() {
                return Finished { more: true, duplicate: false };
            }
            self.nodes.pop();
        }
        Finished { more: false, duplicate: false }
    }

    fn fraction(&self) -> f64 {
        depth_first_fraction(self.nodes.iter().map(|node| (node.explored, node.backtrack.len())))
    }
}
