//! Hooks for attributes, module variables and closure variables.

use pyo3::exceptions::{PyNameError, PyUnboundLocalError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use super::host::{access, instrumented_namespace, Host, Phase, Restart, State, Touch};
use super::identity::{KeyId, ObjectId};
use super::recording::Word;
use super::types::{holder_of, AttributeKind, TypeKind};
use super::undo::Undo;
use crate::operation::{AccessMode, Accesses, LocationId, Operation, OperationKind};

/// A place that holds one value: an attribute, a module variable, a closure variable.
#[derive(Clone, Copy)]
struct Slot {
    location: LocationId,
    object: ObjectId,
    key: KeyId,
    /// Where the class's value for the attribute lives, which a load may find instead.
    default: Option<LocationId>,
}

/// A closure variable that is rebound, made explicit by the instrumentation.
#[pyclass(module = "dpor._kernel")]
pub struct Cell {
    #[pyo3(get)]
    name: Py<PyString>,
    value: Option<Py<PyAny>>,
}

impl Cell {
    /// Exchange the value with another, without an operation.
    pub fn swap(&mut self, value: &mut Option<Py<PyAny>>) {
        std::mem::swap(&mut self.value, value);
    }
}

#[pymethods]
impl Cell {
    /// What the variable holds now, without a visible operation; None if it is unset.
    #[getter]
    fn cell_contents(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.value.as_ref().map(|value| value.clone_ref(py))
    }
}

impl State {
    /// The slot of an attribute; None if reading or writing it is no visible operation.
    #[inline]
    fn attribute_slot(&mut self, object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> Option<Slot> {
        let facts = self.types.facts(object);
        match facts.kind {
            TypeKind::Immutable | TypeKind::Module => return None,
            _ => {}
        }
        let kind = self.types.attribute(object, name, facts.kind);
        if kind == AttributeKind::Constant {
            return None;
        }
        let id = self.object(object, facts);
        let key = self.identities.name(name);
        let location = self.identities.location(id, key, facts.kind != TypeKind::Class);
        let default = match kind {
            AttributeKind::DataWithDefault => holder_of(&object.get_type(), name).map(|class| {
                let facts = self.types.facts(&class);
                let class = self.object(&class, facts);
                self.identities.location(class, key, false)
            }),
            _ => None,
        };
        Some(Slot { location, object: id, key, default })
    }
}

impl Host {
    /// Perform an access to a slot: as an event if its location is visible. Returns whether it was one.
    #[inline]
    fn touch_slot(&self, py: Python<'_>, slot: Slot, mode: AccessMode) -> PyResult<bool> {
        if mode == AccessMode::Read && slot.default.is_some() {
            return self.touch_slot_with_default(py, slot);
        }
        {
            let mut state = self.state();
            if state.phase == Phase::Probing {
                state.probed.push(access(slot.location, mode));
                return Ok(false);
            }
            if !state.is_visible(slot.location) && !state.halted {
                state.quiet(&[access(slot.location, mode)]);
                state.plain_access(&[access(slot.location, mode)]);
                return Ok(false);
            }
        }
        let kind = if mode == AccessMode::Read { OperationKind::Load } else { OperationKind::Store };
        let operation = Operation::new(kind, slot.location, 0);
        self.perform(py, operation, 1, |_| Touch::of([access(slot.location, mode)].into_iter().collect()))?;
        self.state().plain_access(&[access(slot.location, mode)]);
        Ok(true)
    }

    /// A load that finds the instance's value or the class's: it reads both.
    fn touch_slot_with_default(&self, py: Python<'_>, slot: Slot) -> PyResult<bool> {
        let reads: Accesses = [Some(slot.location), slot.default]
            .into_iter()
            .flatten()
            .map(|at| access(at, AccessMode::Read))
            .collect();
        {
            let mut state = self.state();
            if state.phase == Phase::Probing {
                state.probed.extend(reads);
                return Ok(false);
            }
            if !state.halted && !reads.iter().any(|read| state.is_visible(read.location)) {
                state.quiet(&reads);
                state.plain_access(&reads);
                return Ok(false);
            }
        }
        self.perform(py, Operation::new(OperationKind::Load, slot.location, 0), 1, |state| {
            state.plain_access(&reads);
            Touch::of(state.visible_part(reads))
        })?;
        Ok(true)
    }

    #[inline]
    fn find_attribute(&self, object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> Option<Slot> {
        let mut state = self.state();
        if !state.running() {
            return None;
        }
        state.attribute_slot(object, name)
    }

    /// Before an object is changed: one that exists before executions begin must be made afresh for each.
    #[inline]
    pub fn check_fresh(&self, py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<()> {
        let permanent = {
            let state = self.state();
            state.phase == Phase::Running && !state.fresh_modules && state.is_permanent(object)
        };
        if permanent {
            return Err(self.restart_with(py, Restart::ModuleState));
        }
        Ok(())
    }

    /// Before an attribute is changed: see whether it was taken for constant.
    fn check_rebinding(&self, py: Python<'_>, object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<()> {
        if let Some(namespace) = instrumented_namespace(object) {
            if namespace.contains(name)? {
                let module: String = object.getattr(intern!(py, "__name__"))?.extract()?;
                return Err(self.restart_with(py, Restart::Rebound(module, name.to_string())));
            }
            return Ok(());
        }
        let facts = self.state().types.facts(object);
        if matches!(facts.kind, TypeKind::Module | TypeKind::Immutable) {
            return Ok(());
        }
        let on_type = object.get_type().getattr_opt(name)?;
        let holder = if facts.kind == TypeKind::Class { Some(object.clone()) } else { on_type };
        let is_method = match holder {
            Some(_) if facts.kind == TypeKind::Class => true,
            // A property or other descriptor that takes the store itself rebinds nothing.
            Some(found) => !found.get_type().hasattr(intern!(py, "__set__"))?,
            None => false,
        };
        if is_method && self.state().types.note_rebound(object, name) {
            let mut state = self.state();
            state.restart.get_or_insert(Restart::Visible);
        }
        Ok(())
    }

    fn keep_attribute(&self, event: bool, object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<()> {
        if event && self.keeps_undo() {
            let value = object.getattr_opt(name)?.map(Bound::unbind);
            let (object, name) = (object.clone().unbind(), name.clone().unbind());
            self.keep_undo(Undo::Attribute { object, name, value });
        }
        Ok(())
    }

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

    /// Load an attribute that is no visible operation by itself, but may lead to some.
    fn load_constant<'py>(
        &self,
        py: Python<'py>,
        object: &Bound<'py, PyAny>,
        name: &Bound<'py, PyString>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let value = object.getattr(name)?;
        match self.kind(object) {
            TypeKind::Immutable | TypeKind::Module | TypeKind::Class => Ok(value),
            TypeKind::Instance => {
                if name.to_str()? == "__dict__" {
                    self.alias_instance_dict(&value, object);
                }
                Ok(value)
            }
            // A method of a container that is called later is an operation then.
            _ => self.control(py, value),
        }
    }

    /// Let the dict of an instance's attributes stand for the instance.
    pub fn alias_instance_dict(&self, namespace: &Bound<'_, PyAny>, object: &Bound<'_, PyAny>) {
        let mut state = self.state();
        if state.running() && state.types.facts(object).kind == TypeKind::Instance {
            let facts = state.types.facts(object);
            let id = state.object(object, facts);
            state.instance_dicts.insert(id, ());
            state.alias(namespace, id);
        }
    }

    fn adopt(&self, value: &Bound<'_, PyAny>, slot: Slot) {
        self.state().adopt(value, slot.object, slot.key);
    }

    fn variable_slot(&self, namespace: &Bound<'_, PyDict>, name: &Bound<'_, PyString>) -> Option<Slot> {
        let mut state = self.state();
        if !state.running() {
            return None;
        }
        let object = state.namespace(namespace);
        let key = state.identities.name(name);
        let location = state.identities.location(object, key, true);
        Some(Slot { location, object, key, default: None })
    }

    fn cell_slot(&self, cell: &Bound<'_, Cell>) -> Option<Slot> {
        let mut state = self.state();
        if !state.running() {
            return None;
        }
        let facts = state.types.facts(cell.as_any());
        let object = state.object(cell.as_any(), facts);
        let location = state.identities.location(object, KeyId::WHOLE, false);
        Some(Slot { location, object, key: KeyId::WHOLE, default: None })
    }
}

#[pymethods]
impl Host {
    /// `object.name`
    #[pyo3(signature = (object, name, /))]
    pub fn load_attribute<'py>(
        &self,
        py: Python<'py>,
        object: &Bound<'py, PyAny>,
        name: &Bound<'py, PyString>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Some(slot) = self.find_attribute(object, name) else { return self.load_constant(py, object, name) };
        let event = self.touch_slot(py, slot, AccessMode::Read)?;
        let value = object.getattr(name)?;
        self.adopt(&value, slot);
        self.note(py, Word::Load, Some(object), Some(name.as_any()), Some(&value), event);
        Ok(value)
    }

    /// `object.name = value`
    #[pyo3(signature = (value, object, name, /))]
    pub fn store_attribute(
        &self,
        py: Python<'_>,
        value: &Bound<'_, PyAny>,
        object: &Bound<'_, PyAny>,
        name: &Bound<'_, PyString>,
    ) -> PyResult<()> {
        let Some(slot) = self.find_attribute(object, name) else {
            let phase = self.state().phase;
            match phase {
                Phase::Running => self.check_rebinding(py, object, name)?,
                // Made while modules are imported: it exists before every execution.
                Phase::Idle => drop(self.created(object.clone())),
                _ => {}
            }
            return object.setattr(name, value);
        };
        self.check_fresh(py, object)?;
        let event = self.touch_slot(py, slot, AccessMode::Write)?;
        self.keep_attribute(event, object, name)?;
        object.setattr(name, value)?;
        self.note(py, Word::Store, Some(object), Some(name.as_any()), Some(value), event);
        Ok(())
    }

    /// `del object.name`
    #[pyo3(signature = (object, name, /))]
    pub fn delete_attribute(
        &self,
        py: Python<'_>,
        object: &Bound<'_, PyAny>,
        name: &Bound<'_, PyString>,
    ) -> PyResult<()> {
        let Some(slot) = self.find_attribute(object, name) else { return object.delattr(name) };
        self.check_fresh(py, object)?;
        let event = self.touch_slot(py, slot, AccessMode::Write)?;
        self.keep_attribute(event, object, name)?;
        object.delattr(name)?;
        self.note(py, Word::Delete, Some(object), Some(name.as_any()), None, event);
        Ok(())
    }

    /// A module variable that some function rebinds.
    #[pyo3(signature = (namespace, name, /))]
    fn load_global<'py>(
        &self,
        py: Python<'py>,
        namespace: &Bound<'py, PyDict>,
        name: &Bound<'py, PyString>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let slot = self.variable_slot(namespace, name);
        let event = match slot {
            Some(slot) => self.touch_slot(py, slot, AccessMode::Read)?,
            None => false,
        };
        let value = match namespace.get_item(name)? {
            Some(value) => value,
            None => {
                let builtins = py.import("builtins")?;
                return builtins
                    .getattr_opt(name)?
                    .ok_or_else(|| PyNameError::new_err(format!("name '{name}' is not defined")));
            }
        };
        if let Some(slot) = slot {
            self.adopt(&value, slot);
            self.note(py, Word::Load, Some(namespace), Some(name.as_any()), Some(&value), event);
        }
        Ok(value)
    }

    #[pyo3(signature = (value, namespace, name, /))]
    fn store_global(
        &self,
        py: Python<'_>,
        value: &Bound<'_, PyAny>,
        namespace: &Bound<'_, PyDict>,
        name: &Bound<'_, PyString>,
    ) -> PyResult<()> {
        let Some(slot) = self.variable_slot(namespace, name) else { return namespace.set_item(name, value) };
        let fresh = self.state().fresh_modules;
        if !fresh {
            return Err(self.restart_with(py, Restart::ModuleState));
        }
        let event = self.touch_slot(py, slot, AccessMode::Write)?;
        self.keep_variable(event, namespace, name)?;
        namespace.set_item(name, value)?;
        self.note(py, Word::Store, Some(namespace), Some(name.as_any()), Some(value), event);
        Ok(())
    }

    #[pyo3(signature = (namespace, name, /))]
    fn delete_global(
        &self,
        py: Python<'_>,
        namespace: &Bound<'_, PyDict>,
        name: &Bound<'_, PyString>,
    ) -> PyResult<()> {
        let Some(slot) = self.variable_slot(namespace, name) else { return namespace.del_item(name) };
        let fresh = self.state().fresh_modules;
        if !fresh {
            return Err(self.restart_with(py, Restart::ModuleState));
        }
        let event = self.touch_slot(py, slot, AccessMode::Write)?;
        self.keep_variable(event, namespace, name)?;
        if namespace.del_item(name).is_err() {
            return Err(PyNameError::new_err(format!("name '{name}' is not defined")));
        }
        self.note(py, Word::Delete, Some(namespace), Some(name.as_any()), None, event);
        Ok(())
    }

    /// Make a closure variable explicit.
    #[pyo3(signature = (name, value = None, /))]
    fn new_cell(&self, py: Python<'_>, name: Py<PyString>, value: Option<Py<PyAny>>) -> PyResult<Py<Cell>> {
        let cell = Bound::new(py, Cell { name, value })?;
        let mut state = self.state();
        if state.phase == Phase::Running || state.phase == Phase::Idle {
            let facts = state.types.facts(cell.as_any());
            state.object(cell.as_any(), facts);
        }
        Ok(cell.unbind())
    }

    #[pyo3(signature = (cell, /))]
    fn load_cell<'py>(&self, py: Python<'py>, cell: &Bound<'py, Cell>) -> PyResult<Bound<'py, PyAny>> {
        let slot = self.cell_slot(cell);
        let event = match slot {
            Some(slot) => self.touch_slot(py, slot, AccessMode::Read)?,
            None => false,
        };
        let value = cell.borrow().value.as_ref().map(|value| value.bind(py).clone());
        let Some(value) = value else {
            let name = cell.borrow().name.bind(py).to_string();
            return Err(PyUnboundLocalError::new_err(format!(
                "cannot access local variable '{name}' where it is not associated with a value"
            )));
        };
        if let Some(slot) = slot {
            self.adopt(&value, slot);
        }
        let name = cell.borrow().name.bind(py).clone();
        self.note(py, Word::Load, Some(cell), Some(name.as_any()), Some(&value), event);
        Ok(value)
    }

    #[pyo3(signature = (value, cell, /))]
    fn store_cell(&self, py: Python<'_>, value: Bound<'_, PyAny>, cell: &Bound<'_, Cell>) -> PyResult<()> {
        let event = match self.cell_slot(cell) {
            Some(slot) => {
                self.check_fresh(py, cell.as_any())?;
                self.touch_slot(py, slot, AccessMode::Write)?
            }
            None => false,
        };
        self.keep_cell(py, event, cell);
        let name = cell.borrow().name.bind(py).clone();
        let old = cell.borrow_mut().value.replace(value.clone().unbind());
        drop(old);
        self.note(py, Word::Store, Some(cell), Some(name.as_any()), Some(&value), event);
        Ok(())
    }

    #[pyo3(signature = (cell, /))]
    fn delete_cell(&self, py: Python<'_>, cell: &Bound<'_, Cell>) -> PyResult<()> {
        let event = match self.cell_slot(cell) {
            Some(slot) => self.touch_slot(py, slot, AccessMode::Write)?,
            None => false,
        };
        self.keep_cell(py, event, cell);
        let name = cell.borrow().name.bind(py).clone();
        let old = cell.borrow_mut().value.take();
        if old.is_none() {
            return Err(PyUnboundLocalError::new_err(format!(
                "cannot access local variable '{name}' where it is not associated with a value"
            )));
        }
        drop(old);
        self.note(py, Word::Delete, Some(cell), Some(name.as_any()), None, event);
        Ok(())
    }
}
