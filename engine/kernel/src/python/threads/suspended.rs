//! What runs through several turns of an event loop: coroutines and asynchronous generators.
//!
//! The interpreter advances them wherever a task awaits, without a hook. Nearly all of them belong to one task, and so is
//! what they do part of its steps. That two tasks use one is no access that anything tells: turns are no events then. So
//! each use that is seen is kept in mind, by whom: what is awaited, unless nobody else can have it, what a task is made
//! of, and all that hooks see of such an object.

use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFunction, PyType};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::operation::{AccessMode, ThreadId};
use crate::python::host::Host;
use crate::python::identities::found_objects::References;
use crate::python::identities::identity::ObjectId;
use crate::python::modules::origins::Origin;
use crate::python::state::{Phase, State};
use crate::python::threads::own_modules::OwnModule;
use crate::python::types::ancestry::found_in_class;
use crate::python::types::kinds::{module_of, TypeKind};

/// The types of what is advanced by awaiting it alone.
const ADVANCED_UNSEEN: &[&str] = &[
    "anext_awaitable",
    "async_generator",
    "async_generator_asend",
    "async_generator_athrow",
    "coroutine",
    "coroutine_wrapper",
];

/// A task, or the turn of a callback that is none's.
#[derive(Clone, Copy, PartialEq, Eq)]
enum User {
    Task(i64),
    Callback(ThreadId),
}

/// Who uses what is advanced unseen, in the running execution.
#[derive(Default)]
pub struct Suspended {
    users: FxHashMap<ObjectId, User>,
    /// Classes, by address, whose methods were looked at.
    told: FxHashSet<usize>,
}

impl State {
    /// An object is used that may be one that tasks advance.
    #[inline]
    pub fn note_suspended(&mut self, object: &Bound<'_, PyAny>, id: ObjectId, kind: TypeKind) {
        if matches!(kind, TypeKind::Opaque | TypeKind::Iterator) && self.waits.turns.are_allowed() {
            let is_used = self.waits.turns.suspended.users.contains_key(&id);
            if is_used || is_advanced_unseen(object) {
                self.note_user(id, self.user());
            } else if self.waits.turns.are_events() && is_context_of_decimals(object) {
                // The tasks of a loop have one, unless they have made another: decimals compute by it unseen.
                self.do_without_turns();
            }
        }
    }

    /// An object has just been made: who has made it is not its user yet.
    pub fn forget_user(&mut self, id: ObjectId) {
        self.waits.turns.suspended.users.remove(&id);
    }

    fn user(&self) -> User {
        let lane = self.threads.get(self.current.index()).map_or(0, |thread| thread.loops.deadlines.lane());
        match lane {
            0 => User::Callback(self.actor()),
            lane => User::Task(lane),
        }
    }

    fn note_user(&mut self, id: ObjectId, user: User) {
        if *self.waits.turns.suspended.users.entry(id).or_insert(user) != user {
            self.do_without_turns();
        }
    }
}

/// Methods of which the interpreter awaits, or iterates over, what they give.
const GIVING_AWAITED: &[&str] = &["__aenter__", "__aexit__", "__aiter__", "__anext__", "__await__"];

impl State {
    /// What the methods of a class give that the interpreter awaits is told of where they return it: by hooks that go by
    /// their names, or because they are the library's. What a method of another name gives is not.
    fn require_told_methods(&mut self, class: &Bound<'_, PyType>) {
        if !self.waits.turns.suspended.told.insert(class.as_ptr() as usize) {
            return;
        }
        let is_told = |name: &&str| match found_in_class(class, name) {
            None => true,
            Some(method) => tells_what_it_gives(&method, name).unwrap_or(false),
        };
        if !GIVING_AWAITED.iter().all(is_told) {
            self.do_without_turns();
        }
    }
}

fn tells_what_it_gives(method: &Bound<'_, PyAny>, name: &str) -> PyResult<bool> {
    let py = method.py();
    if !method.is_instance_of::<PyFunction>() {
        return Ok(false);
    }
    let namespace = method.getattr(intern!(py, "__globals__"))?.cast_into::<PyDict>()?;
    let module: String = match namespace.get_item(intern!(py, "__name__"))? {
        Some(module) => module.extract()?,
        None => return Ok(false),
    };
    if matches!(module.split('.').next(), Some("asyncio" | "dpor")) {
        return Ok(true);
    }
    let code = method.getattr(intern!(py, "__code__"))?;
    Ok(namespace.contains(intern!(py, "__dpor_instrumented__"))? && code.getattr(intern!(py, "co_name"))?.eq(name)?)
}

impl Host {
    /// An asynchronous iterator is going to be advanced by what is made now. One whose code has hooks tells of itself.
    pub fn note_advance(&self, iterator: &Bound<'_, PyAny>) {
        let Some(mut state) = self.awake().filter(|state| state.phase == Phase::Running) else { return };
        let facts = state.types.facts(iterator);
        if matches!(facts.kind, TypeKind::Opaque | TypeKind::Iterator) {
            state.object(iterator, facts);
        }
    }

    /// Code in Python is called that runs unseen, and that need not be watched where threads are told apart. A turn of a
    /// loop has to tell all that it accesses.
    #[inline]
    pub fn note_unseen_call(&self, function: &Bound<'_, PyAny>, origin: Origin) -> PyResult<()> {
        let is_unseen = matches!(origin, Origin::Safe | Origin::Reading);
        if !is_unseen || !self.state().waits.turns.are_events() {
            return Ok(());
        }
        let py = function.py();
        OwnModule::UnseenCalls.get(py)?.getattr(intern!(py, "note_call"))?.call1((function,)).map(drop)
    }
}

fn is_advanced_unseen(object: &Bound<'_, PyAny>) -> bool {
    object.get_type().name().is_ok_and(|name| name.to_str().is_ok_and(|name| ADVANCED_UNSEEN.contains(&name)))
}

fn is_context_of_decimals(object: &Bound<'_, PyAny>) -> bool {
    let class = object.get_type();
    class.name().is_ok_and(|name| name == "Context") && module_of(&class) == "decimal"
}

#[pymethods]
impl Host {
    /// What is awaited, or iterated over by `async for`, or entered by `async with`; also what the methods give of which
    /// the interpreter does so unasked.
    #[pyo3(signature = (value, /))]
    fn awaited<'py>(&self, value: Bound<'py, PyAny>) -> Bound<'py, PyAny> {
        let Some(mut state) = self.awake().filter(|state| state.phase == Phase::Running) else { return value };
        if !state.waits.turns.are_allowed() {
            return value;
        }
        let facts = state.types.facts(&value);
        // SAFETY: the object is alive.
        let is_shared = unsafe { ffi::Py_REFCNT(value.as_ptr()) } > References::OfHook as isize;
        match facts.kind {
            TypeKind::Opaque if is_shared => {
                state.object(&value, facts);
            }
            TypeKind::Iterator if is_shared => {
                // Other code may advance it as well: a generator that `types.coroutine` has marked, what an
                // `__await__` gives.
                let id = state.object(&value, facts);
                let whole = state.container_of(id, facts.kind).whole;
                state.touch(whole, AccessMode::Write);
                let user = state.user();
                state.note_user(id, user);
            }
            TypeKind::Opaque | TypeKind::Iterator => {}
            _ => state.require_told_methods(&value.get_type()),
        }
        drop(state);
        value
    }

    /// A task, by its number, is made of a coroutine, or a coroutine of asyncio awaits it for the task that runs (None).
    fn note_started(&self, coroutine: &Bound<'_, PyAny>, task: Option<i64>) {
        let Some(mut state) = self.awake().filter(|state| state.phase == Phase::Running) else { return };
        let facts = state.types.facts(coroutine);
        if !state.waits.turns.are_allowed() || !matches!(facts.kind, TypeKind::Opaque | TypeKind::Iterator) {
            return;
        }
        let id = state.known_object(coroutine, facts);
        let user = task.map_or_else(|| state.user(), User::Task);
        state.note_user(id, user);
    }
}
