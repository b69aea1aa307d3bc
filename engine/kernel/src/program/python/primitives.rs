//! Locks, conditions, semaphores, events and queues: `threading` and `queue` on the kernel's memory model.
//!
//! Their state lives in the memory model, by location, so that explorers can ask about it. Outside an execution (while
//! modules are imported, or when leftovers are collected) they behave as plain objects of one thread.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::Mutex;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::host::{access, require_host, Host, Phase, Restart, Touch};
use super::identity::KeyId;
use super::recording::Word;
use crate::memory::{Effect, Misuse, PrimitiveState};
use crate::operation::{AccessMode, EventId, LocationId, Operation, OperationKind};

/// Added to a time-out that has passed, so that a deadline computed from it lies in the past.
const AFTER_TIMEOUT: f64 = 1e-6;

/// What every primitive is: a location of one execution.
pub struct Primitive {
    pub host: Py<Host>,
    pub location: LocationId,
    /// The execution that it was made in; 0 for one that was made before any.
    execution: u64,
    /// The count (or 1 for held or set) while no execution runs.
    plain: AtomicI64,
}

/// How an operation may be carried out.
pub enum Standing {
    /// In the running execution.
    Live,
    /// No execution runs: act as a plain object.
    Plain,
    /// The execution is being unwound.
    Over,
}

impl Primitive {
    pub fn new(py: Python<'_>, object_type: &str, state: Option<PrimitiveState>, plain: i64) -> PyResult<Primitive> {
        let host = require_host(py)?;
        let (location, execution) = {
            let mut host_state = host.get().state();
            let token = host_state.types.token(object_type.to_owned());
            let object = host_state.next_object(token);
            let location = host_state.identities.location(object, KeyId::STATE, false);
            let live = host_state.running();
            if let (true, Some(state)) = (live, state) {
                host_state.driver.memory.create(location, state);
            }
            (location, if live { host_state.execution_number } else { 0 })
        };
        Ok(Primitive { host, location, execution, plain: AtomicI64::new(plain) })
    }

    pub fn host(&self) -> &Host {
        self.host.get()
    }

    /// Whether the primitive can be used in the running execution.
    pub fn standing(&self, py: Python<'_>) -> PyResult<Standing> {
        let (phase, execution) = {
            let state = self.host().state();
            (state.phase, state.execution_number)
        };
        match phase {
            Phase::Idle => Ok(Standing::Plain),
            Phase::Unwinding => Ok(Standing::Over),
            _ if self.execution == execution => Ok(Standing::Live),
            _ if self.execution == 0 => Err(self.host().restart_with(py, Restart::ModuleState)),
            _ => Err(self.host().escape_with(
                py,
                "a synchronisation primitive of an earlier execution is used again (is it kept in a module that is \
                 not instrumented?)"
                    .to_owned(),
            )),
        }
    }

    /// Perform an operation, as an event if its location is visible or it has to wait. Returns the effect and whether
    /// it was an event.
    pub fn operate(&self, py: Python<'_>, operation: Operation) -> PyResult<(Effect, bool)> {
        let host = self.host();
        {
            let mut state = host.state();
            let current = state.current;
            if state.phase == Phase::Running && !state.is_visible(operation.target) {
                let touched = state.driver.memory.accesses(current, &operation);
                state.quiet(&touched);
                if state.driver.memory.enabled(current, &operation) {
                    let effect = state.driver.quiet_perform(current, &operation);
                    state.synchronise(&operation);
                    return Ok((effect, false));
                }
                state.make_visible(operation.target);
            }
        }
        Ok((host.perform(py, operation, 1, |_| Touch::default())?, true))
    }

    /// Let the thread's clock pass a time-out.
    fn pass_time(&self, seconds: f64) {
        let mut state = self.host().state();
        let current = state.current;
        state.thread(current).time += seconds.max(0.0) + AFTER_TIMEOUT;
    }

    /// Read the primitive's state as a plain visible read.
    fn read(&self, py: Python<'_>) -> PyResult<bool> {
        let location = self.location;
        {
            let mut state = self.host().state();
            let touched = [access(location, AccessMode::Read)];
            if state.phase == Phase::Probing {
                state.probed.extend(touched);
                return Ok(false);
            }
            if !state.is_visible(location) {
                state.quiet(&touched);
                return Ok(false);
            }
        }
        let operation = Operation::new(OperationKind::Load, location, 0);
        self.host()
            .perform(py, operation, 1, |_| Touch::of([access(location, AccessMode::Read)].into_iter().collect()))?;
        Ok(true)
    }

    /// Raise an exception for a misuse, and remember that it was one.
    fn misused(&self, py: Python<'_>, error: PyErr) -> PyErr {
        let exception = error.value(py).clone().into_any().unbind();
        self.host().state().misuses.push(exception);
        error
    }
}

fn aborted() -> PyErr {
    super::host::Abort::new_err(())
}

/// A time-out in seconds, or None for none; `-1` and None both mean none.
fn timeout_of(blocking: bool, timeout: Option<f64>) -> PyResult<Option<f64>> {
    match timeout {
        None => Ok(None),
        Some(-1.0) => Ok(None),
        Some(_) if !blocking => Err(PyValueError::new_err("can't specify a timeout for a non-blocking call")),
        Some(seconds) if seconds < 0.0 => Err(PyValueError::new_err("timeout value must be a non-negative number")),
        Some(seconds) => Ok(Some(seconds)),
    }
}

/// What `Lock` and `RLock` share.
struct LockCore {
    primitive: Primitive,
    reentrant: bool,
}

impl LockCore {
    fn new(py: Python<'_>, reentrant: bool) -> PyResult<LockCore> {
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
        match primitive.standing(py)? {
            Standing::Live => {}
            Standing::Plain => {
                primitive.plain.fetch_add(1, Ordering::Relaxed);
                return Ok(true);
            }
            Standing::Over => return Err(aborted()),
        }
        let host = primitive.host();
        if self.reentrant && self.owned() {
            // Nobody else can tell how deep a thread holds its own lock.
            let mut state = host.state();
            let current = state.current;
            let operation = Operation::new(OperationKind::Acquire, primitive.location, 0);
            state.driver.quiet_perform(current, &operation);
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
        match primitive.standing(py)? {
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
            let deep = matches!(
                state.driver.memory.primitives().get(primitive.location),
                Some(PrimitiveState::Mutex { depth, .. }) if *depth > 1
            );
            if deep {
                let current = state.current;
                state.driver.quiet_perform(current, &operation);
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
    fn owned(&self) -> bool {
        let state = self.primitive.host().state();
        state.driver.memory.holder(self.primitive.location) == Some(state.current)
    }

    fn locked(&self, py: Python<'_>) -> PyResult<bool> {
        match self.primitive.standing(py)? {
            Standing::Live => {
                self.primitive.read(py)?;
                Ok(self.primitive.host().state().driver.memory.holder(self.primitive.location).is_some())
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
pub struct RLock(LockCore);

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
            fn acquire(slf: &Bound<'_, Self>, blocking: bool, timeout: f64) -> PyResult<bool> {
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
fn lock_core<'a>(lock: &'a Bound<'_, PyAny>) -> Option<&'a LockCore> {
    if let Ok(lock) = lock.cast::<Lock>() {
        return Some(&lock.get().0);
    }
    lock.cast::<RLock>().ok().map(|lock| &lock.get().0)
}

/// `threading.Condition`
#[pyclass(frozen, subclass, weakref, module = "dpor._kernel")]
pub struct Condition {
    primitive: Primitive,
    lock: Py<PyAny>,
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
        match primitive.standing(py)? {
            Standing::Live => {}
            Standing::Plain => return Ok(true),
            Standing::Over => return Err(aborted()),
        }
        let lock = this.lock.bind(py);
        let Some(core) = lock_core(lock) else {
            return Err(primitive.host().escape_with(py, "a Condition over a lock of another kind".to_owned()));
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
        match primitive.standing(py)? {
            Standing::Live => {}
            Standing::Plain | Standing::Over => return Ok(()),
        }
        let lock = this.lock.bind(py);
        let Some(core) = lock_core(lock) else {
            return Err(primitive.host().escape_with(py, "a Condition over a lock of another kind".to_owned()));
        };
        this.check_owned(py, core, "cannot notify on un-acquired lock")?;
        let host = primitive.host();
        let operation = Operation::new(OperationKind::Notify, primitive.location, count);
        let timed = host.state().driver.memory.primitives().has_timed_waiter(primitive.location);
        let (effect, event) = if timed {
            (host.perform(py, operation, 1, |_| Touch::default())?, true)
        } else {
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

    #[pyo3(signature = (timeout = None))]
    fn wait(slf: &Bound<'_, Self>, timeout: Option<f64>) -> PyResult<bool> {
        Condition::wait_here(slf, timeout)
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

    #[pyo3(signature = (n = 1))]
    fn notify(slf: &Bound<'_, Self>, n: i64) -> PyResult<()> {
        Condition::notify_here(slf, u32::try_from(n).unwrap_or(0))
    }

    fn notify_all(slf: &Bound<'_, Self>) -> PyResult<()> {
        Condition::notify_here(slf, u32::MAX)
    }

    #[pyo3(name = "notifyAll")]
    fn notify_all_old(slf: &Bound<'_, Self>) -> PyResult<()> {
        Condition::notify_here(slf, u32::MAX)
    }
}

/// `threading.Semaphore`
#[pyclass(frozen, subclass, weakref, module = "dpor._kernel")]
pub struct Semaphore {
    primitive: Primitive,
}

impl Semaphore {
    fn make(py: Python<'_>, value: i64, bounded: bool) -> PyResult<Semaphore> {
        let Ok(value) = u32::try_from(value) else {
            return Err(PyValueError::new_err("semaphore initial value must be >= 0"));
        };
        let state = PrimitiveState::Semaphore { value, bound: bounded.then_some(value) };
        Ok(Semaphore { primitive: Primitive::new(py, "Semaphore", Some(state), i64::from(value))? })
    }

    fn take(slf: &Bound<'_, Self>, blocking: bool, timeout: Option<f64>) -> PyResult<bool> {
        let py = slf.py();
        let primitive = &slf.get().primitive;
        if !blocking && timeout.is_some() {
            return Err(PyValueError::new_err("can't specify timeout for non-blocking acquire"));
        }
        match primitive.standing(py)? {
            Standing::Live => {}
            Standing::Plain => {
                primitive.plain.fetch_sub(1, Ordering::Relaxed);
                return Ok(true);
            }
            Standing::Over => return Err(aborted()),
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

    fn give(slf: &Bound<'_, Self>, count: i64) -> PyResult<()> {
        let py = slf.py();
        let primitive = &slf.get().primitive;
        if count < 1 {
            return Err(PyValueError::new_err("n must be one or more"));
        }
        match primitive.standing(py)? {
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
    fn acquire(slf: &Bound<'_, Self>, blocking: bool, timeout: Option<f64>) -> PyResult<bool> {
        Semaphore::take(slf, blocking, timeout)
    }

    fn __enter__(slf: &Bound<'_, Self>) -> PyResult<bool> {
        Semaphore::take(slf, true, None)
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
        match primitive.standing(py)? {
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
        if !matches!(primitive.standing(py)?, Standing::Live) {
            return Ok(primitive.plain.load(Ordering::Relaxed) > 0);
        }
        let event = primitive.read(py)?;
        let operation = Operation::new(OperationKind::FlagRead, primitive.location, 0);
        let set = primitive.host().state().driver.memory.state_token(&operation) > 0;
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
        match primitive.standing(py)? {
            Standing::Live => {}
            Standing::Plain => return Ok(primitive.plain.load(Ordering::Relaxed) > 0),
            Standing::Over => return Err(aborted()),
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
}

/// `queue.SimpleQueue`
#[pyclass(frozen, subclass, weakref, module = "dpor._kernel")]
pub struct SimpleQueue {
    primitive: Primitive,
    items: Mutex<VecDeque<Py<PyAny>>>,
}

impl SimpleQueue {
    fn pop(&self) -> Option<Py<PyAny>> {
        self.items.lock().ok()?.pop_front()
    }

    fn length(&self) -> usize {
        self.items.lock().map_or(0, |items| items.len())
    }

    fn empty_error(py: Python<'_>) -> PyErr {
        match py.import("_queue").and_then(|module| module.getattr("Empty")) {
            Ok(class) => match class.call0() {
                Ok(error) => PyErr::from_value(error),
                Err(error) => error,
            },
            Err(error) => error,
        }
    }

    fn take(slf: &Bound<'_, Self>, block: bool, timeout: Option<f64>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let this = slf.get();
        let primitive = &this.primitive;
        if block && timeout.is_some_and(|seconds| seconds < 0.0) {
            return Err(PyValueError::new_err("'timeout' must be a non-negative number"));
        }
        match primitive.standing(py)? {
            Standing::Live => {}
            Standing::Plain => return this.pop().ok_or_else(|| SimpleQueue::empty_error(py)),
            Standing::Over => return Err(aborted()),
        }
        let may_fail = !block || timeout.is_some();
        let kind = if may_fail { OperationKind::ChannelTryGet } else { OperationKind::ChannelGet };
        let host = primitive.host();
        if !may_fail {
            host.note_waiting(py, Word::Get, Some(slf.as_any()));
        }
        let (_, event) = primitive.operate(py, Operation::new(kind, primitive.location, 0))?;
        match this.pop() {
            Some(item) => {
                host.note(py, Word::Get, Some(slf.as_any()), None, Some(item.bind(py)), event);
                Ok(item)
            }
            None => {
                if let (true, Some(seconds)) = (block, timeout) {
                    primitive.pass_time(seconds);
                }
                host.note(py, Word::Get, Some(slf.as_any()), None, None, event);
                Err(SimpleQueue::empty_error(py))
            }
        }
    }

    fn add(slf: &Bound<'_, Self>, item: Py<PyAny>) -> PyResult<()> {
        let py = slf.py();
        let this = slf.get();
        let primitive = &this.primitive;
        let event = match primitive.standing(py)? {
            Standing::Live => {
                let put = Operation::new(OperationKind::ChannelPut, primitive.location, 0);
                primitive.operate(py, put)?.1
            }
            Standing::Plain | Standing::Over => false,
        };
        let noted = item.clone_ref(py);
        if let Ok(mut items) = this.items.lock() {
            items.push_back(item);
        }
        primitive.host().note(py, Word::Put, Some(slf.as_any()), None, Some(noted.bind(py)), event);
        Ok(())
    }

    fn look(&self, py: Python<'_>) -> PyResult<usize> {
        if matches!(self.primitive.standing(py)?, Standing::Live) {
            self.primitive.read(py)?;
        }
        Ok(self.length())
    }
}

#[pymethods]
impl SimpleQueue {
    #[new]
    fn new(py: Python<'_>) -> PyResult<SimpleQueue> {
        let primitive = Primitive::new(py, "SimpleQueue", Some(PrimitiveState::Channel { length: 0 }), 0)?;
        Ok(SimpleQueue { primitive, items: Mutex::new(VecDeque::new()) })
    }

    #[pyo3(signature = (item, block = true, timeout = None))]
    fn put(slf: &Bound<'_, Self>, item: Py<PyAny>, block: bool, timeout: Option<f64>) -> PyResult<()> {
        let _ = (block, timeout);
        SimpleQueue::add(slf, item)
    }

    fn put_nowait(slf: &Bound<'_, Self>, item: Py<PyAny>) -> PyResult<()> {
        SimpleQueue::add(slf, item)
    }

    #[pyo3(signature = (block = true, timeout = None))]
    fn get(slf: &Bound<'_, Self>, block: bool, timeout: Option<f64>) -> PyResult<Py<PyAny>> {
        SimpleQueue::take(slf, block, timeout)
    }

    fn get_nowait(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        SimpleQueue::take(slf, false, None)
    }

    fn empty(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.look(py)? == 0)
    }

    fn qsize(&self, py: Python<'_>) -> PyResult<usize> {
        self.look(py)
    }

    #[classmethod]
    fn __class_getitem__(class: &Bound<'_, pyo3::types::PyType>, _item: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Ok(class.clone().into_any().unbind())
    }
}
