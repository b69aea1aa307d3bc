//! The variables of modules.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule, PyString};

use crate::python::footprints::container_effects::ContainerEffect;
use crate::python::host::Host;
use crate::python::modules::namespaces::is_instrumented_namespace;

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

impl Host {
    /// Before an operation on an item of a dict, or on the dict: if it is the namespace of an instrumented module
    /// (`globals()`), its items are variables.
    pub fn access_namespace(
        &self,
        py: Python<'_>,
        object: &Bound<'_, PyAny>,
        key: Option<&Bound<'_, PyAny>>,
        effect: ContainerEffect,
    ) -> PyResult<()> {
        let Ok(namespace) = object.cast_exact::<PyDict>() else { return Ok(()) };
        if !self.state().running() || !is_instrumented_namespace(namespace) {
            return Ok(());
        }
        // Alone, a thread may do what it likes, such as while a module is loaded.
        let (alone, by_value) = {
            let state = self.state();
            (state.threads.len() < 2 || state.is_over(), state.driver.wants_values())
        };
        if by_value && !alone {
            return self.leave_untreated(py, "the variables of a module as a dict");
        }
        if effect.reads_only() || (alone && key.is_none()) {
            return Ok(());
        }
        match key.and_then(|key| key.cast::<PyString>().ok()) {
            Some(name) => self.require_rebound(py, namespace, name),
            None => Err(self.uncontrolled(py, "changes the variables of a module as a dict".to_owned())),
        }
    }
}
