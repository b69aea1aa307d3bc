//! Hooks for attributes, and what they share with those for variables: a place that holds one value.

use pyo3::exceptions::PyNameError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::operation::{AccessMode, LocationId, MemoryOrder, OperationKind};
use crate::python::calls::builtins::{BuiltinEffect, CallableKind};
use crate::python::explore::assumptions::AssumptionKind;
use crate::python::explore::recording::Word;
use crate::python::footprints::container_effects::ContainerEffect;
use crate::python::footprints::slots::Slot;
use crate::python::heap::place::{is_intercepted, own_attribute, Place};
use crate::python::heap::undo::Undo;
use crate::python::heap::weak_memory::Store;
use crate::python::hooks::cells::cell_behind;
use crate::python::host::Host;
use crate::python::modules::module_variables::instrumented_namespace;
use crate::python::modules::rebinding::can_be_hidden;
use crate::python::state::{access, Phase};
use crate::python::types::ancestry::holder_of;
use crate::python::types::class_flags::tells_referents;
use crate::python::types::kinds::{referent, TypeKind};

/// Whether an access to an attribute goes to the `__getattribute__` or `__setattr__` of the object's class first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Through {
    Class,
    /// `object.__getattribute__` or `object.__setattr__` itself.
    Object,
}

impl Host {
    /// A load that finds the instance's value or else the class's, where it has a reads-from choice: it is one
    /// load or two. Returns whether there was any.
    fn choose_attribute(
        &self,
        py: Python<'_>,
        slot: Slot,
        default: LocationId,
        object: &Bound<'_, PyAny>,
        name: &Bound<'_, PyString>,
    ) -> PyResult<bool> {
        self.require_ordered_slot(py, slot, AccessMode::Read)?;
        let (own, shared) = {
            let mut state = self.state();
            for location in [slot.location, default] {
                if !state.is_visible(location) {
                    state.quiet(&[access(location, AccessMode::Read)]);
                }
            }
            (state.is_visible(slot.location), state.is_visible(default))
        };
        if own {
            self.perform_on_slot(py, slot.location, AccessMode::Read, OperationKind::Load)?;
        }
        let place = Place::Attribute { object: object.clone().unbind(), name: name.clone().unbind() };
        if !shared || place.now(py)?.is_some() {
            return Ok(own);
        }
        let both = {
            let state = self.state();
            state.heap.reads.is_stored(slot.location) && state.heap.reads.is_stored(default)
        };
        if both {
            return self.leave_untreated(py, "an attribute that is stored to both in instances and in their class");
        }
        self.perform_on_slot(py, default, AccessMode::Read, OperationKind::Load)?;
        Ok(true)
    }

    /// What the thread's own store buffers hold for an attribute; None if the load finds it in memory.
    fn forwarded_attribute<'py>(
        &self,
        py: Python<'py>,
        object: &Bound<'py, PyAny>,
        name: &Bound<'py, PyString>,
        slot: Slot,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        if let Some(value) = self.forwarded(py, slot.location) {
            return Ok(Some(value));
        }
        let Some(value) = slot.default.and_then(|default| self.forwarded(py, default)) else { return Ok(None) };
        Ok(own_attribute(object, name)?.is_none().then_some(value))
    }

    /// A plain store goes through a store buffer.
    pub fn buffer_plain(&self, py: Python<'_>, slot: Slot, place: Place, value: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Some(whole) = slot.whole {
            let mut state = self.state();
            if !state.is_visible(whole) {
                // A store that is no event could come before the flush or after it, and no clock tells that of a flush.
                state.make_visible(whole);
            }
        }
        let accesses = slot.accesses(AccessMode::Write);
        let order = MemoryOrder::Relaxed;
        let location = slot.location;
        self.buffer_store(py, Store { location, accesses, order, place, value: value.clone().unbind() })
    }

    #[inline]
    pub fn find_attribute(&self, object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> Option<Slot> {
        let mut state = self.awake()?;
        if !state.running() {
            return None;
        }
        state.attribute_slot(object, name)
    }

    /// The slot of an attribute that is about to be stored or deleted. One that hides what a class has under its name
    /// is a place for all who use the name from then on.
    fn find_changed_attribute(
        &self,
        py: Python<'_>,
        object: &Bound<'_, PyAny>,
        name: &Bound<'_, PyString>,
        deletes: bool,
    ) -> PyResult<Option<Slot>> {
        if let Some(found) = self.find_attribute(object, name) {
            return Ok(Some(found));
        }
        let kind = self.kind(object);
        let has_attributes = kind == TypeKind::Instance || kind.is_container();
        if !has_attributes || !can_be_hidden(object, name)? {
            return Ok(None);
        }
        self.check_rebinding(py, object, name)?;
        let found = self.find_attribute(object, name);
        if found.is_none() {
            self.check_fresh_attribute(py, object, name, false, deletes)?;
        }
        Ok(found)
    }

    fn keep_attribute(&self, event: bool, object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<()> {
        if event && self.keeps_undo() {
            self.keep_undo(Undo::of_attribute(object, name)?);
        }
        Ok(())
    }

    /// Load an attribute with `get`, which is not always `getattr`: `object.__getattribute__` passes by what a class
    /// overrides.
    pub fn load_through<'py>(
        &self,
        py: Python<'py>,
        object: &Bound<'py, PyAny>,
        name: &Bound<'py, PyString>,
        through: Through,
        get: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let get = || match name.is(intern!(py, "__annotations__")) {
            true => self.made_annotations(py, object, name, get),
            false => get(),
        };
        if self.is_item(object, name) {
            return self.use_items(py, Word::Load, object, name, get);
        }
        let Some(slot) = self.find_attribute(object, name) else { return self.load_constant(py, object, name, get) };
        self.note_look(object, Some(name))?;
        self.note_look_at_exception(object, name);
        self.note_look_at_enumeration(object, name);
        if slot.in_container {
            let event = self.access_container(py, object, ContainerEffect::ReadWhole, None)?;
            let value = self.noted(py, get(), Word::Load, object, Some(name.as_any()), event)?;
            self.adopt(&value, slot);
            self.note(py, Word::Load, Some(object), Some(name.as_any()), Some(&value), event);
            return Ok(value);
        }
        let explores = self.state().explores_reads() && self.state().phase == Phase::Running;
        let event = match slot.default.filter(|_| explores) {
            Some(default) => self.choose_attribute(py, slot, default, object, name)?,
            None => self.access_slot(py, slot, AccessMode::Read)?,
        };
        let value = match self.forwarded_attribute(py, object, name, slot)? {
            Some(_) if through == Through::Class && is_intercepted(object, "__getattribute__")? => get()?,
            Some(value) => value,
            None => self.noted(py, get(), Word::Load, object, Some(name.as_any()), event)?,
        };
        self.adopt(&value, slot);
        self.adopt_of_function(&value, object, name);
        self.keep_found(object, &value);
        self.note(py, Word::Load, Some(object), Some(name.as_any()), Some(&value), event);
        Ok(value)
    }

    /// Store an attribute with `put`; see `load_through`.
    pub fn store_through(
        &self,
        py: Python<'_>,
        value: &Bound<'_, PyAny>,
        object: &Bound<'_, PyAny>,
        name: &Bound<'_, PyString>,
        through: Through,
        put: impl FnOnce() -> PyResult<()>,
    ) -> PyResult<()> {
        if self.is_item(object, name) {
            let put = || put().map(|()| value.clone());
            return self.use_items(py, Word::Store, object, name, put).map(drop);
        }
        let mut original = None;
        if self.may_reshape(object, name)? {
            original = self.reshapes(py, object, name)?;
            if let Some(original) = original.as_mut().filter(|original| original.of_class) {
                original.of_class = !original.keeps_plain_value(value, name)?;
            }
            if name.to_str()? == "__code__" {
                self.assume_unseen_code(value)?;
            }
            if name.to_str()? == "__kwdefaults__" && value.is_instance_of::<PyDict>() {
                // Who has the dict can change the defaults of the function.
                self.assume(py, AssumptionKind::UnseenCode, "builtins.function.__kwdefaults__");
            }
            if name.to_str()? == "__dict__" {
                if self.kind(object) == TypeKind::Instance {
                    return self.replace_instance_dict(py, value, object, put);
                }
                self.check_lone_replacement(py)?;
                self.check_fresh(py, object)?;
            }
            if let Some(namespace) = self.rebound_in(py, object, name)? {
                return self.store_variable(py, value, &namespace, name);
            }
            if matches!(self.kind(object), TypeKind::Class | TypeKind::Module) {
                self.note_users_of_class(object, name)?;
                self.check_rebinding(py, object, name)?;
                self.keep_original_of_module(object, name)?;
            }
        }
        self.keep_original_of_native(object, name)?;
        let puts_back = original.is_some()
            && (self.callable_kind(object) == CallableKind::Function
                || self.puts_back_in_class(object, name, false)?);
        let put = || -> PyResult<()> {
            put()?;
            self.keep_original_attribute(original);
            Ok(())
        };
        let Some(slot) = self.find_changed_attribute(py, object, name, false)? else {
            let Some(phase) = self.awake().map(|state| state.phase) else { return put() };
            self.note_uncontrolled(object, name)?;
            self.had_effect(py, "writes")?;
            match phase {
                Phase::Running | Phase::Unwinding | Phase::Releasing => {
                    if self.kind(object) == TypeKind::Proxy {
                        if let Some(object) = referent(object) {
                            return self.store_attribute(py, value, &object, name);
                        }
                    }
                    self.check_rebinding(py, object, name)?;
                }
                // Made while modules are imported: it exists before every execution.
                Phase::Idle => drop(self.created(object.clone())?),
                Phase::Probing => {}
            }
            if self.use_property(py, BuiltinEffect::SetAttribute, object, name, Some(value))?.is_some() {
                return Ok(());
            }
            put()?;
            return self.refuse_unseen_change(py, object);
        };
        self.note_look(object, Some(name))?;
        self.note_name_change(object, name);
        self.note_cell_change(py, object, name)?;
        self.watch_left_class(object)?;
        self.note_unseen_readers(object, name)?;
        // Those that are put later are not put through what keeps the original.
        let put_later = self.is_buffered(slot.location) || self.state().chooses(slot.location);
        if !puts_back || put_later {
            self.check_fresh_attribute(py, object, name, slot.in_container, false)?;
        }
        self.require_settled_class(py, slot)?;
        if slot.in_container {
            let event = self.access_container(py, object, ContainerEffect::WriteWhole, None)?;
            self.keep_attribute(event, object, name)?;
            self.noted(py, put(), Word::Store, object, Some(name.as_any()), event)?;
            self.note(py, Word::Store, Some(object), Some(name.as_any()), Some(value), event);
            return Ok(());
        }
        if self.is_buffered(slot.location) {
            if through == Through::Class && is_intercepted(object, "__setattr__")? {
                return put();
            }
            let place = Place::Attribute { object: object.clone().unbind(), name: name.clone().unbind() };
            return self.buffer_plain(py, slot, place, value);
        }
        let chooses = self.state().chooses(slot.location);
        if chooses && through == Through::Class && is_intercepted(object, "__setattr__")? {
            return put();
        }
        let event = self.access_store(py, slot, object, name)?;
        self.keep_attribute(event, object, name)?;
        let place = || Place::Attribute { object: object.clone().unbind(), name: name.clone().unbind() };
        self.keep_write(py, event, slot.location, place, Some(value))?;
        put()?;
        self.note_left(event, value);
        self.note(py, Word::Store, Some(object), Some(name.as_any()), Some(value), event);
        Ok(())
    }

    /// Delete an attribute with `delete`; see `load_through`.
    pub fn delete_through(
        &self,
        py: Python<'_>,
        object: &Bound<'_, PyAny>,
        name: &Bound<'_, PyString>,
        delete: impl FnOnce() -> PyResult<()>,
    ) -> PyResult<()> {
        if self.is_item(object, name) {
            let delete = || delete().map(|()| py.None().into_bound(py));
            return self.use_items(py, Word::Delete, object, name, delete).map(drop);
        }
        let mut original = None;
        if self.may_reshape(object, name)? {
            original = self.reshapes(py, object, name)?;
            if let Some(namespace) = self.rebound_in(py, object, name)? {
                return self
                    .delete_variable(py, &namespace, name)
                    .map_err(|error| missing_in_module(py, error, object, name));
            }
            if matches!(self.kind(object), TypeKind::Class | TypeKind::Module) {
                self.note_users_of_class(object, name)?;
                // The attribute comes from another class then, or from none.
                self.state().note_deleted_from_class(name);
                self.keep_original_of_module(object, name)?;
            }
        }
        self.keep_original_of_native(object, name)?;
        let puts_back = original.is_some()
            && (self.callable_kind(object) == CallableKind::Function
                || self.puts_back_in_class(object, name, true)?);
        let delete = || -> PyResult<()> {
            delete()?;
            self.keep_original_attribute(original);
            Ok(())
        };
        let Some(slot) = self.find_changed_attribute(py, object, name, true)? else {
            self.note_uncontrolled(object, name)?;
            self.had_effect(py, "writes")?;
            if self.kind(object) == TypeKind::Proxy {
                if let Some(object) = referent(object) {
                    return self.delete_attribute(py, &object, name);
                }
            }
            if self.use_property(py, BuiltinEffect::DeleteAttribute, object, name, None)?.is_some() {
                return Ok(());
            }
            delete()?;
            return self.refuse_unseen_change(py, object);
        };
        self.note_look(object, Some(name))?;
        self.note_cell_change(py, object, name)?;
        self.watch_left_class(object)?;
        self.note_unseen_readers(object, name)?;
        if !puts_back {
            self.check_fresh_attribute(py, object, name, slot.in_container, true)?;
        }
        self.require_settled_class(py, slot)?;
        self.drain_if_owed(py)?;
        let event = match slot.in_container {
            true => self.access_container(py, object, ContainerEffect::WriteWhole, None)?,
            false => self.access_deletion(py, slot)?,
        };
        self.keep_attribute(event, object, name)?;
        let place = || Place::Attribute { object: object.clone().unbind(), name: name.clone().unbind() };
        self.keep_write(py, event, slot.location, place, None)?;
        delete()?;
        self.note(py, Word::Delete, Some(object), Some(name.as_any()), None, event);
        Ok(())
    }

    /// Load an attribute that is no visible operation by itself, but may lead to some.
    fn load_constant<'py>(
        &self,
        py: Python<'py>,
        object: &Bound<'py, PyAny>,
        name: &Bound<'py, PyString>,
        get: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let kind = self.kind(object);
        self.require_instrumented(object)?;
        self.note_uncontrolled(object, name)?;
        if kind == TypeKind::Proxy {
            return match referent(object) {
                // It gives what was asked for in place of one that is missing, too.
                Some(object) => {
                    let get: Box<dyn FnOnce() -> PyResult<Bound<'py, PyAny>> + '_> = Box::new(get);
                    self.load_through(py, &object, name, Through::Class, get)
                }
                None => get(),
            };
        }
        if kind == TypeKind::Module {
            if let Some(namespace) = instrumented_namespace(object) {
                if is_variable(object, name)? || name.is(intern!(py, "__annotations__")) {
                    return self.load_module_variable(py, &namespace, name, get);
                }
            }
        }
        if kind == TypeKind::Immutable || self.state().types.facts(object).is_primitive {
            self.refuse_insides(py, object, name)?;
        }
        if kind == TypeKind::Immutable {
            self.access_default_of_local(py, object, name)?;
        }
        let text = name.to_str()?;
        let is_dict = text == "__dict__";
        if is_dict {
            self.access_new_dict(py, object)?;
        }
        if let Some(value) = self.use_property(py, BuiltinEffect::GetAttribute, object, name, None)? {
            return Ok(value);
        }
        let value = get()?;
        if text == "__class__" {
            return self.shown_class(value);
        }
        if text == "f_locals" {
            self.show_variables(py, &value)?;
        }
        self.adopt_of_function(&value, object, name);
        self.keep_found(object, &value);
        match kind {
            TypeKind::Module => Ok(value),
            _ if is_dict => {
                self.alias_instance_dict(&value, object);
                Ok(value)
            }
            TypeKind::Immutable | TypeKind::Instance | TypeKind::Class => Ok(value),
            // A method of a container that is called later is an operation then.
            // A method that is kept is what it is, too: who calls it later is followed then.
            _ => {
                if kind == TypeKind::Opaque && !tells_what_it_holds(object) {
                    self.take_for_part(&value, object);
                }
                Ok(value)
            }
        }
    }

    /// What the class of an object has under a name, if each thread has its own attributes of it: threads without one
    /// share it.
    fn access_default_of_local(
        &self,
        py: Python<'_>,
        object: &Bound<'_, PyAny>,
        name: &Bound<'_, PyString>,
    ) -> PyResult<()> {
        let is_local =
            self.awake().is_some_and(|mut state| state.running() && state.types.facts(object).thread_local);
        let class = if is_local { holder_of(&object.get_type(), name) } else { None };
        let slot = class.and_then(|class| self.find_attribute(&class, name));
        slot.map_or(Ok(()), |slot| {
            self.access_member(py, slot, AccessMode::Read, "a class attribute of thread-local data").map(drop)
        })
    }

    /// If the value is a dict that a function keeps: its definition has made it.
    fn adopt_of_function(&self, dict: &Bound<'_, PyAny>, function: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) {
        if !dict.is_exact_instance_of::<PyDict>() {
            return;
        }
        let Some(mut state) = self.awake() else { return };
        if !state.running() || name.to_str().is_ok_and(|name| name == "__dict__" || name == "__globals__") {
            return;
        }
        if let Some(id) = state.function(function) {
            let key = state.identities.name(name);
            state.adopt(dict, id, key);
            let facts = state.types.facts(dict);
            let id = state.object(dict, facts);
            state.contents.instance_dicts.note_of_function(id);
        }
    }

    /// Let what an object in C gives stand for the object, if nothing tells what the object keeps of it.
    fn take_for_part(&self, value: &Bound<'_, PyAny>, object: &Bound<'_, PyAny>) {
        let Some(mut state) = self.awake() else { return };
        let (facts, kind) = (state.types.facts(object), state.types.facts(value).kind);
        if state.running() && kind.is_tracked() && !matches!(kind, TypeKind::Class | TypeKind::Module) {
            let id = state.object(object, facts);
            state.alias(value, id);
        }
    }

    /// Give a value that was found in a slot an identity by that place, if it has none.
    pub fn adopt(&self, value: &Bound<'_, PyAny>, slot: Slot) {
        self.state().adopt(value, slot.object, slot.key);
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
        match cell_behind(object, name) {
            Some(cell) => self.use_cell(py, BuiltinEffect::GetAttribute, &cell, None),
            None => self.load_through(py, object, name, Through::Class, || object.getattr(name)),
        }
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
        match cell_behind(object, name) {
            Some(cell) => self.use_cell(py, BuiltinEffect::SetAttribute, &cell, Some(value.clone())).map(drop),
            None => match self.described_method(object, "__setattr__")? {
                Some(method) => method.call1((name, value)).map(drop),
                None => self.store_through(py, value, object, name, Through::Class, || object.setattr(name, value)),
            },
        }
    }

    /// `del object.name`
    #[pyo3(signature = (object, name, /))]
    pub fn delete_attribute(
        &self,
        py: Python<'_>,
        object: &Bound<'_, PyAny>,
        name: &Bound<'_, PyString>,
    ) -> PyResult<()> {
        match cell_behind(object, name) {
            Some(cell) => self.use_cell(py, BuiltinEffect::DeleteAttribute, &cell, None).map(drop),
            None => match self.described_method(object, "__delattr__")? {
                Some(method) => method.call1((name,)).map(drop),
                None => self.delete_through(py, object, name, || object.delattr(name)),
            },
        }
    }
}

/// Whether an attribute of a module is a variable of it, and not what modules have from their class.
fn is_variable(module: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<bool> {
    Ok(holder_of(&module.get_type(), name).is_none() || can_be_hidden(module, name)?)
}

/// Whether the type of an object in C tells the garbage collector what its instances hold.
fn tells_what_it_holds(object: &Bound<'_, PyAny>) -> bool {
    tells_referents(&object.get_type())
}

/// The error that deleting an attribute of a module gives, where deleting the variable says that there is none.
fn missing_in_module(py: Python<'_>, error: PyErr, module: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyErr {
    if !error.is_instance_of::<PyNameError>(py) {
        return error;
    }
    module.delattr(name).err().unwrap_or(error)
}
