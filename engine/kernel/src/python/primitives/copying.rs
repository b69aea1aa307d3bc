//! Copies of primitives: `copy.copy` copies those that CPython writes in Python, and `pickle` and `copy.deepcopy`
//! refuse all.

use std::sync::atomic::{AtomicBool, Ordering};

use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyAny as Any, PyDict};

use crate::python::host::Host;

/// The type that CPython says cannot be pickled where a primitive keeps a plain lock.
pub const LOCK: &str = "_thread.lock";

/// Whether there is a copy of a primitive, which shares the threads that wait with it and nothing else. Such waits are
/// not modelled.
#[derive(Default)]
pub struct Copied(AtomicBool);

impl Copied {
    pub fn note(&self, copy: &Copied) {
        self.0.store(true, Ordering::Relaxed);
        copy.0.store(true, Ordering::Relaxed);
    }

    pub fn is_noted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Before a thread waits.
    pub fn require_alone(&self, py: Python<'_>, host: &Host, class: &str) -> PyResult<()> {
        match self.is_noted() {
            true => Err(host.uncontrolled(py, format!("waits for a threading.{class} of which there is a copy"))),
            false => Ok(()),
        }
    }
}

/// An object of the same class with the same attributes, of which `__init__` was not called.
pub fn made_alike<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let class = object.get_type();
    let copy = class.call_method1(intern!(py, "__new__"), (&class,))?;
    if let Some(attributes) = object.getattr_opt(intern!(py, "__dict__"))? {
        let own = copy.getattr(intern!(py, "__dict__"))?.cast_into::<PyDict>()?;
        own.update(attributes.cast::<PyDict>()?.as_mapping())?;
    }
    Ok(copy)
}

/// What `__reduce__` gives: a TypeError about the lock within, unless the class says itself what its state is.
pub fn reduce<'py>(object: &Bound<'py, PyAny>, lock: &str) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let name = intern!(py, "__getstate__");
    let class = object.get_type();
    if class.getattr(name)?.is(&py.get_type::<Any>().getattr(name)?) {
        return Err(PyTypeError::new_err(format!("cannot pickle '{lock}' object")));
    }
    let make = py.import(intern!(py, "copyreg"))?.getattr(intern!(py, "__newobj__"))?;
    Ok((make, (&class,), object.call_method0(name)?).into_pyobject(py)?.into_any())
}
