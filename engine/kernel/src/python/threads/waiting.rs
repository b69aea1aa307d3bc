//! `wait_until`: a thread that waits for a predicate over shared state to hold.
//!
//! The predicate is evaluated between events, whenever a turn is decided; what it reads is collected, and becomes the
//! accesses of the one event that the wait is. An evaluation that gives False leaves no trace.
//!
//! Explorers of graphs and of values have the thread look instead, once for each execution that they tell apart by what
//! it found (`Explorer::waits_by_spinning`): a look at one thing is a load, one at several things is a load of the
//! location that all writes to such things share.

use pyo3::intern;
use pyo3::prelude::*;
use smallvec::{smallvec, SmallVec};

use crate::explorer::End;
use crate::operation::{Access, AccessMode, Accesses, LocationId, Operation, OperationKind, ThreadId};
use crate::python::explore::assumptions::{Caller, Place};
use crate::python::explore::recording::Word;
use crate::python::host::{Abort, Host};
use crate::python::identities::identity::{KeyId, ObjectId};
use crate::python::loops::Spin;
use crate::python::state::{Phase, Restart, State};
use crate::python::threads::switching::Footprint;
use crate::threads::Status;

impl State {
    /// Note what a predicate accesses. It may write nothing that other threads use.
    pub fn probe(&mut self, py: Python<'_>, accesses: &[Access]) -> PyResult<()> {
        let writes = |access: &Access| matches!(access.mode, AccessMode::Write | AccessMode::IntentWrite);
        let shared = accesses.iter().filter(|access| !self.is_predicates_own(access.location)).copied();
        let shared: Accesses = shared.collect();
        if shared.iter().any(|access| writes(access) && self.is_visible(access.location)) {
            return Err(self.forbid(py, "writes"));
        }
        self.probed.extend(shared);
        Ok(())
    }
}

impl State {
    /// Note that a predicate reads several locations. Writes to such locations do not commute from then on: of two that
    /// are independent by themselves, one can make true what the other has made false, so that only in one of their
    /// orders there is a moment at which the predicate holds.
    fn join_reads(&mut self, reads: &[Access]) {
        let several = reads.iter().any(|read| read.location != reads[0].location);
        if several {
            self.join(reads);
        }
    }

    fn join(&mut self, reads: &[Access]) {
        for read in reads {
            if !self.is_visible(read.location) {
                self.make_visible(read.location);
            }
            if self.joint_reads.insert(read.location) && self.learning {
                self.restart.get_or_insert(Restart::Visible);
            }
        }
    }

    /// What a predicate read, and the writes that are ordered with those to what it read: if it read one of several
    /// locations only, they can have decided that it does not read the others.
    pub fn with_joint_writes(&mut self, reads: &[Access]) -> Vec<Access> {
        let mut all = reads.to_vec();
        if reads.iter().any(|read| self.joint_reads.contains(&read.location)) {
            all.push(Access { location: self.joint_location(), mode: AccessMode::Read });
        }
        all
    }

    fn joint_location(&mut self) -> LocationId {
        self.identities.location(ObjectId::JOINT, KeyId::STATE, false)
    }

    /// Add to what an event accesses the location that all writes to jointly read locations share, and that of all
    /// writes inside of what races.
    pub fn order_joint_writes(&mut self, operation: &Operation, footprint: &mut Footprint) {
        if self.joint_reads.is_empty() && self.nested_reads.is_empty() {
            return;
        }
        let current = self.current;
        let mut accesses =
            footprint.accesses.take().unwrap_or_else(|| self.driver.memory.accesses(current, operation));
        let writes = |access: &Access| matches!(access.mode, AccessMode::Write | AccessMode::IntentWrite);
        // Whether a compare-exchange writes can change with its place.
        let may_write = operation.kind == OperationKind::CompareExchange;
        let written = accesses.iter().filter(|access| may_write || writes(access)).map(|access| access.location);
        let written: SmallVec<[LocationId; 2]> = written.collect();
        if written.iter().any(|location| self.joint_reads.contains(location)) {
            accesses.push(Access { location: self.joint_location(), mode: AccessMode::Write });
        }
        for owner in written.iter().filter_map(|location| self.nested_reads.get(location)).flatten() {
            // Writes inside of one object commute with one another.
            let location = self.identities.location(*owner, KeyId::NESTED, false);
            let announced = Access { location, mode: AccessMode::IntentWrite };
            if !accesses.contains(&announced) {
                accesses.push(announced);
            }
        }
        footprint.accesses = Some(accesses);
    }
}

/// What a predicate does that raises by itself what threads are left with whose execution is given up.
const RAISES_ABORT: &str = "raises Abort";

/// What a predicate did that it may not do, in words, and where.
pub struct Forbidden {
    what: String,
    place: Option<Place>,
}

impl Forbidden {
    /// What, file (None if nothing of the user's own was running) and line (0 then).
    pub fn told(&self) -> (String, Option<String>, u32) {
        let (file, line) = self.place.clone().map_or((None, 0), |(file, line)| (Some(file), line));
        (self.what.clone(), file, line)
    }
}

/// Whether a predicate may perform such an operation where it is a loop that looks; what it accesses says whether it
/// reads. Some reads come with a fence of their own.
pub fn reads_in_predicates(kind: OperationKind) -> bool {
    matches!(kind, OperationKind::Load | OperationKind::Branch | OperationKind::Fence)
}

/// An operation in words, of which a predicate is the subject.
pub fn what_it_does(kind: OperationKind) -> &'static str {
    use OperationKind::*;
    match kind {
        Spawn => "starts a thread",
        Join | IsFinished => "asks whether a thread has ended",
        Choose => "draws a value with dpor.choose",
        Fence => "performs a fence",
        Store | CompareExchange | ReadModifyWrite | CellStore | CellDelete | CellDefault | CellUpdate
        | CellAppend => "writes",
        _ => "does more than read",
    }
}

impl State {
    /// Whether the code that runs is a predicate of `wait_until`.
    pub fn in_predicate(&self) -> bool {
        match self.phase {
            Phase::Probing => true,
            Phase::Running => self.threads.get(self.current.index()).is_some_and(|thread| thread.looks),
            Phase::Idle | Phase::Unwinding | Phase::Releasing => false,
        }
    }

    /// The object was made by the predicate that runs, for itself.
    pub fn belongs_to_predicate(&mut self, object: &Bound<'_, PyAny>) {
        if let Some(made) = self.objects.made(object) {
            self.own_objects.insert(made);
        }
    }

    /// Whether a location is of something that a predicate has made for itself.
    #[inline]
    pub fn is_predicates_own(&self, location: LocationId) -> bool {
        !self.own_objects.is_empty() && self.own_objects.contains(&self.identities.info(location).object)
    }

    /// The predicate that runs does what it may not do: the check is given up, whatever the predicate makes of the
    /// error that this returns.
    pub fn forbid(&mut self, py: Python<'_>, what: &str) -> PyErr {
        if self.forbidden.is_none() {
            let place = Caller::find(py).and_then(|caller| caller.place(py));
            self.forbidden = Some(Forbidden { what: what.to_owned(), place });
        }
        Host::aborted()
    }
}

impl Host {
    /// Give the check up if the code that runs is a predicate: `what` it does is no read.
    #[inline]
    pub fn only_outside_predicates(&self, py: Python<'_>, what: &str) -> PyResult<()> {
        if !self.state().in_predicate() {
            return Ok(());
        }
        self.forbidden(py, what)
    }

    #[cold]
    fn forbidden<T>(&self, py: Python<'_>, what: &str) -> PyResult<T> {
        let (error, running) = {
            let mut state = self.state();
            (state.forbid(py, what), state.phase == Phase::Running)
        };
        match running {
            true => self.leave(py, End::Cut),
            // Whoever evaluates it ends the execution.
            false => Err(error),
        }
    }

    /// Evaluate a predicate as the running thread, as reads that no other thread sees.
    fn probe_predicate<'py>(
        &self,
        py: Python<'py>,
        predicate: &Bound<'py, PyAny>,
    ) -> PyResult<(bool, Bound<'py, PyAny>)> {
        let (phase, me, created, own) = {
            let mut state = self.state();
            let me = state.current;
            let created = state.identities.created_by(me);
            let own = std::mem::take(&mut state.own_objects);
            (std::mem::replace(&mut state.phase, Phase::Probing), me, created, own)
        };
        let value = predicate.call0().and_then(|value| Ok((self.truth(py, &value)?, value)));
        let mut state = self.state();
        if state.phase == Phase::Probing {
            state.phase = phase;
        }
        // What it made is gone, and how often it is evaluated is nobody's business.
        state.identities.create_again(me, created);
        state.own_objects = own;
        let ends = state.given_up() || state.restart.is_some();
        if matches!(&value, Err(error) if error.is_instance_of::<Abort>(py)) && !ends {
            state.forbid(py, RAISES_ABORT);
        }
        value
    }
}

impl Host {
    /// The threads that wait for a predicate.
    fn predicate_waiters(&self) -> Vec<ThreadId> {
        let state = self.state();
        let threads = &state.driver.threads;
        let waits = |thread: &ThreadId| {
            let thread = threads.get(*thread);
            thread.status == Status::Pending && thread.pending.kind == OperationKind::WaitUntil
        };
        threads.alive().iter().copied().filter(waits).collect()
    }

    /// Evaluate a thread's predicate now. Returns whether it holds, and what it read.
    pub fn evaluate_predicate(&self, py: Python<'_>, thread: ThreadId) -> PyResult<(bool, Vec<Access>)> {
        let (me, predicate) = {
            let mut state = self.state();
            let me = std::mem::replace(&mut state.current, thread);
            state.evaluating = true;
            state.probed.clear();
            (me, state.thread(thread).predicate.as_ref().map(|predicate| predicate.clone_ref(py)))
        };
        let held = match predicate {
            Some(predicate) => self.probe_predicate(py, predicate.bind(py)).map(|(held, _)| held),
            None => Ok(false),
        };
        let mut state = self.state();
        state.evaluating = false;
        state.current = me;
        let reads = std::mem::take(&mut state.probed);
        for read in &reads {
            if !state.is_visible(read.location) {
                state.make_visible(read.location);
            }
        }
        state.join_reads(&reads);
        // A predicate that raises lets its thread go on: it raises again where the thread stands.
        Ok((held.unwrap_or(true), reads))
    }

    /// Evaluate the predicates of all threads that wait for one.
    pub fn evaluate_predicates(&self, py: Python<'_>) -> PyResult<()> {
        for thread in self.predicate_waiters() {
            if self.state().update_spin(thread) {
                continue;
            }
            let (held, reads) = self.evaluate_predicate(py, thread)?;
            let mut state = self.state();
            state.thread(thread).predicate_reads = reads;
            state.driver.threads.get_mut(thread).predicate_holds = held;
        }
        Ok(())
    }

    /// At the end of an execution: tell the explorer of predicates that held once and are still waited for.
    pub fn note_blocked_predicates(&self, py: Python<'_>) -> PyResult<()> {
        for thread in self.predicate_waiters() {
            let reads = {
                let mut state = self.state();
                if state.driver.threads.get(thread).predicate_holds || state.spin_ended(thread).is_some() {
                    continue;
                }
                state.thread(thread).predicate_reads.clone()
            };
            let firsts = self.predicate_races(py, thread, &reads)?;
            let mut state = self.state();
            let accesses = visible_reads(&state, &reads);
            state.driver.note_blocked_predicate(thread, accesses, firsts);
        }
        Ok(())
    }
}

impl Host {
    /// `wait_until` as a loop that looks, of which a round that finds the predicate false changes nothing. The
    /// predicate holds at a moment, so that a look at several things is one event.
    pub fn wait_by_looking(&self, py: Python<'_>, predicate: &Bound<'_, PyAny>) -> PyResult<()> {
        let name = name_of(predicate);
        loop {
            if self.state().joint_predicates.contains(&name) {
                let (value, held, spin) = self.look_at_once(py, predicate)?;
                if held {
                    self.note(py, Word::WaitUntil, None, None, Some(&value), false);
                    return Ok(());
                }
                self.spin(py, spin)?;
                continue;
            }
            let (token, me) = {
                let token = self.enter_loop();
                let mut state = self.state();
                let me = state.current;
                state.thread(me).looks = true;
                (token, me)
            };
            let looked = predicate.call0().and_then(|value| Ok((self.truth(py, &value)?, value)));
            self.state().thread(me).looks = false;
            if matches!(&looked, Err(error) if error.is_instance_of::<Abort>(py))
                && self.state().phase == Phase::Running
                && self.state().restart.is_none()
            {
                return self.forbidden(py, RAISES_ABORT);
            }
            let seen = self.state().looked(token)?;
            let Some((spin, looks)) = seen else {
                let symbolic = self.state().symbolic;
                if symbolic {
                    return self.leave_untreated(py, "wait_until with a predicate that decides a symbolic value");
                }
                return self.forbidden(py, what_it_does(OperationKind::WaitUntil));
            };
            let (held, value) = looked?;
            let exploring = !self.state().spins_wait;
            if exploring && looks > 1 {
                if self.state().reads.enabled {
                    let what = "wait_until with a predicate that looks at shared state more than once";
                    return self.leave_untreated(py, what);
                }
                return self.look_at_once_from_now_on(py, name, &spin.looked_at());
            }
            if held {
                self.note(py, Word::WaitUntil, None, None, Some(&value), false);
                return Ok(());
            }
            self.spin(py, spin)?;
        }
    }
}

impl Host {
    /// Look whether a predicate holds that reads several things, in one event: a read of the location that all writes
    /// to what it may read share. Returns its value, whether that is true, and what the thread waits for if not.
    fn look_at_once<'py>(
        &self,
        py: Python<'py>,
        predicate: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyAny>, bool, Spin)> {
        let joint = Access { location: self.state().joint_location(), mode: AccessMode::Read };
        let operation = Operation::new(OperationKind::Load, joint.location, 0);
        self.perform(py, operation, 1, |_| Footprint::of(smallvec![joint]))?;
        self.state().probed.clear();
        let looked = self.probe_predicate(py, predicate);
        if self.state().forbidden.is_some() {
            return self.leave(py, End::Cut);
        }
        let spin = {
            let mut state = self.state();
            let reads = std::mem::take(&mut state.probed);
            state.join(&reads);
            Spin::of_predicate(joint, state.last_event())
        };
        let (held, value) = looked?;
        Ok((value, held, spin))
    }

    /// The predicate of a `wait_until` looks at several things: let it look at all of them at once from now on, when
    /// the exploration has begun again. Never returns normally.
    fn look_at_once_from_now_on<T>(&self, py: Python<'_>, predicate: String, reads: &[Access]) -> PyResult<T> {
        {
            let mut state = self.state();
            state.join(reads);
            state.joint_predicates.insert(predicate);
            state.restart.get_or_insert(Restart::Visible);
        }
        self.leave(py, End::Cut)
    }
}

/// A name for a predicate that is the same in all executions: where its code is.
fn name_of(predicate: &Bound<'_, PyAny>) -> String {
    let py = predicate.py();
    let place = |function: &Bound<'_, PyAny>| -> PyResult<String> {
        let code = function.getattr(intern!(py, "__code__"))?;
        let (file, line) = (code.getattr(intern!(py, "co_filename"))?, code.getattr(intern!(py, "co_firstlineno"))?);
        Ok(format!("{file}:{line}:{}", function.getattr(intern!(py, "__qualname__"))?))
    };
    let class = predicate.get_type();
    place(predicate)
        .or_else(|_| class.getattr(intern!(py, "__call__")).and_then(|call| place(&call)))
        .unwrap_or_else(|_| class.fully_qualified_name().map_or_else(|_| String::new(), |name| name.to_string()))
}

/// What is seen by other threads of what a predicate read.
pub fn visible_reads(state: &State, reads: &[Access]) -> Accesses {
    let mut accesses = Accesses::new();
    for read in reads {
        if state.is_visible(read.location) && !accesses.contains(read) {
            accesses.push(*read);
        }
    }
    accesses
}

#[pymethods]
impl Host {
    /// Block the thread until `predicate()` is true.
    fn wait_until(&self, py: Python<'_>, predicate: Bound<'_, PyAny>) -> PyResult<()> {
        self.only_outside_predicates(py, "waits for another predicate")?;
        let predicate = self.control(py, predicate)?;
        let looks = {
            let state = self.state();
            state.waits_by_spinning || state.driver.explorer().waits_by_spinning()
        };
        if looks {
            return self.wait_by_looking(py, &predicate);
        }
        if !self.state().driver.explorer().treats(OperationKind::WaitUntil) {
            self.state().untreated = Some("wait_until");
            return self.leave(py, End::Cut);
        }
        let me = {
            let mut state = self.state();
            if !std::mem::replace(&mut state.predicates_used, true) && state.learning {
                state.restart.get_or_insert(Restart::Visible);
            }
            let me = state.current;
            state.thread(me).predicate = Some(predicate.clone().unbind());
            state.driver.threads.count_predicate_waiter(1);
            me
        };
        self.note_waiting(py, Word::WaitUntil, None);
        let operation = Operation::new(OperationKind::WaitUntil, LocationId::NONE, 0);
        let performed = self.perform(py, operation, 1, |state| {
            let reads = state.thread(me).predicate_reads.clone();
            Footprint::of(visible_reads(state, &reads))
        });
        self.state().driver.threads.count_predicate_waiter(-1);
        performed?;
        let (fresh, reads) = {
            let mut state = self.state();
            (state.driver.is_fresh(), state.thread(me).predicate_reads.clone())
        };
        if fresh {
            // The wait itself is the thread's last event, so what it races with is asked as of the event before it.
            let firsts = self.predicate_races(py, me, &reads)?;
            self.state().driver.execution.add_races(firsts);
        }
        self.state().thread(me).predicate = None;
        let held = self.probe_predicate(py, &predicate);
        if self.state().forbidden.is_some() {
            return self.leave(py, End::Cut);
        }
        self.note(py, Word::WaitUntil, None, None, Some(&held?.1), true);
        Ok(())
    }
}
