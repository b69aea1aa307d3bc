//! What Python stores in an exception when it is raised: `__traceback__`, `__context__`, `__cause__` and
//! `__suppress_context__`. An exception that threads share is changed by each that raises it.
//!
//! They are one place, which `raise` writes, once somebody reads it. Python adds to the traceback and sets the context
//! elsewhere, too, where no hook is: as an exception passes through functions, and where code in C raises one that
//! exists. So a thread that reads these of an exception that it does not handle, or that others raise as well, is named
//! in the report.

use pyo3::exceptions::{PyBaseException, PyTypeError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

use crate::operation::AccessMode;
use crate::python::explore::assumptions::AssumptionKind;
use crate::python::explore::recording::Word;
use crate::python::host::Host;
use crate::python::state::{Phase, State};

/// The attributes that raising an exception stores. What puts them back in this order leaves each as it was: to store a
/// cause suppresses the context.
pub const STORED_BY_RAISING: [&str; 4] = ["__cause__", "__suppress_context__", "__context__", "__traceback__"];

/// How far a chain of exceptions is followed.
const LONGEST_CHAIN: usize = 1000;

/// Whether Python stores an attribute where no hook tells of it.
fn is_stored_unseen(name: &str) -> bool {
    matches!(name, "__context__" | "__traceback__")
}

fn is_stored_by_raising(name: &Bound<'_, PyString>) -> bool {
    name.to_str().is_ok_and(|name| STORED_BY_RAISING.contains(&name))
}

/// The exception that the running code handles.
fn handled(py: Python<'_>) -> Option<Bound<'_, PyAny>> {
    // SAFETY: the interpreter is attached; a new reference or NULL comes back.
    unsafe { Bound::from_owned_ptr_or_opt(py, ffi::PyErr_GetHandledException()) }.filter(|found| !found.is_none())
}

/// Whether the running code handles an exception, or another one that has it among its causes and contexts.
fn is_handled(exception: &Bound<'_, PyAny>) -> bool {
    let py = exception.py();
    let mut found: Vec<_> = handled(py).into_iter().collect();
    let mut next = 0;
    while next < found.len() && found.len() < LONGEST_CHAIN {
        if found[next].is(exception) {
            return true;
        }
        for behind in [ffi::PyException_GetCause, ffi::PyException_GetContext] {
            // SAFETY: what is handled is an exception, as its causes and contexts are; a new reference or NULL comes
            // back.
            let more = unsafe { Bound::from_owned_ptr_or_opt(py, behind(found[next].as_ptr())) };
            found.extend(more.filter(|more| !found.iter().any(|known| known.is(more))));
        }
        next += 1;
    }
    false
}

impl State {
    /// A thread reads what is stored in an exception by raising it. From now on it is an operation to raise one; and
    /// the thread may find what no hook has told of.
    pub fn note_shown_exception(&mut self, exception: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) {
        let py = exception.py();
        if !is_stored_by_raising(name) || !self.executes() || self.threads.len() < 2 {
            return;
        }
        if !std::mem::replace(&mut self.contents.shown.raised, true) {
            self.exploration.learning.learned();
        }
        if self.has_no_company() || !name.to_str().is_ok_and(is_stored_unseen) {
            return;
        }
        let Some(slot) = self.attribute_slot(exception, name) else { return };
        if self.is_visible(slot.location) || !is_handled(exception) {
            let class = exception.get_type().name().map(|name| name.to_string()).unwrap_or_default();
            self.assume(py, AssumptionKind::ExceptionState, &format!("{name} of a {class}"));
        }
    }

    /// Whether to raise an exception is an operation. A predicate of `wait_until` may raise those that come up in it.
    fn raising_is_seen(&self, exception: &Bound<'_, PyAny>) -> bool {
        self.contents.shown.raised && (self.phase != Phase::Probing || self.objects.made(exception).is_some())
    }
}

impl Host {
    /// Before a thread loads an attribute.
    #[inline]
    pub fn note_look_at_exception(&self, object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) {
        if object.is_instance_of::<PyBaseException>() {
            let mut state = self.state();
            if is_stored_by_raising(name) && state.waits.turns.are_events() {
                // What asyncio raises again changes it, too.
                state.do_without_turns();
            }
            state.note_shown_exception(object, name);
        }
    }

    /// Before an exception is raised. Not an event for one that nobody else has. Returns whether it is an operation,
    /// and if so whether that was an event.
    pub fn access_raise(&self, exception: &Bound<'_, PyAny>) -> PyResult<Option<bool>> {
        let py = exception.py();
        // SAFETY: the exception is alive.
        let holders = unsafe { ffi::Py_REFCNT(exception.as_ptr()) };
        if !exception.is_instance_of::<PyBaseException>() || holders <= 1 {
            return Ok(None);
        }
        self.keep_original_exception(exception)?;
        if self.awake().is_none_or(|state| !state.raising_is_seen(exception)) {
            return Ok(None);
        }
        let name = intern!(py, "__traceback__");
        let Some(slot) = self.find_attribute(exception, name) else { return Ok(None) };
        let event = self.access_member(py, slot, AccessMode::Write, "an exception that several threads raise")?;
        match handled(py) {
            Some(context) => {
                let name = intern!(py, "__context__");
                self.note(py, Word::Store, Some(exception), Some(name.as_any()), Some(&context), event);
            }
            None => self.note(py, Word::WriteAll, Some(exception), None, None, event),
        }
        Ok(Some(event))
    }
}

#[pymethods]
impl Host {
    /// Before `raise exception`: gives what to raise.
    #[pyo3(signature = (exception, /))]
    fn raised<'py>(&self, exception: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.access_raise(exception)?;
        Ok(exception.clone())
    }

    /// Before `raise` without an exception.
    fn reraised(&self, py: Python<'_>) -> PyResult<()> {
        handled(py).map_or(Ok(()), |exception| self.access_raise(&exception).map(drop))
    }

    /// Before `raise exception from cause`: gives the exception, with its cause. Raises TypeError for what is no
    /// exception.
    #[pyo3(signature = (exception, cause, /))]
    fn chained<'py>(&self, exception: &Bound<'py, PyAny>, cause: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = exception.py();
        let wrong = || PyTypeError::new_err("exceptions must derive from BaseException");
        let exception = made(exception)?.ok_or_else(wrong)?;
        let wrong = || PyTypeError::new_err("exception causes must derive from BaseException");
        let cause = if cause.is_none() { cause.clone() } else { made(cause)?.ok_or_else(wrong)? };
        let name = intern!(py, "__cause__");
        // The statement stores the cause and raises in one step.
        let operation = self.access_raise(&exception)?;
        set_cause(&exception, &cause);
        if let Some(event) = operation {
            self.note(py, Word::Store, Some(&exception), Some(name.as_any()), Some(&cause), event);
        }
        Ok(exception)
    }
}

/// Store the cause of an exception as `raise` does, which calls no code of its class.
fn set_cause(exception: &Bound<'_, PyAny>, cause: &Bound<'_, PyAny>) {
    let stored = if cause.is_none() { std::ptr::null_mut() } else { cause.clone().into_ptr() };
    // SAFETY: the first is an exception, and the second one or NULL; the reference to it is taken over.
    unsafe { ffi::PyException_SetCause(exception.as_ptr(), stored) };
}

/// The exception that Python takes a value for that follows `raise` or `from`: a class makes one. None if it is none.
fn made<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let made = match value.cast::<PyType>() {
        Ok(class) if class.is_subclass_of::<PyBaseException>()? => class.call0()?,
        _ => value.clone(),
    };
    Ok(made.is_instance_of::<PyBaseException>().then_some(made))
}
