//! Optimal-DPOR: Abdulla, Aronis, Jonsson and Sagonas, "Source Sets: A Foundation for Optimal Dynamic Partial Order
//! Reduction" (JACM'17; POPL'14), Algorithm 2, with the treatment of blocking operations of the journal version.
//!
//! Each prefix E keeps a wakeup tree `wut(E)` and a sleep set `sleep(E)`. Every equivalence class is explored exactly
//! once and no exploration is ever given up. The trees can grow with the number of executions, as the paper says.
//!
//! Three extensions. A thread that draws a value is several branches, one an alternative; they are added only where the
//! thread is chosen freely, because a draw in a planned sequence comes from an execution after which its alternatives
//! are explored, and whatever else they can do is found there as reversed races. A symbolic branch is such a draw whose
//! alternatives are the sides that are satisfiable together with the branches so far; it is decided as soon as a thread
//! comes to it, also where a planned sequence leaves it out, and nothing is planned that no solution allows. The last
//! step of a reversed
//! race is inserted with the accesses that it has where it is inserted, which can differ from those that it had where
//! the race was seen (a compare-exchange that fails after the race's first event and succeeds before it).

use std::rc::Rc;

use super::replay::{Divergence, DivergenceReason};
use super::wakeup_tree::{covers, Branch, Prefix, WakeupTree};
use super::{
    depth_first_fraction, sleep_after, Decision, End, Explorer, Findings, Finished, Requirements, SleepSet, State,
};
use crate::execution::{Execution, Step};
use crate::memory::MemoryModel;
use crate::operation::{Operation, ThreadId};

/// One prefix E of the current execution.
struct Node {
    /// `sleep(E)`, with the steps explored from here so far.
    sleep: SleepSet,
    /// `wut(E)` without the branch that is being explored, whose subtree has moved to the next node.
    tree: WakeupTree,
    explored: usize,
}

#[derive(Default)]
pub struct Optimal {
    nodes: Vec<Node>,
    depth: usize,
    /// Sleep set and wakeup tree for the prefix at the end of the current execution.
    sleep: SleepSet,
    tree: WakeupTree,
    /// The first planned step that its thread did not come to.
    divergence: Option<Divergence>,
    /// Whether an execution came to a prefix where all threads that could run slept.
    all_slept: bool,
}

impl Optimal {
    /// Lines 2 to 6 of Algorithm 2: at a maximal execution, plan the reversal of each of its races.
    fn plan_reversals(&mut self, execution: &Execution, memory: &dyn MemoryModel) {
        for race in execution.races(memory) {
            let v = execution.reversal(race, execution.len(), memory);
            let node = &mut self.nodes[race.first.index()];
            let prefix = Prefix::of(execution, race.first.index());
            if !covers(&node.sleep, &v, prefix) {
                node.tree.insert(v, &node.sleep, prefix);
            }
        }
    }
}

/// The steps that the thread's pending operation can be and that do not sleep, one an outcome.
fn alternatives(state: &State, thread: ThreadId, sleep: &[Rc<Step>]) -> Vec<Rc<Step>> {
    let Some(&operation) = state.pending(thread) else { return Vec::new() };
    let steps = state
        .outcomes(thread)
        .into_iter()
        .map(|outcome| Rc::new(Step { thread, outcome, operation, accesses: Default::default(), is_guess: false }));
    steps.filter(|step| !sleep.iter().any(|sleeper| sleeper.same_choice(step))).collect()
}

impl Explorer for Optimal {
    fn requirements(&self) -> Requirements {
        Requirements::OF_EVENTS
    }

    fn findings(&self) -> Findings<'_> {
        Findings { divergence: self.divergence.as_ref(), all_slept: self.all_slept, ..Findings::default() }
    }

    fn begin(&mut self) -> usize {
        // The next execution leaves the last one at the deepest prefix whose wakeup tree is not empty.
        self.depth = self.nodes.len().saturating_sub(1);
        self.sleep = self.nodes.last().map(|node| node.sleep.clone()).unwrap_or_default();
        self.tree = WakeupTree::default();
        self.depth
    }

    fn choose(&mut self, state: &State) -> Decision {
        if self.depth == self.nodes.len() {
            let mut tree = std::mem::take(&mut self.tree);
            if let Some(thread) = state.branching() {
                let prefix = Prefix::of(state.execution, state.execution.len());
                tree.decide(alternatives(state, thread, &self.sleep), prefix);
            }
            self.nodes.push(Node { sleep: self.sleep.clone(), tree, explored: 0 });
        }
        let node = &mut self.nodes[self.depth];
        let sleep = &node.sleep;
        // A guess that turns out to be impossible plans nothing: what it was to lead to is explored freely.
        let is_impossible = |branch: &Branch| branch.step.is_guess && !state.is_enabled(branch.step.thread);
        let planned = node.tree.branches.len();
        node.tree.branches.retain(|branch| !is_impossible(branch));
        let is_free = planned == node.tree.branches.len() || node.explored == 0;
        if state.branching().is_none() && node.tree.is_empty() && is_free {
            let awake = |thread: ThreadId| {
                let outcomes = state.outcomes(thread);
                let asleep = |outcome: &u32| sleep.iter().any(|s| s.thread == thread && s.outcome == *outcome);
                !outcomes.iter().all(asleep)
            };
            let Some(thread) = state.preferred(awake) else {
                self.all_slept = true;
                return Decision::GiveUp;
            };
            let steps = alternatives(state, thread, sleep);
            let free = steps.into_iter().map(|step| Branch { step, below: WakeupTree::default() });
            node.tree.branches.extend(free);
        }
        if node.tree.is_empty() {
            return Decision::GiveUp;
        }
        let branch = node.tree.branches.remove(0);
        self.tree = branch.below;
        let step = &branch.step;
        if state.is_enabled(step.thread) && (!step.draws() || state.outcomes(step.thread).contains(&step.outcome)) {
            Decision::Take(step.choice())
        } else {
            let comes_to =
                |pending: &Operation| (pending.kind, pending.target) == (step.operation.kind, step.operation.target);
            if !state.pending(step.thread).is_some_and(comes_to) {
                let (thread, reason) = (step.thread, DivergenceReason::CannotRun);
                self.divergence.get_or_insert(Divergence { step: self.depth, thread, reason });
            }
            Decision::GiveUp
        }
    }

    fn performed(&mut self, execution: &Execution) {
        self.sleep = sleep_after(&self.sleep, &execution.step(execution.len() - 1));
        self.depth += 1;
    }

    fn finish(&mut self, execution: &Execution, memory: &dyn MemoryModel, _end: End) -> Finished {
        self.nodes.truncate(execution.len());
        self.plan_reversals(execution, memory);
        while let Some(depth) = self.nodes.len().checked_sub(1) {
            let node = &mut self.nodes[depth];
            node.sleep.push(execution.step(depth));
            node.explored += 1;
            if !node.tree.is_empty() {
                // A step that was possible and is not any more: nothing that would come now means what it says.
                return Finished { more: self.divergence.is_none(), duplicate: false };
            }
            self.nodes.pop();
        }
        Finished { more: false, duplicate: false }
    }

    fn fraction(&self) -> f64 {
        depth_first_fraction(
            self.nodes.iter().map(|node| (node.explored, node.explored + 1 + node.tree.branches.len())),
        )
    }
}
