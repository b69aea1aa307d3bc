//! `threading.Event`.

use std::sync::atomic::Ordering;

use pyo3::prelude::*;

use super::{shown, Primitive, Standing};
use crate::memory::{Effect, PrimitiveState};
use crate::operation::{LocationId, Operation, OperationKind};
use crate::program::python::host::Host;
use crate::program::python::recording::Word;
use crate::program::python::state::Restart;

/// `threading.Event`
#[pyclass(frozen, subclass, weakref, module = "dpor._kernel")]
pub struct Event {
    primitive: Primitive,
}

impl Event {
    fn change(slf: &Bound<'_, Self>, kind: OperationKind) -> PyResult<()> {
        let py = slf.py();
        let primitive = &slf.get().primitive;
        let set = kind == OperationKind::FlagSet;
        match primitive.standing(py, "sets or clears an event")? {
            Standing::Live => {}
            Standing::Plain => {
                primitive.plain.store(i64::from(set), Ordering::Relaxed);
                return Ok(());
            }
            Standing::Over => return Ok(()),
        }
        if !set {
            let mut state = primitive.host().state();
            if !std::mem::replace(&mut state.flags_are_cleared, true) {
                state.restart.get_or_insert(Restart::Visible);
            }
        }
        let (_, event) = primitive.operate(py, Operation::new(kind, primitive.location, 0))?;
        let word = if set { Word::Set } else { Word::Clear };
        primitive.host().note(py, word, Some(slf.as_any()), None, None, event);
        Ok(())
    }
}

#[pymethods]
impl Event {
    #[new]
    fn new(py: Python<'_>) -> PyResult<Event> {
        let state = PrimitiveState::Flag { set: false, waiters: Vec::new() };
        Ok(Event { primitive: Primitive::new(py, "Event", Some(state), 0)? })
    }

    fn is_set(slf: &Bound<'_, Self>) -> PyResult<bool> {
        let py = slf.py();
        let primitive = &slf.get().primitive;
        if !matches!(primitive.standing_to_look(py)?, Standing::Live) {
            return Ok(primitive.plain.load(Ordering::Relaxed) > 0);
        }
        let event = primitive.read(py)?;
        let operation = Operation::new(OperationKind::FlagRead, primitive.location, 0);
        let set = primitive.host().state().primitive_token(&operation) > 0;
        primitive.host().note_bool(py, Word::Load, slf.as_any(), set, event);
        Ok(set)
    }

    #[pyo3(name = "isSet")]
    fn is_set_old(slf: &Bound<'_, Self>) -> PyResult<bool> {
        Event::is_set(slf)
    }

    fn set(slf: &Bound<'_, Self>) -> PyResult<()> {
        Event::change(slf, OperationKind::FlagSet)
    }

    fn clear(slf: &Bound<'_, Self>) -> PyResult<()> {
        Event::change(slf, OperationKind::FlagClear)
    }

    #[pyo3(signature = (timeout = None))]
    fn wait(slf: &Bound<'_, Self>, timeout: Option<f64>) -> PyResult<bool> {
        let py = slf.py();
        let primitive = &slf.get().primitive;
        match primitive.standing(py, "waits for an event")? {
            Standing::Live => {}
            Standing::Plain => return Ok(primitive.plain.load(Ordering::Relaxed) > 0),
            Standing::Over => return Err(Host::aborted()),
        }
        let host = primitive.host();
        host.note_waiting(py, Word::Wait, Some(slf.as_any()));
        let look = Operation::new(OperationKind::FlagRead, primitive.location, 0);
        let two_steps = host.state().flags_are_cleared;
        if timeout.is_some() || two_steps {
            let (effect, event) = primitive.operate(py, look)?;
            let set = effect == Effect::Done(1);
            if set || timeout.is_some() {
                if let (false, Some(seconds)) = (set, timeout) {
                    primitive.pass_time(seconds);
                }
                host.note_bool(py, Word::Wait, slf.as_any(), set, event);
                return Ok(set);
            }
            // Once asleep it is woken by the next `set`, even if the event is cleared before it runs.
            let mut state = host.state();
            let current = state.current;
            let location = primitive.location;
            state.driver.memory.primitives_mut().enqueue(location, current, 0, LocationId::NONE);
        }
        let (_, event) = primitive.operate(py, Operation::new(OperationKind::FlagWait, primitive.location, 0))?;
        host.note_bool(py, Word::Wait, slf.as_any(), true, event);
        Ok(true)
    }

    fn _at_fork_reinit(&self) {}

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let status = if Event::is_set(slf)? { "set" } else { "unset" };
        shown::named(slf.as_any(), "Event", status)
    }
}
