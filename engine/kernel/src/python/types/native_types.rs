//! What is known of types and descriptors written in C. What is not known is taken at the worst: its instances can
//! change, as one piece, with every operation.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyComplex, PyFloat, PyFrozenSet, PyInt, PyString, PyTuple, PyType};
use pyo3::PyTypeInfo;

use crate::python::primitives::is_own_class;
use crate::python::types::ancestry::{holder_of, told_by_type, Ancestry};
use crate::python::types::class_flags::{is_immutable_class, is_made_at_run_time};
use crate::python::types::kinds::{has_instance_dict, module_of, qualified_name, TypeKind};

/// Types whose instances never change, or whose state is none that threads share; those of `builtins`.
const IMMUTABLE_BUILTINS: &[&str] = &[
    "object",
    "int",
    "bool",
    "float",
    "complex",
    "str",
    "bytes",
    "NoneType",
    "NotImplementedType",
    "ellipsis",
    "range",
    "slice",
    "tuple",
    "frozenset",
    "function",
    "builtin_function_or_method",
    "builtin_method",
    "method",
    "instancemethod",
    "method-wrapper",
    "classmethod",
    "staticmethod",
    "property",
    "wrapper_descriptor",
    "method_descriptor",
    "getset_descriptor",
    "member_descriptor",
    "classmethod_descriptor",
    "code",
    "frame",
    "traceback",
    "super",
    "PyCapsule",
];

/// The same of other modules, by the module that a type names as its own.
const IMMUTABLE: &[(&str, &[&str])] = &[
    ("_thread", &["lock", "RLock", "_ThreadHandle"]),
    ("collections", &["_tuplegetter"]),
    ("datetime", &["date", "datetime", "time", "timedelta", "timezone", "tzinfo", "IsoCalendarDate"]),
    ("decimal", &["Decimal"]),
    ("fractions", &["Fraction"]),
    ("functools", &["_lru_cache_wrapper", "KeyWrapper", "Placeholder"]),
    ("_functools", &["_lru_cache_wrapper", "KeyWrapper"]),
    ("operator", &["attrgetter", "itemgetter", "methodcaller"]),
    ("re", &["Pattern", "Match"]),
    ("_sre", &["SRE_Template"]),
    ("_struct", &["Struct"]),
    ("types", &["GenericAlias", "UnionType"]),
    (
        "typing",
        &["TypeVar", "ParamSpec", "ParamSpecArgs", "ParamSpecKwargs", "TypeVarTuple", "TypeAliasType", "Union"],
    ),
    ("weakref", &["ReferenceType", "ProxyType", "CallableProxyType"]),
    ("zoneinfo", &["ZoneInfo"]),
    ("_abc", &["_abc_data"]),
    // A context variable's value is in a context, and each thread has its own.
    ("_contextvars", &["ContextVar", "Token"]),
    ("greenlet", &["greenlet"]),
];

/// Whether instances of a type written in C, which names `module` as its own, need no watching.
pub fn is_immutable(ty: &Bound<'_, PyType>, module: &str) -> bool {
    let name = qualified_name(ty);
    if module == "builtins" {
        return IMMUTABLE_BUILTINS.contains(&name.as_str());
    }
    // The kernel's own primitives tell of their operations themselves.
    if module == "dpor._kernel" || is_own_class(ty) && !has_instance_dict(ty) || module.starts_with("greenlet.") {
        return true;
    }
    let known = IMMUTABLE.iter().any(|(owner, names)| *owner == module && names.contains(&name.as_str()));
    known || ty.is_subclass_of::<pyo3::types::PyTuple>().unwrap_or(false)
}

/// Whether instances of the type look at a container and keep nothing of it.
pub fn is_view(ty: &Bound<'_, PyType>) -> bool {
    const VIEWS: &[&str] = &[
        "dict_keys",
        "dict_values",
        "dict_items",
        "odict_keys",
        "odict_values",
        "odict_items",
        "memoryview",
        "mappingproxy",
    ];
    VIEWS.contains(&qualified_name(ty).as_str())
}

/// Types whose methods keep the items that they are given as they are, and look no further into them.
const TAKING_ITEMS: &[(&str, &str)] = &[("array", "array"), ("builtins", "bytearray"), ("collections", "deque")];

/// Types whose methods access nothing but what an instance keeps itself. What runs in a context tells of what it does.
const KEEPING_TO_THEMSELVES: &[(&str, &str)] =
    &[("_io", "BytesIO"), ("_io", "StringIO"), ("_contextvars", "Context")];

/// Whether objects of this kind are what code in C makes of them: streams in memory are iterators, too.
pub fn is_native(kind: TypeKind) -> bool {
    matches!(kind, TypeKind::Opaque | TypeKind::Iterator)
}

/// Whether methods of instances, which are of this kind, look no further into what they are given than at its items.
pub fn takes_items(kind: TypeKind, ty: &Bound<'_, PyType>) -> bool {
    !is_native(kind) || derives_from(ty, TAKING_ITEMS)
}

/// Types of which some methods only read, see `container_effects.rs`.
const OF_BYTES_AND_TEXT: &[(&str, &str)] =
    &[("array", "array"), ("builtins", "bytearray"), ("_io", "BytesIO"), ("_io", "StringIO")];

/// Whether instances keep bytes, numbers or text, as a whole.
pub fn keeps_bytes_or_text(ty: &Bound<'_, PyType>) -> bool {
    derives_from(ty, OF_BYTES_AND_TEXT)
}

/// Methods of streams and the like that take bytes out of the buffers that they are given. Others may fill them.
const TAKING_BYTES: &[&str] =
    &["write", "writelines", "update", "compress", "decompress", "feed", "writerow", "writerows"];

/// Whether a method leaves buffers that it is given as they are: a container adds what is in them, or keeps them.
pub fn leaves_buffers(ty: &Bound<'_, PyType>, method: &str) -> bool {
    derives_from(ty, TAKING_ITEMS) || method.starts_with("__") || TAKING_BYTES.contains(&method)
}

/// Whether methods of instances access nothing of what the instances hold.
pub fn keeps_to_itself(ty: &Bound<'_, PyType>) -> bool {
    derives_from(ty, TAKING_ITEMS) || derives_from(ty, KEEPING_TO_THEMSELVES)
}

/// Whether methods of instances call code in Python that turns bytes into text and back.
pub fn calls_decoder(ty: &Bound<'_, PyType>) -> bool {
    derives_from(ty, &[("_io", "TextIOWrapper")])
}

/// Whether a type is one of these, by module and name, or derives from one.
fn derives_from(ty: &Bound<'_, PyType>, types: &[(&str, &str)]) -> bool {
    ty.ancestry().iter().filter_map(|base| base.cast_into::<PyType>().ok()).any(|base| {
        let (module, name) = (module_of(&base), qualified_name(&base));
        let is_one = |(of, named): &(&str, &str)| module == *of && name == *named;
        types.iter().any(is_one)
    })
}

/// What the value that a class holds under a name makes of the attribute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Descriptor {
    /// A function or the like, which gives a bound method.
    Method,
    /// Code that is called for each load and store.
    Computed,
    /// Code that is called for a load if the instance has no value of its own.
    Shadowed,
    /// The place in the instance of one value.
    Slot,
    /// C code that looks into the instance.
    Native,
    /// A class, which is seldom rebound.
    Class,
    /// No descriptor: the value itself.
    Value,
}

/// Attributes that C code keeps and that never change, or that tell nothing of what threads share.
const CONSTANT: &[&str] = &[
    "__class__",
    "__dict__",
    "__doc__",
    "__weakref__",
    "__module__",
    "__name__",
    "__qualname__",
    "__self__",
    "__func__",
    "__objclass__",
    "__abstractmethods__",
    "__annotations__",
    "__thisclass__",
    "maxlen",
    "mapping",
    "itemsize",
    "typecode",
];

pub fn descriptor_kind(value: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<Descriptor> {
    let py = value.py();
    let ty = value.get_type();
    let kind = ty.name()?.to_string();
    Ok(match kind.as_str() {
        "function"
        | "classmethod"
        | "staticmethod"
        | "builtin_function_or_method"
        | "method_descriptor"
        | "wrapper_descriptor"
        | "classmethod_descriptor" => Descriptor::Method,
        "property" | "_tuplegetter" => Descriptor::Computed,
        "getset_descriptor" if CONSTANT.contains(&name.to_str()?) => Descriptor::Computed,
        "getset_descriptor" => Descriptor::Native,
        "member_descriptor" if CONSTANT.contains(&name.to_str()?) => Descriptor::Computed,
        // A slot of a class in Python, or a field of a structure in C.
        "member_descriptor" => {
            let owner = value.getattr(intern!(py, "__objclass__"))?;
            // Flags do not tell: modules in C make classes at run time, too, which may be changed.
            match told_by_type(&owner, intern!(py, "__dict__"))?.contains(intern!(py, "__slots__"))? {
                true => Descriptor::Slot,
                false => Descriptor::Native,
            }
        }
        "type" => Descriptor::Class,
        _ if is_written_in_c(&ty) && ty.hasattr(intern!(py, "__set__"))? => Descriptor::Native,
        _ if ty.hasattr(intern!(py, "__set__"))? => Descriptor::Computed,
        _ if ty.hasattr(intern!(py, "__get__"))? => Descriptor::Shadowed,
        _ => Descriptor::Value,
    })
}

/// Whether the type was not made by Python code.
fn is_written_in_c(ty: &Bound<'_, PyType>) -> bool {
    !is_made_at_run_time(ty) || is_immutable_class(ty)
}

/// Whether a class has a method from a built-in type of values that never change.
pub fn is_of_value(class: &Bound<'_, PyType>, method: &Bound<'_, PyString>) -> bool {
    let py = class.py();
    let types = [
        PyInt::type_object(py),
        PyFloat::type_object(py),
        PyComplex::type_object(py),
        PyString::type_object(py),
        PyBytes::type_object(py),
        PyTuple::type_object(py),
        PyFrozenSet::type_object(py),
    ];
    holder_of(class, method).is_some_and(|holder| types.iter().any(|known| holder.is(known)))
}
