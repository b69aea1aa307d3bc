//! The classes that an attribute is looked for in, which of them has it, and what the interpreter keeps of a class.

use pyo3::exceptions::PyAttributeError;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};

use crate::python::types::class_flags::is_unfilled;

static TYPE: PyOnceLock<Py<PyDict>> = PyOnceLock::new();

/// What the descriptor of this name in `type` tells of a class. Code of the model has no part in it, so the host's
/// state may be borrowed: `getattr` would ask a `__getattribute__` or a property of the metaclass.
pub fn told_by_type<'py>(class: &Bound<'py, PyAny>, name: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
    let py = class.py();
    let missing = || PyAttributeError::new_err("type has no such descriptor");
    let namespace = TYPE.get_or_try_init(py, || -> PyResult<Py<PyDict>> {
        let copy = py.get_type::<PyType>().getattr("__dict__")?.call_method0("copy")?;
        Ok(copy.cast_into::<PyDict>()?.unbind())
    })?;
    let class = class.cast::<PyType>()?;
    // SAFETY: the class is valid, and nobody is filling it in.
    if is_unfilled(class) && unsafe { ffi::PyType_Ready(class.as_type_ptr()) } < 0 {
        return Err(PyErr::fetch(py));
    }
    let descriptor = namespace.bind(py).get_item(name)?.ok_or_else(missing)?;
    // SAFETY: the slot is the one of this name in the descriptor's type, and takes a class of `type` or a type below
    // it.
    unsafe {
        let slot = ffi::PyType_GetSlot(descriptor.get_type_ptr(), ffi::Py_tp_descr_get);
        if slot.is_null() {
            return Err(missing());
        }
        let get = std::mem::transmute::<*mut std::os::raw::c_void, ffi::descrgetfunc>(slot);
        Bound::from_owned_ptr_or_err(py, get(descriptor.as_ptr(), class.as_ptr(), class.get_type_ptr().cast()))
    }
}

/// What `PyType::mro` gives, also of a class that is being made: while the `mro` method of its metaclass runs it has
/// none.
pub trait Ancestry<'py> {
    /// The class and its bases, in the order in which they are looked at.
    fn ancestry(&self) -> Bound<'py, PyTuple>;
}

impl<'py> Ancestry<'py> for Bound<'py, PyType> {
    fn ancestry(&self) -> Bound<'py, PyTuple> {
        let known =
            told_by_type(self, intern!(self.py(), "__mro__")).and_then(|classes| Ok(classes.cast_into::<PyTuple>()?));
        match known {
            Ok(classes) => classes,
            Err(_) => class_alone(self),
        }
    }
}

fn class_alone<'py>(class: &Bound<'py, PyType>) -> Bound<'py, PyTuple> {
    let bases =
        told_by_type(class, intern!(class.py(), "__bases__")).and_then(|bases| Ok(bases.cast_into::<PyTuple>()?));
    let mut classes = vec![class.clone().into_any()];
    if let Ok(bases) = bases {
        classes.extend(bases.iter());
    }
    PyTuple::new(class.py(), classes).unwrap_or_else(|_| PyTuple::empty(class.py()))
}

/// What the class or one of its bases has under a name, as it is there: no descriptor runs, and nothing of a metaclass,
/// so that the host's state may be borrowed.
pub fn found_in_class<'py>(class: &Bound<'py, PyType>, name: &str) -> Option<Bound<'py, PyAny>> {
    let name = PyString::new(class.py(), name);
    told_by_type(&holder_of(class, &name)?, intern!(class.py(), "__dict__")).ok()?.get_item(name).ok()
}

/// The class among the bases of `class` whose own namespace holds `name`.
pub fn holder_of<'py>(class: &Bound<'py, PyType>, name: &Bound<'py, PyString>) -> Option<Bound<'py, PyAny>> {
    class.ancestry().iter().find(|base| {
        told_by_type(base, intern!(base.py(), "__dict__"))
            .and_then(|namespace| namespace.contains(name))
            .unwrap_or(false)
    })
}

/// The class in which `super()` finds `name`.
pub fn holder_after<'py>(object: &Bound<'py, PyAny>, name: &Bound<'py, PyString>) -> Option<Bound<'py, PyAny>> {
    let own = |name: &str| object.getattr(name).ok();
    let (class, behind) = (own("__self_class__")?.cast_into::<PyType>().ok()?, own("__thisclass__")?);
    let mut bases = class.ancestry().iter().skip_while(|base| !base.is(&behind)).skip(1);
    bases.find(|base| {
        told_by_type(base, intern!(base.py(), "__dict__"))
            .and_then(|namespace| namespace.contains(name))
            .unwrap_or(false)
    })
}
