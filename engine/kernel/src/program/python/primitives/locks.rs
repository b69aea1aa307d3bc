//! `threading.Lock` and `threading.RLock`.

use std::sync::atomic::Ordering;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::{shown, timeout_of, truth, Primitive, Standing};
use crate::memory::{Effect, PrimitiveState};
use crate::operation::{EventId, Operation, OperationKind};
use crate::program::python::host::Host;
use crate::program::python::recording::Word;

/// What `Lock` and `RLock` share.
pub struct LockCore {
    pub primitive: Primitive,
    pub reentrant: bool,
}

impl LockCore {
    pub fn new(py: Python<'_>, reentrant: bool) -> PyResult<LockCore> {
        let state = PrimitiveState::Mutex { owner: None, depth: 0, reentrant, taken: 0 };
        let name = if reentrant { "RLock" } else { "Lock" };
        Ok(LockCore { primitive: Primitive::new(py, name, Some(state), 0)?, reentrant })
    }

    fn acquire(
        &self,
        py: Python<'_>,
        object: &Bound<'_, PyAny>,
        blocking: bool,
        timeout: Option<f64>,
    ) -> PyResult<bool> {
        let timeout = timeout_of(blocking, timeout)?;
        let primitive = &self.primitive;
        match primitive.standing(py, "acquires a lock")? {
            Standing::Live => {}
            Standing::Plain => {
                primitive.plain.fetch_add(1, Ordering::Relaxed);
                return Ok(true);
            }
            Standing::Over => return Err(Host::aborted()),
        }
        let host = primitive.host();
        if self.reentrant && self.owned() && !host.state().waits_are_shown {
            // Nobody else can tell how deep a thread holds its own lock.
            let mut state = host.state();
            let current = state.current;
            let operation = Operation::new(OperationKind::Acquire, primitive.location, 0);
            state.driver.quiet_perform(current, &operation);
            state.note_operation_in_loops(&operation, &[], EventId::NONE);
            return Ok(true);
        }
        let may_fail = !blocking || timeout.is_some();
        let kind = if may_fail { OperationKind::TryAcquire } else { OperationKind::Acquire };
        if !may_fail {
            host.note_waiting(py, Word::Acquire, Some(object));
        }
        let (effect, event) = primitive.operate(py, Operation::new(kind, primitive.location, 0))?;
        let taken = effect == Effect::Done(1);
        if !taken {
            if let Some(seconds) = timeout {
                primitive.pass_time(seconds);
            }
        }
        let word = if may_fail { Word::TryAcquire } else { Word::Acquire };
        host.note_bool(py, word, object, taken, event);
        Ok(taken)
    }

    fn release(&self, py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<()> {
        let primitive = &self.primitive;
        match primitive.standing(py, "releases a lock")? {
            Standing::Live => {}
            Standing::Plain => {
                if primitive.plain.fetch_sub(1, Ordering::Relaxed) <= 0 {
                    primitive.plain.store(0, Ordering::Relaxed);
                }
                return Ok(());
            }
            Standing::Over => return Ok(()),
        }
        let host = primitive.host();
        let operation = Operation::new(OperationKind::Release, primitive.location, 0);
        if self.reentrant {
            if !self.owned() {
                let error = PyRuntimeError::new_err("cannot release un-acquired lock");
                return Err(primitive.misused(py, error));
            }
            let mut state = host.state();
            let deep = !state.waits_are_shown
                && matches!(
                    state.driver.memory.primitives().get(primitive.location),
                    Some(PrimitiveState::Mutex { depth, .. }) if *depth > 1
                );
            if deep {
                let current = state.current;
                state.driver.quiet_perform(current, &operation);
                state.note_operation_in_loops(&operation, &[], EventId::NONE);
                return Ok(());
            }
        }
        let (effect, event) = primitive.operate(py, operation)?;
        if let Effect::Misused(_) = effect {
            return Err(primitive.misused(py, PyRuntimeError::new_err("release unlocked lock")));
        }
        host.note(py, Word::Release, Some(object), None, None, event);
        Ok(())
    }

    /// Whether the running thread holds the lock.
    pub fn owned(&self) -> bool {
        let state = self.primitive.host().state();
        state.driver.memory.holder(self.primitive.location) == Some(state.current)
    }

    pub fn locked(&self, py: Python<'_>) -> PyResult<bool> {
        match self.primitive.standing_to_look(py)? {
            Standing::Live => {
                self.primitive.read(py)?;
                let take = Operation::new(OperationKind::TryAcquire, self.primitive.location, 0);
                Ok(self.primitive.host().state().primitive_token(&take) > 0)
            }
            _ => Ok(self.primitive.plain.load(Ordering::Relaxed) > 0),
        }
    }
}

/// `threading.Lock`
#[pyclass(frozen, subclass, weakref, module = "dpor._kernel")]
pub struct Lock(LockCore);

/// `threading.RLock`
#[pyclass(frozen, subclass, weakref, module = "dpor._kernel")]
pub struct RLock(pub(super) LockCore);

macro_rules! lock_methods {
    ($class:ident, $reentrant:expr) => {
        #[pymethods]
        impl $class {
            #[new]
            #[pyo3(signature = (*_arguments, **_keywords))]
            fn new(
                py: Python<'_>,
                _arguments: &Bound<'_, PyTuple>,
                _keywords: Option<&Bound<'_, PyDict>>,
            ) -> PyResult<$class> {
                Ok($class(LockCore::new(py, $reentrant)?))
            }

            #[pyo3(signature = (blocking = true, timeout = -1.0))]
            fn acquire(
                slf: &Bound<'_, Self>,
                #[pyo3(from_py_with = truth)] blocking: bool,
                timeout: f64,
            ) -> PyResult<bool> {
                slf.get().0.acquire(slf.py(), slf.as_any(), blocking, Some(timeout))
            }

            fn release(slf: &Bound<'_, Self>) -> PyResult<()> {
                slf.get().0.release(slf.py(), slf.as_any())
            }

            fn locked(&self, py: Python<'_>) -> PyResult<bool> {
                self.0.locked(py)
            }

            fn __enter__(slf: &Bound<'_, Self>) -> PyResult<bool> {
                slf.get().0.acquire(slf.py(), slf.as_any(), true, None)
            }

            #[pyo3(signature = (*_exception))]
            fn __exit__(slf: &Bound<'_, Self>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
                slf.get().0.release(slf.py(), slf.as_any())
            }

            fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
                shown::lock(slf.as_any(), &slf.get().0)
            }

            fn _is_owned(&self) -> bool {
                self.0.owned()
            }

            /// Nothing to do: model code cannot fork.
            fn _at_fork_reinit(&self) {}
        }
    };
}

lock_methods!(Lock, false);
lock_methods!(RLock, true);

/// The core of a lock object that is ours.
pub fn lock_core<'a>(lock: &'a Bound<'_, PyAny>) -> Option<&'a LockCore> {
    if let Ok(lock) = lock.cast::<Lock>() {
        return Some(&lock.get().0);
    }
    lock.cast::<RLock>().ok().map(|lock| &lock.get().0)
}
