//! Critical sections as events: what a thread does between taking a lock and giving it back is one event, with the
//! accesses that it makes there. Two sections of one lock conflict by their data, not by the lock.
//!
//! Lipton, "Reduction: A Method of Proving Properties of Parallel Programs" (CACM 1975); Flanagan and Qadeer, "A Type and
//! Effect System for Atomicity" (PLDI 2003). To take a lock is a right mover and to give it back a left mover; an access in
//! between is both if no other thread makes one that conflicts with it without the lock. Then what others do in the
//! middle of a section can be moved before it or after it, and every execution is equivalent to one in which each section
//! runs without a break. That covers deadlocks and failures: a thread that stands in a section waits for nothing, so
//! its section can be completed, or not be begun.
//!
//! Whether the accesses are protected is found out by the exploration. Take the shortest prefix of an execution in which
//! an access of another thread conflicts with one of an open section of this lock, and is not ordered with it otherwise.
//! Up to there all sections could be run without a break; then that access and the section are a race of an explored
//! execution: an immediate conflict between a section and an event that is no section of the lock. Accesses that are no
//! events are ordered by the events alone, so those in sections that race become events, and are then collected.
//!
//! A lock is *ordinary* for the rest of the check where that does not hold, or where a section of it does anything else
//! than access data: wait, use another lock or primitive, start a thread, draw a value; where it is tried, looked at, or
//! held at a thread's end. Sections of ordinary locks are what they are: two events and what is in between. What a section
//! reads of clocks, of loops that only look, of predicates and of code that nobody looks into is not known by its
//! accesses; where there is such a thing the exploration begins anew without sections.
//!
//! What a section accesses can depend on those before it. So a section counts as all that it has been seen to access, as
//! the same event of its thread in any execution: that is the same wherever it comes. When that grows, the exploration
//! begins anew.

use pyo3::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::explorer::End;
use crate::memory::{Effect, PrimitiveState};
use crate::operation::{Access, Accesses, EventId, LocationId, Operation, OperationKind, ThreadId};
use crate::python::explore::learning::Restart;
use crate::python::host::Host;
use crate::python::state::{Phase, State};
use crate::python::threads::switching::Footprint;

/// A section with more operations is one that may never end.
const MOST_OPERATIONS: usize = 100_000;

/// How many executions may count for nothing because a section is seen to access more, and how often, before sections
/// are given up.
const MOST_WASTED: u64 = 300;
const MOST_GROWTHS: usize = 30;

/// A section in every execution: its thread, which event of the thread it is, and its lock.
type Name = (ThreadId, u32, LocationId);

/// The section that a thread is in.
struct Open {
    thread: ThreadId,
    lock: LocationId,
    accesses: FxHashSet<Access>,
    operations: usize,
}

/// The sections of an exploration, and what is known of locks.
#[derive(Default)]
pub struct Sections {
    are_allowed: bool,
    /// Locks of which sections have been events in this exploration.
    used: FxHashSet<LocationId>,
    /// Locks whose sections are no events of this check.
    ordinary: FxHashSet<LocationId>,
    open: Option<Open>,
    /// What sections have been seen to access.
    footprints: FxHashMap<Name, FxHashSet<Access>>,
    growths: usize,
    wasted: u64,
}

impl Sections {
    /// Begin an exploration.
    pub fn begin(&mut self, are_allowed: bool) {
        self.are_allowed = are_allowed;
        self.used.clear();
        self.open = None;
    }

    /// The exploration begins anew with what it has learned.
    pub fn begin_anew(&mut self) {
        self.used.clear();
    }

    /// Begin an execution.
    pub fn begin_execution(&mut self) {
        self.open = None;
    }

    /// Whether sections have been events in this exploration.
    pub fn were_events(&self) -> bool {
        !self.used.is_empty()
    }

    pub fn ordinary(&self) -> &FxHashSet<LocationId> {
        &self.ordinary
    }

    /// Whether the thread that runs is in one.
    #[inline]
    pub fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// What a section accesses wherever it comes, now that it has been seen to access this; and whether that is more than
    /// what it was taken for.
    fn footprint(&mut self, name: Name, seen: FxHashSet<Access>) -> (Accesses, bool) {
        let is_known = self.footprints.contains_key(&name);
        let known = self.footprints.entry(name).or_default();
        let before = known.len();
        known.extend(seen);
        let mut accesses: Accesses = known.iter().copied().collect();
        accesses.sort_unstable_by_key(|access| (access.location, access.mode as u8));
        (accesses, is_known && known.len() > before)
    }

    /// Whether an exploration with so many executions may begin anew because a section accesses more.
    fn may_grow(&mut self, executions: u64) -> bool {
        self.growths += 1;
        self.wasted += executions;
        self.growths <= MOST_GROWTHS && self.wasted <= MOST_WASTED
    }

    /// Take locks for ordinary ones from now on. Returns whether one was not.
    pub fn give_up(&mut self, locks: &[LocationId]) -> bool {
        let before = self.ordinary.len();
        self.ordinary.extend(locks);
        self.ordinary.len() > before
    }
}

/// What accesses data and nothing else.
fn accesses_data(kind: OperationKind) -> bool {
    use OperationKind::*;
    matches!(kind, Load | Store | ReadModifyWrite | CellStore | CellDelete | CellDefault | CellUpdate | CellAppend)
}

impl State {
    fn is_lock(&self, location: LocationId) -> bool {
        let primitives = self.driver.memory.primitives();
        location != LocationId::NONE && matches!(primitives.get(location), Some(PrimitiveState::Mutex { .. }))
    }

    /// Whether the running thread may enter a section of the lock that is an event.
    fn may_enter(&self, lock: LocationId) -> bool {
        let waits = &self.waits;
        let sections = &waits.sections;
        sections.are_allowed
            && self.phase == Phase::Running
            && !sections.is_open()
            && !sections.ordinary.contains(&lock)
            && self.is_visible(lock)
            && self.exploration.learning.restart().is_none()
            && !waits.predicates.used
            && !self.time_has_passed()
            && !self.run.halted
            && matches!(self.driver.memory.primitives().get(lock), Some(PrimitiveState::Mutex { owner: None, .. }))
    }

    /// Before an operation outside of sections: whether sections that were events rest on there being none. A lock that
    /// has had no section yet will have none.
    pub fn contradicts_sections(&mut self, operation: &Operation) -> bool {
        use OperationKind::*;
        let sections = &self.waits.sections;
        // What has become visible in the middle of an execution was no event before; the execution counts for nothing.
        let counts = self.exploration.learning.restart().is_none();
        if !sections.are_allowed || operation.kind == Section || !counts {
            return false;
        }
        if operation.kind == WaitUntil {
            return self.looks_between_sections();
        }
        if !self.is_lock(operation.target) {
            return false;
        }
        let is_new = self.waits.sections.give_up(&[operation.target]);
        let contradicts = is_new && self.waits.sections.used.contains(&operation.target);
        if contradicts {
            self.exploration.learning.must_begin_anew();
        }
        contradicts
    }

    /// A thread has looked and waits for something else to see. When it looked is not known if it did so in a section:
    /// true if sections were events, and the execution counts for nothing.
    pub fn looks_between_sections(&mut self) -> bool {
        let rests_on_sections = self.waits.sections.were_events();
        if rests_on_sections {
            self.do_without_sections();
        }
        rests_on_sections
    }

    /// A thread is about to stop for good: false if it does so in a section, and the execution counts for nothing.
    pub fn may_stop_outside_sections(&mut self) -> bool {
        let Some(open) = &self.waits.sections.open else { return true };
        let lock = open.lock;
        self.waits.sections.give_up(&[lock]);
        self.exploration.learning.must_begin_anew();
        false
    }

    /// Sections are no events of this check.
    fn do_without_sections(&mut self) {
        self.exploration.learning.begin_anew_whatever_else(Restart::Sections);
    }

    /// What the section that the thread has run through accesses in every order.
    fn footprint_of_section(&mut self, thread: ThreadId, lock: LocationId, seen: FxHashSet<Access>) -> Accesses {
        let name = (thread, self.driver.threads.get(thread).events, lock);
        let (accesses, has_grown) = self.waits.sections.footprint(name, seen);
        if has_grown {
            let executions = self.driver.counts.total();
            match self.waits.sections.may_grow(executions) {
                true => self.exploration.learning.must_begin_anew(),
                false => self.do_without_sections(),
            }
        }
        accesses
    }

    /// An execution has ended: locks are ordinary whose sections conflict with what is none of the same lock.
    pub fn learn_of_torn_sections(&mut self) {
        let torn = self.driver.execution.take_torn_sections();
        // Where something else was learned, sections were none from then on.
        if self.exploration.learning.restart().is_none() && self.waits.sections.give_up(&torn) {
            self.exploration.learning.must_begin_anew();
        }
    }

    /// Whether sections were events of this exploration and must not be: what the verdict would rest on is no access, or
    /// an execution was explored that was not needed.
    pub fn lacks_sections(&self) -> bool {
        self.waits.sections.were_events()
            && (self.given_up()
                || self.run.ended == Some(End::Redundant)
                || self.driver.fault().is_some()
                || self.time_has_passed()
                || self.waits.predicates.used
                || self.exploration.assumptions.has_more_than_turns_allow())
    }
}

impl Host {
    /// A thread takes a lock and waits for it as long as it has to: whether that begins a section that is an event.
    pub fn enter_section(&self, py: Python<'_>, lock: LocationId) -> PyResult<bool> {
        if !self.state().may_enter(lock) {
            return Ok(false);
        }
        self.come_to(py, Operation::new(OperationKind::Section, lock, 0), 1, &|_| Footprint::default())?;
        let mut state = self.state();
        let thread = state.current;
        let take = Operation::new(OperationKind::Acquire, lock, 0);
        state.driver.quiet_perform(thread, &take);
        state.note_operation_in_loops(&take, &[], EventId::NONE);
        state.waits.sections.used.insert(lock);
        state.waits.sections.open = Some(Open { thread, lock, accesses: FxHashSet::default(), operations: 0 });
        Ok(true)
    }

    /// A thread gives a lock back: whether that ends a section that is an event, which has taken place then.
    pub fn leave_section(&self, py: Python<'_>, lock: LocationId) -> PyResult<bool> {
        {
            let mut state = self.state();
            let current = state.current;
            let ends = |open: &Open| (open.thread, open.lock) == (current, lock);
            if !state.waits.sections.open.as_ref().is_some_and(ends) {
                return Ok(false);
            }
            let give_back = Operation::new(OperationKind::Release, lock, 0);
            state.driver.quiet_perform(current, &give_back);
            state.note_operation_in_loops(&give_back, &[], EventId::NONE);
        }
        self.commit_section(py)?;
        Ok(true)
    }

    /// The section that the running thread is in is all of what it will be.
    fn commit_section(&self, py: Python<'_>) -> PyResult<()> {
        let committed = {
            let mut state = self.state();
            let Some(open) = state.waits.sections.open.take() else { return Ok(()) };
            let accesses = match state.driver.repeats_next() {
                // What an event of the last execution accesses is known.
                true => Accesses::new(),
                false => state.footprint_of_section(open.thread, open.lock, open.accesses),
            };
            state.driver.commit(open.thread, Some(accesses), Some(0))
        };
        match committed {
            Ok(_) => Ok(()),
            Err(_) => self.leave(py, End::Cut),
        }
    }

    /// The code of the running thread has ended. It may have raised an exception in a section, which is over then. False
    /// if it holds the lock of a section for ever, and the execution counts for nothing.
    pub fn end_in_section(&self, py: Python<'_>, raised: bool) -> bool {
        let lock = match &self.state().waits.sections.open {
            None => return true,
            Some(open) => open.lock,
        };
        if raised {
            return self.commit_section(py).is_ok();
        }
        let mut state = self.state();
        state.waits.sections.give_up(&[lock]);
        state.exploration.learning.must_begin_anew();
        state.run.ended = Some(End::Cut);
        false
    }

    /// Perform an operation in a section: note what it accesses, or end the execution, which counts for nothing.
    pub fn perform_in_section(
        &self,
        py: Python<'_>,
        operation: &Operation,
        alternatives: u32,
        footprint: &impl Fn(&mut State) -> Footprint,
    ) -> PyResult<Effect> {
        let effect = {
            let mut guard = self.state();
            let state = &mut *guard;
            state.collect_for_section(operation, alternatives, footprint)
        };
        match effect {
            Some(effect) => Ok(effect),
            None => self.leave(py, End::Cut),
        }
    }
}

impl State {
    /// None if the operation is more than an access, so that the lock is ordinary.
    fn collect_for_section(
        &mut self,
        operation: &Operation,
        alternatives: u32,
        footprint: &impl Fn(&mut State) -> Footprint,
    ) -> Option<Effect> {
        let lock = self.waits.sections.open.as_ref()?.lock;
        let is_data = |state: &State, location: LocationId| state.driver.memory.primitives().get(location).is_none();
        let mut is_access = accesses_data(operation.kind) && alternatives == 1 && is_data(self, operation.target);
        let mut accesses = Accesses::new();
        if is_access {
            let mut footprint = footprint(self);
            self.order_joint_writes(operation, &mut footprint);
            let current = self.current;
            accesses = footprint.accesses.unwrap_or_else(|| self.driver.memory.accesses(current, operation));
            is_access = accesses.iter().all(|access| is_data(self, access.location));
        }
        let fresh = !self.driver.repeats_next();
        let open = self.waits.sections.open.as_mut()?;
        open.operations += 1;
        if !is_access || open.operations > MOST_OPERATIONS {
            let mut locks = vec![lock];
            if self.is_lock(operation.target) {
                locks.push(operation.target);
            }
            self.waits.sections.give_up(&locks);
            self.exploration.learning.must_begin_anew();
            return None;
        }
        if fresh {
            open.accesses.extend(accesses.iter().copied());
        }
        let current = self.current;
        let effect = self.driver.quiet_perform(current, operation);
        self.note_operation_in_loops(operation, &accesses, EventId::NONE);
        Some(effect)
    }
}
