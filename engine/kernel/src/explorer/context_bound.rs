//! Every execution with at most a given number of context switches: the search behind minimal counterexamples
//! (iterative context bounding: Musuvathi and Qadeer, PLDI'07).
//!
//! A switch counts whenever the next event is of another thread than the last, forced or not, because each one costs
//! the reader of a counterexample the same. So does a store that leaves its store buffer at any other time than at
//! once.

use super::{depth_first_fraction, Decision, End, Explorer, Finished, Requirements, State};
use crate::execution::Execution;
use crate::memory::MemoryModel;
use crate::operation::{Buffering, Choice, ThreadId};

struct Node {
    /// The choices, and whether each counts as a switch.
    choices: Vec<(Choice, bool)>,
    taken: usize,
    /// Switches before this node.
    switches: usize,
}

pub struct ContextBound {
    nodes: Vec<Node>,
    depth: usize,
    bound: usize,
    switches: usize,
}

impl ContextBound {
    pub fn new(bound: usize) -> ContextBound {
        ContextBound { nodes: Vec::new(), depth: 0, bound, switches: 0 }
    }
}

/// Whether a step of the thread (or agent) costs the reader a switch.
fn switches(state: &State, thread: ThreadId) -> bool {
    match state.pending(thread).map(|operation| operation.buffering) {
        Some(Buffering::Leaves { owner, number, .. }) => !state
            .execution
            .events()
            .last()
            .is_some_and(|last| last.thread == owner && last.operation.buffering == Buffering::Enters { number }),
        _ => state.current.is_some_and(|current| current != thread),
    }
}

impl Explorer for ContextBound {
    fn requirements(&self) -> Requirements {
        Requirements { is_exhaustive: false, ..Requirements::OF_EVENTS }
    }

    fn begin(&mut self) -> usize {
        self.depth = self.nodes.len().saturating_sub(1);
        self.switches = self.nodes.last().map_or(0, |node| node.switches);
        self.depth
    }

    fn choose(&mut self, state: &State) -> Decision {
        if self.depth == self.nodes.len() {
            let can_switch = self.switches < self.bound;
            let branching = state.branching();
            let mut choices: Vec<(Choice, bool)> = state
                .enabled()
                .filter(|thread| branching.is_none_or(|branching| branching == *thread))
                .map(|thread| (thread, switches(state, thread)))
                .filter(|(_, switches)| can_switch || !switches)
                .flat_map(|(thread, switches)| {
                    let outcomes = state.outcomes(thread).into_iter();
                    outcomes.map(move |outcome| (state.choice(thread, outcome), switches))
                })
                .collect();
            choices.sort_by_key(|(_, switches)| *switches);
            if choices.is_empty() {
                return Decision::GiveUp;
            }
            self.nodes.push(Node { choices, taken: 0, switches: self.switches });
        }
        let node = &self.nodes[self.depth];
        let (choice, switches) = node.choices[node.taken];
        self.switches += usize::from(switches);
        Decision::Take(choice)
    }

    fn performed(&mut self, _execution: &Execution) {
        self.depth += 1;
    }

    fn finish(&mut self, _execution: &Execution, _memory: &dyn MemoryModel, _end: End) -> Finished {
        while let Some(node) = self.nodes.last_mut() {
            node.taken += 1;
            if node.taken < node.choices.len() {
                return Finished { more: true, duplicate: false };
            }
            self.nodes.pop();
        }
        Finished { more: false, duplicate: false }
    }

    fn fraction(&self) -> f64 {
        depth_first_fraction(self.nodes.iter().map(|node| (node.taken, node.choices.len())))
    }
}
