//! The classes that an attribute is looked for in.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyType};

/// What `PyType::mro` gives, also of a class that is being made: while the `mro` method of its metaclass runs it has none.
pub trait Ancestry<'py> {
    /// The class and its bases, in the order in which they are looked at.
    fn ancestry(&self) -> Bound<'py, PyTuple>;
}

impl<'py> Ancestry<'py> for Bound<'py, PyType> {
    fn ancestry(&self) -> Bound<'py, PyTuple> {
        let known =
            self.getattr(intern!(self.py(), "__mro__")).and_then(|classes| Ok(classes.cast_into::<PyTuple>()?));
        match known {
            Ok(classes) => classes,
            Err(_) => class_alone(self),
        }
    }
}

fn class_alone<'py>(class: &Bound<'py, PyType>) -> Bound<'py, PyTuple> {
    let bases = class.getattr(intern!(class.py(), "__bases__")).and_then(|bases| Ok(bases.cast_into::<PyTuple>()?));
    let mut classes = vec![class.clone().into_any()];
    if let Ok(bases) = bases {
        classes.extend(bases.iter());
    }
    PyTuple::new(class.py(), classes).unwrap_or_else(|_| PyTuple::empty(class.py()))
}
