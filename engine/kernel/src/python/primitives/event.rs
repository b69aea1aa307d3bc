//! `threading.Event`.

use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::exceptions::PyDeprecationWarning;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::copying::{self, Copied};
use super::{no_attribute, shown, timeouts, Primitive, Standing};
use crate::memory::{Effect, PrimitiveState};
use crate::operation::{LocationId, Operation, OperationKind};
use crate::python::explore::recording::Word;
use crate::python::host::Host;

/// `threading.Event`
#[pyclass(frozen, subclass, dict, weakref, module = "threading")]
pub struct Event {
    primitive: Primitive,
    /// Whether `__init__` has been called.
    is_made: AtomicBool,
    copied: Copied,
}

impl Event {
    fn require_made(slf: &Bound<'_, Self>, attribute: &str) -> PyResult<()> {
        match slf.get().is_made.load(Ordering::Relaxed) {
            true => Ok(()),
            false => Err(no_attribute(slf.as_any(), attribute)),
        }
    }

    fn unset() -> PrimitiveState {
        PrimitiveState::Flag { set: false, waiters: Vec::new() }
    }

    fn change(slf: &Bound<'_, Self>, kind: OperationKind) -> PyResult<()> {
        Event::require_made(slf, "_cond")?;
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
            if !std::mem::replace(&mut state.waits.primitives.flags_are_cleared, true) {
                state.exploration.learning.must_begin_anew();
            }
        }
        let (_, event) = primitive.operate(py, Operation::new(kind, primitive.location(), 0))?;
        let word = if set { Word::Set } else { Word::Clear };
        primitive.host().note(py, word, Some(slf.as_any()), None, None, event);
        Ok(())
    }
}

#[pymethods]
impl Event {
    #[new]
    #[pyo3(signature = (*_arguments, **_keywords))]
    fn new(
        py: Python<'_>,
        _arguments: &Bound<'_, PyTuple>,
        _keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Event> {
        let primitive = Primitive::new(py, "Event", Some(Event::unset()), 0)?;
        Ok(Event { primitive, is_made: AtomicBool::new(false), copied: Copied::default() })
    }

    fn __init__(slf: &Bound<'_, Self>) -> PyResult<()> {
        let this = slf.get();
        this.primitive.require_own(slf.py())?;
        if this.is_made.swap(true, Ordering::Relaxed) {
            this.primitive.renew(slf.py(), "Event", Event::unset())?;
        }
        Ok(())
    }

    #[getter]
    fn _flag(slf: &Bound<'_, Self>) -> PyResult<bool> {
        Event::require_made(slf, "_flag")?;
        Event::is_set(slf)
    }

    #[setter(_flag)]
    fn set_flag(slf: &Bound<'_, Self>, flag: &Bound<'_, PyAny>) -> PyResult<()> {
        let state = PrimitiveState::Flag { set: flag.is_truthy()?, waiters: Vec::new() };
        slf.get().primitive.assign(slf.py(), "_flag", "Event", state)
    }

    #[getter]
    fn _cond(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        Event::require_made(slf, "_cond")?;
        Err(slf.get().primitive.host().uncontrolled(slf.py(), "uses _cond of a threading.Event".to_owned()))
    }

    /// A copy has a flag of its own, and the same threads that wait.
    fn __copy__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let set = Event::_flag(slf)?;
        slf.get().primitive.require_own(slf.py())?;
        let copy = copying::made_alike(slf.as_any())?;
        let other = copy.cast::<Event>()?.get();
        other.is_made.store(true, Ordering::Relaxed);
        let state = PrimitiveState::Flag { set, waiters: Vec::new() };
        other.primitive.put(state);
        slf.get().copied.note(&other.copied);
        Ok(copy)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        copying::reduce(slf.as_any(), copying::LOCK)
    }

    fn is_set(slf: &Bound<'_, Self>) -> PyResult<bool> {
        Event::require_made(slf, "_flag")?;
        let py = slf.py();
        let primitive = &slf.get().primitive;
        if !matches!(primitive.standing_to_look(py)?, Standing::Live) {
            return Ok(primitive.plain.load(Ordering::Relaxed) > 0);
        }
        let event = primitive.read(py)?;
        let operation = Operation::new(OperationKind::FlagRead, primitive.location(), 0);
        let set = primitive.host().state().primitive_token(&operation) > 0;
        primitive.host().note_bool(py, Word::Load, slf.as_any(), set, event);
        Ok(set)
    }

    #[pyo3(name = "isSet")]
    fn is_set_old(slf: &Bound<'_, Self>) -> PyResult<bool> {
        let py = slf.py();
        let message = c"isSet() is deprecated, use is_set() instead";
        PyErr::warn(py, &py.get_type::<PyDeprecationWarning>(), message, 1)?;
        Event::is_set(slf)
    }

    fn set(slf: &Bound<'_, Self>) -> PyResult<()> {
        Event::change(slf, OperationKind::FlagSet)
    }

    fn clear(slf: &Bound<'_, Self>) -> PyResult<()> {
        Event::change(slf, OperationKind::FlagClear)
    }

    #[pyo3(signature = (timeout = None))]
    fn wait(slf: &Bound<'_, Self>, timeout: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        Event::require_made(slf, "_cond")?;
        let py = slf.py();
        let primitive = &slf.get().primitive;
        match primitive.standing(py, "waits for an event")? {
            Standing::Live => {}
            Standing::Plain => return Ok(primitive.plain.load(Ordering::Relaxed) > 0),
            Standing::Over => return Err(Host::aborted()),
        }
        let host = primitive.host();
        host.note_waiting(py, Word::Wait, Some(slf.as_any()));
        let look = Operation::new(OperationKind::FlagRead, primitive.location(), 0);
        let two_steps = host.state().waits.primitives.flags_are_cleared;
        if timeout.is_some() || two_steps {
            let (effect, event) = primitive.operate(py, look)?;
            let set = effect == Effect::Done(1);
            if !set {
                slf.get().copied.require_alone(py, primitive.host(), "Event")?;
            }
            if set || timeout.is_some() {
                if let (false, Some(timeout)) = (set, timeout) {
                    primitive.pass_time(timeouts::of_wait(timeout)?);
                }
                host.note_bool(py, Word::Wait, slf.as_any(), set, event);
                return Ok(set);
            }
            // Once asleep it is woken by the next `set`, even if the event is cleared before it runs.
            let mut state = host.state();
            let current = state.current;
            let location = primitive.location();
            state.driver.memory.primitives_mut().enqueue(location, current, 0, LocationId::NONE);
        }
        slf.get().copied.require_alone(py, primitive.host(), "Event")?;
        let (_, event) = primitive.operate(py, Operation::new(OperationKind::FlagWait, primitive.location(), 0))?;
        host.note_bool(py, Word::Wait, slf.as_any(), true, event);
        Ok(true)
    }

    /// It stays set; who waits for it is forgotten.
    fn _at_fork_reinit(slf: &Bound<'_, Self>) -> PyResult<()> {
        let state = PrimitiveState::Flag { set: Event::_flag(slf)?, waiters: Vec::new() };
        slf.get().primitive.reinit(slf.py(), "Event", state)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let status = if Event::is_set(slf)? { "set" } else { "unset" };
        shown::named(slf.as_any(), status)
    }
}
