//! Path conditions: which outcomes of symbolic branches can occur together (ConDPOR, CONCUR'25, section 3: a graph is
//! consistent only if the conjunction of its constraints is satisfiable).
//!
//! A path condition is the set of the branches taken so far, whoever took them: the order of branches of different
//! threads changes nothing about what is satisfiable. Equal sets have one number, so that an answer of the solver is
//! asked for once, whichever interleaving comes to it first.

use std::cell::RefCell;

use rustc_hash::FxHashMap;
use smallvec::{smallvec, SmallVec};

use crate::execution::Step;
use crate::operation::{Operation, OperationKind};

/// A condition of the model, as the symbolic layer numbers it, and the side of it that was taken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Literal {
    pub condition: u32,
    pub taken: bool,
}

/// A path condition that is known to be satisfiable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PathId(u32);

impl PathId {
    /// The path condition without constraints.
    pub const TRUE: PathId = PathId(0);
}

/// Which sides of a branch are satisfiable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Sides {
    pub when_true: bool,
    pub when_false: bool,
}

impl Sides {
    pub const BOTH: Sides = Sides { when_true: true, when_false: true };

    pub fn has(self, taken: bool) -> bool {
        if taken {
            self.when_true
        } else {
            self.when_false
        }
    }
}

/// Decides the satisfiability of path conditions.
pub trait Solver {
    /// Which sides of the condition can be taken after `path`, which is sorted and satisfiable.
    fn sides(&mut self, path: &[Literal], condition: u32) -> Sides;
}

/// Alternatives that an operation has at some point: the outcomes that it may be given, the preferred one first.
pub type Outcomes = SmallVec<[u32; 4]>;

struct Memo {
    paths: Vec<Box<[Literal]>>,
    ids: FxHashMap<Box<[Literal]>, PathId>,
    extended: FxHashMap<(PathId, Literal), PathId>,
    sides: FxHashMap<(PathId, u32), Sides>,
    solver: Option<Box<dyn Solver>>,
}

/// All path conditions of one check, with what is known of them.
pub struct PathConditions(RefCell<Memo>);

impl Default for PathConditions {
    fn default() -> PathConditions {
        PathConditions(RefCell::new(Memo {
            paths: vec![Box::default()],
            ids: FxHashMap::from_iter([(Box::default(), PathId::TRUE)]),
            extended: FxHashMap::default(),
            sides: FxHashMap::default(),
            solver: None,
        }))
    }
}

impl PathConditions {
    /// Ask this solver from now on. Without one every branch has both sides.
    pub fn solve_with(&self, solver: Box<dyn Solver>) {
        let mut memo = self.0.borrow_mut();
        memo.sides.clear();
        memo.solver = Some(solver);
    }

    /// Which sides of the condition can be taken after the path.
    pub fn sides(&self, path: PathId, condition: u32) -> Sides {
        let mut guard = self.0.borrow_mut();
        let memo = &mut *guard;
        if let Some(known) = memo.sides.get(&(path, condition)) {
            return *known;
        }
        let Some(solver) = &mut memo.solver else { return Sides::BOTH };
        let found = solver.sides(&memo.paths[path.0 as usize], condition);
        memo.sides.insert((path, condition), found);
        found
    }

    /// The path with one branch more.
    pub fn extend(&self, path: PathId, literal: Literal) -> PathId {
        let mut guard = self.0.borrow_mut();
        let memo = &mut *guard;
        if let Some(known) = memo.extended.get(&(path, literal)) {
            return *known;
        }
        let literals = &memo.paths[path.0 as usize];
        let longer = match literals.binary_search(&literal) {
            Ok(_) => path,
            Err(position) => {
                let mut longer = literals.to_vec();
                longer.insert(position, literal);
                let longer = longer.into_boxed_slice();
                let next = PathId(memo.paths.len() as u32);
                let id = *memo.ids.entry(longer.clone()).or_insert(next);
                if id == next {
                    memo.paths.push(longer);
                }
                id
            }
        };
        memo.extended.insert((path, literal), longer);
        longer
    }

    /// The branches of a path, sorted.
    pub fn literals(&self, path: PathId) -> Vec<Literal> {
        self.0.borrow().paths[path.0 as usize].to_vec()
    }

    /// The outcomes that the operation may have after the path; `alternatives` is their number if it is no branch.
    pub fn outcomes(&self, path: PathId, operation: &Operation, alternatives: u32) -> Outcomes {
        match operation.kind {
            OperationKind::Branch => {
                let sides = self.sides(path, operation.detail);
                let sides = [sides.when_true.then_some(1), sides.when_false.then_some(0)];
                sides.into_iter().flatten().collect()
            }
            _ if alternatives <= 1 => smallvec![0],
            _ => (0..alternatives).collect(),
        }
    }

    /// The path after the step; None if the step cannot be taken there.
    pub fn after(&self, path: PathId, step: &Step) -> Option<PathId> {
        match step.literal() {
            None => Some(path),
            Some(literal) if self.sides(path, literal.condition).has(literal.taken) => {
                Some(self.extend(path, literal))
            }
            Some(_) => None,
        }
    }

    /// The path after all of the steps; None if they cannot all be taken there.
    pub fn after_all<'a>(&self, path: PathId, steps: impl IntoIterator<Item = &'a Step>) -> Option<PathId> {
        steps.into_iter().try_fold(path, |path, step| self.after(path, step))
    }
}
