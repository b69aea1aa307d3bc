//! Every execution with at most a given number of context switches: the search behind minimal counterexamples
//! (iterative context bounding: Musuvathi and Qadeer, PLDI'07).
//!
//! A switch counts whenever the next event is of another thread than the last, forced or not, because each one costs
//! the reader of a counterexample the same.

use super::{depth_first_fraction, Decision, End, Explorer, Finished, State};
use crate::execution::Execution;
use crate::memory::MemoryModel;
use crate::operation::{Choice, ThreadId};

struct Node {
    choices: Vec<Choice>,
    taken: usize,
    /// Switches before this node, and the thread that ran last.
    switches: usize,
    current: Option<ThreadId>,
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

impl Explorer for ContextBound {
    fn begin(&mut self) -> usize {
        self.depth = self.nodes.len().saturating_sub(1);
        self.switches = self.nodes.last().map_or(0, |node| node.switches);
        self.depth
    }

    fn choose(&mut self, state: &State) -> Decision {
        if self.depth == self.nodes.len() {
            let can_switch = self.switches < self.bound;
            let branching = state.branching();
            let mut choices: Vec<Choice> = state
                .enabled()
                .filter(|thread| can_switch || state.current.is_none() || state.current == Some(*thread))
                .filter(|thread| branching.is_none_or(|branching| branching == *thread))
                .flat_map(|thread| {
                    state.outcomes(thread).into_iter().map(move |outcome| state.choice(thread, outcome))
                })
                .collect();
            choices.sort_by_key(|choice| Some(choice.thread()) != state.current);
            if choices.is_empty() {
                return Decision::GiveUp;
            }
            self.nodes.push(Node { choices, taken: 0, switches: self.switches, current: state.current });
        }
        let node = &self.nodes[self.depth];
        let choice = node.choices[node.taken];
        if node.current.is_some_and(|current| current != choice.thread()) {
            self.switches += 1;
        }
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

    fn is_exhaustive(&self) -> bool {
        false
    }
}
