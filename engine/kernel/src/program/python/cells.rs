//! Python's own cells, which a function shows as its `__closure__`: in instrumented code each holds one of the kernel's.

use pyo3::exceptions::{PyNameError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::builtins::BuiltinEffect;
use super::host::Host;
use super::variables::Cell;

/// The kernel's cell behind `cell_contents` of one of Python's own; None for anything else.
pub fn cell_behind<'py>(object: &Bound<'py, PyAny>, name: &Bound<'py, PyString>) -> Option<Bound<'py, Cell>> {
    if name.to_str().ok()? != "cell_contents" || object.get_type().name().ok()? != "cell" {
        return None;
    }
    object.getattr(name).ok()?.cast_into::<Cell>().ok()
}

impl Host {
    /// Load, store or delete the variable that a cell stands for. Raises ValueError if there is no value to load, as Python does.
    pub fn use_cell<'py>(
        &self,
        py: Python<'py>,
        effect: BuiltinEffect,
        cell: &Bound<'py, Cell>,
        value: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match (effect, value) {
            (BuiltinEffect::SetAttribute, Some(value)) => self.store_cell(py, value, cell)?,
            (BuiltinEffect::DeleteAttribute, _) => match self.delete_cell(py, cell) {
                // Python says nothing if there is nothing to delete.
                Err(error) if error.is_instance_of::<PyNameError>(py) => {}
                deleted => deleted?,
            },
            _ => {
                return self.load_cell(py, cell).map_err(|error| match error.is_instance_of::<PyNameError>(py) {
                    true => PyValueError::new_err("Cell is empty"),
                    false => error,
                })
            }
        }
        Ok(py.None().into_bound(py))
    }
}
