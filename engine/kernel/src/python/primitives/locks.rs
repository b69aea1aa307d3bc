//! `threading.Lock` and `threading.RLock`.

use std::sync::atomic::Ordering;

use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyTuple};

use super::{shown, timeouts, truth, Primitive, Standing};
use crate::memory::{Effect, PrimitiveState};
use crate::operation::{EventId, Operation, OperationKind};
use crate::python::explore::recording::Word;
use crate::python::host::Host;
use crate::python::threads::own_modules::OwnModule;

/// What `Lock` and `RLock` share.
pub struct LockCore {
    pub primitive: Primitive,
    pub reentrant: bool,
}

impl LockCore {
    pub fn new(py: Python<'_>, reentrant: bool) -> PyResult<LockCore> {
        let state = LockCore::free(reentrant);
        Ok(LockCore { primitive: Primitive::new(py, LockCore::name(reentrant), Some(state), 0)?, reentrant })
    }

    fn free(reentrant: bool) -> PrimitiveState {
        PrimitiveState::Mutex { owner: None, depth: 0, reentrant, taken: 0 }
    }

    fn name(reentrant: bool) -> &'static str {
        match reentrant {
            true => "RLock",
            false => "Lock",
        }
    }

    /// Nobody holds the lock any more, whoever did.
    fn reinit(&self, py: Python<'_>) -> PyResult<()> {
        self.primitive.reinit(py, LockCore::name(self.reentrant), LockCore::free(self.reentrant))
    }

    fn acquire(
        &self,
        py: Python<'_>,
        object: &Bound<'_, PyAny>,
        blocking: bool,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let timeout = timeouts::of_lock(timeout, blocking)?;
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
        if self.reentrant && self.owned() && !host.state().contents.shown.waits {
            // Nobody else can tell how deep a thread holds its own lock.
            let mut state = host.state();
            let current = state.current;
            let operation = Operation::new(OperationKind::Acquire, primitive.location(), 0);
            state.driver.quiet_perform(current, &operation);
            state.note_operation_in_loops(&operation, &[], EventId::NONE);
            return Ok(true);
        }
        let may_fail = !blocking || timeout.is_some();
        let kind = if may_fail { OperationKind::TryAcquire } else { OperationKind::Acquire };
        if !may_fail {
            host.note_waiting(py, Word::Acquire, Some(object));
        }
        if !may_fail && host.enter_section(py, primitive.location())? {
            host.note_bool(py, Word::Acquire, object, true, true);
            return Ok(true);
        }
        let (effect, event) = primitive.operate(py, Operation::new(kind, primitive.location(), 0))?;
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
        let operation = Operation::new(OperationKind::Release, primitive.location(), 0);
        if self.reentrant {
            if !self.owned() {
                let error = PyRuntimeError::new_err("cannot release un-acquired lock");
                return Err(primitive.misused(py, error));
            }
            let mut state = host.state();
            let deep = !state.contents.shown.waits
                && matches!(
                    state.driver.memory.primitives().get(primitive.location()),
                    Some(PrimitiveState::Mutex { depth, .. }) if *depth > 1
                );
            if deep {
                let current = state.current;
                state.driver.quiet_perform(current, &operation);
                state.note_operation_in_loops(&operation, &[], EventId::NONE);
                return Ok(());
            }
        }
        if host.leave_section(py, primitive.location())? {
            host.note(py, Word::Release, Some(object), None, None, true);
            return Ok(());
        }
        let (effect, event) = primitive.operate(py, operation)?;
        if let Effect::Misused(_) = effect {
            return Err(primitive.misused(py, PyRuntimeError::new_err("release unlocked lock")));
        }
        host.note(py, Word::Release, Some(object), None, None, event);
        Ok(())
    }

    /// How often its holder has taken it.
    fn depth(&self) -> u32 {
        match self.primitive.host().state().driver.memory.primitives().get(self.primitive.location()) {
            Some(PrimitiveState::Mutex { depth, .. }) => *depth,
            _ => 0,
        }
    }

    /// Have the lock taken as often as that by the running thread, which holds it. No other thread may be able to tell.
    fn set_depth(&self, py: Python<'_>, depth: u32) -> PyResult<()> {
        let mut state = self.primitive.host().state();
        if state.contents.shown.waits {
            drop(state);
            let what = "saves how often an RLock is held, whose text other threads read";
            return Err(self.primitive.host().uncontrolled(py, what.to_owned()));
        }
        state.driver.memory.primitives_mut().restore_depth(self.primitive.location(), depth);
        Ok(())
    }

    /// Whether the running thread holds the lock.
    pub fn owned(&self) -> bool {
        let state = self.primitive.host().state();
        state.driver.memory.holder(self.primitive.location()) == Some(state.current)
    }

    pub fn locked(&self, py: Python<'_>) -> PyResult<bool> {
        match self.primitive.standing_to_look(py)? {
            Standing::Live => {
                self.primitive.read(py)?;
                let take = Operation::new(OperationKind::TryAcquire, self.primitive.location(), 0);
                Ok(self.primitive.host().state().primitive_token(&take) > 0)
            }
            _ => Ok(self.primitive.plain.load(Ordering::Relaxed) > 0),
        }
    }
}

/// `threading.Lock`
#[pyclass(frozen, subclass, weakref, name = "lock", module = "_thread")]
pub struct Lock(LockCore);

/// `threading.RLock`
#[pyclass(frozen, subclass, weakref, module = "_thread")]
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

            #[pyo3(signature = (blocking = true, timeout = Given::No))]
            fn acquire(
                slf: &Bound<'_, Self>,
                #[pyo3(from_py_with = waits)] blocking: bool,
                timeout: Given<'_>,
            ) -> PyResult<bool> {
                slf.get().0.acquire(slf.py(), slf.as_any(), blocking, timeout.value())
            }

            fn release(slf: &Bound<'_, Self>) -> PyResult<()> {
                slf.get().0.release(slf.py(), slf.as_any())
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

            fn _at_fork_reinit(&self, py: Python<'_>) -> PyResult<()> {
                self.0.reinit(py)
            }
        }
    };
}

lock_methods!(Lock, false);
lock_methods!(RLock, true);

#[pymethods]
impl Lock {
    fn locked(&self, py: Python<'_>) -> PyResult<bool> {
        self.0.locked(py)
    }

    fn locked_lock(&self, py: Python<'_>) -> PyResult<bool> {
        self.0.locked(py)
    }

    #[pyo3(signature = (blocking = true, timeout = Given::No))]
    fn acquire_lock(
        slf: &Bound<'_, Self>,
        #[pyo3(from_py_with = waits)] blocking: bool,
        timeout: Given<'_>,
    ) -> PyResult<bool> {
        Lock::acquire(slf, blocking, timeout)
    }

    fn release_lock(slf: &Bound<'_, Self>) -> PyResult<()> {
        Lock::release(slf)
    }
}

#[pymethods]
impl RLock {
    fn _is_owned(&self) -> bool {
        self.0.owned()
    }

    fn _recursion_count(&self) -> u32 {
        match self.0.owned() {
            true => self.0.depth(),
            false => 0,
        }
    }

    /// Give the lock back however often it was taken. Returns how often, and by whom, for `_acquire_restore`.
    fn _release_save<'py>(slf: &Bound<'py, Self>) -> PyResult<(u32, Bound<'py, PyAny>)> {
        let (py, core) = (slf.py(), &slf.get().0);
        if !core.owned() {
            core.release(py, slf.as_any())?;
        }
        let depth = core.depth();
        if depth > 1 {
            core.set_depth(py, 1)?;
        }
        let ident = OwnModule::ThreadFunctions.get(py)?.call_method0(intern!(py, "running_ident"))?;
        core.release(py, slf.as_any())?;
        Ok((depth, ident))
    }

    fn _acquire_restore(slf: &Bound<'_, Self>, state: (u32, Bound<'_, PyAny>)) -> PyResult<()> {
        let (py, core) = (slf.py(), &slf.get().0);
        core.acquire(py, slf.as_any(), true, None)?;
        match state.0 {
            depth if depth > 1 => core.set_depth(py, depth),
            _ => Ok(()),
        }
    }
}

/// The argument that says whether to wait for a lock: up to Python 3.11 an integer, since then anything.
fn waits(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    match value.is_instance_of::<PyBool>() || value.py().version_info() >= (3, 12) {
        true => truth(value),
        false => Ok(value.extract::<i32>()? != 0),
    }
}

/// An argument that was given or not, where None is a value like any other.
pub enum Given<'py> {
    No,
    Value(Bound<'py, PyAny>),
}

impl<'py> Given<'py> {
    fn value(&self) -> Option<&Bound<'py, PyAny>> {
        match self {
            Given::No => None,
            Given::Value(value) => Some(value),
        }
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Given<'py> {
    type Error = PyErr;

    fn extract(value: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Ok(Given::Value(value.to_owned()))
    }
}

#[pymethods]
impl Host {
    /// Whether another thread holds a lock of the kernel; true for any other object.
    #[pyo3(signature = (lock, /))]
    fn is_held_by_another(&self, lock: &Bound<'_, PyAny>) -> PyResult<bool> {
        match lock_core(lock) {
            Some(core) => Ok(!core.owned() && core.locked(lock.py())?),
            None => Ok(true),
        }
    }
}

/// The core of a lock object that is ours.
pub fn lock_core<'a>(lock: &'a Bound<'_, PyAny>) -> Option<&'a LockCore> {
    if let Ok(lock) = lock.cast::<Lock>() {
        return Some(&lock.get().0);
    }
    lock.cast::<RLock>().ok().map(|lock| &lock.get().0)
}
