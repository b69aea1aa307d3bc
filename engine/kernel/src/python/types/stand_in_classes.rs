//! Classes of the kernel's primitives, for which other objects stand under the names of the library's classes: a
//! program that asks an object for its class finds what it calls so (`type(event) is threading.Event`).

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};

use crate::python::host::Host;
use crate::python::primitives::is_own_class;

impl Host {
    /// What stands for a class that a program has asked an object for.
    pub fn shown_class<'py>(&self, class: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = class.py();
        let is_own = class.cast::<PyType>().is_ok_and(is_own_class);
        let stand_ins = match is_own {
            true => self.state().code.stand_in_classes.as_ref().map(|classes| classes.clone_ref(py)),
            false => None,
        };
        match stand_ins {
            Some(classes) => Ok(classes.bind(py).get_item(&class)?.unwrap_or(class)),
            None => Ok(class),
        }
    }
}

#[pymethods]
impl Host {
    /// Have `classes` name, for classes of primitives, what stands for them in programs.
    fn use_stand_in_classes(&self, classes: Bound<'_, PyDict>) {
        self.state().code.stand_in_classes = Some(classes.unbind());
    }
}
