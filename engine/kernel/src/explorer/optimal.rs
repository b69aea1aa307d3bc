//! Optimal-DPOR: Abdulla, Aronis, Jonsson and Sagonas, "Source Sets: A Foundation for Optimal Dynamic Partial Order
//! Reduction" (JACM'17; POPL'14), Algorithm 2, with the treatment of blocking operations of the journal version.
//!
//! Each prefix E keeps a wakeup tree `wut(E)` and a sleep set `sleep(E)`. Every equivalence class is explored exactly
//! once and no exploration is ever given up. The trees can grow with the number of executions, as the paper says.
//!
//! Two extensions. A thread that draws a value is several branches, one an alternative; they are added only where the
//! thread is chosen freely, because a draw in a planned sequence comes from an execution after which its alternatives
//! are explored, and whatever else they can do is found there as reversed races. The last step of a reversed
//! race is inserted with the accesses that it has where it is inserted, which can differ from those that it had where
//! the race was seen (a compare-exchange that fails after the race's first event and succeeds before it).

use std::rc::Rc;

use super::wakeup_tree::{covers, Branch, WakeupTree};
use super::{depth_first_fraction, sleep_after, Decision, End, Explorer, Finished, SleepSet, State};
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
}

impl Optimal {
    /// Lines 2 to 6 of Algorithm 2: at a maximal execution, plan the reversal of each of its races.
    fn plan_reversals(&mut self, execution: &Execution, memory: &dyn MemoryModel) {
        for race in execution.races(memory) {
            let v = execution.reversal(race, execution.len(), memory);
            let node = &mut self.nodes[race.first.index()];
            if !covers(&node.sleep, &v) {
                node.tree.insert(v, &node.sleep);
            }
        }
    }
}

/// The branches for the alternatives of a drawn value, one after another.
fn alternatives(thread: ThreadId, operation: &Operation, count: u32) -> impl Iterator<Item = Branch> {
    let operation = *operation;
    (0..count).map(move |outcome| Branch {
        step: Rc::new(Step { thread, outcome, operation, accesses: Default::default() }),
        below: WakeupTree::default(),
    })
}

impl Explorer for Optimal {
    fn begin(&mut self) -> usize {
        // The next execution leaves the last one at the deepest prefix whose wakeup tree is not empty.
        self.depth = self.nodes.len().saturating_sub(1);
        self.sleep = self.nodes.last().map(|node| node.sleep.clone()).unwrap_or_default();
        self.tree = WakeupTree::default();
        self.depth
    }

    fn choose(&mut self, state: &State) -> Decision {
        if self.depth == self.nodes.len() {
            let tree = std::mem::take(&mut self.tree);
            self.nodes.push(Node { sleep: self.sleep.clone(), tree, explored: 0 });
        }
        let node = &mut self.nodes[self.depth];
        if node.tree.is_empty() {
            let sleep = &node.sleep;
            let awake = |thread: ThreadId| {
                let asleep = sleep.iter().filter(|sleeper| sleeper.thread == thread).count();
                (asleep as u32) < state.alternatives(thread)
            };
            let Some(thread) = state.preferred(awake) else { return Decision::GiveUp };
            let Some(operation) = state.pending(thread) else { return Decision::GiveUp };
            let branches = alternatives(thread, operation, state.alternatives(thread))
                .filter(|branch| !sleep.iter().any(|sleeper| sleeper.same_choice(&branch.step)));
            node.tree.branches.extend(branches);
        }
        let branch = node.tree.branches.remove(0);
        self.tree = branch.below;
        if state.is_enabled(branch.step.thread) {
            Decision::Take(branch.step.choice())
        } else {
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
                return Finished { more: true, duplicate: false };
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
