//! What kind of object instances of a class are: which state they have that threads can share.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyAny as PyBaseObject, PyFunction, PyString, PyType};
use pyo3::PyTypeInfo;

use crate::python::calls::entered_code::is_own_code;
use crate::python::primitives::is_own_class;
use crate::python::types::ancestry::{found_in_class, told_by_type, Ancestry};
use crate::python::types::class_flags::{is_immutable_class, is_made_at_run_time};
use crate::python::types::harmless_methods::is_own;
use crate::python::types::native_types::{is_immutable, is_view};

/// How values of a type behave as shared objects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TypeKind {
    /// No state that could be shared: numbers, strings, functions, types, kernel primitives...
    Immutable,
    List,
    Dict,
    /// A dict that inserts missing keys on lookup.
    DefaultDict,
    Set,
    /// A container or other C object taken as one piece: deque, bytearray, StringIO, itertools.count...
    Opaque,
    /// An iterator written in C, or a generator: advancing it changes it.
    Iterator,
    /// A view of a dict's keys, values or items.
    View,
    /// An instance of a Python class (or of a C class with attributes).
    Instance,
    Module,
    Class,
    /// A weak reference that stands for its object.
    Proxy,
}

impl TypeKind {
    pub fn is_container(self) -> bool {
        matches!(self, TypeKind::List | TypeKind::Dict | TypeKind::DefaultDict | TypeKind::Set | TypeKind::Opaque)
    }

    /// Whether each item is a place of its own.
    pub fn has_cells(self) -> bool {
        matches!(self, TypeKind::List | TypeKind::Dict | TypeKind::DefaultDict | TypeKind::Set)
    }

    /// Whether an instance has a content that is no attribute: operations on it access it as one piece or in parts.
    pub fn has_content(self) -> bool {
        self.is_container() || matches!(self, TypeKind::View | TypeKind::Iterator)
    }

    /// Whether values of the type have an identity that matters.
    pub fn is_tracked(self) -> bool {
        self != TypeKind::Immutable
    }
}

/// The modules of what tells that an object has come to its end.
pub const WEAK_MODULES: &[&str] = &["weakref", "_weakrefset", "collections.abc"];

/// What reports call a type whose instances tell that an object has come to its end.
pub fn weak_name(name: &str) -> Option<&'static str> {
    Some(match name {
        "weakref.ReferenceType" => "weakref.ref",
        "weakref.ProxyType" | "weakref.CallableProxyType" => "weakref.proxy",
        "_weakrefset.WeakSet" => "weakref.WeakSet",
        "weakref.WeakMethod" => "weakref.WeakMethod",
        "weakref.WeakKeyDictionary" => "weakref.WeakKeyDictionary",
        "weakref.WeakValueDictionary" => "weakref.WeakValueDictionary",
        "weakref.finalize" => "weakref.finalize",
        _ => return None,
    })
}

/// Whether instances belong to threads of the interpreter, to which those of a model are one: its locks, its queue, and
/// its thread-local data, also of classes that derive from it.
pub fn is_uncontrolled(ty: &Bound<'_, PyType>, name: &str) -> bool {
    if matches!(name, "_thread.lock" | "_thread.RLock" | "_queue.SimpleQueue") {
        return !is_own_class(ty);
    }
    let is_local =
        |base: &Bound<'_, PyType>| qualified_name(base) == "_local" && module_of(base) == "_thread" && !is_own(base);
    ty.ancestry().iter().filter_map(|base| base.cast_into::<PyType>().ok()).any(|base| is_local(&base))
}

pub fn module_of(ty: &Bound<'_, PyType>) -> String {
    told_by_type(ty, intern!(ty.py(), "__module__")).and_then(|module| module.extract()).unwrap_or_default()
}

pub fn qualified_name(ty: &Bound<'_, PyType>) -> String {
    told_by_type(ty, intern!(ty.py(), "__qualname__")).and_then(|name| name.extract()).unwrap_or_default()
}

/// Whether the class was made by a `class` statement (or the like), so that instances can be given attributes.
pub fn has_instance_dict(ty: &Bound<'_, PyType>) -> bool {
    told_by_type(ty, intern!(ty.py(), "__dictoffset__")).and_then(|offset| offset.extract::<isize>()).unwrap_or(0)
        != 0
}

pub fn compares_by_identity(ty: &Bound<'_, PyType>) -> bool {
    let object = PyBaseObject::type_object(ty.py());
    let same = |name: &str| match (found_in_class(ty, name), found_in_class(&object, name)) {
        (Some(own), Some(inherited)) => own.is(&inherited),
        _ => false,
    };
    same("__eq__") && (same("__hash__") || has_numbered_instances(ty))
}

/// Whether the checker gives the instances numbers as their hashes.
pub fn has_numbered_instances(ty: &Bound<'_, PyType>) -> bool {
    found_in_class(ty, "__hash__").is_some_and(|hash| numbers_instances(&hash))
}

/// Whether a `__hash__` is one of the checker's, which give threads, futures and tasks numbers of their own: their
/// places in sets are the same in each execution.
pub fn numbers_instances(hash: &Bound<'_, PyAny>) -> bool {
    if !hash.is_instance_of::<PyFunction>() {
        return false;
    }
    hash.getattr(intern!(hash.py(), "__code__")).and_then(|code| is_own_code(&code)).unwrap_or(false)
}

pub const COMPARISONS: &[&str] = &["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__"];
/// The methods that operations on items call, and those that ask whether there are any.
pub const ITEMS: &[&str] =
    &["__getitem__", "__setitem__", "__delitem__", "__contains__", "__iter__", "__next__", "__len__", "__bool__"];
pub const CONVERSIONS: &[&str] = &["__repr__", "__str__", "__format__"];

pub fn classify(ty: &Bound<'_, PyType>) -> TypeKind {
    let py = ty.py();
    let builtins = |name: &str| py.import("builtins").and_then(|module| module.getattr(name));
    let types = |name: &str| py.import("types").and_then(|module| module.getattr(name));
    let is_subclass = |base: PyResult<Bound<'_, PyAny>>| base.and_then(|base| ty.is_subclass(&base)).unwrap_or(false);
    if is_subclass(builtins("type")) {
        return TypeKind::Class;
    }
    if is_subclass(types("ModuleType")) {
        return TypeKind::Module;
    }
    if tells_itself(ty) {
        return TypeKind::Immutable;
    }
    let module = module_of(ty);
    let name = qualified_name(ty);
    if module == "weakref" && matches!(name.as_str(), "ProxyType" | "CallableProxyType") {
        return TypeKind::Proxy;
    }
    if name == "Context" && module == "_contextvars" {
        return TypeKind::Opaque;
    }
    if is_subclass(builtins("list")) {
        return TypeKind::List;
    }
    if is_subclass(builtins("dict")) {
        let default = py.import("collections").and_then(|module| module.getattr("defaultdict"));
        // A `__missing__` in Python tells of its own operations.
        let missing = found_in_class(ty, "__missing__");
        let native = missing.is_some_and(|missing| missing.getattr(intern!(py, "__code__")).is_err());
        return if is_subclass(default) && native { TypeKind::DefaultDict } else { TypeKind::Dict };
    }
    if is_subclass(builtins("set")) {
        return TypeKind::Set;
    }
    if is_subclass(builtins("bytearray")) {
        return TypeKind::Opaque;
    }
    if is_view(ty) {
        return TypeKind::View;
    }
    // A class statement gives instances a dict unless it has __slots__; then its members are descriptors.
    if is_heap_class(ty) || is_subclass(builtins("BaseException")) {
        return TypeKind::Instance;
    }
    if is_immutable(ty, &module) {
        return TypeKind::Immutable;
    }
    if found_in_class(ty, "__next__").is_some() {
        return TypeKind::Iterator;
    }
    if has_instance_dict(ty) {
        return TypeKind::Instance;
    }
    TypeKind::Opaque
}

/// Whether instances need no watching whatever is done to them: each thread has its own attributes, they are symbolic
/// values, or they make their own operations visible, and end where the last reference to them does.
pub fn tells_itself(ty: &Bound<'_, PyType>) -> bool {
    let marks = ["__dpor_thread_local__", "__dpor_symbolic__", "__dpor_untracked__"];
    marks.into_iter().any(|mark| found_in_class(ty, mark).is_some())
}

/// Whether the class was made by Python code.
pub fn is_heap_class(ty: &Bound<'_, PyType>) -> bool {
    // Heap types of C modules are mostly immutable or live in modules without a file of their own.
    is_made_at_run_time(ty)
        && !is_immutable_class(ty)
        && told_by_type(ty, intern!(ty.py(), "__dict__")).is_ok_and(|dict| {
            dict.contains("__module__").unwrap_or(false)
                && module_of(ty) != "dpor._kernel"
                && !is_own_class(ty)
                && !is_c_module(ty.py(), &module_of(ty))
        })
}

pub fn is_c_module(py: Python<'_>, name: &str) -> bool {
    let Ok(module) = py.import("sys").and_then(|sys| sys.getattr("modules")).and_then(|all| all.get_item(name))
    else {
        return false;
    };
    match module.getattr("__file__").and_then(|file| file.extract::<String>()) {
        Ok(file) => file.ends_with(".so") || file.ends_with(".pyd"),
        Err(_) => {
            name != "__main__"
                && module.getattr("__spec__").is_ok_and(|spec| {
                    !spec.is_none()
                        && spec
                            .getattr("origin")
                            .and_then(|origin| origin.extract::<String>())
                            .is_ok_and(|o| o == "built-in")
                })
        }
    }
}

/// The object that a weak proxy stands for, if there still is one.
pub fn referent<'py>(proxy: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let py = proxy.py();
    // Every object has this method, and the proxy hands on the one of its object.
    let bound_to = |method: &Bound<'py, PyString>| {
        proxy.getattr(method).and_then(|method| method.getattr(intern!(py, "__self__"))).ok()
    };
    // A class has it for its instances, but one of classes, too.
    bound_to(intern!(py, "__reduce_ex__")).or_else(|| bound_to(intern!(py, "mro")))
}
