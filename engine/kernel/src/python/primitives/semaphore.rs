//! `threading.Semaphore` and `threading.BoundedSemaphore`.

use std::sync::atomic::{AtomicI64, Ordering};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::copying::{self, Copied};
use super::locks::Given;
use super::{no_attribute, shown, timeouts, truth, Primitive, Standing};
use crate::memory::{Effect, PrimitiveState};
use crate::operation::{Operation, OperationKind};
use crate::python::explore::recording::Word;
use crate::python::host::Host;

/// What stands for no bound.
const UNBOUNDED: i64 = -1;
/// The same while `__init__` has not been called.
const UNMADE: i64 = -2;

/// `threading.Semaphore`
#[pyclass(frozen, subclass, dict, weakref, module = "threading")]
pub struct Semaphore {
    primitive: Primitive,
    /// The value that it may not exceed.
    bound: AtomicI64,
    copied: Copied,
}

impl Semaphore {
    fn make(py: Python<'_>) -> PyResult<Semaphore> {
        let state = PrimitiveState::Semaphore { value: 0, bound: None };
        let primitive = Primitive::new(py, "Semaphore", Some(state), 0)?;
        Ok(Semaphore { primitive, bound: AtomicI64::new(UNMADE), copied: Copied::default() })
    }

    fn bound(slf: &Bound<'_, Self>, attribute: &str) -> PyResult<Option<u32>> {
        match slf.get().bound.load(Ordering::Relaxed) {
            UNMADE => Err(no_attribute(slf.as_any(), attribute)),
            bound => Ok(u32::try_from(bound).ok()),
        }
    }

    fn initialise(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>, bounded: bool) -> PyResult<()> {
        let this = slf.get();
        if value.lt(0)? {
            return Err(PyValueError::new_err("semaphore initial value must be >= 0"));
        }
        let value: u32 = value.extract()?;
        let bound = bounded.then_some(value);
        let state = PrimitiveState::Semaphore { value, bound };
        this.primitive.require_own(slf.py())?;
        match this.bound.load(Ordering::Relaxed) {
            UNMADE => this.primitive.put(state),
            _ => this.primitive.renew(slf.py(), "Semaphore", state)?,
        }
        this.bound.store(bound.map_or(UNBOUNDED, i64::from), Ordering::Relaxed);
        Ok(())
    }

    fn take(slf: &Bound<'_, Self>, blocking: bool, timeout: Option<f64>) -> PyResult<bool> {
        Semaphore::bound(slf, "_cond")?;
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
        if blocking {
            Semaphore::require_no_copy(slf)?;
        }
        let may_fail = !blocking || timeout.is_some();
        let kind = if may_fail { OperationKind::SemaphoreTryAcquire } else { OperationKind::SemaphoreAcquire };
        let host = primitive.host();
        if !may_fail {
            host.note_waiting(py, Word::Acquire, Some(slf.as_any()));
        }
        let (effect, event) = primitive.operate(py, Operation::new(kind, primitive.location(), 1))?;
        let taken = effect == Effect::Done(1);
        if let (false, Some(seconds)) = (taken, timeout) {
            primitive.pass_time(seconds);
        }
        let word = if may_fail { Word::TryAcquire } else { Word::Acquire };
        host.note_bool(py, word, slf.as_any(), taken, event);
        Ok(taken)
    }

    /// Copies share the threads that wait: a release of one can wake a thread that waits for the other, and no other.
    fn require_no_copy(slf: &Bound<'_, Self>) -> PyResult<()> {
        let (py, this) = (slf.py(), slf.get());
        match this.copied.is_noted() && shown::value(py, &this.primitive)? == 0 {
            true => this.copied.require_alone(py, this.primitive.host(), "Semaphore"),
            false => Ok(()),
        }
    }

    fn take_within(slf: &Bound<'_, Self>, blocking: bool, timeout: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        match timeout.map(timeouts::of_wait).transpose() {
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
        Semaphore::bound(slf, "_cond")?;
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
        let operation = Operation::new(OperationKind::SemaphoreRelease, primitive.location(), count);
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
    #[pyo3(signature = (*_arguments, **_keywords))]
    fn new(
        py: Python<'_>,
        _arguments: &Bound<'_, PyTuple>,
        _keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Semaphore> {
        Semaphore::make(py)
    }

    #[pyo3(signature = (value = Given::No))]
    fn __init__(slf: &Bound<'_, Self>, value: Given<'_>) -> PyResult<()> {
        Semaphore::initialise(slf, &value_or_one(slf.py(), value)?, false)
    }

    #[getter]
    fn _value(slf: &Bound<'_, Self>) -> PyResult<i64> {
        Semaphore::bound(slf, "_value")?;
        shown::value(slf.py(), &slf.get().primitive)
    }

    #[setter(_value)]
    fn set_value(slf: &Bound<'_, Self>, value: u32) -> PyResult<()> {
        let bound = Semaphore::bound(slf, "_value")?;
        let state = PrimitiveState::Semaphore { value, bound };
        slf.get().primitive.assign(slf.py(), "_value", "Semaphore", state)
    }

    #[getter]
    fn _cond(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        Semaphore::bound(slf, "_cond")?;
        Err(slf.get().primitive.host().uncontrolled(slf.py(), "uses _cond of a threading.Semaphore".to_owned()))
    }

    /// A copy has a value of its own, and the same threads that wait.
    fn __copy__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let value = u32::try_from(Semaphore::_value(slf)?).unwrap_or(0);
        slf.get().primitive.require_own(slf.py())?;
        let bound = Semaphore::bound(slf, "_value")?;
        let copy = copying::made_alike(slf.as_any())?;
        let other = copy.cast::<Semaphore>()?.get();
        other.primitive.put(PrimitiveState::Semaphore { value, bound });
        other.bound.store(bound.map_or(UNBOUNDED, i64::from), Ordering::Relaxed);
        slf.get().copied.note(&other.copied);
        Ok(copy)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        copying::reduce(slf.as_any(), copying::LOCK)
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

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let bound = Semaphore::bound(slf, "_value")?;
        let value = shown::value(slf.py(), &slf.get().primitive)?;
        match bound {
            Some(bound) => shown::named(slf.as_any(), &format!("value={value}/{bound}")),
            None => shown::named(slf.as_any(), &format!("value={value}")),
        }
    }
}

/// `threading.BoundedSemaphore`
#[pyclass(frozen, subclass, extends = Semaphore, module = "threading")]
pub struct BoundedSemaphore;

#[pymethods]
impl BoundedSemaphore {
    #[new]
    #[pyo3(signature = (*_arguments, **_keywords))]
    fn new(
        py: Python<'_>,
        _arguments: &Bound<'_, PyTuple>,
        _keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<BoundedSemaphore>> {
        Ok(PyClassInitializer::from(Semaphore::make(py)?).add_subclass(BoundedSemaphore))
    }

    #[pyo3(signature = (value = Given::No))]
    fn __init__(slf: &Bound<'_, Self>, value: Given<'_>) -> PyResult<()> {
        Semaphore::initialise(slf.as_super(), &value_or_one(slf.py(), value)?, true)
    }

    #[getter]
    fn _initial_value(slf: &Bound<'_, Self>) -> PyResult<u32> {
        let bound = Semaphore::bound(slf.as_super(), "_initial_value")?;
        bound.ok_or_else(|| no_attribute(slf.as_any(), "_initial_value"))
    }
}

fn value_or_one<'py>(py: Python<'py>, value: Given<'py>) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Given::Value(value) => Ok(value),
        Given::No => Ok(1_i64.into_pyobject(py)?.into_any()),
    }
}
