//! What the hooks need to know of Python types: which are mutable, which attributes can vary, which calls only read.
//!
//! Everything here is looked up once a type (or type and name) and then cached by address; the cache keeps the types
//! alive, so that an address keeps its meaning.

pub mod ancestry;
pub mod attribute_kinds;
pub mod class_flags;
pub mod enumerations;
pub mod foreign_types;
pub mod harmless_methods;
pub mod member_slots;
pub mod native_types;
pub mod stand_in_classes;

use std::sync::Arc;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyAny as PyBaseObject, PyFunction, PyModule, PyString, PyType};
use pyo3::PyTypeInfo;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::python::calls::entered_code::{is_own_code, without_code};
use crate::python::calls::function_code::code_of;
use crate::python::calls::special_methods::has_items_as_attributes;
use crate::python::explore::assumptions::{calls_for_user, runs_first_party, AssumptionKind, Assumptions};
use crate::python::modules::origins::{Origin, Origins};
use crate::python::primitives::{derives_from_own, is_own_class};
use crate::python::types::ancestry::{found_in_class, told_by_type, Ancestry};
use crate::python::types::attribute_kinds::{attribute_kind, AttributeKind};
use crate::python::types::class_flags::{is_immutable_class, is_made_at_run_time};
use crate::python::types::foreign_types::tells_memory_owner;
use crate::python::types::harmless_methods::is_own;
use crate::python::types::member_slots::MemberSlots;
use crate::python::types::native_types::{calls_decoder, is_immutable, is_view};

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

struct TypeEntry {
    facts: TypeFacts,
    _keep: Py<PyType>,
}

/// A summary of a type.
#[derive(Clone, Copy)]
pub struct TypeFacts {
    pub kind: TypeKind,
    /// The same for types of the same name, also in different executions.
    pub token: u32,
    /// Whether instances are compared by identity, so that an instance is a dict key of its own.
    pub identity_key: bool,
    /// Whether instances are symbolic values.
    pub symbolic: bool,
    /// Whether each thread has its own attributes of an instance.
    pub thread_local: bool,
    /// Whether a method in C of the container that instances are stands for their attributes.
    pub items_as_attributes: bool,
    /// Whether instances tell that another object has come to its end.
    pub tells_end: bool,
    /// Whether comparing instances runs code that is not instrumented (a dataclass makes such code).
    pub compared_by_foreign_code: bool,
    /// The same for turning them into text.
    pub shown_by_foreign_code: bool,
    /// The same for items, iteration, truth and what operators compute.
    pub items_by_foreign_code: bool,
    /// Whether instances are made for one thread, and their code runs unseen.
    pub thread_bound: bool,
    /// Whether their class is one of a module that runs on stand-ins, which do not tell of all that it keeps.
    pub keeps_unseen: bool,
    /// Whether they are locks, queues or thread-local data of the interpreter, to which all threads of a model are one.
    pub is_uncontrolled: bool,
    /// Whether they are objects in C of a package, which may share what they keep in ways that nobody tells of.
    pub shares_unseen: bool,
    /// Whether their class derives from one of the kernel's primitives, whose methods tell of their operations
    /// themselves.
    pub is_primitive: bool,
    /// Whether they may be generic aliases, `K[int]`, which show attributes of their class.
    pub may_be_alias: bool,
}

#[derive(Default)]
pub struct TypeTable {
    types: FxHashMap<usize, TypeEntry>,
    pub slots: MemberSlots,
    /// The type that was asked for last, by address: one hook asks several times.
    last: Option<(usize, TypeFacts)>,
    /// Whether one of them is of objects of which it is told who looks into them.
    pub watches_looks: bool,
    /// Whether one of them computes in C of which nothing is known, so that an operator reads an object of it whatever
    /// the other operand is.
    pub computes: bool,
    tokens: FxHashMap<Arc<str>, u32>,
    /// By token.
    names: Vec<Arc<str>>,
    /// By holder, name, and whether the holder's own attribute is meant or that of its instances.
    attributes: FxHashMap<(usize, usize, bool), AttributeKind>,
    /// Names of attributes that come and go in classes, or that are methods of their class and are rebound.
    rebound: FxHashSet<String>,
    /// Types, by token, of which operations take instances as wholes.
    taken_whole: FxHashSet<u32>,
    /// The tokens of those types of which operations give instances attributes that these did not have.
    gaining: FxHashSet<u32>,
    /// Whether classes, by address, read what they are called with in C; they are kept.
    pub constructors: FxHashMap<usize, (bool, Py<PyAny>)>,
    /// What the types that were seen have a verdict rest on: finalizers, weak references, memory of C.
    pub assumptions: Assumptions,
    pub origins: Origins,
}

impl TypeTable {
    /// The cached facts of an object's type; None if `learn` has not seen it.
    #[inline]
    pub fn known(&self, object: &Bound<'_, PyAny>) -> Option<TypeFacts> {
        self.types.get(&(object.get_type_ptr() as usize)).map(|entry| entry.facts)
    }

    /// The facts of an object's type, computed if they are not known yet.
    #[inline]
    pub fn facts(&mut self, object: &Bound<'_, PyAny>) -> TypeFacts {
        let address = object.get_type_ptr() as usize;
        if let Some((_, facts)) = self.last.filter(|(last, _)| *last == address) {
            return facts;
        }
        let facts = match self.known(object) {
            Some(facts) => facts,
            None => self.learn(&object.get_type()),
        };
        self.last = Some((address, facts));
        facts
    }

    #[cold]
    fn learn(&mut self, ty: &Bound<'_, PyType>) -> TypeFacts {
        self.origins.want_class(ty);
        let kind = classify(ty);
        let name = format!("{}.{}", module_of(ty), qualified_name(ty));
        let tells_end = self.note_end(ty, &name);
        self.note_shared_memory(ty);
        self.note_special_methods_in_c(ty);
        self.note_made_flags(ty);
        let is_uncontrolled = is_uncontrolled(ty, &name);
        let token = self.token(name);
        let identity_key = kind == TypeKind::Instance && compares_by_identity(ty);
        let symbolic = found_in_class(ty, "__dpor_symbolic__").is_some();
        let thread_local = found_in_class(ty, "__dpor_thread_local__").is_some();
        let is_instance = kind == TypeKind::Instance;
        let compared_by_foreign_code = is_instance && self.has_foreign_method(ty, COMPARISONS);
        let shown_by_foreign_code = is_instance && self.has_foreign_method(ty, CONVERSIONS);
        let computes = matches!(kind, TypeKind::Instance | TypeKind::Opaque) && self.computes_in_c(ty);
        self.computes |= computes;
        let items_by_foreign_code = is_instance && (computes || self.has_foreign_method(ty, ITEMS));
        let thread_bound = match kind {
            TypeKind::Instance => found_in_class(ty, "dpor_thread_bound").is_some(),
            TypeKind::Iterator | TypeKind::Opaque => calls_decoder(ty),
            _ => false,
        };
        let keeps_unseen = is_instance && self.origins.left.keeps_unseen(ty);
        let items_as_attributes = kind.has_content() && has_items_as_attributes(ty);
        let shares_unseen = matches!(kind, TypeKind::Instance | TypeKind::Opaque | TypeKind::Iterator)
            && !tells_memory_owner(ty)
            && self.package_in_c(ty).is_some();
        self.watches_looks |= thread_bound || keeps_unseen || items_as_attributes || is_uncontrolled || shares_unseen;
        let facts = TypeFacts {
            kind,
            token,
            identity_key,
            symbolic,
            thread_local,
            items_as_attributes,
            tells_end,
            compared_by_foreign_code,
            shown_by_foreign_code,
            items_by_foreign_code,
            thread_bound,
            keeps_unseen,
            is_uncontrolled,
            shares_unseen,
            is_primitive: derives_from_own(ty),
            may_be_alias: matches!(&*module_of(ty), "types" | "typing"),
        };
        self.types.insert(ty.as_ptr() as usize, TypeEntry { facts, _keep: ty.clone().unbind() });
        facts
    }

    /// Note it if the type has a finalizer. Returns whether instances tell that another object has come to its end.
    fn note_end(&mut self, ty: &Bound<'_, PyType>, name: &str) -> bool {
        let py = ty.py();
        if found_in_class(ty, "__del__").is_some_and(|method| self.is_instrumented(&method)) {
            let end = format!("{}.__del__", qualified_name(ty));
            self.assumptions.add(py, AssumptionKind::ObjectEnd, &end, None);
        }
        weak_name(name).is_some()
    }

    /// Note it if objects of the type are memory of C, which others can show as well: a change through one is not seen
    /// in the other.
    fn note_shared_memory(&mut self, ty: &Bound<'_, PyType>) {
        let metaclass = ty.get_type();
        if module_of(&metaclass) == "_ctypes" {
            self.assumptions.add(ty.py(), AssumptionKind::UnseenCode, "ctypes", None);
        }
    }

    /// Note it that an object has been made which tells that another one has come to its end, unless modules that are
    /// not the user's keep it to themselves.
    pub fn note_weak(&mut self, object: &Bound<'_, PyAny>) {
        let py = object.py();
        let ty = object.get_type();
        let name = format!("{}.{}", module_of(&ty), qualified_name(&ty));
        let Some(end) = weak_name(&name) else { return };
        // The containers of weak references make such references for themselves.
        let passed = if end == "weakref.ref" { &[] } else { WEAK_MODULES };
        if calls_for_user(py, passed) {
            self.assumptions.add(py, AssumptionKind::ObjectEnd, end, None);
        }
    }

    /// Whether the class has one of these methods from code that is not instrumented, other than `object`'s own.
    fn has_foreign_method(&mut self, ty: &Bound<'_, PyType>, names: &[&str]) -> bool {
        let object = PyBaseObject::type_object(ty.py());
        names.iter().any(|name| match (found_in_class(ty, name), found_in_class(&object, name)) {
            (Some(method), Some(inherited)) if method.is(&inherited) => false,
            (Some(method), Some(_)) if *name == "__hash__" && numbers_instances(&method) => false,
            (Some(method), _) => !method.is_none() && !self.is_instrumented(&method),
            _ => false,
        })
    }

    /// Whether a method is instrumented Python code.
    pub fn is_instrumented(&mut self, method: &Bound<'_, PyAny>) -> bool {
        // To ask anything else for its code could run code of the model.
        method.is_instance_of::<PyFunction>()
            && self.origins.of(method).is_ok_and(|written| written.origin == Origin::Instrumented)
    }

    /// A number for a name.
    pub fn token(&mut self, name: String) -> u32 {
        if let Some(token) = self.tokens.get(name.as_str()) {
            return *token;
        }
        let (name, token) = (Arc::<str>::from(name), self.names.len() as u32);
        self.names.push(name.clone());
        self.tokens.insert(name, token);
        token
    }

    /// The name that a token stands for.
    pub fn name_of(&self, token: u32) -> &str {
        &self.names[token as usize]
    }

    /// A number for a function, by where it is defined: its names can be changed.
    pub fn code_token(&mut self, function: &Bound<'_, PyAny>) -> Option<u32> {
        let code = code_of(function)?;
        let text = |name: &str| code.getattr(name).map(|value| value.to_string()).unwrap_or_default();
        let place = (text("co_filename"), text("co_firstlineno"), text("co_qualname"));
        Some(self.token(format!("code {place:?}")))
    }

    /// A number for a class or module, by its name.
    pub fn name_token(&mut self, object: &Bound<'_, PyAny>) -> u32 {
        let py = object.py();
        // Not `getattr`, which a metaclass or a class of modules can have code of its own for.
        let found = |name: &str| match object.cast::<PyModule>() {
            Ok(module) => Ok(module.dict().get_item(name)?),
            Err(_) if object.is_instance_of::<PyType>() => told_by_type(object, &PyString::new(py, name)).map(Some),
            Err(_) => object.getattr(name).map(Some),
        };
        let text = |name: &str| {
            found(name).ok().flatten().and_then(|value| value.extract::<String>().ok()).unwrap_or_default()
        };
        let name = format!("named {}.{}", text("__module__"), text("__qualname__") + &text("__name__"));
        self.token(name)
    }

    /// Forget what follows from classes and the code of their methods: these have changed, or existed only in one
    /// execution (their modules are loaded afresh for each).
    pub fn forget(&mut self) {
        self.origins.forget_classes();
        self.attributes.clear();
        self.types.clear();
        self.last = None;
        self.slots.forget();
        self.constructors.clear();
    }

    /// How the attribute behaves on instances of the object's type (or on the class itself if `object` is one).
    #[inline]
    pub fn attribute(
        &mut self,
        object: &Bound<'_, PyAny>,
        name: &Bound<'_, PyString>,
        kind: TypeKind,
    ) -> AttributeKind {
        let holder = if kind == TypeKind::Class { object.as_ptr() as usize } else { object.get_type_ptr() as usize };
        let key = (holder, name.as_ptr() as usize, kind == TypeKind::Class);
        if let Some(known) = self.attributes.get(&key) {
            return *known;
        }
        let class = match object.cast::<PyType>() {
            Ok(class) if kind == TypeKind::Class => class.clone(),
            _ => object.get_type(),
        };
        let rebound = name.to_str().is_ok_and(|name| self.rebound.contains(name));
        let found = if rebound {
            AttributeKind::DataOfAnyClass
        } else {
            // A namespace can have keys that code of the model compares.
            let found = without_code(name.py(), || attribute_kind(&class, name, kind == TypeKind::Class));
            found.unwrap_or(AttributeKind::Native)
        };
        if kind == TypeKind::Class {
            self.facts(class.as_any());
            self.note_member_map(&class, name);
        }
        self.attributes.insert(key, found);
        found
    }

    /// Note that a program looks at where an enumeration keeps the combinations of its flags that it has made when they
    /// were asked for, which are no operations.
    fn note_member_map(&mut self, class: &Bound<'_, PyType>, name: &Bound<'_, PyString>) {
        let py = class.py();
        if name == "_value2member_map_" && runs_first_party(py, &[]) {
            let subject = format!("{}.{}.{name}", module_of(class), qualified_name(class));
            self.assumptions.add(py, AssumptionKind::UnseenCode, &subject, None);
        }
    }

    /// Note that an attribute of this name was rebound in a class, or in place of a method; returns true if that is
    /// news, so that earlier loads were wrongly left out.
    pub fn note_rebound(&mut self, name: &Bound<'_, PyString>) -> bool {
        let news = self.rebound.insert(name.to_string());
        if news {
            self.attributes.clear();
        }
        news
    }

    /// Whether attributes of this name come and go in classes.
    pub fn is_rebound(&self, name: &Bound<'_, PyString>) -> bool {
        !self.rebound.is_empty() && name.to_str().is_ok_and(|name| self.rebound.contains(name))
    }

    /// Note that an operation takes an instance of the type as a whole; returns true if that is news, so that earlier
    /// accesses to its attributes were not told of it.
    pub fn note_taken_whole(&mut self, token: u32) -> bool {
        self.taken_whole.insert(token)
    }

    /// An operation gives an instance of the type an attribute that it did not have. Returns whether that is news.
    pub fn note_gaining(&mut self, token: u32) -> bool {
        self.gaining.insert(token)
    }

    /// Whether operations give instances of the type attributes that these did not have.
    #[inline]
    pub fn is_gaining(&self, token: u32) -> bool {
        !self.gaining.is_empty() && self.gaining.contains(&token)
    }

    /// Whether operations take instances of the type as wholes.
    #[inline]
    pub fn is_taken_whole(&self, token: u32) -> bool {
        !self.taken_whole.is_empty() && self.taken_whole.contains(&token)
    }
}

/// The modules of what tells that an object has come to its end.
const WEAK_MODULES: &[&str] = &["weakref", "_weakrefset", "collections.abc"];

/// What reports call a type whose instances tell that an object has come to its end.
fn weak_name(name: &str) -> Option<&'static str> {
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
fn is_uncontrolled(ty: &Bound<'_, PyType>, name: &str) -> bool {
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

fn compares_by_identity(ty: &Bound<'_, PyType>) -> bool {
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
fn numbers_instances(hash: &Bound<'_, PyAny>) -> bool {
    if !hash.is_instance_of::<PyFunction>() {
        return false;
    }
    hash.getattr(intern!(hash.py(), "__code__")).and_then(|code| is_own_code(&code)).unwrap_or(false)
}

pub const COMPARISONS: &[&str] = &["__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__"];
/// The methods that operations on items call, and those that ask whether there are any.
pub const ITEMS: &[&str] =
    &["__getitem__", "__setitem__", "__delitem__", "__contains__", "__iter__", "__next__", "__len__", "__bool__"];
const CONVERSIONS: &[&str] = &["__repr__", "__str__", "__format__"];

fn classify(ty: &Bound<'_, PyType>) -> TypeKind {
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

fn is_c_module(py: Python<'_>, name: &str) -> bool {
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
