//! `threading.Semaphore` and `threading.BoundedSemaphore`.

use std::sync::atomic::Ordering;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::{shown, truth, Primitive, Standing};
use crate::memory::{Effect, PrimitiveState};
use crate::operation::{Operation, OperationKind};
use crate::program::python::host::Host;
use crate::program::python::recording::Word;

/// `threading.Semaphore`
#[pyclass(frozen, subclass, weakref, module = "dpor._kernel")]
pub struct Semaphore {
    primitive: Primitive,
    /// The value that it may not exceed.
    bound: Option<u32>,
}

impl Semaphore {
    fn make(py: Python<'_>, value: i64, bounded: bool) -> PyResult<Semaphore> {
        let Ok(value) = u32::try_from(value) else {
            return Err(PyValueError::new_err("semaphore initial value must be >= 0"));
        };
        let bound = bounded.then_some(value);
        let state = PrimitiveState::Semaphore { value, bound };
        Ok(Semaphore { primitive: Primitive::new(py, "Semaphore", Some(state), i64::from(value))?, bound })
    }

    fn take(slf: &Bound<'_, Self>, blocking: bool, timeout: Option<f64>) -> PyResult<bool> {
        let py = slf.py();
        let primitive = &slf.get().primitive;
        if !blocking && timeout.is_some() {
            return Err(PyValueError::new_err("can't specify timeout for non-blocking acquire"));
        }
        match primitive.standing(py, "acquires a semaphore")? {
            Standing::Live => {}
            Standing::Plain => {
                primitive.plain.fetch_sub(1, Ordering::Relaxed);
                return Ok(true);
            }
            Standing::Over => return Err(Host::aborted()),
        }
        let may_fail = !blocking || timeout.is_some();
        let kind = if may_fail { OperationKind::SemaphoreTryAcquire } else { OperationKind::SemaphoreAcquire };
        let host = primitive.host();
        if !may_fail {
            host.note_waiting(py, Word::Acquire, Some(slf.as_any()));
        }
        let (effect, event) = primitive.operate(py, Operation::new(kind, primitive.location, 1))?;
        let taken = effect == Effect::Done(1);
        if let (false, Some(seconds)) = (taken, timeout) {
            primitive.pass_time(seconds);
        }
        let word = if may_fail { Word::TryAcquire } else { Word::Acquire };
        host.note_bool(py, word, slf.as_any(), taken, event);
        Ok(taken)
    }

    fn take_within(slf: &Bound<'_, Self>, blocking: bool, timeout: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        match timeout.map(PyAnyMethods::extract::<f64>).transpose() {
            Ok(seconds) => Semaphore::take(slf, blocking, seconds),
            // What is no number of seconds is found when there is need to wait.
            Err(error) if blocking => match Semaphore::take(slf, false, None)? {
                true => Ok(true),
                false => Err(error),
            },
            Err(_) => Semaphore::take(slf, false, Some(0.0)),
        }
    }

    fn give(slf: &Bound<'_, Self>, count: i64) -> PyResult<()> {
        let py = slf.py();
        let primitive = &slf.get().primitive;
        if count < 1 {
            return Err(PyValueError::new_err("n must be one or more"));
        }
        match primitive.standing(py, "releases a semaphore")? {
            Standing::Live => {}
            Standing::Plain => {
                primitive.plain.fetch_add(count, Ordering::Relaxed);
                return Ok(());
            }
            Standing::Over => return Ok(()),
        }
        let count = u32::try_from(count).unwrap_or(u32::MAX >> 1);
        let operation = Operation::new(OperationKind::SemaphoreRelease, primitive.location, count);
        let (effect, event) = primitive.operate(py, operation)?;
        if let Effect::Misused(_) = effect {
            return Err(primitive.misused(py, PyValueError::new_err("Semaphore released too many times")));
        }
        primitive.host().note(py, Word::Release, Some(slf.as_any()), None, None, event);
        Ok(())
    }
}

#[pymethods]
impl Semaphore {
    #[new]
    #[pyo3(signature = (value = 1))]
    fn new(py: Python<'_>, value: i64) -> PyResult<Semaphore> {
        Semaphore::make(py, value, false)
    }

    #[pyo3(signature = (blocking = true, timeout = None))]
    fn acquire(
        slf: &Bound<'_, Self>,
        #[pyo3(from_py_with = truth)] blocking: bool,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        Semaphore::take_within(slf, blocking, timeout)
    }

    #[pyo3(signature = (blocking = true, timeout = None))]
    fn __enter__(
        slf: &Bound<'_, Self>,
        #[pyo3(from_py_with = truth)] blocking: bool,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        Semaphore::take_within(slf, blocking, timeout)
    }

    #[pyo3(signature = (n = 1))]
    fn release(slf: &Bound<'_, Self>, n: i64) -> PyResult<()> {
        Semaphore::give(slf, n)
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(slf: &Bound<'_, Self>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        Semaphore::give(slf, 1)
    }

    fn _at_fork_reinit(&self) {}

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let semaphore = slf.get();
        let value = shown::value(slf.py(), &semaphore.primitive)?;
        match semaphore.bound {
            Some(bound) => shown::named(slf.as_any(), "BoundedSemaphore", &format!("value={value}/{bound}")),
            None => shown::named(slf.as_any(), "Semaphore", &format!("value={value}")),
        }
    }
}

/// `threading.BoundedSemaphore`
#[pyclass(frozen, subclass, extends = Semaphore, module = "dpor._kernel")]
pub struct BoundedSemaphore;

#[pymethods]
impl BoundedSemaphore {
    #[new]
    #[pyo3(signature = (value = 1))]
    fn new(py: Python<'_>, value: i64) -> PyResult<PyClassInitializer<BoundedSemaphore>> {
        Ok(PyClassInitializer::from(Semaphore::make(py, value, true)?).add_subclass(BoundedSemaphore))
    }
}
