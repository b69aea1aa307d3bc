//! Taking writes back for a moment, to ask what a `wait_until` predicate would have said earlier.
//!
//! Whether a waiting thread could have gone on before some write decides whether the two race in a way that another
//! execution can reverse. No recorded number tells that for an arbitrary predicate, so once a model waits for one,
//! every visible write keeps what it replaced, and the predicate is evaluated again with the writes taken back.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::execution::Event;
use crate::operation::{Access, Accesses, EventId, Operation, OperationKind, ThreadId};
use crate::python::footprints::content::{content_of, put_content};
use crate::python::heap::place::{own_attribute, put_own_attribute};
use crate::python::hooks::variables::Cell;
use crate::python::host::Host;
use crate::python::primitives::atomic::Atomic;
use crate::python::state::{Phase, State};
use crate::python::threads::waiting::visible_reads;
use crate::threads::Status;

/// What a write replaced. Applying it swaps it with what is there now, so that applying it again restores that.
pub enum Undo {
    Atomic { atomic: Py<Atomic>, value: Py<PyAny> },
    Attribute { object: Py<PyAny>, name: Py<PyString>, value: Option<Py<PyAny>> },
    Item { namespace: Py<PyDict>, name: Py<PyString>, value: Option<Py<PyAny>> },
    Variable { cell: Py<Cell>, value: Option<Py<PyAny>> },
    Container { object: Py<PyAny>, content: Py<PyAny> },
}

impl Undo {
    /// What an attribute holds now.
    pub fn of_attribute(object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<Undo> {
        let value = own_attribute(object, name)?.map(Bound::unbind);
        Ok(Undo::Attribute { object: object.clone().unbind(), name: name.clone().unbind(), value })
    }

    /// What is in a container now; None if there is no way to put it back.
    pub fn of_container(object: &Bound<'_, PyAny>) -> PyResult<Option<Undo>> {
        let Some(content) = content_of(object)? else { return Ok(None) };
        Ok(Some(Undo::Container { object: object.clone().unbind(), content: content.unbind() }))
    }

    pub fn swap(&mut self, py: Python<'_>) -> PyResult<()> {
        match self {
            Undo::Atomic { atomic, value } => atomic.get().swap(value),
            Undo::Variable { cell, value } => cell.bind(py).borrow_mut().swap(value),
            Undo::Attribute { object, name, value } => {
                let (object, name) = (object.bind(py), name.bind(py));
                let now = own_attribute(object, name)?.map(Bound::unbind);
                put_own_attribute(object, name, value.as_ref().map(|value| value.bind(py)))?;
                *value = now;
            }
            Undo::Item { namespace, name, value } => {
                let (namespace, name) = (namespace.bind(py), name.bind(py));
                let now = namespace.get_item(name)?.map(Bound::unbind);
                match value {
                    Some(value) => namespace.set_item(name, value.bind(py))?,
                    None => namespace.del_item(name)?,
                }
                *value = now;
            }
            Undo::Container { object, content } => {
                let object = object.bind(py);
                let now = content_of(object)?;
                put_content(object, content.bind(py))?;
                if let Some(now) = now {
                    *content = now.unbind();
                }
            }
        }
        Ok(())
    }
}

impl State {
    /// The state of a primitive, of which `operation` is one of the operations: at the moment that a predicate is
    /// evaluated as of, if it is. Each event keeps what it found, so that nothing has to be taken back.
    pub fn primitive_token(&self, operation: &Operation) -> u32 {
        let now = || self.driver.memory.state_token(operation);
        let Some(since) = self.heap.as_of else { return now() };
        let execution = &self.driver.execution;
        let events = &execution.events()[since.0 as usize..self.driver.position()];
        let later = |event: &&Event| event.id == since || execution.happens_before(since, event.id);
        let next = events.iter().filter(later).find(|event| event.operation.target == operation.target);
        next.map_or_else(now, |event| event.before)
    }
}

impl Host {
    /// Whether writes have to keep what they replace.
    #[inline]
    pub fn keeps_undo(&self) -> bool {
        let state = self.state();
        state.waits.predicates.used && state.phase == Phase::Running
    }

    /// Keep what the last event, a write of the running thread, is about to replace.
    pub fn keep_undo(&self, undo: Undo) {
        let mut state = self.state();
        let event = EventId((state.driver.position() as u32).saturating_sub(1));
        state.heap.undo.push((event, undo));
    }

    /// The events before which the thread's predicate held already, and after which it need not have: those with which
    /// its wait races, with what it would have read before them. `reads` are what it read last.
    pub fn predicate_races(
        &self,
        py: Python<'_>,
        thread: ThreadId,
        reads: &[Access],
    ) -> PyResult<Vec<(EventId, Accesses)>> {
        let candidates = {
            let mut guard = self.state();
            let state = &mut *guard;
            let reads = state.with_joint_writes(reads);
            let driver = &state.driver;
            let waiting = driver.threads.get(thread);
            let last = waiting.last;
            let waited = last != EventId::NONE
                && driver.execution.event(last).operation.kind == OperationKind::WaitUntil
                && waiting.status == Status::Running;
            let before: Vec<EventId> = if waited {
                driver.execution.event(last).predecessors().collect()
            } else {
                let awaited = driver.memory.awaited(thread, &waiting.pending);
                awaited.into_iter().chain((last != EventId::NONE).then_some(last)).collect()
            };
            driver.execution.writers_of(&reads, thread, &before)
        };
        let mut found: Vec<(EventId, Accesses)> = Vec::new();
        for candidate in candidates {
            let covered = {
                let state = self.state();
                found.iter().any(|(later, _)| state.driver.execution.happens_before(candidate, *later))
            };
            if !covered {
                let (held, reads) = self.predicate_before(py, thread, candidate)?;
                let state = self.state();
                let reads = visible_reads(&state, &reads);
                // A write of what the predicate does not read there has not changed what it says.
                if held && state.driver.execution.conflicts(candidate, &reads) {
                    found.push((candidate, reads));
                }
            }
        }
        Ok(found)
    }

    /// Whether the thread's predicate holds with everything taken back that happens after `event`, and it itself; and
    /// what it reads then.
    fn predicate_before(&self, py: Python<'_>, thread: ThreadId, event: EventId) -> PyResult<(bool, Vec<Access>)> {
        let (mut kept, taken) = {
            let mut state = self.state();
            let kept = std::mem::take(&mut state.heap.undo);
            let execution = &state.driver.execution;
            let taken: Vec<usize> = (0..kept.len())
                .filter(|index| {
                    let id = kept[*index].0;
                    id >= event && execution.happens_before(event, id)
                })
                .collect();
            (kept, taken)
        };
        for index in taken.iter().rev() {
            kept[*index].1.swap(py)?;
        }
        // A store of the thread itself that would not have left its store buffer yet is seen there.
        let events: Vec<EventId> = taken.iter().map(|index| kept[*index].0).collect();
        {
            let mut state = self.state();
            state.heap.weak.hold_back(thread, &events);
            state.heap.as_of = Some(event);
        }
        let evaluated = self.evaluate_predicate(py, thread);
        {
            let mut state = self.state();
            state.heap.as_of = None;
            state.heap.weak.release_held();
        }
        for index in &taken {
            kept[*index].1.swap(py)?;
        }
        self.state().heap.undo = kept;
        evaluated
    }
}
