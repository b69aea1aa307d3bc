//! `wait_until`: a thread that waits for a predicate over shared state to hold.
//!
//! The predicate is evaluated between events, whenever a turn is decided; what it reads is collected, and becomes the
//! accesses of the one event that the wait is. An evaluation that gives False leaves no trace.

use pyo3::prelude::*;

use super::host::{Host, Phase, Touch};
use super::recording::Word;
use crate::operation::{LocationId, Operation, OperationKind, ThreadId};
use crate::threads::Status;

impl Host {
    /// Evaluate the predicates of all threads that wait for one.
    pub fn evaluate_predicates(&self, py: Python<'_>) -> PyResult<()> {
        let waiters: Vec<ThreadId> = {
            let state = self.state();
            let threads = &state.driver.threads;
            let waits = |thread: &ThreadId| {
                let thread = threads.get(*thread);
                thread.status == Status::Pending && thread.pending.kind == OperationKind::WaitUntil
            };
            threads.alive().iter().copied().filter(waits).collect()
        };
        for thread in waiters {
            let (me, predicate) = {
                let mut state = self.state();
                let me = std::mem::replace(&mut state.current, thread);
                state.phase = Phase::Probing;
                state.probed.clear();
                (me, state.thread(thread).predicate.as_ref().map(|predicate| predicate.clone_ref(py)))
            };
            let held = predicate.map(|predicate| predicate.call0(py).and_then(|value| value.is_truthy(py)));
            let mut state = self.state();
            state.phase = Phase::Running;
            state.current = me;
            let reads = std::mem::take(&mut state.probed);
            for read in &reads {
                if !state.is_visible(read.location) {
                    state.make_visible(read.location);
                }
            }
            state.thread(thread).predicate_reads = reads;
            state.driver.threads.get_mut(thread).predicate_holds = match held {
                Some(Ok(value)) => value,
                // Let the thread go on: it evaluates the predicate itself and raises where it stands.
                Some(Err(_)) => true,
                None => false,
            };
        }
        Ok(())
    }
}

#[pymethods]
impl Host {
    /// Block the thread until `predicate()` is true.
    fn wait_until(&self, py: Python<'_>, predicate: Bound<'_, PyAny>) -> PyResult<()> {
        let me = {
            let mut state = self.state();
            let me = state.current;
            state.thread(me).predicate = Some(predicate.clone().unbind());
            state.driver.threads.count_predicate_waiter(1);
            me
        };
        self.note_waiting(py, Word::WaitUntil, None);
        let operation = Operation::new(OperationKind::WaitUntil, LocationId::NONE, 0);
        let performed = self.perform(py, operation, 1, |state| {
            let mut accesses: crate::operation::Accesses = Default::default();
            for read in std::mem::take(&mut state.thread(me).predicate_reads) {
                if state.is_visible(read.location) && !accesses.contains(&read) {
                    accesses.push(read);
                }
            }
            Touch::of(accesses)
        });
        {
            let mut state = self.state();
            state.driver.threads.count_predicate_waiter(-1);
            state.thread(me).predicate = None;
        }
        performed?;
        self.state().phase = Phase::Probing;
        let held = predicate.call0();
        self.state().phase = Phase::Running;
        let held = held?;
        self.note(py, Word::WaitUntil, None, None, Some(&held), true);
        Ok(())
    }
}
