//! Wakeup trees: Abdulla, Aronis, Jonsson and Sagonas (JACM'17), section 6, Definitions 6.1 to 6.3.
//!
//! An ordered tree whose branches are the sequences that still have to be explored after a prefix E.

use std::rc::Rc;

use crate::execution::Step;

/// An edge of the tree with the subtree below it.
#[derive(Clone, Debug)]
pub struct Branch {
    pub step: Rc<Step>,
    pub below: WakeupTree,
}

/// The branches below a node, in the order `<` in which they are to be explored.
#[derive(Clone, Debug, Default)]
pub struct WakeupTree {
    pub branches: Vec<Branch>,
}

/// How a step relates to a sequence `v` that could follow the same prefix.
pub enum WeakInitial {
    /// It is the step at this position, and nothing in `v` has to precede it: an initial of `v`.
    At(usize),
    /// It is not in `v` and independent of all of it.
    Independent,
    /// Neither: the step is no weak initial of `v`.
    No,
}

/// Whether `step` is in `WI(v)` (Definition 4.4 of the paper).
pub fn weak_initial(step: &Step, v: &[Rc<Step>]) -> WeakInitial {
    for (position, other) in v.iter().enumerate() {
        if other.thread == step.thread {
            let first = v[..position].iter().all(|earlier| !earlier.depends(other));
            return if first && other.same_choice(step) { WeakInitial::At(position) } else { WeakInitial::No };
        }
        if step.depends(other) {
            return WeakInitial::No;
        }
    }
    WeakInitial::Independent
}

/// Whether exploring E.w for each w in the sleep set covers every execution that begins with E.v.
pub fn covers(sleep: &[Rc<Step>], v: &[Rc<Step>]) -> bool {
    sleep.iter().any(|sleeper| match weak_initial(sleeper, v) {
        WeakInitial::At(_) => true,
        WeakInitial::No => false,
        WeakInitial::Independent if !sleeper.draws() => true,
        WeakInitial::Independent => {
            let asleep = sleep.iter().filter(|other| other.thread == sleeper.thread).count();
            asleep as u32 == sleeper.operation.detail
        }
    })
}

impl WakeupTree {
    pub fn is_empty(&self) -> bool {
        self.branches.is_empty()
    }

    /// `insert(v, tree)`: extend the tree so that some branch of it leads to an execution that begins with `v`.
    ///
    /// Follows the leftmost branch that is compatible with `v`; at a leaf nothing has to be added, since what is
    /// explored after it covers `v`. This is the node at E, whose explored branches are in `sleep` and which is no leaf.
    pub fn insert(&mut self, v: Vec<Rc<Step>>, sleep: &[Rc<Step>]) {
        let mut rest = v;
        for index in 0..self.branches.len() {
            let step = &self.branches[index].step;
            match weak_initial(step, &rest) {
                WeakInitial::No => {}
                WeakInitial::At(position) => {
                    rest.remove(position);
                    return self.branches[index].below.insert_below(rest);
                }
                WeakInitial::Independent if !step.draws() => {
                    return self.branches[index].below.insert_below(rest);
                }
                // One alternative of a drawn value covers only the executions in which it is drawn.
                WeakInitial::Independent => {
                    self.branches[index].below.insert_below(rest.clone());
                    let step = &self.branches[index].step;
                    let others = self.branches[..index].iter().map(|branch| &branch.step).chain(sleep);
                    let known = others.filter(|other| other.thread == step.thread).count() + 1;
                    if known as u32 == step.operation.detail {
                        return;
                    }
                }
            }
        }
        if !rest.is_empty() {
            self.push_sequence(rest);
        }
    }

    fn insert_below(&mut self, v: Vec<Rc<Step>>) {
        if !v.is_empty() && !self.branches.is_empty() {
            self.insert(v, &[]);
        }
    }

    /// Add a sequence as the last branch.
    fn push_sequence(&mut self, v: Vec<Rc<Step>>) {
        let mut node = self;
        for step in v {
            node.branches.push(Branch { step, below: WakeupTree::default() });
            let last = node.branches.len() - 1;
            node = &mut node.branches[last].below;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::{Access, AccessMode, LocationId, Operation, OperationKind, ThreadId};

    const P: ThreadId = ThreadId(1);
    const Q: ThreadId = ThreadId(2);
    const R: ThreadId = ThreadId(3);
    const X: LocationId = LocationId(0);
    const Y: LocationId = LocationId(1);

    fn touch(thread: ThreadId, location: LocationId, mode: AccessMode) -> Rc<Step> {
        let kind = if mode == AccessMode::Read { OperationKind::Load } else { OperationKind::Store };
        let accesses = std::iter::once(Access { location, mode }).collect();
        Rc::new(Step { thread, outcome: 0, operation: Operation::new(kind, location, 0), accesses })
    }

    fn read(thread: ThreadId, location: LocationId) -> Rc<Step> {
        touch(thread, location, AccessMode::Read)
    }

    fn write(thread: ThreadId, location: LocationId) -> Rc<Step> {
        touch(thread, location, AccessMode::Write)
    }

    fn draw(thread: ThreadId, outcome: u32) -> Rc<Step> {
        let operation = Operation::new(OperationKind::Choose, LocationId::NONE, 2);
        Rc::new(Step { thread, outcome, operation, accesses: Default::default() })
    }

    /// The sequences from the root to the leaves, as threads.
    fn sequences(tree: &WakeupTree) -> Vec<Vec<u32>> {
        let mut all = Vec::new();
        for branch in &tree.branches {
            let below = sequences(&branch.below);
            let tails = if below.is_empty() { vec![Vec::new()] } else { below };
            all.extend(tails.into_iter().map(|tail| [vec![branch.step.thread.0], tail].concat()));
        }
        all
    }

    fn tree(planned: Vec<Vec<Rc<Step>>>) -> WakeupTree {
        let mut tree = WakeupTree::default();
        for sequence in planned {
            tree.push_sequence(sequence);
        }
        tree
    }

    #[test]
    fn an_incompatible_sequence_becomes_the_last_branch() {
        let mut tree = tree(vec![vec![write(P, X)]]);
        tree.insert(vec![write(Q, X), write(P, X)], &[]);
        assert_eq!(sequences(&tree), [vec![1], vec![2, 1]]);
    }

    #[test]
    fn a_sequence_that_begins_with_a_branch_goes_on_below_it() {
        let mut tree = tree(vec![vec![write(P, X), write(Q, X)]]);
        tree.insert(vec![write(P, X), write(R, X)], &[]);
        assert_eq!(sequences(&tree), [vec![1, 2], vec![1, 3]]);
    }

    #[test]
    fn a_weak_initial_is_taken_out_of_the_middle_of_a_sequence() {
        let mut tree = tree(vec![vec![read(P, X), write(Q, X)]]);
        // R's step is independent of P's, so P's can come first.
        tree.insert(vec![write(R, Y), read(P, X), write(R, X)], &[]);
        assert_eq!(sequences(&tree), [vec![1, 2], vec![1, 3, 3]]);
    }

    #[test]
    fn a_sequence_that_leads_to_a_leaf_adds_nothing() {
        let mut tree = tree(vec![vec![write(P, X)]]);
        tree.insert(vec![write(P, X), write(Q, X)], &[]);
        assert_eq!(sequences(&tree), [vec![1]]);
    }

    #[test]
    fn an_independent_branch_is_followed_without_using_the_sequence_up() {
        let mut tree = tree(vec![vec![write(P, Y), write(Q, X)]]);
        tree.insert(vec![write(R, X)], &[]);
        assert_eq!(sequences(&tree), [vec![1, 2], vec![1, 3]]);
    }

    #[test]
    fn the_leftmost_compatible_branch_is_taken() {
        let mut tree = tree(vec![vec![read(P, X), write(P, Y)], vec![read(Q, X), write(Q, Y)]]);
        tree.insert(vec![read(Q, X), read(P, X), write(R, Y)], &[]);
        assert_eq!(sequences(&tree), [vec![1, 1], vec![1, 2, 3], vec![2, 2]]);
    }

    #[test]
    fn one_alternative_of_a_drawn_value_does_not_cover_the_others() {
        let mut tree = tree(vec![vec![draw(P, 0), write(P, X)]]);
        tree.insert(vec![write(Q, X)], &[]);
        assert_eq!(sequences(&tree), [vec![1, 1], vec![1, 2], vec![2]]);
    }

    #[test]
    fn all_alternatives_of_a_drawn_value_cover_what_is_independent_of_it() {
        let mut tree = tree(vec![vec![draw(P, 0), write(P, X)], vec![draw(P, 1), write(P, X)]]);
        tree.insert(vec![write(Q, X)], &[]);
        assert_eq!(sequences(&tree), [vec![1, 1], vec![1, 2], vec![1, 1], vec![1, 2]]);
    }

    #[test]
    fn a_sleeping_weak_initial_covers_a_sequence() {
        let v = [write(Q, Y), read(P, X)];
        assert!(covers(&[read(P, X)], &v), "an initial");
        assert!(covers(&[read(R, X)], &v), "independent of all of it");
        assert!(!covers(&[write(R, X)], &v), "in conflict with it");
        assert!(!covers(&[draw(R, 0)], &v), "one alternative of two");
        assert!(covers(&[draw(R, 0), draw(R, 1)], &v), "both alternatives");
    }
}
