//! Which methods of values that never change access nothing but the value and numbers or texts that they are given. All
//! others read what they are given, and what is in it: a tuple holds objects that change, and so may the other side of
//! `==`.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyComplex, PyFloat, PyInt, PyString, PyType};

use crate::python::primitives::is_own_class;
use crate::python::types::ancestry::{holder_of, told_by_type};
use crate::python::types::kinds::{module_of, qualified_name};

/// Methods of `object` that tell of nothing but the object's class and address.
const OF_ALL: &[&str] = &[
    "__class__",
    "__class_getitem__",
    "__getattribute__",
    "__init_subclass__",
    "__new__",
    "__sizeof__",
    "__subclasshook__",
];

/// Methods of a text that look into what they are given.
const OF_TEXT: &[&str] = &["__mod__", "__rmod__", "format", "format_map", "join", "maketrans", "translate"];

/// Methods of `bytes` that are given numbers at most; others may be given a `bytearray`.
const OF_BYTES: &[&str] = &[
    "__bytes__",
    "__getitem__",
    "__getnewargs__",
    "__hash__",
    "__iter__",
    "__len__",
    "__mul__",
    "__repr__",
    "__rmul__",
    "__str__",
    "capitalize",
    "decode",
    "expandtabs",
    "fromhex",
    "hex",
    "isalnum",
    "isalpha",
    "isascii",
    "isdigit",
    "islower",
    "isspace",
    "istitle",
    "isupper",
    "lower",
    "splitlines",
    "swapcase",
    "title",
    "upper",
    "zfill",
];

/// Methods with special names that give an item or an iterator, or tell the size.
const OF_SEQUENCES: &[&str] = &["__getitem__", "__iter__", "__len__", "__reversed__"];

/// Whether a method of a value of a type that never changes accesses nothing that threads share, whatever it is given.
pub fn is_harmless_method(value: &Bound<'_, PyAny>, method: &str) -> bool {
    if value.is_exact_instance_of::<PyString>() {
        return !OF_TEXT.contains(&method);
    }
    if value.is_exact_instance_of::<PyInt>() || value.is_exact_instance_of::<PyBool>() {
        return method != "from_bytes";
    }
    if value.is_none() || value.is_exact_instance_of::<PyFloat>() || value.is_exact_instance_of::<PyComplex>() {
        return true;
    }
    if value.is_instance_of::<PyBytes>() {
        return OF_BYTES.contains(&method) || OF_ALL.contains(&method);
    }
    if is_own_primitive(value) {
        return true;
    }
    if !method.starts_with("__") {
        // Accesses nothing but the running context.
        return value.get_type().name().is_ok_and(|name| name == "ContextVar");
    }
    OF_ALL.contains(&method) || OF_SEQUENCES.contains(&method)
}

/// Methods of classes in C, by the class that has them, that make an object or tell something.
const OF_CLASSES: &[(&str, &str, &[&str])] = &[
    ("_ctypes", "PyCSimpleType", &["from_param"]),
    ("collections", "OrderedDict", &["fromkeys"]),
    ("ctypes", "c_char_p", &["from_param"]),
    ("ctypes", "c_void_p", &["from_param"]),
    ("ctypes", "c_wchar_p", &["from_param"]),
    ("datetime", "date", &["fromisocalendar", "fromisoformat", "fromordinal", "fromtimestamp", "strptime", "today"]),
    (
        "datetime",
        "datetime",
        &["combine", "fromisoformat", "fromtimestamp", "now", "strptime", "utcfromtimestamp", "utcnow"],
    ),
    ("datetime", "time", &["fromisoformat", "strptime"]),
    ("decimal", "Decimal", &["from_float", "from_number"]),
    ("itertools", "chain", &["from_iterable"]),
    ("zoneinfo", "ZoneInfo", &["_unpickle", "from_file", "no_cache"]),
];

/// The class whose method in C `method` is, where it is called on `class`; None for one that leaves the class and the
/// process as they are. Those with special names, and all of the built-in classes do.
pub fn holder_of_harmful<'py>(
    class: &Bound<'py, PyType>,
    method: &Bound<'py, PyString>,
) -> PyResult<Option<Bound<'py, PyType>>> {
    let name = method.to_str()?;
    if name.starts_with("__") {
        return Ok(None);
    }
    let found = holder_of(class, method).or_else(|| holder_of(&class.get_type(), method));
    let holder = found.and_then(|holder| holder.cast_into::<PyType>().ok()).unwrap_or_else(|| class.clone());
    let (module, owner) = (module_of(&holder), qualified_name(&holder));
    let is_known =
        |(of, class, names): &(&str, &str, &[&str])| *of == module && *class == owner && names.contains(&name);
    let harmless = module == "builtins" || OF_CLASSES.iter().any(is_known);
    Ok((!harmless).then_some(holder))
}

/// Whether a value is the kernel's own, which tells of its operations itself.
pub fn is_own_primitive(value: &Bound<'_, PyAny>) -> bool {
    is_own(&value.get_type())
}

/// Whether a class is the checker's own, whatever module it names: those that stand in for others name theirs.
pub fn is_own(class: &Bound<'_, PyType>) -> bool {
    let is_marked = || {
        told_by_type(class, intern!(class.py(), "__dict__"))
            .is_ok_and(|names| names.contains("__dpor_own__").unwrap_or(false))
    };
    is_own_class(class) || module_of(class).split('.').next() == Some("dpor") || is_marked()
}
