//! Python's own cells, which a function shows as its `__closure__`: in instrumented code each holds one of the
//! kernel's.

use pyo3::exceptions::{PyNameError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString};

use crate::operation::AccessMode;
use crate::python::calls::builtins::BuiltinEffect;
use crate::python::explore::assumptions::AssumptionKind;
use crate::python::footprints::look::{Inside, Look};
use crate::python::hooks::variables::Cell;
use crate::python::host::Host;
use crate::python::modules::namespaces::is_instrumented_namespace;
use crate::python::state::{access, State};
use crate::python::threads::own_modules::OwnModule;

/// Whether an object is one of Python's own cells.
pub fn is_cell(object: &Bound<'_, PyAny>) -> bool {
    object.get_type().name().is_ok_and(|name| name == "cell")
}

/// The kernel's cell behind `cell_contents` of one of Python's own; None for anything else.
pub fn cell_behind<'py>(object: &Bound<'py, PyAny>, name: &Bound<'py, PyString>) -> Option<Bound<'py, Cell>> {
    if name.to_str().ok()? != "cell_contents" || !is_cell(object) {
        return None;
    }
    object.getattr(name).ok()?.cast_into::<Cell>().ok()
}

impl State {
    /// Note what an operation reads that looks into one of Python's own cells.
    pub fn look_at_cell<'py>(&mut self, look: &mut Look<'py>, cell: &Bound<'py, Cell>, inside: Inside) {
        let py = cell.py();
        // It shows the kernel's cell where Python's own shows what it holds.
        self.assume(py, AssumptionKind::UnseenCode, "builtins.cell");
        let location = self.slot_of_cell(cell).location;
        look.add([access(location, AccessMode::Read)]);
        if self.is_visible(location) {
            look.moves(location, inside);
        }
        let value = cell.borrow().contents(py);
        value.into_iter().for_each(|value| look.finds(value.into_bound(py), inside));
    }
}

impl Host {
    /// An attribute of an object is about to be stored or deleted. The functions that have one of Python's own cells
    /// read it unseen: nothing that they do can change it.
    #[inline]
    pub fn note_cell_change(
        &self,
        py: Python<'_>,
        object: &Bound<'_, PyAny>,
        name: &Bound<'_, PyString>,
    ) -> PyResult<()> {
        if name.to_str()? == "cell_contents" && is_cell(object) && cell_behind(object, name).is_none() {
            let matters = self.awake().is_some_and(|state| state.executes() && !state.has_no_company());
            if matters {
                self.assume(py, AssumptionKind::UnseenCode, "builtins.cell");
            }
        }
        Ok(())
    }
}

/// Whether a name is one that the instrumentation has made up.
fn is_made_up(name: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = name.py();
    if !name.is_instance_of::<PyString>() {
        return Ok(false);
    }
    let hooks = OwnModule::Hooks.get(py)?;
    hooks.call_method1(intern!(py, "is_temporary"), (name,))?.is_truthy()
}

impl Host {
    /// Let the dict of a function's variables show what they hold, and none that the instrumentation has made up.
    pub fn show_variables(&self, py: Python<'_>, variables: &Bound<'_, PyAny>) -> PyResult<()> {
        let Ok(variables) = variables.cast_exact::<PyDict>() else { return Ok(()) };
        if is_instrumented_namespace(variables) {
            return Ok(());
        }
        for (name, value) in variables.copy()?.iter() {
            if let Ok(cell) = value.cast_exact::<Cell>() {
                match self.load_cell(py, cell, false) {
                    Ok(value) => variables.set_item(name, value)?,
                    Err(error) if error.is_instance_of::<PyNameError>(py) => variables.del_item(name)?,
                    Err(error) => return Err(error),
                }
            } else if is_made_up(&name)? {
                variables.del_item(name)?;
            }
        }
        Ok(())
    }

    /// The same of the names of a function's variables.
    pub fn hide_temporaries(&self, names: &Bound<'_, PyAny>) -> PyResult<()> {
        let Ok(names) = names.cast_exact::<PyList>() else { return Ok(()) };
        for index in (0..names.len()).rev() {
            if is_made_up(&names.get_item(index)?)? {
                names.del_item(index)?;
            }
        }
        Ok(())
    }

    /// Load, store or delete the variable that a cell stands for. Raises ValueError if there is no value to load, as
    /// Python does.
    pub fn use_cell<'py>(
        &self,
        py: Python<'py>,
        effect: BuiltinEffect,
        cell: &Bound<'py, Cell>,
        value: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match (effect, value) {
            (BuiltinEffect::SetAttribute, Some(value)) => self.store_cell(py, value, cell)?,
            (BuiltinEffect::DeleteAttribute, _) => match self.delete_cell(py, cell, false) {
                // Python says nothing if there is nothing to delete.
                Err(error) if error.is_instance_of::<PyNameError>(py) => {}
                deleted => deleted?,
            },
            _ => {
                return self.load_cell(py, cell, false).map_err(|error| {
                    match error.is_instance_of::<PyNameError>(py) {
                        true => PyValueError::new_err("Cell is empty"),
                        false => error,
                    }
                })
            }
        }
        Ok(py.None().into_bound(py))
    }
}
