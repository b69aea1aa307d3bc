//! `threading.Condition`.

use std::collections::VecDeque;

use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::locks::{lock_core, LockCore, RLock};
use super::{shown, Primitive, Standing};
use crate::memory::{Effect, Misuse, PrimitiveState};
use crate::operation::{EventId, LocationId, Operation, OperationKind};
use crate::program::python::host::Host;
use crate::program::python::identity::KeyId;
use crate::program::python::recording::Word;
use crate::program::python::switching::Touch;

/// `threading.Condition`
#[pyclass(frozen, subclass, weakref, module = "dpor._kernel")]
pub struct Condition {
    pub(super) primitive: Primitive,
    pub(super) lock: Py<PyAny>,
}

impl Condition {
    /// Whether the calling thread may wait and notify. A plain lock that another thread holds counts as held, as in
    /// the standard library, which can only try to take it.
    fn check_owned(&self, py: Python<'_>, core: &LockCore, message: &'static str) -> PyResult<()> {
        let held = core.owned() || (!core.reentrant && core.locked(py)?);
        if held {
            return Ok(());
        }
        Err(self.primitive.misused(py, PyRuntimeError::new_err(message)))
    }

    /// The same before an argument is refused: who does not hold the lock is told that first.
    fn check_owned_first(&self, py: Python<'_>, message: &'static str) -> PyResult<()> {
        match (self.primitive.standing_to_look(py)?, lock_core(self.lock.bind(py))) {
            (Standing::Live, Some(core)) => self.check_owned(py, core, message),
            _ => Ok(()),
        }
    }

    /// Whether a wait may end without a reason. Not twice in a row with nobody having held the lock in between: the
    /// second would find what the first has found, and a loop around the wait would never end.
    fn may_wake_spuriously(&self, lock: LocationId) -> bool {
        let state = self.primitive.host().state();
        if !state.spurious_wakeups {
            return false;
        }
        let last = state.spurious_at.get(&(state.current, self.primitive.location));
        last.is_none_or(|taken| *taken != state.driver.memory.primitives().times_taken(lock))
    }

    fn wait_here(slf: &Bound<'_, Self>, timeout: Option<f64>) -> PyResult<bool> {
        let py = slf.py();
        let this = slf.get();
        let primitive = &this.primitive;
        match primitive.standing(py, "waits for a condition")? {
            Standing::Live => {}
            Standing::Plain => return Ok(true),
            Standing::Over => return Err(Host::aborted()),
        }
        let lock = this.lock.bind(py);
        let Some(core) = lock_core(lock) else {
            return Err(primitive.host().escape_with(py, "uses a Condition over a lock of another kind".to_owned()));
        };
        this.check_owned(py, core, "cannot wait on un-acquired lock")?;
        let host = primitive.host();
        let (lock_location, own) = (core.primitive.location, primitive.location);
        let spurious = this.may_wake_spuriously(lock_location);
        if !host.state().is_visible(lock_location) {
            host.state().make_visible(lock_location);
        }
        let operation = Operation::new(OperationKind::Wait, lock_location, own.0);
        if let Effect::Misused(Misuse::WaitUnheld) = host.perform(py, operation, 1, |_| Touch::default())? {
            let error = PyRuntimeError::new_err("cannot wait on un-acquired lock");
            return Err(primitive.misused(py, error));
        }
        host.note(py, Word::Wait, Some(slf.as_any()), None, None, true);
        if timeout.is_none() && !spurious {
            host.note_waiting(py, Word::Wake, Some(slf.as_any()));
            host.perform(py, Operation::new(OperationKind::Wake, lock_location, own.0), 1, |_| Touch::default())?;
            host.note_bool(py, Word::Wake, slf.as_any(), true, true);
            return Ok(true);
        }
        let slot = {
            let mut state = host.state();
            let current = state.current;
            let object = state.identities.info(own).object;
            let slot = state.identities.location(object, KeyId::slot(current), false);
            state.driver.memory.primitives_mut().set_slot(own, current, slot);
            slot
        };
        host.note_waiting(py, Word::Wake, Some(slf.as_any()));
        let ended =
            host.perform(py, Operation::new(OperationKind::TimedWake, slot, own.0), 1, |_| Touch::default())?;
        let notified = ended == Effect::Done(1);
        if notified {
            host.state().affect_loops();
        }
        let woke_spuriously = !notified && timeout.is_none();
        if let (false, Some(seconds)) = (notified, timeout) {
            primitive.pass_time(seconds);
        }
        host.note_bool(py, Word::Wake, slf.as_any(), notified || timeout.is_none(), true);
        host.note_waiting(py, Word::Acquire, Some(lock));
        host.perform(py, Operation::new(OperationKind::Acquire, lock_location, 0), 1, |_| Touch::default())?;
        {
            let mut state = host.state();
            let current = state.current;
            let primitives = state.driver.memory.primitives_mut();
            let depth = primitives.leave(own, current);
            primitives.restore_depth(lock_location, depth.max(1));
            let taken = primitives.times_taken(lock_location);
            if woke_spuriously {
                state.spurious_at.insert((current, own), taken);
            }
        }
        host.note_bool(py, Word::Acquire, lock, true, true);
        Ok(notified || timeout.is_none())
    }

    fn notify_here(slf: &Bound<'_, Self>, count: u32) -> PyResult<()> {
        let py = slf.py();
        let this = slf.get();
        let primitive = &this.primitive;
        match primitive.standing(py, "notifies a condition")? {
            Standing::Live => {}
            Standing::Plain | Standing::Over => return Ok(()),
        }
        let lock = this.lock.bind(py);
        let Some(core) = lock_core(lock) else {
            return Err(primitive.host().escape_with(py, "uses a Condition over a lock of another kind".to_owned()));
        };
        this.check_owned(py, core, "cannot notify on un-acquired lock")?;
        let host = primitive.host();
        let operation = Operation::new(OperationKind::Notify, primitive.location, count);
        host.state().affect_loops();
        let seen = {
            let state = host.state();
            state.waits_are_shown || state.driver.memory.primitives().has_timed_waiter(primitive.location)
        };
        let (effect, event) = if seen {
            (host.perform(py, operation, 1, |_| Touch::default())?, true)
        } else {
            host.drain_if_owed(py)?;
            // The lock orders it: as part of the event before it, it cannot be told apart.
            let mut state = host.state();
            let event = EventId((state.driver.position() as u32).saturating_sub(1));
            let current = state.current;
            (state.driver.memory.perform(current, &operation, event), false)
        };
        if host.is_recording() {
            let woken = match effect {
                Effect::Done(woken) => woken,
                Effect::Buffered | Effect::Misused(_) => 0,
            };
            let value = woken.into_pyobject(py)?;
            host.note(py, Word::Notify, Some(slf.as_any()), None, Some(value.as_any()), event);
        }
        Ok(())
    }
}

#[pymethods]
impl Condition {
    #[new]
    #[pyo3(signature = (lock = None))]
    fn new(py: Python<'_>, lock: Option<Py<PyAny>>) -> PyResult<Condition> {
        let lock = match lock {
            Some(lock) => lock,
            None => Py::new(py, RLock(LockCore::new(py, true)?))?.into_any(),
        };
        let state = PrimitiveState::Condition { waiters: VecDeque::new() };
        Ok(Condition { primitive: Primitive::new(py, "Condition", Some(state), 0)?, lock })
    }

    #[getter]
    fn _lock(&self, py: Python<'_>) -> Py<PyAny> {
        self.lock.clone_ref(py)
    }

    #[pyo3(signature = (*arguments, **keywords))]
    fn acquire<'py>(
        &self,
        py: Python<'py>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.lock.bind(py).getattr(intern!(py, "acquire"))?.call(arguments, keywords)
    }

    fn release<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.lock.bind(py).call_method0(intern!(py, "release"))
    }

    fn __enter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.lock.bind(py).call_method0(intern!(py, "__enter__"))
    }

    #[pyo3(signature = (*exception))]
    fn __exit__<'py>(&self, py: Python<'py>, exception: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        self.lock.bind(py).getattr(intern!(py, "__exit__"))?.call1(exception)
    }

    fn _is_owned<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.lock.bind(py).call_method0(intern!(py, "_is_owned"))
    }

    fn _at_fork_reinit(&self) {}

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        shown::condition(self, py)
    }

    #[pyo3(signature = (timeout = None))]
    fn wait(slf: &Bound<'_, Self>, timeout: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        match timeout.map(PyAnyMethods::extract::<f64>).transpose() {
            Ok(seconds) => Condition::wait_here(slf, seconds),
            Err(error) => {
                slf.get().check_owned_first(slf.py(), "cannot wait on un-acquired lock")?;
                Err(error)
            }
        }
    }

    #[pyo3(signature = (predicate, timeout = None))]
    fn wait_for<'py>(
        slf: &Bound<'py, Self>,
        predicate: &Bound<'py, PyAny>,
        timeout: Option<f64>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let mut remaining = timeout;
        let mut result = predicate.call0()?;
        while !result.is_truthy()? {
            if remaining.is_some_and(|seconds| seconds <= 0.0) {
                break;
            }
            // A time-out that passes uses up all of it; a wakeup takes no time.
            if !Condition::wait_here(slf, remaining)? {
                remaining = Some(0.0);
            }
            result = predicate.call0()?;
        }
        Ok(result)
    }

    #[pyo3(signature = (n = None))]
    fn notify(slf: &Bound<'_, Self>, n: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        match n.map_or(Ok(1), PyAnyMethods::extract::<i64>) {
            Ok(count) => Condition::notify_here(slf, u32::try_from(count).unwrap_or(0)),
            Err(error) => {
                slf.get().check_owned_first(slf.py(), "cannot notify on un-acquired lock")?;
                Err(error)
            }
        }
    }

    fn notify_all(slf: &Bound<'_, Self>) -> PyResult<()> {
        Condition::notify_here(slf, u32::MAX)
    }

    #[pyo3(name = "notifyAll")]
    fn notify_all_old(slf: &Bound<'_, Self>) -> PyResult<()> {
        Condition::notify_here(slf, u32::MAX)
    }
}
