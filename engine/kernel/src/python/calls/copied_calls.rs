//! Copies and pickles of what stands for a callable while built-in code holds it: those of the callable itself.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyModule, PyTuple, PyType};

use crate::python::calls::controlled_call::ControlledCall;
use crate::python::threads::own_modules::OwnModule;

#[pymethods]
impl ControlledCall {
    /// A function is pickled by its name, which stands for the function and not for this.
    #[pyo3(signature = (*_protocol))]
    fn reduced<'py>(
        &self,
        py: Python<'py>,
        _protocol: &Bound<'py, PyTuple>,
    ) -> PyResult<(Bound<'py, PyAny>, (Py<PyAny>,))> {
        let itself = OwnModule::Current.get(py)?.getattr(intern!(py, "itself"))?;
        Ok((itself, (self.function.clone_ref(py),)))
    }

    #[pyo3(signature = (*_memo))]
    fn __copy__<'py>(slf: &Bound<'py, Self>, _memo: &Bound<'py, PyTuple>) -> Bound<'py, Self> {
        slf.clone()
    }
}

/// Whether a callable is a function in C of a module, or a class.
pub fn is_pickled_by_name(function: &Bound<'_, PyAny>) -> bool {
    let is_of_module = || {
        let owner = function.getattr(intern!(function.py(), "__self__"));
        owner.is_ok_and(|owner| owner.is_none() || owner.is_instance_of::<PyModule>())
    };
    function.is_instance_of::<PyType>() || function.is_instance_of::<PyCFunction>() && is_of_module()
}

/// A method of the class itself, not of the function.
pub fn own_method<'py>(call: &Bound<'py, ControlledCall>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let py = call.py();
    py.get_type::<ControlledCall>().getattr(name)?.call_method1(intern!(py, "__get__"), (call,))
}
