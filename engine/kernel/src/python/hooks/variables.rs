//! Hooks for module variables and closure variables that are rebound.

use pyo3::exceptions::{PyNameError, PyUnboundLocalError};
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::types::{PyBool, PyDict, PyString, PyTuple};

use crate::operation::AccessMode;
use crate::python::explore::assumptions::AssumptionKind;
use crate::python::explore::learning::Restart;
use crate::python::explore::recording::Word;
use crate::python::footprints::slots::Slot;
use crate::python::heap::place::Place;
use crate::python::heap::undo::Undo;
use crate::python::host::{current_host, Host};
use crate::python::identities::identity::KeyId;
use crate::python::modules::namespaces::namespace_of_caller;
use crate::python::state::State;

/// A closure variable that is rebound, made explicit by the instrumentation.
#[pyclass(module = "dpor._kernel")]
pub struct Cell {
    #[pyo3(get)]
    name: Py<PyString>,
    value: Option<Py<PyAny>>,
}

impl Cell {
    /// What the variable holds in memory.
    pub fn contents(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.value.as_ref().map(|value| value.clone_ref(py))
    }

    /// Exchange the value with another, without an operation.
    pub fn swap(&mut self, value: &mut Option<Py<PyAny>>) {
        std::mem::swap(&mut self.value, value);
    }
}

#[pymethods]
impl Cell {
    /// Python's own cells are compared by what they hold, and these are what they hold. That C code compares them is
    /// seen too late for an operation.
    fn __richcmp__<'py>(&self, other: &Bound<'py, PyAny>, operator: CompareOp) -> PyResult<Bound<'py, PyAny>> {
        let py = other.py();
        if let Some(host) = current_host(py) {
            if let Some(mut state) = host.get().awake().filter(|state| state.executes() && !state.has_no_company()) {
                state.assume(py, AssumptionKind::UnseenCode, "builtins.cell.__eq__");
            }
        }
        let other_cell = other.cast_exact::<Cell>().ok();
        let held = match &other_cell {
            Some(cell) => cell.borrow().contents(py),
            None => Some(other.clone().unbind()),
        };
        match (self.contents(py), held) {
            (Some(one), Some(other)) => one.bind(py).rich_compare(other.bind(py), operator),
            (one, other) => {
                let order = one.is_some().cmp(&other.is_some());
                Ok(PyBool::new(py, operator.matches(order)).to_owned().into_any())
            }
        }
    }

    /// What the variable holds now, without a visible operation; None if it is unset.
    #[getter]
    fn cell_contents(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.value.as_ref().map(|value| value.clone_ref(py))
    }
}

/// What Python raises where a global name stands for nothing.
fn undefined(name: &Bound<'_, PyString>) -> PyResult<PyErr> {
    named(name, PyNameError::new_err(format!("name '{name}' is not defined")))
}

/// What Python raises where a variable has no value: one of the function itself, or (`free`) of one around it.
fn unset(name: &Bound<'_, PyString>, free: bool) -> PyResult<PyErr> {
    if free {
        let message = "where it is not associated with a value in enclosing scope";
        return named(name, PyNameError::new_err(format!("cannot access free variable '{name}' {message}")));
    }
    let message = "where it is not associated with a value";
    Ok(PyUnboundLocalError::new_err(format!("cannot access local variable '{name}' {message}")))
}

fn named(name: &Bound<'_, PyString>, error: PyErr) -> PyResult<PyErr> {
    error.value(name.py()).setattr("name", name)?;
    Ok(error)
}

impl State {
    /// The slot of a variable of an instrumented module.
    pub fn slot_of_variable(&mut self, namespace: &Bound<'_, PyDict>, name: &Bound<'_, PyString>) -> Slot {
        let object = self.namespace(namespace);
        let key = self.identities.name(name);
        let location = self.identities.location(object, key, true);
        let whole = self.namespace_taken_whole(object);
        let slot = Slot::alone(location, object, key).of_whole(whole, self.heap.reads.enabled);
        Slot { changes_whole: whole.is_some(), ..slot }
    }

    /// The slot of a variable that functions share.
    pub fn slot_of_cell(&mut self, cell: &Bound<'_, Cell>) -> Slot {
        let facts = self.types.facts(cell.as_any());
        let object = self.object(cell.as_any(), facts);
        let location = self.identities.location(object, KeyId::WHOLE, false);
        Slot::alone(location, object, KeyId::WHOLE)
    }
}

impl Host {
    fn keep_variable(&self, event: bool, namespace: &Bound<'_, PyDict>, name: &Bound<'_, PyString>) -> PyResult<()> {
        if event && self.keeps_undo() {
            let value = namespace.get_item(name)?.map(Bound::unbind);
            let (namespace, name) = (namespace.clone().unbind(), name.clone().unbind());
            self.keep_undo(Undo::Item { namespace, name, value });
        }
        Ok(())
    }

    fn keep_cell(&self, py: Python<'_>, event: bool, cell: &Bound<'_, Cell>) {
        if event && self.keeps_undo() {
            let value = cell.borrow().value.as_ref().map(|value| value.clone_ref(py));
            self.keep_undo(Undo::Variable { cell: cell.clone().unbind(), value });
        }
    }

    fn variable_slot(&self, namespace: &Bound<'_, PyDict>, name: &Bound<'_, PyString>) -> Option<Slot> {
        let mut state = self.awake().filter(|state| state.running())?;
        Some(state.slot_of_variable(namespace, name))
    }

    /// Load a module's variable as an attribute of the module, with `get`.
    pub fn load_module_variable<'py>(
        &self,
        py: Python<'py>,
        namespace: &Bound<'py, PyDict>,
        name: &Bound<'py, PyString>,
        get: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Some(slot) = self.variable_slot(namespace, name) else { return get() };
        let event = self.access_slot(py, slot, AccessMode::Read)?;
        let value = self.forwarded(py, slot.location).map_or_else(get, Ok)?;
        self.adopt(&value, slot);
        self.note(py, Word::Load, Some(namespace), Some(name.as_any()), Some(&value), event);
        Ok(value)
    }

    fn cell_slot(&self, cell: &Bound<'_, Cell>) -> Option<Slot> {
        let mut state = self.awake().filter(|state| state.running())?;
        Some(state.slot_of_cell(cell))
    }
}

impl Host {
    /// Store a variable of an instrumented module.
    pub fn store_variable(
        &self,
        py: Python<'_>,
        value: &Bound<'_, PyAny>,
        namespace: &Bound<'_, PyDict>,
        name: &Bound<'_, PyString>,
    ) -> PyResult<()> {
        let Some(slot) = self.variable_slot(namespace, name) else { return namespace.set_item(name, value) };
        if !self.keep_original_variable(namespace, name)? {
            return Err(self.restart_with(py, Restart::ModuleState));
        }
        if self.is_buffered(slot.location) {
            let (namespace, name) = (namespace.clone().unbind(), name.clone().unbind());
            return self.buffer_plain(py, slot, Place::Variable { namespace, name }, value);
        }
        let event = self.access_slot(py, slot, AccessMode::Write)?;
        self.keep_variable(event, namespace, name)?;
        let place = || Place::Variable { namespace: namespace.clone().unbind(), name: name.clone().unbind() };
        self.keep_write(py, event, slot.location, place, Some(value))?;
        namespace.set_item(name, value)?;
        self.note_left(event, value);
        self.note(py, Word::Store, Some(namespace), Some(name.as_any()), Some(value), event);
        Ok(())
    }

    /// Delete a variable of an instrumented module.
    pub fn delete_variable(
        &self,
        py: Python<'_>,
        namespace: &Bound<'_, PyDict>,
        name: &Bound<'_, PyString>,
    ) -> PyResult<()> {
        let Some(slot) = self.variable_slot(namespace, name) else { return namespace.del_item(name) };
        if !self.keep_original_variable(namespace, name)? {
            return Err(self.restart_with(py, Restart::ModuleState));
        }
        self.drain_if_owed(py)?;
        let event = self.access_deletion(py, slot)?;
        self.keep_variable(event, namespace, name)?;
        let place = || Place::Variable { namespace: namespace.clone().unbind(), name: name.clone().unbind() };
        self.keep_write(py, event, slot.location, place, None)?;
        if namespace.del_item(name).is_err() {
            return Err(undefined(name)?);
        }
        self.note(py, Word::Delete, Some(namespace), Some(name.as_any()), None, event);
        Ok(())
    }
}

#[pymethods]
impl Host {
    /// A module variable that some function rebinds.
    #[pyo3(signature = (name, /))]
    fn load_global<'py>(&self, py: Python<'py>, name: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
        let namespace = &namespace_of_caller(py)?;
        let slot = self.variable_slot(namespace, name);
        let event = match slot {
            Some(slot) => self.access_slot(py, slot, AccessMode::Read)?,
            None => false,
        };
        let forwarded = slot.and_then(|slot| self.forwarded(py, slot.location));
        let value = match (forwarded, namespace.get_item(name)?) {
            (Some(value), _) | (None, Some(value)) => value,
            (None, None) => {
                let builtin = py.import("builtins")?.getattr_opt(name)?;
                if builtin.is_none() || event && self.state().heap.reads.enabled {
                    self.note(py, Word::Miss, Some(namespace), Some(name.as_any()), None, event);
                }
                return match builtin {
                    Some(builtin) => Ok(builtin),
                    None => Err(undefined(name)?),
                };
            }
        };
        if let Some(slot) = slot {
            self.adopt(&value, slot);
            self.note(py, Word::Load, Some(namespace), Some(name.as_any()), Some(&value), event);
        }
        Ok(value)
    }

    #[pyo3(signature = (value, name, /))]
    fn store_global(&self, py: Python<'_>, value: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<()> {
        self.store_variable(py, value, &namespace_of_caller(py)?, name)
    }

    #[pyo3(signature = (name, /))]
    fn delete_global(&self, py: Python<'_>, name: &Bound<'_, PyString>) -> PyResult<()> {
        self.delete_variable(py, &namespace_of_caller(py)?, name)
    }

    /// Make a closure variable explicit.
    #[pyo3(signature = (name, /, *value))]
    fn new_cell(&self, py: Python<'_>, name: Py<PyString>, value: &Bound<'_, PyTuple>) -> PyResult<Py<Cell>> {
        // A parameter may well be None.
        let value = value.get_item(0).ok().map(Bound::unbind);
        let cell = Bound::new(py, Cell { name, value })?;
        let Some(mut state) = self.awake() else { return Ok(cell.unbind()) };
        if !state.is_over() {
            let facts = state.types.facts(cell.as_any());
            state.object(cell.as_any(), facts);
            if state.in_predicate() {
                state.belongs_to_predicate(cell.as_any());
            }
            // A dict of keyword arguments is made by the call itself.
            let made = cell.borrow().value.as_ref().map(|value| value.bind(py).clone());
            if let Some(made) = made.filter(|value| value.is_exact_instance_of::<PyDict>()) {
                let facts = state.types.facts(&made);
                state.object(&made, facts);
            }
        }
        Ok(cell.unbind())
    }

    /// A variable of the function that asks, or with `free` of one around it.
    #[pyo3(name = "load_cell", signature = (cell, free = false, /))]
    fn load_any_cell<'py>(
        &self,
        py: Python<'py>,
        cell: Bound<'py, PyAny>,
        free: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        match cell.cast::<Cell>() {
            Ok(cell) => self.load_cell(py, cell, free),
            // Of a function that the program has made with a cell of its own, which holds the value itself.
            Err(_) => Ok(cell),
        }
    }

    #[pyo3(name = "store_cell", signature = (value, cell, /))]
    fn store_any_cell(&self, py: Python<'_>, value: Bound<'_, PyAny>, cell: &Bound<'_, PyAny>) -> PyResult<()> {
        match cell.cast::<Cell>() {
            Ok(cell) => self.store_cell(py, value, cell),
            Err(_) => Err(self.foreign_cell(py)),
        }
    }

    /// See `load_cell`.
    #[pyo3(name = "delete_cell", signature = (cell, free = false, /))]
    fn delete_any_cell(&self, py: Python<'_>, cell: &Bound<'_, PyAny>, free: bool) -> PyResult<()> {
        match cell.cast::<Cell>() {
            Ok(cell) => self.delete_cell(py, cell, free),
            Err(_) => Err(self.foreign_cell(py)),
        }
    }
}

impl Host {
    fn foreign_cell(&self, py: Python<'_>) -> PyErr {
        self.uncontrolled(py, "rebinds a variable of a function that was made with a cell of its own".to_owned())
    }

    pub fn load_cell<'py>(
        &self,
        py: Python<'py>,
        cell: &Bound<'py, Cell>,
        free: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let slot = self.cell_slot(cell);
        let event = match slot {
            Some(slot) => self.access_slot(py, slot, AccessMode::Read)?,
            None => false,
        };
        let forwarded = slot.and_then(|slot| self.forwarded(py, slot.location));
        let value = forwarded.or_else(|| cell.borrow().value.as_ref().map(|value| value.bind(py).clone()));
        let Some(value) = value else {
            let name = cell.borrow().name.bind(py).clone();
            self.note(py, Word::Miss, Some(cell), Some(name.as_any()), None, event);
            return Err(unset(&name, free)?);
        };
        if let Some(slot) = slot {
            self.adopt(&value, slot);
        }
        let name = cell.borrow().name.bind(py).clone();
        self.note(py, Word::Load, Some(cell), Some(name.as_any()), Some(&value), event);
        Ok(value)
    }

    pub fn store_cell(&self, py: Python<'_>, value: Bound<'_, PyAny>, cell: &Bound<'_, Cell>) -> PyResult<()> {
        let event = match self.cell_slot(cell) {
            Some(slot) => {
                self.check_fresh_cell(py, cell)?;
                let place = || Place::Cell { cell: cell.clone().unbind(), name: cell.borrow().name.clone_ref(py) };
                if self.is_buffered(slot.location) {
                    return self.buffer_plain(py, slot, place(), &value);
                }
                let event = self.access_slot(py, slot, AccessMode::Write)?;
                self.keep_write(py, event, slot.location, place, Some(&value))?;
                event
            }
            None => false,
        };
        self.keep_cell(py, event, cell);
        let name = cell.borrow().name.bind(py).clone();
        let old = cell.borrow_mut().value.replace(value.clone().unbind());
        drop(old);
        self.note_left(event, &value);
        self.note(py, Word::Store, Some(cell), Some(name.as_any()), Some(&value), event);
        Ok(())
    }

    pub fn delete_cell(&self, py: Python<'_>, cell: &Bound<'_, Cell>, free: bool) -> PyResult<()> {
        let event = match self.cell_slot(cell) {
            Some(slot) => {
                self.check_fresh_cell(py, cell)?;
                self.drain_if_owed(py)?;
                let event = self.access_deletion(py, slot)?;
                let place = || Place::Cell { cell: cell.clone().unbind(), name: cell.borrow().name.clone_ref(py) };
                self.keep_write(py, event, slot.location, place, None)?;
                event
            }
            None => false,
        };
        self.keep_cell(py, event, cell);
        let name = cell.borrow().name.bind(py).clone();
        let old = cell.borrow_mut().value.take();
        if old.is_none() {
            return Err(unset(&name, free)?);
        }
        drop(old);
        self.note(py, Word::Delete, Some(cell), Some(name.as_any()), None, event);
        Ok(())
    }
}
