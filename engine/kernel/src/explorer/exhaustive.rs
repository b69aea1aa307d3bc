//! Every interleaving, without any reduction: the oracle that the other explorers are tested against.
//!
//! Only the start of a thread and symbolic branches are not interleaved: they access nothing and cannot be disabled, so
//! they happen at once.
//!
//! It also counts equivalence classes, by the fingerprint of the happens-before graph of each execution; a further
//! interleaving of a class is reported as a duplicate. Memory grows with the number of classes.

use rustc_hash::FxHashSet;

use super::{depth_first_fraction, Decision, End, Explorer, Finished, Requirements, State};
use crate::execution::Execution;
use crate::memory::MemoryModel;
use crate::operation::{Choice, OperationKind};

/// The choices at one depth of the search, and which of them the current execution takes.
struct Node {
    choices: Vec<Choice>,
    taken: usize,
}

#[derive(Default)]
pub struct Exhaustive {
    nodes: Vec<Node>,
    depth: usize,
    classes: FxHashSet<(u128, bool)>,
}

impl Explorer for Exhaustive {
    fn requirements(&self) -> Requirements {
        Requirements::OF_EVENTS
    }

    fn begin(&mut self) -> usize {
        self.depth = self.nodes.len().saturating_sub(1);
        self.depth
    }

    fn choose(&mut self, state: &State) -> Decision {
        if self.depth == self.nodes.len() {
            let starting = state
                .enabled()
                .find(|thread| state.pending(*thread).is_some_and(|next| next.kind == OperationKind::Start));
            if let Some(thread) = starting {
                self.nodes.push(Node { choices: vec![Choice::step(thread)], taken: 0 });
                return Decision::Take(Choice::step(thread));
            }
            let branching = state.branching();
            let mut choices: Vec<Choice> = state
                .enabled()
                .filter(|thread| branching.is_none_or(|branching| branching == *thread))
                .flat_map(|thread| {
                    state.outcomes(thread).into_iter().map(move |outcome| state.choice(thread, outcome))
                })
                .collect();
            // Going on with the current thread first keeps the first execution cheap and readable.
            choices.sort_by_key(|choice| Some(choice.thread()) != state.current);
            self.nodes.push(Node { choices, taken: 0 });
        }
        let node = &self.nodes[self.depth];
        Decision::Take(node.choices[node.taken])
    }

    fn performed(&mut self, _execution: &Execution) {
        self.depth += 1;
    }

    fn finish(&mut self, execution: &Execution, _memory: &dyn MemoryModel, end: End) -> Finished {
        let duplicate = !self.classes.insert((execution.fingerprint(), end == End::Cut));
        while let Some(node) = self.nodes.last_mut() {
            node.taken += 1;
            if node.taken < node.choices.len() {
                return Finished { more: true, duplicate };
            }
            self.nodes.pop();
        }
        Finished { more: false, duplicate }
    }

    fn fraction(&self) -> f64 {
        depth_first_fraction(self.nodes.iter().map(|node| (node.taken, node.choices.len())))
    }
}
