//! Hooks for calls: what built-in code that instrumented code calls does to shared objects.
//!
//! A call of an instrumented function needs nothing. A call of built-in code is one atomic operation, as in CPython:
//! it reads or writes the containers that it is given. A call of a method that is Python code but not instrumented is
//! taken as one atomic operation on its object, and the result names that assumption.

use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyCFunction, PyDict, PyString, PyTuple, PyType};
use rustc_hash::FxHashMap;

use super::containers::{method_effect, ContainerEffect};
use super::host::{require_host, Host};
use super::recording::Word;
use super::types::TypeKind;

/// What a built-in function does with its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BuiltinEffect {
    /// Nothing that could be seen by another thread, or something that the hooks see by themselves.
    Nothing,
    Length,
    Next,
    /// Makes an iterator or view that stands for its argument.
    Alias,
    /// Reads its arguments as wholes.
    Read,
    /// May change its arguments.
    Write,
    GetAttribute,
    HasAttribute,
    SetAttribute,
    DeleteAttribute,
    /// Gives the dict of its argument's attributes.
    InstanceDict,
}

/// The built-in functions that are known, by address.
#[derive(Default)]
pub struct Builtins {
    effects: FxHashMap<usize, BuiltinEffect>,
}

const NOTHING: &[&str] = &[
    "isinstance",
    "issubclass",
    "callable",
    "id",
    "abs",
    "range",
    "chr",
    "ord",
    "pow",
    "divmod",
    "round",
    "type",
    "super",
    "locals",
    "globals",
    "int",
    "float",
    "bool",
    "complex",
    "slice",
    "property",
    "staticmethod",
    "classmethod",
    "object",
    "open",
    "input",
    "__import__",
    "exec",
    "eval",
    "compile",
    "memoryview",
    "hex",
    "oct",
    "bin",
    "hasattr",
    "__build_class__",
    "breakpoint",
    "aiter",
    "anext",
];
const READ: &[&str] = &[
    "sorted",
    "sum",
    "min",
    "max",
    "any",
    "all",
    "repr",
    "str",
    "format",
    "print",
    "hash",
    "list",
    "tuple",
    "set",
    "dict",
    "frozenset",
    "bytes",
    "bytearray",
    "ascii",
    "vars",
    "dir",
];
const ALIAS: &[&str] = &["iter", "enumerate", "zip", "map", "filter", "reversed"];

impl Builtins {
    pub fn new(py: Python<'_>) -> PyResult<Builtins> {
        let module = py.import("builtins")?;
        let mut effects = FxHashMap::default();
        let mut add = |names: &[&str], effect: BuiltinEffect| -> PyResult<()> {
            for name in names {
                if let Some(function) = module.getattr_opt(*name)? {
                    effects.insert(function.as_ptr() as usize, effect);
                }
            }
            Ok(())
        };
        add(NOTHING, BuiltinEffect::Nothing)?;
        add(READ, BuiltinEffect::Read)?;
        add(ALIAS, BuiltinEffect::Alias)?;
        add(&["len"], BuiltinEffect::Length)?;
        add(&["next"], BuiltinEffect::Next)?;
        add(&["getattr"], BuiltinEffect::GetAttribute)?;
        add(&["hasattr"], BuiltinEffect::HasAttribute)?;
        add(&["setattr"], BuiltinEffect::SetAttribute)?;
        add(&["delattr"], BuiltinEffect::DeleteAttribute)?;
        add(&["vars"], BuiltinEffect::InstanceDict)?;
        Ok(Builtins { effects })
    }
}

/// Standard-library modules whose Python code needs no watching: it runs on controlled primitives, or keeps no state.
const SAFE_MODULES: &[&str] = &[
    "dpor",
    "threading",
    "queue",
    "concurrent",
    "asyncio",
    "logging",
    "contextlib",
    "dataclasses",
    "enum",
    "abc",
    "functools",
    "typing",
    "inspect",
    "warnings",
    "traceback",
    "pathlib",
    "datetime",
    "fractions",
    "decimal",
    "numbers",
    "re",
    "string",
    "textwrap",
    "json",
    "pprint",
    "reprlib",
    "operator",
    "weakref",
    "types",
    "copy",
    "unittest",
    "builtins",
    "collections.abc",
    "_collections_abc",
    "greenlet",
    "contextvars",
    "uuid",
    "time",
    "statistics",
];

/// Who wrote a Python function.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    Instrumented,
    /// Python code that is not instrumented and needs no watching.
    Safe,
    /// Python code that is not instrumented: its calls are taken as atomic operations on their object.
    Foreign,
}

fn origin(function: &Bound<'_, PyAny>) -> PyResult<Origin> {
    let py = function.py();
    let Ok(namespace) = function.getattr(intern!(py, "__globals__")).and_then(|n| Ok(n.cast_into::<PyDict>()?))
    else {
        return Ok(Origin::Safe);
    };
    if namespace.contains(intern!(py, "__dpor_namespace__"))? {
        return Ok(Origin::Instrumented);
    }
    let name: String = match namespace.get_item(intern!(py, "__name__"))? {
        Some(name) => name.extract().unwrap_or_default(),
        None => return Ok(Origin::Safe),
    };
    let top = name.split('.').next().unwrap_or_default();
    let safe = SAFE_MODULES.contains(&top) || SAFE_MODULES.contains(&name.as_str());
    Ok(if safe { Origin::Safe } else { Origin::Foreign })
}

fn is_python_function(callable: &Bound<'_, PyAny>) -> bool {
    callable.get_type().name().is_ok_and(|name| name.to_str().is_ok_and(|name| name == "function"))
}

fn is_bound_method(callable: &Bound<'_, PyAny>) -> bool {
    callable.get_type().name().is_ok_and(|name| name.to_str().is_ok_and(|name| name == "method"))
}

/// A call of built-in or uninstrumented code, made a visible operation.
#[pyclass(module = "dpor._kernel")]
pub struct ControlledCall {
    host: Py<Host>,
    /// What is called in the end.
    #[pyo3(get, name = "__wrapped__")]
    function: Py<PyAny>,
    how: How,
}

enum How {
    /// A method of the container.
    Container { object: Py<PyAny>, name: Py<PyString> },
    /// A built-in function.
    Builtin(BuiltinEffect),
    /// A class: what it makes gets an identity.
    Construct { reads_arguments: bool },
    /// A method of uninstrumented Python code, or of C code with a state of its own.
    Foreign { object: Py<PyAny> },
    /// A method taken from a container's class, as in `dict.get(mapping, key)`.
    Unbound { name: Py<PyString> },
    /// `object.__setattr__` and its kin, bound to an instance.
    BoundAttribute { object: Py<PyAny>, effect: BuiltinEffect },
}

#[pymethods]
impl ControlledCall {
    #[pyo3(signature = (*arguments, **keywords))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let host = self.host.get();
        let function = self.function.bind(py);
        match &self.how {
            How::Container { object, name } => {
                host.call_container(py, object.bind(py), name.bind(py), function, arguments, keywords)
            }
            How::Builtin(effect) => host.call_builtin(py, *effect, function, arguments, keywords),
            How::Construct { reads_arguments } => {
                if *reads_arguments {
                    for argument in arguments.iter() {
                        host.observe(py, argument)?;
                    }
                }
                Ok(host.created(function.call(arguments, keywords)?))
            }
            How::Unbound { name } => host.call_unbound(py, name.bind(py), function, arguments, keywords),
            How::BoundAttribute { object, effect } => {
                let mut all = vec![object.bind(py).clone()];
                all.extend(arguments.iter());
                host.call_builtin(py, *effect, function, &PyTuple::new(py, all)?, keywords)
            }
            How::Foreign { object } => {
                host.touch_foreign(py, object.bind(py))?;
                Ok(host.created(function.call(arguments, keywords)?))
            }
        }
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
        self.function.bind(py).getattr(name)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.function.bind(py).repr()?.to_string())
    }
}

impl Host {
    fn controlled<'py>(
        &self,
        py: Python<'py>,
        function: &Bound<'py, PyAny>,
        how: How,
    ) -> PyResult<Bound<'py, PyAny>> {
        let call = ControlledCall { host: require_host(py)?, function: function.clone().unbind(), how };
        Ok(Bound::new(py, call)?.into_any())
    }

    fn call_container<'py>(
        &self,
        py: Python<'py>,
        object: &Bound<'py, PyAny>,
        name: &Bound<'py, PyString>,
        function: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let kind = self.kind(object);
        let text = name.to_str().unwrap_or_default();
        let mut effect = method_effect(kind, text, arguments.len());
        if kind == TypeKind::List && text == "pop" && arguments.is_empty() && object.len().unwrap_or(1) == 0 {
            effect = ContainerEffect::WriteWhole;
        }
        // Arguments that are containers are read first (`extend`, `update`, set operations).
        if matches!(effect, ContainerEffect::WriteWhole | ContainerEffect::ReadWhole) {
            for argument in arguments.iter() {
                self.observe(py, argument)?;
            }
        }
        let key = match effect {
            ContainerEffect::CellLoad
            | ContainerEffect::CellStore
            | ContainerEffect::CellDelete
            | ContainerEffect::CellDefault => arguments.get_item(0).ok(),
            _ => None,
        };
        if key.is_none()
            && matches!(
                effect,
                ContainerEffect::CellLoad
                    | ContainerEffect::CellStore
                    | ContainerEffect::CellDelete
                    | ContainerEffect::CellDefault
            )
        {
            effect = ContainerEffect::WriteWhole;
        }
        let event = self.touch_container(py, object, effect, key.as_ref())?;
        let called = function.call(arguments, keywords);
        let result = self.noted(py, called, Word::Call, object, Some(name.as_any()), event)?;
        if effect == ContainerEffect::View && self.kind(&result) != TypeKind::Immutable {
            self.alias_of(&result, object);
        } else {
            self.adopt_result(&result, object, key.as_ref());
        }
        self.note(py, Word::Call, Some(object), Some(name.as_any()), Some(&result), event);
        Ok(result)
    }

    fn call_unbound<'py>(
        &self,
        py: Python<'py>,
        name: &Bound<'py, PyString>,
        function: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Ok(object) = arguments.get_item(0) else { return function.call(arguments, keywords) };
        if !self.kind(&object).is_container() {
            return function.call(arguments, keywords);
        }
        let bound = function.call_method1(intern!(py, "__get__"), (&object, object.get_type()))?;
        let rest = arguments.get_slice(1, arguments.len());
        self.call_container(py, &object, name, &bound, &rest, keywords)
    }

    /// Let a view or iterator stand for the container that it looks at.
    fn alias_of(&self, alias: &Bound<'_, PyAny>, object: &Bound<'_, PyAny>) {
        let mut state = self.state();
        if !state.running() || alias.is(object) {
            return;
        }
        if let (Some(container), TypeKind::View) = (state.container(object), state.types.facts(alias).kind) {
            state.alias(alias, container.object);
        }
    }

    fn adopt_result(&self, result: &Bound<'_, PyAny>, object: &Bound<'_, PyAny>, key: Option<&Bound<'_, PyAny>>) {
        let mut state = self.state();
        if !state.running() || !state.types.facts(result).kind.is_tracked() {
            return;
        }
        let key = key.and_then(|key| state.identities.item(key));
        match (state.container(object), key) {
            (Some(container), Some(key)) => state.adopt(result, container.object, key),
            _ => {
                let facts = state.types.facts(result);
                state.object(result, facts);
            }
        }
    }

    fn call_builtin<'py>(
        &self,
        py: Python<'py>,
        effect: BuiltinEffect,
        function: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let name = |index: usize| -> PyResult<Bound<'py, PyString>> {
            let name = arguments.get_item(index)?.cast_into::<PyString>();
            name.map_err(|_| PyTypeError::new_err("attribute name must be string"))
        };
        match effect {
            BuiltinEffect::Nothing => function.call(arguments, keywords),
            BuiltinEffect::Length if arguments.len() == 1 => {
                let object = arguments.get_item(0)?;
                let event = self.touch_container(py, &object, ContainerEffect::Length, None)?;
                let result = function.call(arguments, keywords)?;
                if self.kind(&object).is_container() {
                    self.note(py, Word::Length, Some(&object), None, Some(&result), event);
                }
                Ok(result)
            }
            BuiltinEffect::Next if !arguments.is_empty() => {
                let object = arguments.get_item(0)?;
                if !matches!(self.kind(&object), TypeKind::Iterator | TypeKind::Opaque) {
                    return function.call(arguments, keywords);
                }
                let event = self.touch_container(py, &object, ContainerEffect::WriteWhole, None)?;
                let key = intern!(py, "next").as_any();
                let called = function.call(arguments, keywords);
                let result = self.noted(py, called, Word::Call, &object, Some(key), event)?;
                self.note(py, Word::Call, Some(&object), Some(key), Some(&result), event);
                Ok(result)
            }
            BuiltinEffect::GetAttribute if arguments.len() >= 2 => {
                let object = arguments.get_item(0)?;
                match self.load_attribute(py, &object, &interned(&name(1)?)?) {
                    Err(error) if arguments.len() == 3 && error.is_instance_of::<PyAttributeError>(py) => {
                        arguments.get_item(2)
                    }
                    result => result,
                }
            }
            BuiltinEffect::HasAttribute if arguments.len() == 2 => {
                match self.load_attribute(py, &arguments.get_item(0)?, &interned(&name(1)?)?) {
                    Ok(_) => Ok(PyBool::new(py, true).to_owned().into_any()),
                    Err(error) if error.is_instance_of::<PyAttributeError>(py) => {
                        Ok(PyBool::new(py, false).to_owned().into_any())
                    }
                    Err(error) => Err(error),
                }
            }
            BuiltinEffect::SetAttribute if arguments.len() == 3 => {
                let (object, value) = (arguments.get_item(0)?, arguments.get_item(2)?);
                self.store_attribute(py, &value, &object, &interned(&name(1)?)?)?;
                Ok(py.None().into_bound(py))
            }
            BuiltinEffect::DeleteAttribute if arguments.len() == 2 => {
                self.delete_attribute(py, &arguments.get_item(0)?, &interned(&name(1)?)?)?;
                Ok(py.None().into_bound(py))
            }
            BuiltinEffect::InstanceDict if arguments.len() == 1 => {
                let namespace = function.call(arguments, keywords)?;
                self.alias_instance_dict(&namespace, &arguments.get_item(0)?);
                Ok(namespace)
            }
            BuiltinEffect::Write => {
                for argument in arguments.iter() {
                    if self.kind(&argument) != TypeKind::Instance {
                        let event = self.touch_container(py, &argument, ContainerEffect::WriteWhole, None)?;
                        if self.kind(&argument).is_container() {
                            let name = function.getattr(intern!(py, "__name__"))?;
                            self.note(py, Word::Call, Some(&argument), Some(&name), None, event);
                        }
                    }
                }
                Ok(self.created(function.call(arguments, keywords)?))
            }
            _ => {
                for argument in arguments.iter() {
                    self.observe(py, argument)?;
                }
                Ok(self.created(function.call(arguments, keywords)?))
            }
        }
    }

    /// An atomic operation on an object whose code is not instrumented.
    fn touch_foreign(&self, py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<()> {
        let container = {
            let mut state = self.state();
            if !state.running() {
                return Ok(());
            }
            let facts = state.types.facts(object);
            if !facts.kind.is_tracked() {
                return Ok(());
            }
            let id = state.object(object, facts);
            state.container_of(id, facts.kind)
        };
        let event = self.touch_located(py, object, container, ContainerEffect::WriteWhole, None)?;
        self.note(py, Word::WriteAll, Some(object), None, None, event);
        if event {
            let module: String = object.get_type().getattr(intern!(py, "__module__"))?.extract().unwrap_or_default();
            let top = module.split('.').next().unwrap_or_default().to_owned();
            let mut state = self.state();
            if !state.foreign.contains(&top) {
                state.foreign.push(top);
            }
        }
        Ok(())
    }

    /// The receiver of a module-level method (`random.random`) is who it is by its place in the module.
    fn adopt_receiver(&self, function: &Bound<'_, PyAny>, module: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) {
        if let Ok(receiver) = function.getattr(intern!(function.py(), "__self__")) {
            let mut state = self.state();
            if state.running() && !receiver.is(module) {
                let facts = state.types.facts(module);
                let parent = state.object(module, facts);
                let key = state.identities.name(name);
                state.adopt(&receiver, parent, key);
            }
        }
    }

    /// What to call for a built-in function or method, or Python code that is not instrumented.
    pub fn control<'py>(&self, py: Python<'py>, function: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if is_python_function(&function) || function.is_instance_of::<ControlledCall>() {
            return Ok(function);
        }
        if is_bound_method(&function) {
            let inner = function.getattr(intern!(py, "__func__"))?;
            if origin(&inner)? == Origin::Foreign {
                let object = function.getattr(intern!(py, "__self__"))?;
                if self.kind(&object) != TypeKind::Class {
                    return self.controlled(py, &function, How::Foreign { object: object.unbind() });
                }
            }
            return Ok(function);
        }
        if let Some(effect) = self.state().builtins.effects.get(&(function.as_ptr() as usize)).copied() {
            return match effect {
                BuiltinEffect::Nothing => Ok(function),
                effect => self.controlled(py, &function, How::Builtin(effect)),
            };
        }
        if function.is_instance_of::<PyType>() {
            let module = function.getattr(intern!(py, "__module__"))?;
            if module.extract::<String>().is_ok_and(|module| module == "dpor._kernel") {
                return Ok(function);
            }
            let reads_arguments = !is_made_by_class_statement(&function);
            return self.controlled(py, &function, How::Construct { reads_arguments });
        }
        if function.is_instance_of::<PyCFunction>() || is_method_wrapper(&function) {
            let object = function.getattr(intern!(py, "__self__"))?;
            let kind = self.kind(&object);
            if kind.is_container() || matches!(kind, TypeKind::View | TypeKind::Iterator) {
                let name = function.getattr(intern!(py, "__name__"))?.cast_into::<PyString>()?;
                let object = object.unbind();
                return self.controlled(py, &function, How::Container { object, name: name.unbind() });
            }
            if kind == TypeKind::Instance {
                let name: String = function.getattr(intern!(py, "__name__"))?.extract()?;
                if let Some(effect) = attribute_effect(&name) {
                    let object = object.unbind();
                    return self.controlled(py, &function, How::BoundAttribute { object, effect });
                }
                // A C method of an instance changes what C keeps of it.
                if !name.starts_with("__") {
                    return self.controlled(py, &function, How::Foreign { object: object.unbind() });
                }
                return Ok(function);
            }
            if kind == TypeKind::Immutable && !is_bound_to_value(&object) || kind == TypeKind::Module {
                let name: String = function.getattr(intern!(py, "__name__"))?.extract()?;
                let reads = is_pure_module(&object) && !CHANGING.contains(&name.as_str());
                let effect = if reads { BuiltinEffect::Read } else { BuiltinEffect::Write };
                return self.controlled(py, &function, How::Builtin(effect));
            }
        }
        if is_cached_function(&function) {
            return self.controlled(py, &function, How::Foreign { object: function.clone().unbind() });
        }
        Ok(function)
    }
}

/// Functions of `operator` that change their first argument.
const CHANGING: &[&str] =
    &["setitem", "delitem", "iadd", "iconcat", "iand", "ior", "ixor", "isub", "imul", "imatmul", "setrecursionlimit"];

fn attribute_effect(name: &str) -> Option<BuiltinEffect> {
    match name {
        "__setattr__" => Some(BuiltinEffect::SetAttribute),
        "__delattr__" => Some(BuiltinEffect::DeleteAttribute),
        "__getattribute__" => Some(BuiltinEffect::GetAttribute),
        _ => None,
    }
}

/// Whether the callable is what `functools.lru_cache` makes.
fn is_cached_function(function: &Bound<'_, PyAny>) -> bool {
    function.get_type().name().is_ok_and(|name| name.to_str().is_ok_and(|name| name == "_lru_cache_wrapper"))
}

/// Attribute names given at run time, as the interned strings that the tables know.
fn interned<'py>(name: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyString>> {
    Ok(PyString::intern(name.py(), name.to_str()?))
}

/// Whether a built-in method belongs to an immutable value (`"".join`), which only its arguments could make matter.
fn is_bound_to_value(object: &Bound<'_, PyAny>) -> bool {
    !object.is_none()
}

fn is_unbound_method(function: &Bound<'_, PyAny>) -> bool {
    function
        .get_type()
        .name()
        .is_ok_and(|name| name.to_str().is_ok_and(|name| matches!(name, "method_descriptor" | "wrapper_descriptor")))
}

fn is_method_wrapper(function: &Bound<'_, PyAny>) -> bool {
    function.get_type().name().is_ok_and(|name| name.to_str().is_ok_and(|name| name == "method-wrapper"))
}

/// Whether the functions of a C module never change their arguments.
fn is_pure_module(module: &Bound<'_, PyAny>) -> bool {
    let Ok(name) = module.getattr("__name__").and_then(|name| name.extract::<String>()) else { return false };
    matches!(
        name.as_str(),
        "math"
            | "cmath"
            | "operator"
            | "_operator"
            | "time"
            | "sys"
            | "builtins"
            | "_json"
            | "gc"
            | "_functools"
            | "itertools"
            | "_struct"
            | "zlib"
            | "binascii"
            | "_statistics"
            | "dpor._kernel"
    )
}

fn is_made_by_class_statement(class: &Bound<'_, PyAny>) -> bool {
    const HEAP_TYPE: u64 = 1 << 9;
    let flags: u64 = class.getattr("__flags__").and_then(|flags| flags.extract()).unwrap_or(0);
    flags & HEAP_TYPE != 0
}

#[pymethods]
impl Host {
    /// The callee of `object.name(...)`.
    #[pyo3(signature = (object, name, /))]
    fn method<'py>(
        &self,
        py: Python<'py>,
        object: &Bound<'py, PyAny>,
        name: &Bound<'py, PyString>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let kind = self.kind(object);
        match kind {
            TypeKind::Instance => {
                let function = self.load_attribute(py, object, name)?;
                if is_bound_method(&function) {
                    // Methods of instrumented classes are the common case: told by type and name, once.
                    let key = (object.get_type_ptr() as usize, name.as_ptr() as usize);
                    let known = self.state().method_origins.get(&key).copied();
                    let found = match known {
                        Some(found) => found,
                        None => {
                            let found = origin(&function.getattr(intern!(py, "__func__"))?)?;
                            self.state().method_origins.insert(key, found);
                            found
                        }
                    };
                    if found != Origin::Foreign {
                        return Ok(function);
                    }
                }
                self.control(py, function)
            }
            TypeKind::Immutable => {
                let function = object.getattr(name)?;
                if object.get_type().name()?.to_str()? == "super" {
                    return self.control(py, function);
                }
                Ok(function)
            }
            TypeKind::Module => {
                let function = object.getattr(name)?;
                self.adopt_receiver(&function, object, name);
                self.control(py, function)
            }
            TypeKind::Class => {
                let function = self.load_attribute(py, object, name)?;
                if let Some(effect) = attribute_effect(name.to_str()?) {
                    if !is_python_function(&function) && !is_bound_method(&function) {
                        return self.controlled(py, &function, How::Builtin(effect));
                    }
                }
                if is_unbound_method(&function) {
                    return self.controlled(py, &function, How::Unbound { name: name.clone().unbind() });
                }
                self.control(py, function)
            }
            _ => {
                let function = object.getattr(name)?;
                self.control(py, function)
            }
        }
    }

    /// The callee of `function(...)`.
    #[pyo3(signature = (function, /))]
    fn callee<'py>(&self, py: Python<'py>, function: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if self.state().phase == super::host::Phase::Unwinding {
            return Ok(function);
        }
        self.control(py, function)
    }
}
