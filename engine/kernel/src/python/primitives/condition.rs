//! `threading.Condition`.

use std::collections::VecDeque;
use std::sync::Mutex;

use pyo3::exceptions::{PyDeprecationWarning, PyRuntimeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::locks::{lock_core, LockCore, RLock};
use super::{copying, shown, timeouts, Primitive, Standing};
use crate::memory::{Effect, Misuse, PrimitiveState};
use crate::operation::{EventId, LocationId, Operation, OperationKind};
use crate::python::explore::recording::Word;
use crate::python::host::{current_host, Host};
use crate::python::identities::identity::KeyId;
use crate::python::threads::switching::Footprint;

/// `threading.Condition`
#[pyclass(frozen, subclass, dict, weakref, module = "threading")]
pub struct Condition {
    pub(super) primitive: Primitive,
    /// None until `__init__` has been called.
    lock: Mutex<Option<Py<PyAny>>>,
}

impl Condition {
    /// The lock; AttributeError if `__init__` was not called.
    pub(super) fn lock<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let lock = slf.get().lock.lock().ok().and_then(|lock| lock.as_ref().map(|lock| lock.bind(py).clone()));
        lock.ok_or_else(|| super::no_attribute(slf.as_any(), "_lock"))
    }

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
    fn check_owned_first(slf: &Bound<'_, Self>, message: &'static str) -> PyResult<()> {
        let (py, this, lock) = (slf.py(), slf.get(), Condition::lock(slf)?);
        match (this.primitive.standing_to_look(py)?, lock_core(&lock)) {
            (Standing::Live, Some(core)) => this.check_owned(py, core, message),
            _ => Ok(()),
        }
    }

    /// Whether a wait may end without a reason. Not twice in a row with nobody having held the lock in between: the
    /// second would find what the first has found, and a loop around the wait would never end.
    fn may_wake_spuriously(&self, lock: LocationId) -> bool {
        let state = self.primitive.host().state();
        if !state.exploration.settings.spurious_wakeups {
            return false;
        }
        let last = state.waits.primitives.spurious_at.get(&(state.current, self.primitive.location()));
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
        let lock = &Condition::lock(slf)?;
        let Some(core) = lock_core(lock) else {
            return Err(primitive.host().uncontrolled(py, "uses a Condition over a lock of another kind".to_owned()));
        };
        this.check_owned(py, core, "cannot wait on un-acquired lock")?;
        let host = primitive.host();
        let (lock_location, own) = (core.primitive.location(), primitive.location());
        let spurious = this.may_wake_spuriously(lock_location);
        if !host.state().is_visible(lock_location) {
            host.state().make_visible(lock_location);
        }
        let operation = Operation::new(OperationKind::Wait, lock_location, own.0);
        if let Effect::Misused(Misuse::WaitUnheld) = host.perform(py, operation, 1, |_| Footprint::default())? {
            let error = PyRuntimeError::new_err("cannot wait on un-acquired lock");
            return Err(primitive.misused(py, error));
        }
        host.note(py, Word::Wait, Some(slf.as_any()), None, None, true);
        if timeout.is_none() && !spurious {
            host.note_waiting(py, Word::Wake, Some(slf.as_any()));
            host.perform(py, Operation::new(OperationKind::Wake, lock_location, own.0), 1, |_| Footprint::default())?;
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
            host.perform(py, Operation::new(OperationKind::TimedWake, slot, own.0), 1, |_| Footprint::default())?;
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
        host.perform(py, Operation::new(OperationKind::Acquire, lock_location, 0), 1, |_| Footprint::default())?;
        {
            let mut state = host.state();
            let current = state.current;
            let primitives = state.driver.memory.primitives_mut();
            let depth = primitives.leave(own, current);
            primitives.restore_depth(lock_location, depth.max(1));
            let taken = primitives.times_taken(lock_location);
            if woke_spuriously {
                state.waits.primitives.spurious_at.insert((current, own), taken);
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
        let lock = &Condition::lock(slf)?;
        let Some(core) = lock_core(lock) else {
            return Err(primitive.host().uncontrolled(py, "uses a Condition over a lock of another kind".to_owned()));
        };
        this.check_owned(py, core, "cannot notify on un-acquired lock")?;
        let host = primitive.host();
        let operation = Operation::new(OperationKind::Notify, primitive.location(), count);
        host.state().affect_loops();
        let seen = {
            let state = host.state();
            state.contents.shown.waits || state.driver.memory.primitives().has_timed_waiter(primitive.location())
        };
        let (effect, event) = if seen {
            (host.perform(py, operation, 1, |_| Footprint::default())?, true)
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
    #[pyo3(signature = (*_arguments, **_keywords))]
    fn new(
        py: Python<'_>,
        _arguments: &Bound<'_, PyTuple>,
        _keywords: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Condition> {
        let state = PrimitiveState::Condition { waiters: VecDeque::new() };
        Ok(Condition { primitive: Primitive::new(py, "Condition", Some(state), 0)?, lock: Mutex::new(None) })
    }

    #[pyo3(signature = (lock = None))]
    fn __init__(slf: &Bound<'_, Self>, lock: Option<Py<PyAny>>) -> PyResult<()> {
        let (py, this) = (slf.py(), slf.get());
        this.primitive.require_own(py)?;
        let made_before = this.lock.lock().is_ok_and(|lock| lock.is_some());
        if made_before {
            this.primitive.renew(py, "Condition", PrimitiveState::Condition { waiters: VecDeque::new() })?;
        }
        let lock = match lock {
            Some(lock) => lock,
            None => Py::new(py, RLock(LockCore::new(py, true)?))?.into_any(),
        };
        if let Ok(mut own) = this.lock.lock() {
            *own = Some(lock);
        }
        Ok(())
    }

    #[getter]
    fn _lock<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Condition::lock(slf)
    }

    #[getter]
    fn _waiters(slf: &Bound<'_, Self>) -> PyResult<Waiters> {
        Condition::lock(slf)?;
        Ok(Waiters { condition: slf.clone().unbind() })
    }

    #[pyo3(signature = (*arguments, **keywords))]
    fn acquire<'py>(
        slf: &Bound<'py, Self>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        Condition::lock(slf)?.getattr(intern!(slf.py(), "acquire"))?.call(arguments, keywords)
    }

    fn release<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Condition::lock(slf)?.call_method0(intern!(slf.py(), "release"))
    }

    fn __enter__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Condition::lock(slf)?.call_method0(intern!(slf.py(), "__enter__"))
    }

    #[pyo3(signature = (*exception))]
    fn __exit__<'py>(slf: &Bound<'py, Self>, exception: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        Condition::lock(slf)?.getattr(intern!(slf.py(), "__exit__"))?.call1(exception)
    }

    fn _is_owned(slf: &Bound<'_, Self>) -> PyResult<bool> {
        let lock = Condition::lock(slf)?;
        match lock_core(&lock) {
            // Who holds a plain lock is not known: CPython tries to take it.
            Some(core) if core.reentrant => Ok(core.owned()),
            Some(core) => core.locked(slf.py()),
            None => lock.call_method0(intern!(slf.py(), "_is_owned"))?.extract(),
        }
    }

    /// What the lock does by this name; a plain lock is released.
    fn _release_save<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, lock) = (slf.py(), Condition::lock(slf)?);
        match lock.getattr_opt(intern!(py, "_release_save"))? {
            Some(own) => own.call0(),
            None => lock.call_method0(intern!(py, "release")),
        }
    }

    fn _acquire_restore<'py>(slf: &Bound<'py, Self>, state: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let (py, lock) = (slf.py(), Condition::lock(slf)?);
        match lock.getattr_opt(intern!(py, "_acquire_restore"))? {
            Some(own) => own.call1((state,)),
            None => lock.call_method0(intern!(py, "acquire")),
        }
    }

    fn _at_fork_reinit(slf: &Bound<'_, Self>) -> PyResult<()> {
        let py = slf.py();
        Condition::lock(slf)?.call_method0(intern!(py, "_at_fork_reinit"))?;
        let state = PrimitiveState::Condition { waiters: VecDeque::new() };
        slf.get().primitive.reinit(py, "Condition", state)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        shown::condition(slf)
    }

    /// A copy has the same lock and the same waiters, which is to say that it is the same condition.
    fn __copy__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let lock = Condition::lock(slf)?;
        let copy = copying::made_alike(slf.as_any())?;
        let other = copy.cast::<Condition>()?.get();
        other.primitive.share(&slf.get().primitive);
        if let Ok(mut own) = other.lock.lock() {
            *own = Some(lock.unbind());
        }
        Ok(copy)
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let lock = Condition::lock(slf)?;
        copying::reduce(slf.as_any(), &lock.get_type().fully_qualified_name()?.to_string())
    }

    #[pyo3(signature = (timeout = None))]
    fn wait(slf: &Bound<'_, Self>, timeout: Option<&Bound<'_, PyAny>>) -> PyResult<bool> {
        match timeout.map(timeouts::of_wait).transpose() {
            Ok(seconds) => Condition::wait_here(slf, seconds),
            Err(error) => {
                Condition::check_owned_first(slf, "cannot wait on un-acquired lock")?;
                Err(error)
            }
        }
    }

    #[pyo3(signature = (predicate, timeout = None))]
    fn wait_for<'py>(
        slf: &Bound<'py, Self>,
        predicate: &Bound<'py, PyAny>,
        timeout: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let predicate = &match current_host(py) {
            Some(host) => host.get().control(py, predicate.clone())?,
            None => predicate.clone(),
        };
        let mut result = predicate.call0()?;
        let mut deadline: Option<f64> = None;
        let mut remaining = timeout;
        while !result.is_truthy()? {
            if let Some(given) = &remaining {
                let now = slf.get().primitive.now();
                match deadline {
                    // The first wait takes place even if there is no time for it: it gives the lock back.
                    None => deadline = Some(now + timeouts::of_wait(given)?),
                    Some(end) if end <= now => break,
                    Some(end) => remaining = Some((end - now).into_pyobject(py)?.into_any()),
                }
            }
            match slf.is_exact_instance_of::<Condition>() {
                true => drop(Condition::wait(slf, remaining.as_ref())?),
                false => drop(slf.call_method1(intern!(py, "wait"), (remaining.as_ref(),))?),
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
                Condition::check_owned_first(slf, "cannot notify on un-acquired lock")?;
                Err(error)
            }
        }
    }

    fn notify_all(slf: &Bound<'_, Self>) -> PyResult<()> {
        Condition::notify_here(slf, u32::MAX)
    }

    #[pyo3(name = "notifyAll")]
    fn notify_all_old(slf: &Bound<'_, Self>) -> PyResult<()> {
        let py = slf.py();
        let message = c"notifyAll() is deprecated, use notify_all() instead";
        PyErr::warn(py, &py.get_type::<PyDeprecationWarning>(), message, 1)?;
        Condition::notify_here(slf, u32::MAX)
    }
}

/// `Condition._waiters`: how many threads wait to be notified. Nothing else can be asked of it.
#[pyclass(frozen, name = "deque", module = "collections")]
pub struct Waiters {
    condition: Py<Condition>,
}

#[pymethods]
impl Waiters {
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        shown::waiting(self.condition.bind(py))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        match shown::waiting(self.condition.bind(py))? {
            0 => Ok("deque([])".to_owned()),
            _ => Err(self.refuse(py, "shows the locks of threads that wait for a Condition")),
        }
    }

    fn __getattr__(&self, py: Python<'_>, name: &str) -> PyResult<Py<PyAny>> {
        Err(self.refuse(py, &format!("uses {name} of the _waiters of a Condition")))
    }

    fn __iter__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        Err(self.refuse(py, "iterates over the _waiters of a Condition"))
    }
}

impl Waiters {
    fn refuse(&self, py: Python<'_>, what: &str) -> PyErr {
        self.condition.get().primitive.host().uncontrolled(py, what.to_owned())
    }
}
