//! Wakeup trees: Abdulla, Aronis, Jonsson and Sagonas (JACM'17), section 6, Definitions 6.1 to 6.3.
//!
//! An ordered tree whose branches are the sequences that still have to be explored after a prefix E.

use std::rc::Rc;

use crate::execution::{Execution, PathConditions, PathId, Step};
use crate::operation::{OperationKind, ThreadId};

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

/// The path condition at a node, which decides what drawn branches can be together.
#[derive(Clone, Copy)]
pub struct Prefix<'a> {
    conditions: &'a PathConditions,
    path: PathId,
}

impl<'a> Prefix<'a> {
    /// The prefix of the execution that has `length` events.
    pub fn of(execution: &'a Execution, length: usize) -> Prefix<'a> {
        Prefix { conditions: execution.conditions(), path: execution.path_at(length) }
    }

    /// The prefix followed by the steps; None if no solution allows them all.
    fn then<'s>(self, steps: impl IntoIterator<Item = &'s Rc<Step>>) -> Option<Prefix<'a>> {
        let path = self.conditions.after_all(self.path, steps.into_iter().map(Rc::as_ref))?;
        Some(Prefix { path, ..self })
    }

    /// Whether `known` holds of every alternative that is left of a drawn step here.
    fn all_alternatives(self, step: &Step, known: impl Fn(u32) -> bool) -> bool {
        let outcomes = self.conditions.outcomes(self.path, &step.operation, step.alternatives());
        outcomes.into_iter().all(known)
    }
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
pub fn covers(sleep: &[Rc<Step>], v: &[Rc<Step>], prefix: Prefix) -> bool {
    sleep.iter().any(|sleeper| match weak_initial(sleeper, v) {
        WeakInitial::At(_) => true,
        WeakInitial::No => false,
        WeakInitial::Independent if !sleeper.draws() => true,
        WeakInitial::Independent => prefix.then(v).is_none_or(|after| {
            let same = |other: &&Rc<Step>| other.thread == sleeper.thread;
            after.all_alternatives(sleeper, |outcome| sleep.iter().filter(same).any(|s| s.outcome == outcome))
        }),
    })
}

/// The steps of a symbolic branch come as soon as its thread comes to it: if that is the thread's next step in `rest`,
/// now that the thread has taken another, it becomes the first.
fn decide_at_once(rest: &mut [Rc<Step>], thread: ThreadId) {
    let next = rest.iter().position(|step| step.thread == thread);
    if let Some(position) = next.filter(|next| rest[*next].operation.kind == OperationKind::Branch) {
        rest[..=position].rotate_right(1);
    }
}

/// What remains of a planned sequence once `draw`, a step that it leaves out or has later, has been taken; None if it
/// has the draw with another outcome.
fn after_draw(mut planned: Vec<Rc<Step>>, draw: &Step) -> Option<Vec<Rc<Step>>> {
    if let Some(position) = planned.iter().position(|step| step.thread == draw.thread) {
        if !planned.remove(position).same_choice(draw) {
            return None;
        }
    }
    Some(planned)
}

impl WakeupTree {
    pub fn is_empty(&self) -> bool {
        self.branches.is_empty()
    }

    /// Let a symbolic branch come before everything planned here: `sides` are its steps.
    pub fn decide(&mut self, sides: Vec<Rc<Step>>, prefix: Prefix) {
        let mut planned = Vec::new();
        self.collect_sequences(&mut Vec::new(), &mut planned);
        self.branches.clear();
        for step in sides {
            let Some(after) = prefix.then([&step]) else { continue };
            let rests = planned.iter().filter_map(|sequence| after_draw(sequence.clone(), &step));
            let rests: Vec<_> = rests.filter(|rest| after.then(rest).is_some()).collect();
            if rests.is_empty() && !planned.is_empty() {
                continue;
            }
            let mut below = WakeupTree::default();
            if rests.iter().all(|rest| !rest.is_empty()) {
                for rest in rests {
                    below.insert(rest, &[], after);
                }
            }
            self.branches.push(Branch { step, below });
        }
    }

    /// The sequences from here to the leaves, in order; none for a leaf.
    fn collect_sequences(&self, begun: &mut Vec<Rc<Step>>, found: &mut Vec<Vec<Rc<Step>>>) {
        for branch in &self.branches {
            begun.push(branch.step.clone());
            if branch.below.is_empty() {
                found.push(begun.clone());
            } else {
                branch.below.collect_sequences(begun, found);
            }
            begun.pop();
        }
    }

    /// `insert(v, tree)`: extend the tree so that some branch of it leads to an execution that begins with `v`.
    ///
    /// Follows the leftmost branch that is compatible with `v`; at a leaf nothing has to be added, since what is
    /// explored after it covers `v`. This is the node at E, whose explored branches are in `sleep` and which is no
    /// leaf.
    pub fn insert(&mut self, v: Vec<Rc<Step>>, sleep: &[Rc<Step>], prefix: Prefix) {
        let mut rest = v;
        for index in 0..self.branches.len() {
            let step = &self.branches[index].step;
            match weak_initial(step, &rest) {
                WeakInitial::No => {}
                WeakInitial::At(position) => {
                    let Some(after) = prefix.then([step]) else { return };
                    let taken = rest.remove(position);
                    decide_at_once(&mut rest, taken.thread);
                    return self.branches[index].below.insert_below(rest, after);
                }
                WeakInitial::Independent if !step.draws() => {
                    return self.branches[index].below.insert_below(rest, prefix);
                }
                // One alternative of a drawn value covers only the executions in which it is drawn.
                WeakInitial::Independent => {
                    if let Some(after) = prefix.then([step]).filter(|after| after.then(&rest).is_some()) {
                        self.branches[index].below.insert_below(rest.clone(), after);
                    }
                    let Some(after) = prefix.then(&rest) else { return };
                    let step = &self.branches[index].step;
                    let others = || self.branches[..=index].iter().map(|branch| &branch.step).chain(sleep);
                    let known = |outcome| others().any(|s| s.thread == step.thread && s.outcome == outcome);
                    if after.all_alternatives(step, known) {
                        return;
                    }
                }
            }
        }
        if !rest.is_empty() {
            self.push_sequence(rest);
        }
    }

    fn insert_below(&mut self, v: Vec<Rc<Step>>, prefix: Prefix) {
        if !v.is_empty() && !self.branches.is_empty() {
            self.insert(v, &[], prefix);
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

    fn access_of(thread: ThreadId, location: LocationId, mode: AccessMode) -> Rc<Step> {
        let kind = if mode == AccessMode::Read { OperationKind::Load } else { OperationKind::Store };
        let accesses = std::iter::once(Access { location, mode }).collect();
        Rc::new(Step { thread, outcome: 0, operation: Operation::new(kind, location, 0), accesses, is_guess: false })
    }

    fn read(thread: ThreadId, location: LocationId) -> Rc<Step> {
        access_of(thread, location, AccessMode::Read)
    }

    fn write(thread: ThreadId, location: LocationId) -> Rc<Step> {
        access_of(thread, location, AccessMode::Write)
    }

    fn draw(thread: ThreadId, outcome: u32) -> Rc<Step> {
        let operation = Operation::new(OperationKind::Choose, LocationId::NONE, 2);
        Rc::new(Step { thread, outcome, operation, accesses: Default::default(), is_guess: false })
    }

    /// A prefix without constraints.
    fn free(conditions: &PathConditions) -> Prefix<'_> {
        Prefix { conditions, path: PathId::TRUE }
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
        let conditions = PathConditions::default();
        let mut tree = tree(vec![vec![write(P, X)]]);
        tree.insert(vec![write(Q, X), write(P, X)], &[], free(&conditions));
        assert_eq!(sequences(&tree), [vec![1], vec![2, 1]]);
    }

    #[test]
    fn a_sequence_that_begins_with_a_branch_goes_on_below_it() {
        let conditions = PathConditions::default();
        let mut tree = tree(vec![vec![write(P, X), write(Q, X)]]);
        tree.insert(vec![write(P, X), write(R, X)], &[], free(&conditions));
        assert_eq!(sequences(&tree), [vec![1, 2], vec![1, 3]]);
    }

    #[test]
    fn a_weak_initial_is_taken_out_of_the_middle_of_a_sequence() {
        let conditions = PathConditions::default();
        let mut tree = tree(vec![vec![read(P, X), write(Q, X)]]);
        // R's step is independent of P's, so P's can come first.
        tree.insert(vec![write(R, Y), read(P, X), write(R, X)], &[], free(&conditions));
        assert_eq!(sequences(&tree), [vec![1, 2], vec![1, 3, 3]]);
    }

    #[test]
    fn a_sequence_that_leads_to_a_leaf_adds_nothing() {
        let conditions = PathConditions::default();
        let mut tree = tree(vec![vec![write(P, X)]]);
        tree.insert(vec![write(P, X), write(Q, X)], &[], free(&conditions));
        assert_eq!(sequences(&tree), [vec![1]]);
    }

    #[test]
    fn an_independent_branch_is_followed_without_using_the_sequence_up() {
        let conditions = PathConditions::default();
        let mut tree = tree(vec![vec![write(P, Y), write(Q, X)]]);
        tree.insert(vec![write(R, X)], &[], free(&conditions));
        assert_eq!(sequences(&tree), [vec![1, 2], vec![1, 3]]);
    }

    #[test]
    fn the_leftmost_compatible_branch_is_taken() {
        let conditions = PathConditions::default();
        let mut tree = tree(vec![vec![read(P, X), write(P, Y)], vec![read(Q, X), write(Q, Y)]]);
        tree.insert(vec![read(Q, X), read(P, X), write(R, Y)], &[], free(&conditions));
        assert_eq!(sequences(&tree), [vec![1, 1], vec![1, 2, 3], vec![2, 2]]);
    }

    #[test]
    fn one_alternative_of_a_drawn_value_does_not_cover_the_others() {
        let conditions = PathConditions::default();
        let mut tree = tree(vec![vec![draw(P, 0), write(P, X)]]);
        tree.insert(vec![write(Q, X)], &[], free(&conditions));
        assert_eq!(sequences(&tree), [vec![1, 1], vec![1, 2], vec![2]]);
    }

    #[test]
    fn all_alternatives_of_a_drawn_value_cover_what_is_independent_of_it() {
        let conditions = PathConditions::default();
        let mut tree = tree(vec![vec![draw(P, 0), write(P, X)], vec![draw(P, 1), write(P, X)]]);
        tree.insert(vec![write(Q, X)], &[], free(&conditions));
        assert_eq!(sequences(&tree), [vec![1, 1], vec![1, 2], vec![1, 1], vec![1, 2]]);
    }

    #[test]
    fn a_sleeping_weak_initial_covers_a_sequence() {
        let conditions = PathConditions::default();
        let v = [write(Q, Y), read(P, X)];
        assert!(covers(&[read(P, X)], &v, free(&conditions)), "an initial");
        assert!(covers(&[read(R, X)], &v, free(&conditions)), "independent of all of it");
        assert!(!covers(&[write(R, X)], &v, free(&conditions)), "in conflict with it");
        assert!(!covers(&[draw(R, 0)], &v, free(&conditions)), "one alternative of two");
        assert!(covers(&[draw(R, 0), draw(R, 1)], &v, free(&conditions)), "both alternatives");
    }
}
