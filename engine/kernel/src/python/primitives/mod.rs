//! Locks, conditions, semaphores, events and queues: `threading` and `queue` on the kernel's memory model.
//!
//! Their state lives in the memory model, by location, so that explorers can ask about it. Outside an execution (while
//! modules are imported, or when leftovers are collected) they behave as plain objects of one thread.

pub mod atomic;
mod channel;
mod completion;
mod condition;
mod copying;
mod event;
mod locks;
mod meeting;
mod owned_lock;
mod semaphore;
mod shown;
mod simple_queue;
mod task_queue;
mod timeouts;

use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::sync::Arc;

use pyo3::exceptions::PyAttributeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyType;
use pyo3::PyTypeInfo;
use rustc_hash::FxHashMap;

use channel::{Items, QueueFacts, QueueKind};
use completion::PoolFacts;
pub use completion::{Completion, Watch};
pub use condition::Condition;
pub use event::Event;
pub use locks::{Lock, RLock};
pub use meeting::Meeting;
use meeting::MeetingFacts;
pub use owned_lock::OwnedLock;
pub use semaphore::{BoundedSemaphore, Semaphore};
pub use simple_queue::SimpleQueue;
pub use task_queue::TaskQueue;

use crate::memory::{Effect, PrimitiveState};
use crate::operation::{AccessMode, Accesses, Buffering, EventId, LocationId, Operation, OperationKind, ThreadId};
use crate::python::explore::assumptions::{module_that_runs, AssumptionKind, Maker};
use crate::python::explore::learning::Restart;
use crate::python::host::{require_host, Host};
use crate::python::identities::identity::KeyId;
use crate::python::state::{access, Phase, State};
use crate::python::threads::switching::Footprint;
use crate::python::types::ancestry::Ancestry;

/// Added to a time-out that has passed, so that a deadline computed from it lies in the past.
const AFTER_TIMEOUT: f64 = 1e-6;

/// What every primitive is: a location of one execution.
pub struct Primitive {
    pub host: Py<Host>,
    location: AtomicU32,
    /// The execution that it was made in; 0 for one that was made before any.
    execution: u64,
    made: Made,
    /// The count (or 1 for held or set) while no execution runs.
    plain: Arc<AtomicI64>,
}

/// What is known of who made a primitive.
enum Made {
    /// An execution, or what may have kept something beside it that is not put back.
    Once,
    /// A module that is instrumented, when it was imported: each execution makes it anew.
    ByModel,
    /// Code that is not, when it was imported itself: what it makes for a module of the model, that makes again. A lock
    /// is free, and a condition has no waiters, wherever an execution begins; what the package keeps beside it stays as
    /// it is, like all that its code changes.
    ByPackage { package: String, state: PrimitiveState },
    /// Such code, when an execution imported it, and it is no lock: what it says would stay as it is.
    Unseen,
}

/// What a primitive is for.
enum Role {
    /// It has no state of its own: an `Atomic`.
    Variable,
    /// Whoever uses it gives it back: it excludes, or has threads wait while they hold what excludes.
    Lock,
    /// It says what has happened, as events and queues do.
    Message,
}

impl Role {
    fn of(state: Option<&PrimitiveState>) -> Role {
        match state {
            None => Role::Variable,
            Some(PrimitiveState::Mutex { .. } | PrimitiveState::Condition { .. }) => Role::Lock,
            Some(_) => Role::Message,
        }
    }
}

/// A primitive that was made before executions begin. Each of them makes it anew, with the state that it had then.
pub struct Imported {
    location: LocationId,
    state: PrimitiveState,
    /// The count with which `state` was made, and what it is now.
    made: i64,
    plain: Arc<AtomicI64>,
    /// What it was when the first execution began.
    found: Option<i64>,
    queue: Option<ImportedQueue>,
}

/// What a queue is made of that is made anew.
struct ImportedQueue {
    items: Items,
    /// Whether it had none when the first execution began.
    was_empty: Option<bool>,
    kind: QueueKind,
}

impl ImportedQueue {
    fn was_empty(&mut self) -> bool {
        let items = &self.items;
        *self.was_empty.get_or_insert_with(|| items.lock().is_ok_and(|items| items.is_empty()))
    }
}

/// What is known of the primitives of a model.
#[derive(Default)]
pub struct PrimitiveFacts {
    pub queues: QueueFacts,
    pub pools: PoolFacts,
    pub meetings: MeetingFacts,
    /// Whether some `Event` is ever cleared, which makes waiting for it two steps.
    pub flags_are_cleared: bool,
    /// Those that modules have made.
    imported: Vec<Imported>,
    /// How often a condition's lock had been taken when a wait of a thread last ended without a reason.
    pub spurious_at: FxHashMap<(ThreadId, LocationId), u32>,
}

impl PrimitiveFacts {
    /// Another execution begins.
    pub fn begin(&mut self) {
        self.spurious_at.clear();
        self.pools.must_not_wait.clear();
    }
}

impl State {
    /// Make the primitives of modules for an execution. One that was used while modules were imported is left out.
    pub fn make_imported(&mut self) {
        let mut all = std::mem::take(&mut self.waits.primitives.imported);
        for imported in &mut all {
            let found = *imported.found.get_or_insert_with(|| imported.plain.load(Ordering::Relaxed));
            // Destructors use it between executions.
            imported.plain.store(found, Ordering::Relaxed);
            let state = match &mut imported.queue {
                None => (found == imported.made).then(|| imported.state.clone()),
                Some(queue) => queue.was_empty().then(|| self.channel_state(imported.location, queue.kind)),
            };
            if let Some(state) = state {
                self.driver.memory.create(imported.location, state);
            }
        }
        self.waits.primitives.imported = all;
    }

    /// What an execution has left in the queues of modules.
    pub fn take_imported_items(&mut self) -> Vec<Py<PyAny>> {
        let queues = self.waits.primitives.imported.iter().filter_map(|imported| imported.queue.as_ref());
        queues.filter(|queue| queue.was_empty == Some(true)).flat_map(|queue| channel::drain(&queue.items)).collect()
    }
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
        let role = Role::of(state.as_ref());
        Primitive::make(py, object_type, role, plain, None, |_, _| state)
    }

    /// A queue whose items are kept in `items`.
    fn of_channel(py: Python<'_>, object_type: &str, kind: QueueKind, items: &Items) -> PyResult<Primitive> {
        let queue = ImportedQueue { items: items.clone(), was_empty: None, kind };
        Primitive::make(py, object_type, Role::Message, 0, Some(queue), |state, location| {
            Some(state.channel_state(location, kind))
        })
    }

    fn make(
        py: Python<'_>,
        object_type: &str,
        role: Role,
        plain: i64,
        queue: Option<ImportedQueue>,
        state_at: impl FnOnce(&mut State, LocationId) -> Option<PrimitiveState>,
    ) -> PyResult<Primitive> {
        let host = require_host(py)?;
        host.get().only_outside_predicates(py, "makes an object that threads wait for, or an Atomic")?;
        let plain = Arc::new(AtomicI64::new(plain));
        let is_idle = host.get().state().phase == Phase::Idle;
        let is_unseen = is_idle || host.get().imports_unseen();
        let maker = if is_unseen { module_that_runs(py) } else { Maker::default() };
        let package = maker.package_that_is_imported();
        let (location, execution, made) = {
            let mut host_state = host.get().state();
            let token = host_state.types.token(object_type.to_owned());
            // The first execution that imports a package makes what it has for all of them.
            let object = match package {
                Some(_) => host_state.identities.anonymous(token),
                None => host_state.next_object(token),
            };
            // An `Atomic` is like any variable.
            let location = match role {
                Role::Variable => host_state.identities.location(object, KeyId::STATE, false),
                Role::Lock | Role::Message => host_state.identities.primitive(object),
            };
            let state = state_at(&mut host_state, location);
            let live = host_state.executes() && package.is_none();
            let mut by = Made::Once;
            match (state, package) {
                (Some(state), Some(package)) if matches!(role, Role::Lock) => by = Made::ByPackage { package, state },
                (_, Some(_)) if !is_idle => by = Made::Unseen,
                (Some(state), None) if live => host_state.driver.memory.create(location, state),
                (Some(state), None) if is_idle && maker.is_instrumented => {
                    by = Made::ByModel;
                    let (made, plain) = (plain.load(Ordering::Relaxed), plain.clone());
                    host_state.waits.primitives.imported.push(Imported {
                        location,
                        state,
                        made,
                        plain,
                        found: None,
                        queue,
                    });
                }
                _ => {}
            }
            (location, if live { host_state.run.number } else { 0 }, by)
        };
        Ok(Primitive { host, location: AtomicU32::new(location.0), execution, made, plain })
    }

    /// A primitive of the running execution that stands for something outside of the interpreter, called `key`:
    /// whichever thread makes it, it is the same.
    fn outside(py: Python<'_>, world: &Bound<'_, PyAny>, key: &Bound<'_, PyAny>) -> PyResult<Primitive> {
        let host = require_host(py)?;
        let (location, execution) = {
            let mut state = host.get().state();
            (state.named_outside(world, key), state.run.number)
        };
        let Some(location) = location else {
            return Err(host.get().uncontrolled(py, "uses a file without a name".to_owned()));
        };
        let location = AtomicU32::new(location.0);
        Ok(Primitive { host, location, execution, made: Made::Once, plain: Arc::new(AtomicI64::new(0)) })
    }

    #[inline]
    pub fn location(&self) -> LocationId {
        LocationId(self.location.load(Ordering::Relaxed))
    }

    /// Give the primitive a state, before any thread has used it or while there is one thread.
    fn put(&self, state: PrimitiveState) {
        let plain = match &state {
            PrimitiveState::Semaphore { value, .. } => i64::from(*value),
            PrimitiveState::Flag { set, .. } => i64::from(*set),
            _ => 0,
        };
        self.plain.store(plain, Ordering::Relaxed);
        let mut host_state = self.host().state();
        if host_state.executes() {
            host_state.affect_loops();
            host_state.driver.memory.create(self.location(), state);
        } else if host_state.phase == Phase::Idle {
            let location = self.location();
            let own =
                host_state.waits.primitives.imported.iter_mut().rev().find(|imported| imported.location == location);
            if let Some(own) = own {
                (own.state, own.made) = (state, plain);
            }
        }
    }

    /// `__init__` is called again.
    fn renew(&self, py: Python<'_>, class: &str, state: PrimitiveState) -> PyResult<()> {
        self.replace(py, &format!("uses __init__ of a threading.{class}"), state)
    }

    /// `_at_fork_reinit` is called.
    fn reinit(&self, py: Python<'_>, class: &str, state: PrimitiveState) -> PyResult<()> {
        self.host().only_outside_predicates(py, "resets a lock or what threads wait for")?;
        self.replace(py, &format!("uses _at_fork_reinit of a threading.{class}"), state)
    }

    /// A private attribute is assigned.
    fn assign(&self, py: Python<'_>, attribute: &str, class: &str, state: PrimitiveState) -> PyResult<()> {
        self.replace(py, &format!("assigns {attribute} of a threading.{class}"), state)
    }

    fn replace(&self, py: Python<'_>, what: &str, state: PrimitiveState) -> PyResult<()> {
        let standing = self.standing(py, what)?;
        if matches!(standing, Standing::Live) && !self.host().state().has_no_company() {
            return Err(self.host().uncontrolled(py, format!("{what} while other threads run")));
        }
        self.require_own(py)?;
        self.put(state);
        Ok(())
    }

    /// Before the primitive becomes another one than it was made as: that would last longer than the execution.
    fn require_own(&self, py: Python<'_>) -> PyResult<()> {
        let lasts = {
            let state = self.host().state();
            state.puts_back() && self.execution == 0 && !state.exploration.settings.fresh_modules
        };
        match lasts {
            true => Err(self.host().restart_with(py, Restart::ModuleState)),
            false => Ok(()),
        }
    }

    /// Be the same primitive as another one.
    fn share(&self, other: &Primitive) {
        self.location.store(other.location().0, Ordering::Relaxed);
    }

    /// The running thread's clock.
    fn now(&self) -> f64 {
        let mut state = self.host().state();
        let current = state.current;
        match state.executes() {
            true => state.thread(current).time,
            false => 0.0,
        }
    }

    pub fn host(&self) -> &Host {
        self.host.get()
    }

    /// Whether the primitive can be used in the running execution, to do `what` (a verb phrase): a predicate may not.
    pub fn standing(&self, py: Python<'_>, what: &str) -> PyResult<Standing> {
        self.host().only_outside_predicates(py, what)?;
        self.standing_to_look(py)
    }

    /// Whether the primitive's state can be read in the running execution.
    pub fn standing_to_look(&self, py: Python<'_>) -> PyResult<Standing> {
        if !self.host().owns_thread() || self.is_used_unseen() {
            return Ok(Standing::Plain);
        }
        let (phase, execution, made_anew) = {
            let mut state = self.host().state();
            let runs = matches!(state.phase, Phase::Running | Phase::Probing) && self.execution != state.run.number;
            (state.phase, state.run.number, runs && self.is_made_anew(py, &mut state))
        };
        match phase {
            Phase::Idle | Phase::Releasing => Ok(Standing::Plain),
            Phase::Unwinding => Ok(Standing::Over),
            // Other threads would come between what nobody sees, and would not be seen themselves.
            _ if self.host().imports_unseen() => Err(self.host().uncontrolled(
                py,
                "uses a synchronisation primitive in the import of a package that is not instrumented (name the package \
                 in instrument, or import it at module level)"
                    .to_owned(),
            )),
            _ if self.execution == execution || made_anew => Ok(Standing::Live),
            _ if self.execution == 0 => Err(self.host().restart_with(py, Restart::ModuleState)),
            _ => Err(self.host().uncontrolled(
                py,
                "uses a synchronisation primitive of an earlier execution again (is it kept in a module that is \
                 not instrumented?)"
                    .to_owned(),
            )),
        }
    }

    /// Whether it is of a package, and used by a package's body, which no other thread comes between.
    fn is_used_unseen(&self) -> bool {
        matches!(self.made, Made::ByPackage { .. } | Made::Unseen) && self.host().imports_unseen()
    }

    /// Whether the running execution has made the primitive anew, or does it now: nobody has used that of a package
    /// before.
    fn is_made_anew(&self, py: Python<'_>, state: &mut State) -> bool {
        let is_there = state.driver.memory.primitives().get(self.location()).is_some();
        match &self.made {
            Made::Once | Made::Unseen => false,
            Made::ByModel => is_there && !state.exploration.settings.fresh_modules,
            Made::ByPackage { package, state: made } => {
                let is_free = is_there || self.plain.load(Ordering::Relaxed) == 0;
                if is_free && !is_there {
                    state.assume(py, AssumptionKind::UnseenCode, package);
                    state.driver.memory.create(self.location(), made.clone());
                }
                is_free
            }
        }
    }

    /// Perform an operation, as an event if its location is visible or it has to wait. Returns the effect and whether
    /// it was an event.
    pub fn operate(&self, py: Python<'_>, operation: Operation) -> PyResult<(Effect, bool)> {
        let host = self.host();
        let visible = host.state().is_visible(operation.target);
        if !visible {
            host.drain_if_owed(py)?;
        }
        {
            let mut state = host.state();
            let current = state.current;
            if state.phase == Phase::Running && !state.is_visible(operation.target) {
                let footprint = state.driver.memory.accesses(current, &operation);
                state.check_for_races(&footprint);
                if state.driver.memory.enabled(current, &operation) {
                    state.remember_quiet(&footprint);
                    state.note_operation_in_loops(&operation, &footprint, EventId::NONE);
                    let effect = state.driver.quiet_perform(current, &operation);
                    state.synchronise(&operation);
                    return Ok((effect, false));
                }
                state.make_visible(operation.target);
            }
        }
        Ok((host.perform(py, operation, 1, |_| Footprint::default())?, true))
    }

    /// Let the thread's clock pass a time-out.
    fn pass_time(&self, seconds: f64) {
        self.host().state().pass_time(seconds.max(0.0) + AFTER_TIMEOUT);
    }

    /// Read the primitive's state as a plain visible read.
    fn read(&self, py: Python<'_>) -> PyResult<bool> {
        self.read_with(py, None)
    }

    /// Read it together with the state of another one, in one step.
    fn read_with(&self, py: Python<'_>, other: Option<&Primitive>) -> PyResult<bool> {
        self.host().drain_if_owed(py)?;
        let footprint: Accesses = std::iter::once(self)
            .chain(other)
            .map(|primitive| access(primitive.location(), AccessMode::Read))
            .collect();
        let seen = {
            let mut state = self.host().state();
            if state.phase == Phase::Probing {
                state.waits.predicates.probed.extend(footprint);
                return Ok(false);
            }
            let Some(seen) = footprint.iter().find(|access| state.is_visible(access.location)) else {
                state.quiet(&footprint);
                return Ok(false);
            };
            seen.location
        };
        let operation = Operation { buffering: Buffering::Drains, ..Operation::new(OperationKind::Load, seen, 0) };
        self.host().perform(py, operation, 1, |state| Footprint::of(state.visible_part(footprint.clone())))?;
        Ok(true)
    }

    /// Raise an exception for a misuse, and remember that it was one.
    fn misused(&self, py: Python<'_>, error: PyErr) -> PyErr {
        let exception = error.value(py).clone().into_any().unbind();
        self.host().state().run.misuses.push(exception);
        error
    }
}

/// Whether an object is of a class that Python's own library writes in Python.
pub fn keeps_attributes(object: &Bound<'_, PyAny>) -> bool {
    object.is_exact_instance_of::<Condition>()
        || object.is_exact_instance_of::<Semaphore>()
        || object.is_exact_instance_of::<BoundedSemaphore>()
        || object.is_exact_instance_of::<Event>()
}

/// Give the classes that Python's own library writes in Python the names that errors of the interpreter have for such:
/// without their module.
pub fn name_as_classes_in_python(py: Python<'_>) -> PyResult<()> {
    for class in [
        Condition::type_object(py),
        Event::type_object(py),
        Semaphore::type_object(py),
        BoundedSemaphore::type_object(py),
    ] {
        class.setattr(intern!(py, "__name__"), class.name()?)?;
    }
    Ok(())
}

/// An argument that says yes or no, by whatever object.
fn truth(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    value.is_truthy()
}

/// The error of an attribute that only `__init__` makes.
fn no_attribute(object: &Bound<'_, PyAny>, attribute: &str) -> PyErr {
    let class = object.get_type().name().map(|name| name.to_string()).unwrap_or_default();
    PyAttributeError::new_err(format!("'{class}' object has no attribute '{attribute}'"))
}

/// Whether a class is one of the kernel's primitives, which have the names that CPython's have.
pub fn is_own_class(class: &Bound<'_, PyType>) -> bool {
    let py = class.py();
    class.is(Lock::type_object(py))
        || class.is(RLock::type_object(py))
        || class.is(Condition::type_object(py))
        || class.is(Event::type_object(py))
        || class.is(Semaphore::type_object(py))
        || class.is(BoundedSemaphore::type_object(py))
        || class.is(SimpleQueue::type_object(py))
        || class.is(condition::Waiters::type_object(py))
}

/// Whether a class is one of them or derives from one.
pub fn derives_from_own(class: &Bound<'_, PyType>) -> bool {
    class.ancestry().iter().any(|base| base.cast::<PyType>().is_ok_and(|base| is_own_class(base)))
}
