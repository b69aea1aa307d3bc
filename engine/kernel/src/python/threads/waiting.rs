//! `wait_until`: a thread that waits for a predicate over shared state to hold.
//!
//! The predicate is evaluated between events, whenever a turn is decided; what it reads is collected, and becomes the
//! accesses of the one event that the wait is. An evaluation that gives False leaves no trace.
//!
//! Explorers of graphs and of values have the thread look instead, once for each execution that they tell apart by what
//! it found (`Requirements::waits_by_spinning`): a look at one thing is a load, one at several things is a load of the
//! location that all writes to such things share.

use pyo3::intern;
use pyo3::prelude::*;
use smallvec::smallvec;

use crate::explorer::End;
use crate::operation::{Access, AccessMode, Accesses, LocationId, Operation, OperationKind, ThreadId};
use crate::python::explore::recording::Word;
use crate::python::explore::refusals::Refusal;
use crate::python::host::{Abort, Host};
use crate::python::loops::spins::Spin;
use crate::python::state::{Phase, State};
use crate::python::threads::predicates::what_it_does;
use crate::python::threads::switching::Footprint;
use crate::threads::Status;

/// What a predicate does that raises by itself what threads are left with whose execution is given up.
const RAISES_ABORT: &str = "raises Abort";

impl Host {
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
            let own = std::mem::take(&mut state.waits.predicates.own_objects);
            (std::mem::replace(&mut state.phase, Phase::Probing), me, created, own)
        };
        let value = predicate.call0().and_then(|value| Ok((self.truth(py, &value)?, value)));
        let mut state = self.state();
        if state.phase == Phase::Probing {
            state.phase = phase;
        }
        // What it made is gone, and how often it is evaluated is nobody's business.
        state.identities.create_again(me, created);
        state.waits.predicates.own_objects = own;
        let ends = state.given_up() || state.exploration.learning.restart().is_some();
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
            state.waits.predicates.evaluating = true;
            state.waits.predicates.probed.clear();
            (me, state.thread(thread).predicate.as_ref().map(|predicate| predicate.clone_ref(py)))
        };
        let held = match predicate {
            Some(predicate) => self.probe_predicate(py, predicate.bind(py)).map(|(held, _)| held),
            None => Ok(false),
        };
        let mut state = self.state();
        state.waits.predicates.evaluating = false;
        state.current = me;
        let reads = std::mem::take(&mut state.waits.predicates.probed);
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
            if self.state().waits.predicates.joint.contains(&name) {
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
                && self.state().exploration.learning.restart().is_none()
            {
                return self.forbidden(py, RAISES_ABORT);
            }
            let seen = self.state().looked(token)?;
            let Some((spin, looks)) = seen else {
                let symbolic = self.state().exploration.symbolic.used;
                if symbolic {
                    return self.leave_untreated(py, "wait_until with a predicate that decides a symbolic value");
                }
                return self.forbidden(py, what_it_does(OperationKind::WaitUntil));
            };
            let (held, value) = looked?;
            let exploring = !self.state().exploration.settings.spins_wait;
            if exploring && looks > 1 {
                if self.state().heap.reads.enabled {
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
        self.state().waits.predicates.probed.clear();
        let looked = self.probe_predicate(py, predicate);
        if self.state().exploration.refusals.any() {
            return self.leave(py, End::Cut);
        }
        let spin = {
            let mut state = self.state();
            let reads = std::mem::take(&mut state.waits.predicates.probed);
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
            state.waits.predicates.joint.insert(predicate);
            state.exploration.learning.must_begin_anew();
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
            state.exploration.settings.waits_by_spinning || state.driver.requirements().waits_by_spinning
        };
        if looks {
            return self.wait_by_looking(py, &predicate);
        }
        if !self.state().driver.requirements().treats(OperationKind::WaitUntil) {
            self.state().exploration.refusals.add(Refusal::Untreated("wait_until"));
            return self.leave(py, End::Cut);
        }
        let me = {
            let mut state = self.state();
            if !std::mem::replace(&mut state.waits.predicates.used, true) {
                state.exploration.learning.learned();
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
        if self.state().exploration.refusals.any() {
            return self.leave(py, End::Cut);
        }
        self.note(py, Word::WaitUntil, None, None, Some(&held?.1), true);
        Ok(())
    }
}
