//! Special methods that a class in Python has from elsewhere: `__iter__ = items.__iter__`, `__missing__ =
//! functools.partial(...)`. The interpreter calls them in C, where no hook tells of what they do.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFunction, PyString, PyType};

use crate::python::calls::entered_code::is_own_code;
use crate::python::explore::assumptions::{is_of_instrumented_module, package_of, AssumptionKind};
use crate::python::explore::recording::Word;
use crate::python::footprints::container_effects::ContainerEffect;
use crate::python::heap::undo::Undo;
use crate::python::host::Host;
use crate::python::types::ancestry::{found_in_class, holder_of, told_by_type, Ancestry};
use crate::python::types::class_flags::is_made_at_run_time;
use crate::python::types::harmless_methods::is_own_primitive;
use crate::python::types::kinds::{module_of, qualified_name};
use crate::python::types::native_types::is_immutable;
use crate::python::types::TypeTable;

/// Attributes with special names that the interpreter does not call, or that hooks see when they are called.
const SEEN: &[&str] = &[
    "__call__",
    "__class__",
    "__class_getitem__",
    "__copy__",
    "__deepcopy__",
    "__enter__",
    "__exit__",
    "__init__",
    "__new__",
    "__orig_class__",
    "__wrapped__",
];

/// Attributes with special names that are loaded like any other.
const LOADED: &[&str] = &[
    "__abstractmethods__",
    "__annotations__",
    "__dict__",
    "__doc__",
    "__isabstractmethod__",
    "__match_args__",
    "__module__",
    "__name__",
    "__qualname__",
    "__signature__",
];

/// Methods of dicts that a class which derives from `dict` may have for its attributes.
const OF_ITEMS: &[(&str, &[&str])] =
    &[("__getattr__", &["__getitem__", "get"]), ("__setattr__", &["__setitem__"]), ("__delattr__", &["__delitem__"])];

impl TypeTable {
    /// Note it if the interpreter calls code in C for instances that the class does not derive from.
    pub fn note_special_methods_in_c(&mut self, class: &Bound<'_, PyType>) {
        if !is_made_at_run_time(class) {
            return;
        }
        let py = class.py();
        if found_in_class(class, "__prepare__").is_some_and(|method| self.is_of_user(&method)) {
            self.assumptions.add(py, AssumptionKind::UnseenCode, &prepared_by(class), None);
        }
        let mut described = None;
        let bases = class.ancestry().iter().filter_map(|base| base.cast_into::<PyType>().ok());
        for base in bases.filter(is_made_at_run_time) {
            let items =
                told_by_type(&base, intern!(py, "__dict__")).and_then(|own| own.call_method0(intern!(py, "items")));
            for item in items.and_then(|items| items.try_iter()).into_iter().flatten().flatten() {
                let Ok((name, value)) = item.extract::<(Bound<'_, PyString>, Bound<'_, PyAny>)>() else { continue };
                let Ok(text) = name.to_str() else { continue };
                let special = text.starts_with("__") && text.ends_with("__") && !SEEN.contains(&text);
                if special && !(CHANGES.contains(&text) || LOADED.contains(&text)) && is_described(&value) {
                    // There can be very many of them: one is named.
                    let kind = qualified_name(&value.get_type());
                    described.get_or_insert_with(|| format!("{kind} as {}.{text}", qualified_name(&base)));
                    continue;
                }
                if special && is_called_unseen(class, text, &value) {
                    let named = self
                        .foreign_package(&base)
                        .unwrap_or_else(|| format!("{} as {}.{text}", name_of(&value), qualified_name(&base)));
                    self.assumptions.add(py, AssumptionKind::UnseenCode, &named, None);
                }
            }
        }
        if let Some(described) = described {
            self.assumptions.add(py, AssumptionKind::UnseenCode, &described, None);
        }
    }
}

/// The special methods that hooks call themselves where a descriptor in Python gives them.
const CHANGES: &[&str] = &["__setattr__", "__delattr__", "__setitem__", "__delitem__"];

/// Whether a class has one of those from a descriptor in Python.
pub fn has_described_changes(class: &Bound<'_, PyType>) -> bool {
    is_made_at_run_time(class)
        && CHANGES.iter().any(|name| found_in_class(class, name).is_some_and(|method| is_described(&method)))
}

/// Whether a value that a class has is an object that its own code makes a method of, each time that it is used.
fn is_described(value: &Bound<'_, PyAny>) -> bool {
    let class = value.get_type();
    let get = found_in_class(&class, "__get__").filter(|get| get.is_instance_of::<PyFunction>());
    let is_own =
        |get: Bound<'_, PyAny>| get.getattr(intern!(get.py(), "__code__")).and_then(|code| is_own_code(&code));
    is_made_at_run_time(&class) && get.is_some_and(|get| !is_own(get).unwrap_or(true))
}

impl Host {
    /// The method that the interpreter would call in C to change an object, if a descriptor in Python gives it: what it
    /// does is seen. None for any other method.
    pub fn described_method<'py>(
        &self,
        object: &Bound<'py, PyAny>,
        name: &str,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let may_be =
            self.awake().is_some_and(|mut state| state.running() && state.types.facts(object).changed_by_descriptor);
        if !may_be {
            return Ok(None);
        }
        let class = object.get_type();
        let Some(found) = found_in_class(&class, name).filter(is_described) else { return Ok(None) };
        let Some(get) = found_in_class(&found.get_type(), "__get__") else { return Ok(None) };
        let py = object.py();
        let method = self.control(py, get)?.call1((&found, object, &class))?;
        self.control(py, method).map(Some)
    }
}

impl TypeTable {
    /// The package of a class that nobody looks into, if it is not of the standard library.
    fn foreign_package(&self, class: &Bound<'_, PyType>) -> Option<String> {
        let package = package_of(class.as_any());
        (!is_of_instrumented_module(class.as_any()) && !self.origins.is_standard(&package)).then_some(package)
    }

    /// Whether a method that C calls may be one of the model's: it is an instrumented function, or whatever else that
    /// is neither a function nor the interpreter's own.
    fn is_of_user(&mut self, method: &Bound<'_, PyAny>) -> bool {
        let function = match method.get_type().fully_qualified_name() {
            Ok(name) if matches!(name.to_str(), Ok("classmethod" | "staticmethod")) => {
                method.getattr(intern!(method.py(), "__func__")).unwrap_or_else(|_| method.clone())
            }
            Ok(name) if name.to_str().is_ok_and(|name| name == "classmethod_descriptor") => return false,
            _ => method.clone(),
        };
        !function.is_instance_of::<PyFunction>() || self.is_instrumented(&function)
    }
}

/// The body of a class stores into what `__prepare__` gives, where no hook is.
fn prepared_by(class: &Bound<'_, PyType>) -> String {
    format!("builtins.__build_class__ after {}.__prepare__", qualified_name(class))
}

#[pymethods]
impl Host {
    /// A class is about to be made with the keyword argument `metaclass`, or with those of a dict. Gives it back.
    #[pyo3(signature = (given, /))]
    fn metaclass<'py>(&self, given: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = given.py();
        let made_by = match given.cast::<PyDict>() {
            Ok(keywords) => keywords.get_item(intern!(py, "metaclass"))?,
            Err(_) => Some(given.clone()),
        };
        // What a class has for it is known with the class.
        let Some(made_by) = made_by.filter(|made_by| !made_by.is_instance_of::<PyType>()) else { return Ok(given) };
        let prepares = || made_by.hasattr(intern!(py, "__prepare__"));
        if self.awake().is_some() && self.asleep(prepares)? {
            let mut state = self.state();
            if state.executes() {
                state.assume(py, AssumptionKind::UnseenCode, &prepared_by(&made_by.get_type()));
            }
        }
        Ok(given)
    }
}

/// What a report calls a callable in C.
fn name_of(value: &Bound<'_, PyAny>) -> String {
    let kind = || value.get_type().name().and_then(|name| name.extract::<String>());
    let own = value.getattr(intern!(value.py(), "__name__")).and_then(|name| name.extract::<String>());
    format!("{}.{}", package_of(value), own.or_else(|_| kind()).unwrap_or_default())
}

/// Whether instances of a class, which are containers, have a method in C of theirs for attributes.
pub fn has_items_as_attributes(class: &Bound<'_, PyType>) -> bool {
    OF_ITEMS.iter().any(|(name, methods)| {
        found_in_class(class, name).is_some_and(|found| {
            let own = found.getattr(intern!(class.py(), "__name__")).and_then(|own| own.extract::<String>());
            !found.is_instance_of::<PyFunction>() && own.is_ok_and(|own| methods.contains(&own.as_str()))
        })
    })
}

impl Host {
    /// Whether an attribute of an object is an item of it: one that its class does not have.
    #[inline]
    pub fn is_item(&self, object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> bool {
        let items = self.watched_facts(object).is_some_and(|facts| facts.items_as_attributes);
        items && holder_of(&object.get_type(), name).is_none()
    }

    /// An operation on an attribute that is an item. Which one is not looked at: it accesses all of them.
    pub fn use_items<'py>(
        &self,
        py: Python<'py>,
        word: Word,
        object: &Bound<'py, PyAny>,
        name: &Bound<'py, PyString>,
        call: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let effect = match word {
            Word::Load => ContainerEffect::ReadWhole,
            _ => ContainerEffect::WriteWhole,
        };
        if effect == ContainerEffect::WriteWhole {
            self.check_fresh(py, object)?;
        }
        let event = self.access_container(py, object, effect, None)?;
        if event && effect == ContainerEffect::WriteWhole && self.keeps_undo() {
            Undo::of_container(object)?.into_iter().for_each(|undo| self.keep_undo(undo));
        }
        let value = self.noted(py, call(), word, object, Some(name.as_any()), event)?;
        self.note(py, word, Some(object), Some(name.as_any()), Some(&value), event);
        Ok(value)
    }
}

/// Whether the interpreter calls a value that a class has under a special name, and no hook sees it.
fn is_called_unseen(class: &Bound<'_, PyType>, name: &str, value: &Bound<'_, PyAny>) -> bool {
    let py = value.py();
    let kind = value.get_type().name().map(|name| name.to_string()).unwrap_or_default();
    let inner = match kind.as_str() {
        "staticmethod" | "classmethod" => value.getattr(intern!(py, "__func__")).ok(),
        _ => None,
    };
    let called = inner.as_ref().unwrap_or(value);
    if called.is_instance_of::<PyFunction>() || !called.is_callable() || is_own_primitive(called) {
        return false;
    }
    if is_made_at_run_time(&called.get_type()) {
        // An instance of a class in Python, whose own code may run for any other question.
        return !found_in_class(&called.get_type(), "__call__")
            .is_some_and(|call| call.is_instance_of::<PyFunction>());
    }
    let owner = called.getattr(intern!(py, "__objclass__")).ok().and_then(|owner| owner.cast_into::<PyType>().ok());
    // One that is bound already works on another object.
    let is_bound = called.getattr(intern!(py, "__self__")).is_ok();
    let Some(owner) = owner.filter(|_| !is_bound).filter(|owner| class.ancestry().iter().any(|base| base.is(owner)))
    else {
        return true;
    };
    // What never changes shows the same under any name: the text of an `IntEnum` is that of its number.
    if is_immutable(&owner, &module_of(&owner)) {
        return false;
    }
    // Under its own name: what it does is known, as if it were inherited.
    let own = called.getattr(intern!(py, "__name__")).and_then(|own| own.extract::<String>()).unwrap_or_default();
    own != name && !OF_ITEMS.iter().any(|(of, methods)| *of == name && methods.contains(&own.as_str()))
}
