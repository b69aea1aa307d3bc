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
use crate::python::footprints::behind_iterators::GeneratorKind;
use crate::python::host::Host;
use crate::python::identities::found_objects::References;
use crate::python::identities::identity::ObjectId;
use crate::python::modules::namespaces::is_instrumented_namespace;
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
        if self.waits.turns.are_events() && self.is_used_otherwise(object, kind) {
            self.do_without_turns();
        }
        if matches!(kind, TypeKind::Opaque | TypeKind::Iterator) && self.waits.turns.are_allowed() {
            let is_used = self.waits.turns.suspended.users.contains_key(&id);
            if is_used || is_advanced_unseen(object) {
                self.note_user(id, self.user());
            }
        }
    }

    /// Whether code that runs unseen uses an object as well, or another object gives what it holds.
    fn is_used_otherwise(&self, object: &Bound<'_, PyAny>, kind: TypeKind) -> bool {
        self.lasting.is_used_unseen(object)
            || match kind {
                TypeKind::Iterator => runs_unseen(object),
                TypeKind::Instance => is_memory_of_c(object),
                // The tasks of a loop have one context of decimals, unless they have made another.
                TypeKind::Opaque => is_memory_of_c(object) || is_context_of_decimals(object),
                _ => false,
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
    /// A class gets another method, or loses one.
    pub fn forget_told_methods(&mut self, name: &str) {
        if GIVING_AWAITED.contains(&name) {
            self.waits.turns.suspended.told.clear();
        }
    }

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
    Ok(is_instrumented_namespace(&namespace) && code.getattr(intern!(py, "co_name"))?.eq(name)?)
}

impl Host {
    /// An asynchronous iterator is going to be advanced by what is made now. One whose code has hooks tells of itself.
    pub fn note_advance(&self, iterator: &Bound<'_, PyAny>) {
        let Some(mut state) = self.awake().filter(|state| state.phase == Phase::Running) else { return };
        let facts = state.types.facts(iterator);
        if matches!(facts.kind, TypeKind::Opaque | TypeKind::Iterator) {
            state.object(iterator, facts);
        } else if state.waits.turns.are_allowed() {
            state.require_told_methods(&iterator.get_type());
        }
    }

    /// Code in Python is called that runs unseen, and that need not be watched where threads are told apart. A turn of a
    /// loop has to tell all that it accesses.
    #[inline]
    pub fn note_unseen_call(&self, function: &Bound<'_, PyAny>, origin: Origin) -> PyResult<()> {
        let is_unseen = matches!(origin, Origin::Safe | Origin::Reading);
        if !is_unseen || !self.state().waits.turns.are_allowed() {
            return Ok(());
        }
        let (py, in_turn) = (function.py(), self.state().waits.turns.are_events());
        OwnModule::UnseenCalls.get(py)?.getattr(intern!(py, "note_call"))?.call1((function, in_turn)).map(drop)
    }
}

/// Whether an object is a generator of which the code runs unseen, and is not asyncio's: it may advance what it was made
/// of.
fn runs_unseen(object: &Bound<'_, PyAny>) -> bool {
    if GeneratorKind::of(object) != Some(GeneratorKind::Generator) {
        return false;
    }
    let frame = object.getattr(intern!(object.py(), "gi_frame"));
    let Ok(frame) = frame else { return true };
    // One that has ended has none.
    !frame.is_none() && !is_told_code(&frame).unwrap_or(false)
}

fn is_told_code(frame: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = frame.py();
    let namespace = frame.getattr(intern!(py, "f_globals"))?.cast_into::<PyDict>()?;
    if is_instrumented_namespace(&namespace) {
        return Ok(true);
    }
    let Some(module) = namespace.get_item(intern!(py, "__name__"))? else { return Ok(false) };
    let module: String = module.extract()?;
    Ok(matches!(module.split('.').next(), Some("asyncio" | "dpor")))
}

fn is_advanced_unseen(object: &Bound<'_, PyAny>) -> bool {
    object.get_type().name().is_ok_and(|name| name.to_str().is_ok_and(|name| ADVANCED_UNSEEN.contains(&name)))
}

/// Whether an iterator is code that awaits: a generator, or that of a coroutine.
fn is_suspended_code(iterator: &Bound<'_, PyAny>) -> bool {
    const CODE: &[&str] = &["coroutine_wrapper", "generator"];
    let class = iterator.get_type();
    class
        .name()
        .is_ok_and(|name| name.to_str().is_ok_and(|name| CODE.contains(&name) || is_advanced_unseen(iterator)))
}

/// Whether an object is memory of C, which others can show as well.
fn is_memory_of_c(object: &Bound<'_, PyAny>) -> bool {
    let metaclass = object.get_type().get_type();
    !metaclass.is(object.py().get_type::<PyType>()) && module_of(&metaclass) == "_ctypes"
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
            TypeKind::Iterator if !is_suspended_code(&value) => {
                // It may run over another one.
                state.do_without_turns();
            }
            TypeKind::Iterator if is_shared => {
                // Other code may advance it as well.
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
        if !state.waits.turns.are_allowed() {
            return;
        }
        if !matches!(facts.kind, TypeKind::Opaque | TypeKind::Iterator) {
            state.require_told_methods(&coroutine.get_type());
            return;
        }
        let id = state.known_object(coroutine, facts);
        let user = task.map_or_else(|| state.user(), User::Task);
        state.note_user(id, user);
    }
}
