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
