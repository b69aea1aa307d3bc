//! What is inside of objects: items, attributes, and what C code keeps of them. No code of a model runs to find it.

use std::ffi::{c_int, c_ulong, c_void};

use pyo3::exceptions::PyBaseException;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyBool, PyBytes, PyDict, PyFloat, PyFunction, PyInt, PyList, PyString, PyTuple, PyType, PyWeakrefMethods,
    PyWeakrefReference,
};

use crate::operation::AccessMode;
use crate::python::calls::builtins::interned;
use crate::python::calls::callables::receiver_in_c;
use crate::python::calls::default_factories::factory_in_c;
use crate::python::calls::stand_in_functions::stands_in;
use crate::python::footprints::container_effects::method_effect;
use crate::python::footprints::look::{Depth, Inside, Look};
use crate::python::heap::place::lacks_dict;
use crate::python::state::{access, State};
use crate::python::types::ancestry::{found_in_class, told_by_type};
use crate::python::types::harmless_methods::is_own_primitive;
use crate::python::types::kinds::{is_heap_class, module_of, TypeKind};
use crate::python::types::member_slots::MemberSlot;

impl State {
    /// Collect what is in an object.
    pub fn look_inside<'py>(&mut self, look: &mut Look<'py>, object: &Bound<'py, PyAny>, inside: Inside) {
        if let Ok(tuple) = object.cast_exact::<PyTuple>() {
            tuple.iter().for_each(|item| look.finds(item, inside));
            return;
        }
        let facts = self.types.facts(object);
        let deep = inside.deep || look.depth == Depth::Everything;
        if deep && (facts.kind.is_container() || facts.kind == TypeKind::Immutable) && has_attributes(object) {
            self.look_at_attributes(look, object, inside);
        }
        match facts.kind {
            _ if object.is_instance_of::<PyTuple>() => {
                if let Ok(tuple) = object.cast::<PyTuple>() {
                    tuple.iter().for_each(|item| look.finds(item, inside));
                }
                if deep && facts.kind == TypeKind::Instance {
                    self.look_at_attributes(look, object, inside);
                }
            }
            TypeKind::List => {
                if let Ok(list) = object.cast::<PyList>() {
                    list.iter().for_each(|item| look.finds(item, inside));
                }
            }
            TypeKind::Dict | TypeKind::DefaultDict => {
                if facts.kind == TypeKind::DefaultDict {
                    let factory = factory_in_c(object);
                    factory.into_iter().for_each(|factory| look.finds(factory, Inside { deep: true, ..inside }));
                }
                if let Ok(dict) = object.cast::<PyDict>() {
                    for (key, value) in dict.iter() {
                        look.finds(key, inside);
                        look.finds(value, inside);
                    }
                }
            }
            TypeKind::Opaque | TypeKind::Set | TypeKind::View => {
                referents(object).into_iter().for_each(|item| look.finds(item, inside))
            }
            TypeKind::Instance => {
                let is_exception = object.is_instance_of::<PyBaseException>();
                if inside.deep || look.depth.looks_into(&facts) {
                    self.look_at_attributes(look, object, inside);
                    if !is_exception {
                        // What C keeps of it: the arguments of a partial. An exception holds the frames that it has
                        // left.
                        referents(object).into_iter().for_each(|item| look.finds(item, inside));
                    }
                }
                if (deep || look.depth == Depth::Text) && is_exception {
                    let read: &[&str] = if deep { &["args", "__cause__", "__context__"] } else { &["args"] };
                    read.iter().for_each(|name| self.look_at_exception(look, object, name, inside));
                }
            }
            TypeKind::Immutable if (deep || shows_what_it_holds(object, look.depth)) && holds_objects(object) => {
                // Code that looks so deep may call what it finds: a method in C of a list that it was given.
                let inside = Inside { written: inside.written || deep && self.may_change_receiver(object), ..inside };
                referents(object).into_iter().for_each(|item| look.finds(item, inside));
                // Weak references are compared by what they stand for.
                if let (Depth::Comparison, Ok(reference)) = (look.depth, object.cast::<PyWeakrefReference>()) {
                    reference.upgrade().into_iter().for_each(|item| look.finds(item, inside));
                }
            }
            _ => {}
        }
    }

    /// Whether an object is a method in C, bound to what a call of it may change.
    fn may_change_receiver(&mut self, object: &Bound<'_, PyAny>) -> bool {
        let Some(receiver) = receiver_in_c(object).filter(|receiver| !is_own_primitive(receiver)) else {
            return false;
        };
        let kind = self.types.facts(&receiver).kind;
        let reads = || {
            let name = object.getattr(intern!(object.py(), "__name__"))?.cast_into::<PyString>()?;
            PyResult::Ok(method_effect(&receiver.get_type(), kind, name.to_str()?, 1).reads_only())
        };
        !(matches!(kind, TypeKind::List | TypeKind::Dict | TypeKind::Set) && reads().unwrap_or(false))
    }

    /// What an exception keeps in C. Its text is that of `args`, what it was made with.
    fn look_at_exception<'py>(
        &mut self,
        look: &mut Look<'py>,
        exception: &Bound<'py, PyAny>,
        name: &str,
        inside: Inside,
    ) {
        let py = exception.py();
        let name = &PyString::intern(py, name);
        self.note_shown_exception(exception, name);
        if let Some(slot) = self.attribute_slot(exception, name) {
            look.add([access(slot.location, AccessMode::Read)]);
        }
        // Not by `getattr`, which would call what a class of the model has by this name.
        let own = py.get_type::<PyBaseException>().getattr(name);
        if let Ok(values) = own.and_then(|own| own.call_method1(intern!(py, "__get__"), (exception,))) {
            look.finds(values, inside);
        }
    }

    fn look_at_attributes<'py>(&mut self, look: &mut Look<'py>, object: &Bound<'py, PyAny>, inside: Inside) {
        let facts = self.types.facts(object);
        self.take_whole(facts.token);
        let mode = if inside.written { AccessMode::Write } else { AccessMode::Read };
        let own = self.object(object, facts);
        let id = self.contents.instance_dicts.replaced(own);
        let whole = self.container_of(id, facts.kind).whole;
        look.add([access(whole, mode)]);
        if self.is_visible(whole) {
            look.moves(whole, inside);
        }
        let slots = self.types.slots.of(&object.get_type());
        for (name, value) in attributes(object, &slots) {
            let Some(slot) = self.attribute_slot(object, &name) else { continue };
            look.add([access(slot.location, mode)]);
            let visible = self.is_visible(slot.location);
            if visible {
                look.moves(slot.location, inside);
            }
            if let Some(value) = value {
                let owner = Some(inside.owner.unwrap_or(slot.object));
                let inside = Inside { owner, racing: inside.racing || visible, ..inside };
                look.races(inside);
                look.finds(value, inside);
            }
        }
    }
}

type Attribute<'py> = (Bound<'py, PyString>, Option<Bound<'py, PyAny>>);

/// The attributes of an instance with their values, from its dict and its slots; no code of its class runs for it.
fn attributes<'py>(object: &Bound<'py, PyAny>, slots: &[MemberSlot]) -> Vec<Attribute<'py>> {
    let py = object.py();
    let mut found: Vec<Attribute<'py>> = Vec::new();
    let mut add = |name: Bound<'py, PyAny>, value: Option<Bound<'py, PyAny>>| {
        let name = name.cast_into::<PyString>().ok().and_then(|name| interned(&name).ok());
        let name = name.filter(|name| !is_kept_by_checker(name));
        found.extend(name.map(|name| (name, value)));
    };
    if !lacks_dict(object).unwrap_or(false) {
        if let Some(own) = own_dict(object) {
            own.iter().for_each(|(name, value)| add(name, Some(value)));
        }
    }
    for (name, slot) in slots {
        let value = slot.bind(py).call_method1(intern!(py, "__get__"), (object, object.get_type())).ok();
        add(name.bind(py).clone().into_any(), value);
    }
    found
}

/// Whether an attribute is one that the checker keeps in an object of the model.
fn is_kept_by_checker(name: &Bound<'_, PyString>) -> bool {
    name.to_cow().is_ok_and(|name| name.starts_with("dpor_"))
}

/// Whether an object has no attribute by this name in its dict, and would get one. No code of its class runs.
pub fn lacks_attribute(object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> bool {
    if let Ok(class) = object.cast::<PyType>() {
        let namespace = told_by_type(class, intern!(class.py(), "__dict__"));
        return namespace.and_then(|namespace| namespace.contains(name)).is_ok_and(|has| !has);
    }
    lacks_dict(object).unwrap_or(false)
        || own_dict(object).is_some_and(|own| own.contains(name).is_ok_and(|has| !has))
}

/// The dict of an instance, which it gets now if it has none yet. No code of its class runs.
pub fn own_dict<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyDict>> {
    // SAFETY: the object is alive, and a new reference or NULL with an exception set comes back.
    let own = unsafe {
        Bound::from_owned_ptr_or_err(
            object.py(),
            pyo3::ffi::PyObject_GenericGetDict(object.as_ptr(), std::ptr::null_mut()),
        )
    };
    own.ok().and_then(|own| own.cast_into::<PyDict>().ok())
}

/// Whether a value is of the commonest types that neither hold others nor can change.
#[inline]
pub fn has_nothing_inside(object: &Bound<'_, PyAny>) -> bool {
    object.is_exact_instance_of::<PyInt>()
        || object.is_exact_instance_of::<PyString>()
        || object.is_none()
        || object.is_exact_instance_of::<PyBool>()
        || object.is_exact_instance_of::<PyFloat>()
        || object.is_exact_instance_of::<PyBytes>()
}

/// Whether an object of a class that a class statement has made has attributes of its own beside what C keeps of it.
fn has_attributes(object: &Bound<'_, PyAny>) -> bool {
    let class = object.get_type();
    let offset =
        || told_by_type(&class, intern!(object.py(), "__dictoffset__")).and_then(|offset| offset.extract::<isize>());
    is_heap_class(&class) && offset().is_ok_and(|offset| offset != 0)
}

/// Whether an object that does not change itself may hold others that do, and show them: a slice, a match of a
/// bytearray, a method that is bound to a list.
pub fn holds_objects(object: &Bound<'_, PyAny>) -> bool {
    const HAS_REFERENTS: c_ulong = 1 << 14;
    // Their texts, comparisons and copies show none of what they hold.
    const SHOWING_NOTHING: &[&str] = &[
        "_lru_cache_wrapper",
        "classmethod_descriptor",
        "code",
        "frame",
        "function",
        "getset_descriptor",
        "member_descriptor",
        "method_descriptor",
        "traceback",
        "wrapper_descriptor",
    ];
    let class = object.get_type();
    // SAFETY: the type is alive.
    if unsafe { ffi::PyType_GetFlags(class.as_type_ptr()) } & HAS_REFERENTS == 0 {
        return false;
    }
    let shows = class.name().is_ok_and(|name| name.to_str().is_ok_and(|name| !SHOWING_NOTHING.contains(&name)));
    // What those hold that make their own operations visible is the checker's, and their attributes are looked at.
    let shows = shows && found_in_class(&class, "__dpor_untracked__").is_none();
    let shows = shows && !stands_in(object);
    shows && !is_heap_class(&class) && !is_own_primitive(object) && !module_of(&class).starts_with("greenlet")
}

/// Whether an operation that looks that deep reads what an object that does not change itself holds. Methods in C are
/// compared by who their receiver is, and shown by its class: only a call of them reads it.
pub fn shows_what_it_holds(object: &Bound<'_, PyAny>, depth: Depth) -> bool {
    const BOUND_IN_C: &[&str] = &["builtin_function_or_method", "method-wrapper"];
    let is_bound = || {
        let class = object.get_type().name();
        class.is_ok_and(|class| class.to_str().is_ok_and(|class| BOUND_IN_C.contains(&class)))
    };
    match depth {
        Depth::Items => false,
        Depth::Comparison | Depth::Text => !is_bound(),
        Depth::Everything => true,
    }
}

/// The objects that an object written in C holds, by what it tells the garbage collector, and that which a weak
/// reference stands for: it is compared by that.
pub fn referents<'py>(object: &Bound<'py, PyAny>) -> Vec<Bound<'py, PyAny>> {
    let mut held: Vec<Py<PyAny>> = Vec::new();
    if is_collected(object) {
        // SAFETY: every type that takes part in garbage collection has this slot, of this signature; the function runs
        // no code in Python, and gives objects that are alive to `collect`, with what that is to be given.
        unsafe {
            let slot = ffi::PyType_GetSlot(ffi::Py_TYPE(object.as_ptr()), ffi::Py_tp_traverse);
            if !slot.is_null() {
                let traverse: ffi::traverseproc = std::mem::transmute(slot);
                traverse(object.as_ptr(), collect, (&raw mut held).cast());
            }
        }
    }
    let py = object.py();
    let held: Vec<_> = held.into_iter().map(|item| item.into_bound(py)).collect();
    let held = if is_suspended(object) { without_frame(held) } else { held };
    held.into_iter().flat_map(|item| items_if_unfinished(&item).unwrap_or_else(|| vec![item])).collect()
}

/// Whether an object is a function that can be gone on with.
fn is_suspended(object: &Bound<'_, PyAny>) -> bool {
    const SUSPENDED: &[&str] = &["async_generator", "coroutine", "generator"];
    object.get_type().name().is_ok_and(|class| class.to_str().is_ok_and(|class| SUSPENDED.contains(&class)))
}

/// What a suspended function holds, without its frame and the copy of its variables that it has where somebody has
/// looked at them, such as the recorder. The interpreter tells of these before the function, and of the variables
/// themselves behind it.
fn without_frame(held: Vec<Bound<'_, PyAny>>) -> Vec<Bound<'_, PyAny>> {
    let function = held.iter().position(|item| item.is_instance_of::<PyFunction>()).unwrap_or(0);
    let is_of_frame = |item: &Bound<'_, PyAny>| {
        item.is_exact_instance_of::<PyDict>() || item.get_type().name().is_ok_and(|class| class == "frame")
    };
    let kept = held.into_iter().enumerate().filter(|(at, item)| *at > function || !is_of_frame(item));
    kept.map(|(_, item)| item).collect()
}

/// Whether the garbage collector asks an object what it holds: static types are objects of a type that it asks.
fn is_collected(object: &Bound<'_, PyAny>) -> bool {
    // SAFETY: the object and its type are alive; the slot has this signature, and its function only looks at the object.
    unsafe {
        let class = ffi::Py_TYPE(object.as_ptr());
        if ffi::PyType_GetFlags(class) & ffi::Py_TPFLAGS_HAVE_GC == 0 {
            return false;
        }
        let slot = ffi::PyType_GetSlot(class, ffi::Py_tp_is_gc);
        if slot.is_null() {
            return true;
        }
        let is_collected: ffi::inquiry = std::mem::transmute(slot);
        is_collected(object.as_ptr()) != 0
    }
}

/// Add an object to the list, a `Vec<Py<PyAny>>`, that `found` points to.
///
/// # Safety
/// Both have to be alive, and nobody else may use the list.
unsafe extern "C" fn collect(object: *mut ffi::PyObject, found: *mut c_void) -> c_int {
    let (found, py) = unsafe { (&mut *found.cast::<Vec<Py<PyAny>>>(), Python::assume_attached()) };
    found.push(unsafe { Bound::from_borrowed_ptr(py, object) }.unbind());
    0
}

/// The items of a list that C code has made longer than what it has put into it: nothing may run over the list itself.
fn items_if_unfinished<'py>(object: &Bound<'py, PyAny>) -> Option<Vec<Bound<'py, PyAny>>> {
    let list = object.cast_exact::<PyList>().ok()?;
    let length = isize::try_from(list.len()).ok()?;
    // SAFETY: the list is alive and the index in its range; what comes back is borrowed from the list, or NULL.
    let item = |index| unsafe {
        Bound::from_borrowed_ptr_or_opt(object.py(), pyo3::ffi::PyList_GetItem(object.as_ptr(), index))
    };
    let unfinished = length > 0 && item(length - 1).is_none();
    unfinished.then(|| (0..length).filter_map(item).collect())
}
