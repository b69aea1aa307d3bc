//! Explorers: which execution comes next.
//!
//! The contract, in the order in which the driver calls it, once per execution (`Explorer::requirements` is asked when
//! an exploration begins; what only some explorers do are traits of their own):
//!
//! 1. `begin` says how many events of the last execution to keep. The driver re-runs the program along them.
//! 2. `choose` is asked before every event after those. It answers with a choice that is open in the state, or gives
//!    the execution up because it is covered by another.
//! 3. `performed` tells that the chosen event was appended to the execution.
//! 4. `finish` tells how the execution ended, and learns from its races. It says whether there is more to explore.
//!
//! Bounds, progress, cancellation and nondeterminism are the driver's; an explorer only sees that an execution was
//! `Cut`, and goes on with the next.

mod context_bound;
mod exhaustive;
mod graph;
mod optimal;
mod parsimonious;
mod random;
mod registry;
mod replay;
mod source;
mod unfolding;
mod value_centric;
mod wakeup_tree;

pub use context_bound::ContextBound;
pub use parsimonious::{FrontierError, Parsimonious};
pub use registry::{create, decides_branches, names, ExplorerOptions, UnsupportedPair};
pub use replay::{number_of_source, Divergence, Replay, ReplayStep};

use std::rc::Rc;

use crate::execution::{Execution, Outcomes, Step};
use crate::memory::MemoryModel;
use crate::operation::{Choice, EventId, LocationId, Operation, OperationKind, ThreadId};
use crate::threads::Threads;

/// What an explorer sees when it has to choose.
pub struct State<'a> {
    pub execution: &'a Execution,
    pub threads: &'a Threads,
    pub memory: &'a dyn MemoryModel,
    /// The thread that performed the last event, if it can go on it costs nothing to choose it.
    pub current: Option<ThreadId>,
}

impl State<'_> {
    /// The operation that the thread is about to perform, if it waits for its turn.
    pub fn pending(&self, thread: ThreadId) -> Option<&Operation> {
        self.threads.pending(thread)
    }

    pub fn is_enabled(&self, thread: ThreadId) -> bool {
        self.threads.is_enabled(thread, self.memory)
    }

    /// The threads that can take a step, in the order of their identities.
    pub fn enabled(&self) -> impl Iterator<Item = ThreadId> + '_ {
        self.threads.alive().iter().copied().filter(|thread| self.is_enabled(*thread))
    }

    /// How many alternatives the thread's pending operation draws from.
    pub fn alternatives(&self, thread: ThreadId) -> u32 {
        self.threads.alternatives(thread)
    }

    /// The outcomes that the thread's pending operation may be given here, the preferred one first.
    pub fn outcomes(&self, thread: ThreadId) -> Outcomes {
        let operation = &self.threads.get(thread).pending;
        self.execution.conditions().outcomes(self.execution.path(), operation, self.alternatives(thread))
    }

    /// The thread that has come to a symbolic branch, if one has, or whose step is forced.
    ///
    /// A branch accesses nothing and nothing can disable it, so it is decided at once. That is a reduction (all its
    /// feasible sides together are a source set), and it keeps built-in code that branches in the middle of one
    /// operation, such as a sort, as atomic as it is.
    pub fn branching(&self) -> Option<ThreadId> {
        if let Some(forced) = self.threads.forced() {
            return Some(forced);
        }
        let thread = self.current.unwrap_or(ThreadId::MAIN);
        let pending = self.pending(thread)?;
        (pending.kind == OperationKind::Branch).then_some(thread)
    }

    /// The choice that gives the thread's pending operation this outcome.
    pub fn choice(&self, thread: ThreadId, outcome: u32) -> Choice {
        Choice::of(thread, &self.threads.get(thread).pending, outcome)
    }

    /// The thread to prefer when nothing else matters: the one that ran last, then the first.
    pub fn preferred(&self, mut allowed: impl FnMut(ThreadId) -> bool) -> Option<ThreadId> {
        if let Some(current) = self.current {
            if allowed(current) && self.is_enabled(current) {
                return Some(current);
            }
        }
        let mut enabled = self.enabled();
        enabled.find(|thread| allowed(*thread))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    Take(Choice),
    /// Every continuation is covered by another execution.
    GiveUp,
    /// The program does not do what it did after the same choices before.
    Differs(Mismatch),
}

/// A thread is not about to perform the operation that it was about to perform before, or cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    pub thread: ThreadId,
    pub expected: Operation,
}

/// How an execution ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// No thread can take a step.
    Maximal,
    /// The explorer gave it up.
    Redundant,
    /// A bound cut it off, or the caller has seen enough of it.
    Cut,
}

/// What is known of the exploration after an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Whether there is another execution to explore.
    pub more: bool,
    /// Whether the execution turned out to be equivalent to an earlier one.
    pub duplicate: bool,
}

/// What an explorer takes for granted and what it can treat; it does not change while it explores.
#[derive(Clone, Copy, Debug)]
pub struct Requirements {
    /// Whether finishing proves that every equivalence class has been seen.
    pub is_exhaustive: bool,
    /// Whether a primitive may be more than one location, so that an operation that waits, and one that accesses
    /// something else in another state, conflict with some of the primitive's operations only.
    pub takes_parts: bool,
    /// Whether it runs an operation again and takes for granted that it accesses what it accessed before. What such an
    /// operation can access in another state has to be among it.
    pub repeats_accesses: bool,
    /// Whether events need tokens of the values that they found and left, and threads what they are about to access.
    pub wants_values: bool,
    /// Whether a wait for a predicate is a spinloop, in which the reads are operations like others. A predicate
    /// that reads several things is one read then, since it is to hold at one moment.
    pub waits_by_spinning: bool,
    /// The kinds of operations that it cannot treat.
    pub untreated: &'static [OperationKind],
}

impl Requirements {
    /// Of an explorer that sees every class and asks for nothing.
    pub const NONE: Requirements = Requirements {
        is_exhaustive: true,
        takes_parts: false,
        repeats_accesses: false,
        wants_values: false,
        waits_by_spinning: false,
        untreated: &[],
    };
    /// Of one that takes the events of an execution as they come.
    pub const OF_EVENTS: Requirements = Requirements { takes_parts: true, ..Requirements::NONE };

    /// Whether operations of this kind can be treated.
    pub fn treats(&self, kind: OperationKind) -> bool {
        !self.untreated.contains(&kind)
    }
}

/// What an explorer has found out about the program, besides that there is more to explore.
#[derive(Clone, Copy, Default)]
pub struct Findings<'a> {
    /// If the program left a planned schedule: where and how.
    pub divergence: Option<&'a Divergence>,
    /// Whether an execution was given up in which all threads that could run slept, which the explorer never plans.
    pub all_slept: bool,
    /// An operation that the explorer does not treat, which ended the exploration.
    pub refusal: Option<OperationKind>,
    /// Whether the thread that is to be the root was never seen.
    pub lacks_root: bool,
    /// How many classes of the explorer's own equivalence the executions so far are in, if it has one.
    pub classes: Option<u64>,
}

pub trait Explorer {
    fn requirements(&self) -> Requirements;

    /// The number of events of the last execution to keep.
    fn begin(&mut self) -> usize;

    fn choose(&mut self, state: &State) -> Decision;

    fn performed(&mut self, execution: &Execution);

    fn finish(&mut self, execution: &Execution, memory: &dyn MemoryModel, end: End) -> Finished;

    /// An estimate, from 0 to 1, of the share of the exploration that is done.
    fn fraction(&self) -> f64;

    fn findings(&self) -> Findings<'_> {
        Findings::default()
    }

    /// The explorer as one of which parts can be explored elsewhere.
    fn splitting(&mut self) -> Option<&mut dyn Splitting> {
        None
    }

    /// The explorer as one that chooses what loads read from.
    fn fairness(&self) -> Option<&dyn Fairness> {
        None
    }

    /// The explorer as one whose classes do not fix when a thread in a spinloop looks.
    fn spinning(&mut self) -> Option<&mut dyn Spinning> {
        None
    }

    /// The explorer as one that plans events of an execution before it runs them, also without a branch that comes
    /// between them.
    fn planning(&self) -> Option<&dyn Planning> {
        None
    }
}

/// An explorer of which parts can be explored elsewhere. All is asked between executions.
pub trait Splitting {
    /// What is left to explore; None if nothing is.
    fn frontier(&self) -> Option<String>;

    /// Give a part of what is left away; None if there is nothing to spare.
    fn split(&mut self) -> Option<String>;

    /// The execution was stopped from outside before its end: it counts for nothing and is still to be explored.
    fn interrupted(&mut self);
}

/// An explorer that chooses what loads read from: a thread in a spinloop sees a write at last.
pub trait Fairness {
    /// Whether threads that do nothing but repeat `loads` would read the same for ever: whether they can all be of the
    /// last writes. `silent` are the events that wrote what they read.
    fn reads_for_ever(&self, execution: &Execution, loads: &[EventId], silent: &[EventId]) -> bool;
}

/// An explorer whose classes do not fix when a thread in a spinloop looks.
pub trait Spinning {
    /// Told before `finish` if threads have stopped after a spin read, and something has been written since to what
    /// they looked at. As its classes do not fix whether that was written before or after, the explorer searches the
    /// class for an execution in which they all look last, and so for ever. `silent` are the events that wrote what
    /// they read.
    fn found_spin_reads(&mut self, reads: &[SpinRead], silent: &[EventId]);
}

/// An explorer that plans events of an execution.
pub trait Planning {
    /// Whether the branch that was chosen last is decided before events that were planned without it.
    fn is_early(&self) -> bool;

    /// How many of the events of the current execution come before the first that is chosen freely.
    fn planned(&self) -> usize;
}

/// A spin read: an event in which a thread looked at a location and found nothing, before it stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpinRead {
    pub event: EventId,
    pub location: LocationId,
}

/// A sleep set: threads whose next step, as seen when it was explored from here, need not come next.
pub type SleepSet = Vec<Rc<Step>>;

/// The sleep set after `executed`: the sleepers that do not depend on it.
pub fn sleep_after(sleep: &SleepSet, executed: &Step) -> SleepSet {
    sleep.iter().filter(|sleeper| !sleeper.depends(executed)).cloned().collect()
}

/// Whether the thread sleeps, whichever alternative it would get.
pub fn sleeps(sleep: &SleepSet, thread: ThreadId) -> bool {
    sleep.iter().any(|sleeper| sleeper.thread == thread)
}

/// The estimate of `Explorer::fraction` for a depth-first search: the weight of what is done, where a node spreads
/// its weight evenly over the branches that it is known to have. `branches` gives, from the root down, how many
/// branches are finished and how many are known.
pub fn depth_first_fraction(branches: impl Iterator<Item = (usize, usize)>) -> f64 {
    let mut weight = 1.0;
    let mut done = 0.0;
    for (finished, known) in branches {
        let share = weight / known.max(1) as f64;
        done += share * finished as f64;
        weight = share;
        if weight < 1e-12 {
            break;
        }
    }
    done.min(1.0)
}
