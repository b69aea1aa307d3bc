//! The variables of modules, and which modules are instrumented.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule};

/// Whether a dict is the namespace of an instrumented module.
pub fn is_instrumented_namespace(namespace: &Bound<'_, PyDict>) -> bool {
    namespace.contains(intern!(namespace.py(), "__dpor_namespace__")).unwrap_or(false)
}

/// The namespace of a module. What its class says of `__dict__` is not asked: that could be code of the model.
pub fn variables_of_module<'py>(module: &Bound<'py, PyAny>) -> Option<Bound<'py, PyDict>> {
    match module.cast::<PyModule>() {
        Ok(module) => Some(module.dict()),
        // What a module has put in its own place among the imported ones.
        Err(_) => module.getattr(intern!(module.py(), "__dict__")).ok()?.cast_into::<PyDict>().ok(),
    }
}

/// The namespace of an instrumented module, if the object is one.
pub fn instrumented_namespace<'py>(module: &Bound<'py, PyAny>) -> Option<Bound<'py, PyDict>> {
    variables_of_module(module).filter(is_instrumented_namespace)
}
