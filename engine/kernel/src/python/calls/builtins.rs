//! What is known of built-in callables: what they do with their arguments.

use crate::python::modules::module_variables::variables_of_module;
use crate::python::threads::own_modules::OwnModule;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyString;
use rustc_hash::FxHashMap;

/// What a built-in function does with its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BuiltinEffect {
    /// Nothing that could be seen by another thread, or something that the hooks see by themselves.
    Nothing,
    /// Nothing but what code in C computes from its arguments, if such code is not known.
    Compute,
    /// Tells the class of its argument, or makes a class of a name, bases and a dict.
    Class,
    /// Makes a number, of text too, which may be in a buffer.
    Number,
    Length,
    Truth,
    Next,
    /// Makes what advances an asynchronous iterator when it is awaited.
    Advance,
    /// Makes an iterator or view that stands for its argument.
    Alias,
    /// Reads its arguments as wholes.
    Read,
    /// The same, and compares what is in them.
    Compare,
    /// The same, and turns what is in them into text.
    Show,
    /// Reads all that can be reached from its arguments.
    Examine,
    /// Runs code that it is given as text.
    Evaluate,
    /// Removes the item from a dict that its second argument names, if it is there and not to be kept.
    RemoveItem,
    /// May change its arguments.
    Write,
    GetAttribute,
    HasAttribute,
    SetAttribute,
    DeleteAttribute,
    /// Gives the dict of its argument's attributes, or without one the names where it is called.
    InstanceDict,
    /// Reads which attributes its argument has.
    Attributes,
    /// Writes its arguments to a stream.
    Print,
}

/// The built-in functions and the types of callables that are known, by address.
pub struct Builtins {
    effects: FxHashMap<usize, BuiltinEffect>,
    callables: FxHashMap<usize, CallableKind>,
    /// The one type of callables that could go away, kept so that its address keeps its meaning.
    _cached: Py<PyAny>,
    /// The function `hash`.
    hash: Py<PyAny>,
}

/// What a callable is, told by its type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CallableKind {
    /// A function in Python.
    Function,
    /// A function in Python, bound to an object.
    BoundMethod,
    /// A `staticmethod`, which is called as its function is.
    StaticMethod,
    /// A method in C taken from its class.
    UnboundMethod,
    /// A slot of a class in C, bound to an object.
    MethodWrapper,
    /// What `functools.lru_cache` makes.
    Cached,
    /// What `operator.attrgetter` and its kin make.
    Getter,
    Partial,
    /// What stands for a class of primitives under its name, and only makes one of them.
    StandIn,
    Other,
}

const NOTHING: &[&str] = &[
    "isinstance",
    "issubclass",
    "callable",
    "id",
    "super",
    "locals",
    "globals",
    "slice",
    "property",
    "staticmethod",
    "classmethod",
    "object",
    "open",
    "input",
    "__import__",
    "__build_class__",
    "breakpoint",
    "aiter",
];
const COMPUTE: &[&str] = &["abs", "range", "chr", "ord", "pow", "divmod", "round", "hex", "oct", "bin"];
const READ: &[&str] = &["list", "tuple", "bytes", "bytearray"];
const COMPARE: &[&str] = &["sorted", "min", "max", "hash", "sum", "any", "all", "set", "dict", "frozenset"];
const SHOW: &[&str] = &["repr", "str", "format", "ascii"];
const ALIAS: &[&str] = &["iter", "enumerate", "zip", "map", "filter", "reversed", "memoryview"];
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
        add(COMPUTE, BuiltinEffect::Compute)?;
        add(&["type"], BuiltinEffect::Class)?;
        add(&["int", "float", "complex"], BuiltinEffect::Number)?;
        add(READ, BuiltinEffect::Read)?;
        add(COMPARE, BuiltinEffect::Compare)?;
        add(SHOW, BuiltinEffect::Show)?;
        add(ALIAS, BuiltinEffect::Alias)?;
        // A tree of syntax can be given in place of a text.
        add(&["compile"], BuiltinEffect::Examine)?;
        add(&["len"], BuiltinEffect::Length)?;
        add(&["bool"], BuiltinEffect::Truth)?;
        add(&["eval", "exec"], BuiltinEffect::Evaluate)?;
        add(&["next"], BuiltinEffect::Next)?;
        add(&["anext"], BuiltinEffect::Advance)?;
        add(&["getattr"], BuiltinEffect::GetAttribute)?;
        add(&["hasattr"], BuiltinEffect::HasAttribute)?;
        add(&["setattr"], BuiltinEffect::SetAttribute)?;
        add(&["delattr"], BuiltinEffect::DeleteAttribute)?;
        add(&["locals", "vars"], BuiltinEffect::InstanceDict)?;
        add(&["dir"], BuiltinEffect::Attributes)?;
        add(&["print"], BuiltinEffect::Print)?;
        let types = py.import("types")?;
        let cached = py.import("functools")?.getattr("_lru_cache_wrapper")?;
        let mut callables = FxHashMap::default();
        callables.insert(cached.as_ptr() as usize, CallableKind::Cached);
        for (name, kind) in [
            ("FunctionType", CallableKind::Function),
            ("MethodType", CallableKind::BoundMethod),
            ("MethodDescriptorType", CallableKind::UnboundMethod),
            ("WrapperDescriptorType", CallableKind::UnboundMethod),
            ("MethodWrapperType", CallableKind::MethodWrapper),
        ] {
            callables.insert(types.getattr(name)?.as_ptr() as usize, kind);
        }
        let partial = py.import("functools")?.getattr("partial")?;
        callables.insert(partial.as_ptr() as usize, CallableKind::Partial);
        let stand_in = OwnModule::Factories.get(py)?.getattr("Factory")?;
        callables.insert(stand_in.as_ptr() as usize, CallableKind::StandIn);
        let static_method = py.import("builtins")?.getattr("staticmethod")?;
        callables.insert(static_method.as_ptr() as usize, CallableKind::StaticMethod);
        let operator = py.import("operator")?;
        for name in ["attrgetter", "itemgetter", "methodcaller"] {
            callables.insert(operator.getattr(name)?.as_ptr() as usize, CallableKind::Getter);
        }
        let hash = module.getattr("hash")?.unbind();
        Ok(Builtins { effects, callables, _cached: cached.unbind(), hash })
    }

    #[inline]
    pub fn kind_of(&self, callable: &Bound<'_, PyAny>) -> CallableKind {
        self.callables.get(&(callable.get_type_ptr() as usize)).copied().unwrap_or(CallableKind::Other)
    }

    /// What the instances of a class are, if they are callables that are known by their type.
    pub fn kind_of_class(&self, class: &Bound<'_, PyAny>) -> Option<CallableKind> {
        self.callables.get(&(class.as_ptr() as usize)).copied()
    }

    pub fn is_hash(&self, callable: &Bound<'_, PyAny>) -> bool {
        callable.is(&self.hash)
    }

    /// Whether a callable is one of the known ones that only read what they are given.
    pub fn only_reads(&self, function: &Bound<'_, PyAny>) -> bool {
        use BuiltinEffect::*;
        matches!(
            self.effect_of(function),
            Some(Nothing | Compute | Class | Number | Length | Truth | Read | Compare | Show)
        )
    }

    /// What a callable does with its arguments, if it is one of the known ones.
    pub fn effect_of(&self, function: &Bound<'_, PyAny>) -> Option<BuiltinEffect> {
        self.effects.get(&(function.as_ptr() as usize)).copied()
    }
}

/// Functions of `operator` that change nothing by themselves.
const READING_OPERATORS: &[&str] = &[
    "_compare_digest",
    "abs",
    "add",
    "and_",
    "concat",
    "contains",
    "countOf",
    "eq",
    "floordiv",
    "ge",
    "getitem",
    "gt",
    "index",
    "indexOf",
    "inv",
    "invert",
    "is_",
    "is_none",
    "is_not",
    "is_not_none",
    "le",
    "length_hint",
    "lshift",
    "lt",
    "matmul",
    "mod",
    "mul",
    "ne",
    "neg",
    "not_",
    "or_",
    "pos",
    "pow",
    "rshift",
    "sub",
    "truediv",
    "truth",
    "xor",
];
/// Functions of modules of the interpreter that read what they are given, as far as its items.
const READING_OF_INTERPRETER: &[&str] =
    &["exception", "exc_info", "get_referrers", "getrefcount", "getsizeof", "intern", "is_finalized", "is_tracked"];
const READING_OF_BISECT: &[&str] = &["bisect", "bisect_left", "bisect_right"];
const READING_OF_STRUCT: &[&str] = &["calcsize", "iter_unpack", "pack", "unpack", "unpack_from"];

pub fn attribute_effect(name: &str) -> Option<BuiltinEffect> {
    match name {
        "__setattr__" => Some(BuiltinEffect::SetAttribute),
        "__delattr__" => Some(BuiltinEffect::DeleteAttribute),
        "__getattribute__" => Some(BuiltinEffect::GetAttribute),
        _ => None,
    }
}

/// Attribute names given at run time, as the interned strings that the tables know.
pub fn interned<'py>(name: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyString>> {
    let text = name.to_str()?;
    if !name.is_exact_instance_of::<PyString>() {
        return Ok(PyString::intern(name.py(), text));
    }
    let mut held = name.clone().into_ptr();
    // SAFETY: it is an object of `str` that is alive; what stands there afterwards is one, too, and is held in its place.
    unsafe {
        ffi::PyUnicode_InternInPlace(&raw mut held);
        Ok(Bound::from_owned_ptr(name.py(), held).cast_into_unchecked())
    }
}

/// Whether a method of an immutable value gives a new list or dict.
pub fn gives_container(method: &str) -> bool {
    matches!(method, "split" | "rsplit" | "splitlines" | "findall" | "groupdict" | "copy" | "maketrans" | "tolist")
}

/// Whether a callable is what the `json` package has in C: an encoder or a scanner.
pub fn is_json_worker(callable: &Bound<'_, PyAny>) -> bool {
    callable.get_type().module().is_ok_and(|module| module.to_str().is_ok_and(|module| module == "_json"))
}

/// What a function of a C module does with its arguments: one that is not known to read only may change them.
pub fn c_function_effect(module: &Bound<'_, PyAny>, function: &str) -> BuiltinEffect {
    let name = variables_of_module(module).and_then(|own| own.get_item("__name__").ok()?);
    let name = name.and_then(|name| name.extract::<String>().ok()).unwrap_or_default();
    match name.as_str() {
        "operator" | "_operator" if READING_OPERATORS.contains(&function) => BuiltinEffect::Compare,
        "_bisect" if READING_OF_BISECT.contains(&function) => BuiltinEffect::Compare,
        "_statistics" => BuiltinEffect::Compare,
        "_json" | "_functools" => BuiltinEffect::Examine,
        "_weakref" if function == "_remove_dead_weakref" => BuiltinEffect::RemoveItem,
        "gc" if function == "get_referents" => BuiltinEffect::Examine,
        "_pickle" if function == "dumps" => BuiltinEffect::Examine,
        "gc" | "sys" if READING_OF_INTERPRETER.contains(&function) => BuiltinEffect::Read,
        "_struct" if READING_OF_STRUCT.contains(&function) => BuiltinEffect::Read,
        "binascii" | "cmath" | "itertools" | "math" | "time" | "zlib" | "dpor._kernel" => BuiltinEffect::Read,
        _ => BuiltinEffect::Write,
    }
}
