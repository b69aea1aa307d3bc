//! Classes that packages have written in C: nothing is known of what their objects keep, compute and share.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyType;

use crate::python::types::ancestry::{found_in_class, told_by_type, Ancestry};
use crate::python::types::kinds::{is_heap_class, module_of, COMPARISONS};
use crate::python::types::TypeTable;

/// Operators with two operands: each has a method, one for the other side and one for an update in place.
const BINARY: &[&str] = &[
    "add", "and", "divmod", "floordiv", "lshift", "matmul", "mod", "mul", "or", "pow", "rshift", "sub", "truediv",
    "xor",
];
/// The methods of operators with one operand, and of functions that compute.
const UNARY: &[&str] =
    &["abs", "ceil", "complex", "float", "floor", "index", "int", "invert", "neg", "pos", "round", "trunc"];

impl TypeTable {
    /// The package of a class that C has made, if it is neither the interpreter's or the library's nor the checker's.
    fn foreign_in_c(&self, class: &Bound<'_, PyType>) -> Option<String> {
        let module = module_of(class);
        let top = module.split('.').next().unwrap_or_default();
        self.origins.is_foreign_package(top).then(|| top.to_owned())
    }

    /// The package of whose classes in C the class is one, or derives from one.
    pub fn package_in_c(&self, ty: &Bound<'_, PyType>) -> Option<String> {
        let bases = ty.ancestry().iter().filter_map(|base| base.cast_into::<PyType>().ok());
        bases.filter(is_made_in_c).find_map(|base| self.foreign_in_c(&base))
    }

    /// Whether the class has operators or comparisons written in C that are not the interpreter's or the library's.
    pub fn computes_in_c(&self, ty: &Bound<'_, PyType>) -> bool {
        let sides = |name: &&str| ["", "r", "i"].map(|side| format!("__{side}{name}__"));
        let operators = BINARY.iter().flat_map(sides).chain(UNARY.iter().map(|name| format!("__{name}__")));
        operators.chain(COMPARISONS.iter().map(|&name| name.to_owned())).any(|name| {
            // A class may have the method of another one.
            let Some(maker) = found_in_class(ty, &name).and_then(|method| maker_in_c(&method)) else { return false };
            self.foreign_in_c(&maker).is_some()
        })
    }
}

/// Whether objects of a class tell by `base` whose memory they show: those of NumPy's own classes do. An object of a class
/// that derives from one of these has attributes of its own, so that it is no other object.
pub fn tells_memory_owner(class: &Bound<'_, PyType>) -> bool {
    !is_heap_class(class)
        && module_of(class).split('.').next() == Some("numpy")
        && found_in_class(class, "base").is_some()
}

/// The object whose memory such an object shows, as a slice of an array does: what changes one changes the other.
pub fn memory_owner<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let class = object.get_type();
    if !tells_memory_owner(&class) {
        return None;
    }
    let base = found_in_class(&class, "base")?;
    let owner = base.call_method1(intern!(object.py(), "__get__"), (object, class)).ok()?;
    (!owner.is_none() && !owner.is(object)).then_some(owner)
}

/// Whether C has made a class: a class statement makes no such methods.
fn is_made_in_c(class: &Bound<'_, PyType>) -> bool {
    if !is_heap_class(class) {
        return true;
    }
    let own = told_by_type(class, intern!(class.py(), "__dict__"));
    let methods = own.and_then(|own| own.call_method0(intern!(class.py(), "values"))?.try_iter());
    methods.into_iter().flatten().flatten().any(|method| maker_in_c(&method).is_some_and(|maker| maker.is(class)))
}

/// The class for which C has made a method.
fn maker_in_c<'py>(method: &Bound<'py, PyAny>) -> Option<Bound<'py, PyType>> {
    const IN_C: &[&str] = &["wrapper_descriptor", "method_descriptor"];
    let kind = method.get_type().name().ok()?;
    let is_in_c = kind.to_str().is_ok_and(|kind| IN_C.contains(&kind));
    is_in_c.then(|| method.getattr(intern!(method.py(), "__objclass__")).ok()?.cast_into().ok()).flatten()
}
