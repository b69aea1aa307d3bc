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
pub mod kinds;
pub mod member_slots;
pub mod native_types;
pub mod stand_in_classes;

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::{PyAny as PyBaseObject, PyFunction, PyModule, PyString, PyType};
use pyo3::PyTypeInfo;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::python::calls::entered_code::without_code;
use crate::python::calls::function_code::code_of;
use crate::python::calls::special_methods::{has_described_changes, has_items_as_attributes};
use crate::python::explore::assumptions::{calls_for_user, runs_first_party, AssumptionKind, Assumptions};
use crate::python::modules::origins::{Origin, Origins};
use crate::python::primitives::derives_from_own;
use crate::python::types::ancestry::{found_in_class, told_by_type};
use crate::python::types::attribute_kinds::{attribute_kind, AttributeKind};
use crate::python::types::foreign_types::tells_memory_owner;
use crate::python::types::kinds::{
    classify, compares_by_identity, is_uncontrolled, module_of, numbers_instances, qualified_name, weak_name,
    TypeKind, COMPARISONS, CONVERSIONS, ITEMS, WEAK_MODULES,
};
use crate::python::types::member_slots::MemberSlots;
use crate::python::types::native_types::calls_decoder;

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
    /// Whether their class has a method that changes them from a descriptor in Python.
    pub changed_by_descriptor: bool,
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
            changed_by_descriptor: has_described_changes(ty),
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
