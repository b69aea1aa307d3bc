//! What the runtime layer asks of the host for a model thread: spawning and joining, drawn values, assumptions, time.

use pyo3::prelude::*;
use smallvec::smallvec;

use crate::explorer::End;
use crate::operation::{AccessMode, Accesses, LocationId, Operation, OperationKind, ThreadId};
use crate::python::explore::assumptions::Caller;
use crate::python::explore::recording::Word;
use crate::python::host::Host;
use crate::python::identities::identity::KeyId;
use crate::python::primitives::atomic::memory_order;
use crate::python::state::{access, Phase};
use crate::python::threads::switching::Footprint;
use crate::threads::Status;

impl Host {
    pub fn thread_object(&self, py: Python<'_>, thread: ThreadId) -> Option<Py<PyAny>> {
        self.state().thread(thread).object.as_ref().map(|object| object.clone_ref(py))
    }

    /// The location of a thread's life.
    pub fn thread_location(&self, thread: ThreadId) -> LocationId {
        let mut state = self.state();
        let object = state.identities.thread_object(thread);
        state.identities.location(object, KeyId::STATE, false)
    }

    /// Let the running thread take no further step. Never returns normally.
    pub fn stop_for_good(&self, py: Python<'_>) -> PyResult<()> {
        self.tell_owed(py);
        let turn = {
            let mut state = self.state();
            if state.phase != Phase::Running {
                return Err(Self::aborted());
            }
            if !state.do_without_turns() || !state.may_stop_outside_sections() {
                drop(state);
                return self.leave(py, End::Cut);
            }
            let current = state.current;
            let operation = Operation::new(OperationKind::Blocked, LocationId::NONE, 0);
            state.driver.arrive(current, operation, 1);
            state.driver.threads.get_mut(current).status = Status::Stopped;
            if state.driver.threads.waits_for_predicates() {
                drop(state);
                self.evaluate_predicates(py)?;
                state = self.state();
            }
            state.driver.next_turn()
        };
        self.take_turn(py, turn)?;
        Err(Self::aborted())
    }
}

#[pymethods]
impl Host {
    /// Spawn a thread. `thread` is its object, `target` its code. Returns its index.
    fn spawn(&self, py: Python<'_>, thread: Py<PyAny>, target: Py<PyAny>, daemon: bool) -> PyResult<u32> {
        self.only_outside_predicates(py, "starts a thread")?;
        let child = {
            let mut state = self.state();
            let current = state.current;
            if state.phase != Phase::Running {
                return Err(Self::aborted());
            }
            let number = state.driver.threads.get(current).spawned;
            state.driver.threads.get_mut(current).spawned += 1;
            state.identities.child(current, number)
        };
        let operation = Operation::new(OperationKind::Spawn, LocationId::NONE, child.0);
        self.perform(py, operation, 1, |_| Footprint::of(Accesses::new()))?;
        // A thread is started at the same place in nearly every execution: looking once for each is enough for a
        // report.
        let known = self.state().thread(child).started.is_some();
        let started = if known { None } else { Caller::find(py) };
        {
            let mut state = self.state();
            let current = state.current;
            let (last, time) = (state.driver.threads.get(current).last, state.thread(current).time);
            state.driver.threads.add(child, last, daemon);
            let entry = state.thread(child);
            entry.object = Some(thread.clone_ref(py));
            entry.target = Some(target);
            entry.started = entry.started.take().or(started);
            entry.time = time;
        }
        self.note(py, Word::Spawn, Some(thread.bind(py)), None, None, true);
        Ok(child.0)
    }

    /// The index that the next thread will have that the running thread starts.
    fn next_thread(&self) -> u32 {
        let mut state = self.state();
        let current = state.current;
        let number = state.driver.threads.get(current).spawned;
        state.identities.child(current, number).0
    }

    /// Wait until a thread has ended; with `timed` it may give up, and says whether the thread had ended.
    fn join(&self, py: Python<'_>, index: u32, timed: bool) -> PyResult<bool> {
        self.only_outside_predicates(py, "joins a thread")?;
        if timed {
            return self.is_finished(py, index);
        }
        let object = self.thread_object(py, ThreadId(index));
        self.note_waiting(py, Word::Join, object.as_ref().map(|o| o.bind(py)));
        let operation = Operation::new(OperationKind::Join, LocationId::NONE, index);
        self.perform(py, operation, 1, |_| Footprint::of(Accesses::new()))?;
        {
            let mut state = self.state();
            let time = state.thread(ThreadId(index)).time;
            let current = state.current;
            let own = state.thread(current);
            own.time = own.time.max(time);
        }
        self.note(py, Word::Join, object.as_ref().map(|o| o.bind(py)), None, None, true);
        Ok(true)
    }

    /// Whether a thread has ended.
    fn is_finished(&self, py: Python<'_>, index: u32) -> PyResult<bool> {
        self.only_outside_predicates(py, "asks whether a thread is alive")?;
        self.drain_if_owed(py)?;
        let thread = ThreadId(index);
        let location = self.thread_location(thread);
        let visible = {
            let mut state = self.state();
            if state.is_visible(location) {
                true
            } else {
                // Asking about a thread that still runs is a race with its end.
                state.quiet(&[access(location, AccessMode::Read)]);
                if !state.driver.threads.is_finished(thread) {
                    state.make_visible(location);
                }
                false
            }
        };
        if visible {
            let operation = Operation::new(OperationKind::IsFinished, location, index);
            self.perform(py, operation, 1, |_| Footprint::of(smallvec![access(location, AccessMode::Read)]))?;
        }
        Ok(self.state().driver.threads.is_finished(thread))
    }

    fn current_thread(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let current = self.state().current;
        self.thread_object(py, current)
    }

    /// The locks that the running thread holds, by numbers of this execution.
    fn held_locks(&self) -> Vec<u32> {
        let state = self.state();
        state.driver.memory.primitives().held_by(state.current).map(|lock| lock.0).collect()
    }

    fn current_index(&self) -> u32 {
        self.state().current.0
    }

    fn thread_path(&self, index: u32) -> String {
        self.state().identities.path(ThreadId(index)).to_owned()
    }

    /// Draw one of `count` alternatives, counted from 0; every one is explored. `describe` gives what a recorder is told
    /// of it in the place of its number.
    #[pyo3(signature = (count, describe=None))]
    fn choose(&self, py: Python<'_>, count: u32, describe: Option<&Bound<'_, PyAny>>) -> PyResult<u32> {
        self.only_outside_predicates(py, "draws a value with dpor.choose")?;
        if count < 2 {
            return Ok(0);
        }
        let operation = Operation::new(OperationKind::Choose, LocationId::NONE, count);
        self.perform(py, operation, count, |_| Footprint::of(Accesses::new()))?;
        let outcome = self.state().driver.outcome();
        let value = match describe {
            Some(describe) if self.is_recording() => describe.call1((outcome,))?,
            _ => outcome.into_pyobject(py)?.into_any(),
        };
        self.note(py, Word::Choose, None, None, Some(&value), true);
        Ok(outcome)
    }

    /// Stop the thread for good unless the condition holds.
    fn stop_unless(&self, py: Python<'_>, condition: bool) -> PyResult<()> {
        self.only_outside_predicates(py, "assumes something with dpor.assume")?;
        if condition {
            return Ok(());
        }
        self.note(py, Word::Assume, None, None, None, true);
        self.stop_for_good(py)
    }

    /// Move the thread's virtual clock on.
    fn advance_time(&self, py: Python<'_>, seconds: f64) -> PyResult<()> {
        self.only_outside_predicates(py, "lets time pass")?;
        self.state().pass_time(seconds);
        Ok(())
    }

    /// The running thread does `what` (a verb phrase), which no predicate may do.
    fn outside_predicates(&self, py: Python<'_>, what: &str) -> PyResult<()> {
        self.only_outside_predicates(py, what)
    }

    /// The running thread does something that is no access: `what`, a verb phrase. No loop that it is in only looks,
    /// and no predicate may do it.
    pub fn had_effect(&self, py: Python<'_>, what: &str) -> PyResult<()> {
        self.only_outside_predicates(py, what)?;
        let mut state = self.state();
        if state.phase == Phase::Running {
            state.affect_loops();
        }
        Ok(())
    }

    /// The thread's virtual clock, in seconds since the execution began.
    fn time(&self, py: Python<'_>) -> PyResult<f64> {
        // Time only passes by sleeping, so that a predicate would wait for a moment that never comes.
        self.only_outside_predicates(py, "looks at the clock")?;
        if self.state().clock_is_blurred() {
            return self.leave_untreated(py, "a look at the clock after another thread has slept");
        }
        Ok(self.state().look_at_clock())
    }

    /// The running thread is about to look at a clock: explore whether time has passed since it did so last, as often
    /// as `clock_jumps` says. Returns whether time may pass in this check.
    fn let_clock_jump(&self, py: Python<'_>) -> PyResult<bool> {
        if self.state().waits.clocks.most_jumps == 0 {
            return Ok(false);
        }
        self.only_outside_predicates(py, "looks at the clock")?;
        if self.state().clock_may_jump() {
            let operation = Operation::new(OperationKind::Choose, LocationId::NONE, 2);
            self.perform(py, operation, 2, |_| Footprint::of(Accesses::new()))?;
            let outcome = self.state().driver.outcome();
            if outcome == 1 {
                self.state().jump_clock();
            }
            let value = outcome.into_pyobject(py)?;
            self.note(py, Word::Look, None, None, Some(value.as_any()), true);
        }
        Ok(true)
    }

    /// For how long the thread has run, in seconds, as loops that look at that are let see it.
    fn processor_time(&self, py: Python<'_>) -> PyResult<f64> {
        self.only_outside_predicates(py, "looks at the clock")?;
        Ok(self.state().look_at_processor_time())
    }

    /// The thread's clock for code that only looks how long it may still wait, which is no side effect.
    fn deadline_time(&self, py: Python<'_>) -> PyResult<f64> {
        self.only_outside_predicates(py, "looks at the clock")?;
        Ok(self.state().look_at_time_limit())
    }

    /// A fence; no visible operation under sequential consistency. Raises ValueError for an unknown order.
    #[pyo3(signature = (order = "seq_cst"))]
    fn fence(&self, py: Python<'_>, order: &str) -> PyResult<()> {
        self.only_outside_predicates(py, "performs a fence")?;
        self.perform_fence(py, memory_order(order)?)
    }
}
