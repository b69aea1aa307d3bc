//! Hooks for attributes, and what they share with those for variables: a place that holds one value.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use smallvec::smallvec;

use super::builtins::CallableKind;
use super::container_effects::ContainerEffect;
use super::host::Host;
use super::identity::{KeyId, ObjectId};
use super::place::{is_intercepted, own_attribute, Place};
use super::rebinding::decides_meaning;
use super::recording::Word;
use super::state::{access, Phase, Restart, State};
use super::switching::Touch;
use super::types::{
    holder_of, instrumented_namespace, is_instrumented_namespace, referent, AttributeKind, TypeFacts, TypeKind,
};
use super::undo::Undo;
use super::weak_memory::Store;
use crate::operation::{AccessMode, Accesses, LocationId, MemoryOrder, Operation, OperationKind, ThreadId};

/// A place that holds one value: an attribute, a module variable, a closure variable.
#[derive(Clone, Copy)]
pub struct Slot {
    pub location: LocationId,
    pub object: ObjectId,
    pub key: KeyId,
    /// Where the class's value for the attribute lives, which a load may find instead.
    pub default: Option<LocationId>,
    /// Whether that value may come and go: if it is a descriptor, it decides what a store or a deletion does, too.
    pub class_decides: bool,
    /// The object as a whole, if some operation takes objects of its type as wholes.
    pub whole: Option<LocationId>,
}

impl Slot {
    /// A place of its own, which no operation takes together with others.
    pub fn alone(location: LocationId, object: ObjectId, key: KeyId) -> Slot {
        Slot { location, object, key, default: None, class_decides: false, whole: None }
    }

    fn reads_class(self, mode: AccessMode) -> bool {
        mode == AccessMode::Read || self.class_decides
    }

    /// What an access to the place touches.
    pub fn accesses(self, mode: AccessMode) -> Accesses {
        let mut found: Accesses = smallvec![access(self.location, mode)];
        let intent = if mode == AccessMode::Read { AccessMode::IntentRead } else { AccessMode::IntentWrite };
        found.extend(self.default.filter(|_| self.reads_class(mode)).map(|at| access(at, AccessMode::Read)));
        found.extend(self.whole.map(|at| access(at, intent)));
        found
    }
}

/// Whether an access to an attribute goes to the `__getattribute__` or `__setattr__` of the object's class first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Through {
    Class,
    /// `object.__getattribute__` or `object.__setattr__` itself.
    Object,
}

impl State {
    /// The slot of an attribute; None if reading or writing it is no visible operation.
    #[inline]
    pub fn attribute_slot(&mut self, object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> Option<Slot> {
        let facts = self.types.facts(object);
        match facts.kind {
            TypeKind::Immutable => return self.function_slot(object, name),
            TypeKind::Proxy => return None,
            TypeKind::Module if !self.types.is_rebound(name) || instrumented_namespace(object).is_some() => {
                return None
            }
            _ => {}
        }
        let kind = match facts.kind {
            TypeKind::Module => AttributeKind::Data,
            kind => self.types.attribute(object, name, kind),
        };
        if kind == AttributeKind::Constant {
            return None;
        }
        let own = self.object(object, facts);
        let id = self.instance_dicts.replaced(own);
        let key = self.identities.name(name);
        let is_class = facts.kind == TypeKind::Class;
        if kind == AttributeKind::Native {
            let whole = self.container_of(id, facts.kind).whole;
            return Some(Slot::alone(whole, id, key));
        }
        if kind == AttributeKind::DataOfAnyClass {
            let of_classes = self.identities.location(ObjectId::CLASSES, key, false);
            let whole = self.taken_whole(id, facts);
            if is_class {
                return Some(Slot { whole, ..Slot::alone(of_classes, id, key) });
            }
            let location = self.identities.location(id, key, true);
            return Some(Slot {
                default: Some(of_classes),
                class_decides: true,
                whole,
                ..Slot::alone(location, id, key)
            });
        }
        let location = self.identities.location(id, key, !is_class);
        let default = match kind {
            AttributeKind::DataWithDefault => holder_of(&object.get_type(), name).map(|class| {
                let facts = self.types.facts(&class);
                let class = self.object(&class, facts);
                self.identities.location(class, key, false)
            }),
            _ => None,
        };
        Some(Slot { default, whole: self.taken_whole(id, facts), ..Slot::alone(location, id, key) })
    }

    /// The location of an instance or class as a whole, if operations take those of its type as wholes.
    #[inline]
    fn taken_whole(&mut self, id: ObjectId, facts: TypeFacts) -> Option<LocationId> {
        let is_whole = matches!(facts.kind, TypeKind::Instance | TypeKind::Class);
        let taken = is_whole && self.types.is_taken_whole(facts.token);
        // Where loads read from a write of their choice, operations on wholes have to be ordered with stores (`chosen_items.rs`).
        (taken && !self.reads.enabled).then(|| self.container_of(id, facts.kind).whole)
    }
}

impl State {
    /// The slot of an attribute that a program gives to a function. Functions are told apart by their names alone, so those
    /// that one definition makes share it.
    #[inline]
    fn function_slot(&mut self, object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> Option<Slot> {
        if self.builtins.kind_of(object) != CallableKind::Function
            || name.to_str().is_ok_and(|name| decides_meaning(name) || name == "__dict__")
        {
            return None;
        }
        let token = self.types.name_token(object);
        let key = self.identities.name(name);
        let id = self.identities.part(ObjectId::NAMED, KeyId(token), token);
        let location = self.identities.location(id, key, true);
        Some(Slot::alone(location, id, key))
    }
}

impl State {
    /// Whether no thread has been started yet, so that all that any other one does comes later.
    pub fn is_alone(&self) -> bool {
        self.current == ThreadId::MAIN && self.driver.threads.get(ThreadId::MAIN).spawned == 0
    }

    /// An operation takes instances of this type as wholes.
    pub fn take_whole(&mut self, token: u32) {
        if self.types.note_taken_whole(token) && self.learning {
            self.restart.get_or_insert(Restart::Visible);
        }
    }
}

impl Host {
    /// Perform an access to a slot: as an event if its location is visible. Returns whether it was one.
    #[inline]
    pub fn touch_slot(&self, py: Python<'_>, slot: Slot, mode: AccessMode) -> PyResult<bool> {
        if slot.whole.is_some() || slot.default.is_some() && slot.reads_class(mode) {
            return self.touch_several(py, slot, mode);
        }
        {
            let mut state = self.state();
            if state.phase == Phase::Probing {
                state.probe(py, &[access(slot.location, mode)])?;
                return Ok(false);
            }
            if !state.is_visible(slot.location) && !state.halted {
                state.quiet(&[access(slot.location, mode)]);
                state.plain_access(&[access(slot.location, mode)]);
                return Ok(false);
            }
        }
        let kind = if mode == AccessMode::Read { OperationKind::Load } else { OperationKind::Store };
        self.perform_on_slot(py, slot.location, mode, kind)?;
        Ok(true)
    }

    fn perform_on_slot(
        &self,
        py: Python<'_>,
        location: LocationId,
        mode: AccessMode,
        kind: OperationKind,
    ) -> PyResult<()> {
        let operation = Operation { order: MemoryOrder::Relaxed, ..Operation::new(kind, location, 0) };
        self.perform(py, operation, 1, |_| Touch::of(smallvec![access(location, mode)]))?;
        self.state().plain_access(&[access(location, mode)]);
        self.require_ordered_store(py, location, mode)
    }

    /// Perform the deletion of what a slot holds, which finds out whether there is anything. Returns whether it was an
    /// event.
    pub fn touch_deletion(&self, py: Python<'_>, slot: Slot) -> PyResult<bool> {
        let finds = {
            let state = self.state();
            let by_value = state.driver.wants_values() && state.running() && state.is_visible(slot.location);
            state.chooses(slot.location) || by_value
        };
        if !finds {
            return self.touch_slot(py, slot, AccessMode::Write);
        }
        self.perform_on_slot(py, slot.location, AccessMode::Write, OperationKind::ReadModifyWrite)?;
        self.state().affect_loops();
        Ok(true)
    }

    /// An access that touches more than the place itself: a load finds the instance's value or the class's and reads both.
    fn touch_several(&self, py: Python<'_>, slot: Slot, mode: AccessMode) -> PyResult<bool> {
        let accesses = slot.accesses(mode);
        {
            let mut state = self.state();
            if state.phase == Phase::Probing {
                state.probe(py, &accesses)?;
                return Ok(false);
            }
            if !state.halted && !accesses.iter().any(|access| state.is_visible(access.location)) {
                state.quiet(&accesses);
                state.plain_access(&accesses);
                return Ok(false);
            }
        }
        let kind = if mode == AccessMode::Read { OperationKind::Load } else { OperationKind::Store };
        self.perform(py, Operation::new(kind, slot.location, 0), 1, |state| {
            state.plain_access(&accesses);
            Touch::of(state.visible_part(accesses.clone()))
        })?;
        match slot.default {
            Some(default) if mode == AccessMode::Read => self.settle_default(py, slot.location, default)?,
            _ => {}
        }
        Ok(true)
    }

    /// Before a store or a deletion that the class decides about: explorers in which a write reads nothing cannot order it
    /// with a change of the class.
    fn require_settled_class(&self, py: Python<'_>, slot: Slot) -> PyResult<()> {
        let races = {
            let state = self.state();
            let default = slot.default.filter(|_| slot.class_decides);
            default.is_some_and(|default| state.running() && state.is_visible(default))
        };
        let is_split = races && {
            let state = self.state();
            state.reads.enabled || state.driver.wants_values()
        };
        match is_split || races && self.is_buffered(slot.location) {
            true => self.leave_untreated(py, "an attribute that is stored to both in instances and in their class"),
            false => Ok(()),
        }
    }

    /// A load that finds the instance's value or else the class's, where it reads from writes of its choice: it is one load
    /// or two. Returns whether there was any.
    fn choose_attribute(
        &self,
        py: Python<'_>,
        slot: Slot,
        default: LocationId,
        object: &Bound<'_, PyAny>,
        name: &Bound<'_, PyString>,
    ) -> PyResult<bool> {
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
            state.reads.is_stored(slot.location) && state.reads.is_stored(default)
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

    /// Before an object is changed: one that exists before executions begin must be made afresh for each, or put
    /// back if it cannot be.
    #[inline]
    pub fn check_fresh(&self, py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<()> {
        let permanent = {
            let state = self.state();
            if state.phase == Phase::Running && state.lasting.contains(object) {
                drop(state);
                return self.keep_original(object);
            }
            let lasting = state.is_permanent(object) || state.builtins.kind_of(object) == CallableKind::Function;
            state.phase == Phase::Running && !state.fresh_modules && lasting
        };
        if permanent {
            return Err(self.restart_with(py, Restart::ModuleState));
        }
        Ok(())
    }

    /// Before an operation on an item of a dict, or on the dict: if it is the namespace of an instrumented module
    /// (`globals()`), its items are variables.
    pub fn touch_namespace(
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
            (state.threads.len() < 2, state.driver.wants_values())
        };
        if by_value && !alone {
            return self.leave_untreated(py, "the variables of a module as a dict");
        }
        if effect.reads_only() || (alone && key.is_none()) {
            return Ok(());
        }
        match key.and_then(|key| key.cast::<PyString>().ok()) {
            Some(name) => self.require_rebound(py, namespace, name),
            None => Err(self.escape_with(py, "changes the variables of a module as a dict".to_owned())),
        }
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
        let Some(slot) = self.find_attribute(object, name) else { return self.load_constant(py, object, name, get) };
        let explores = self.state().explores_reads() && self.state().phase == Phase::Running;
        let event = match slot.default.filter(|_| explores) {
            Some(default) => self.choose_attribute(py, slot, default, object, name)?,
            None => self.touch_slot(py, slot, AccessMode::Read)?,
        };
        let value = match self.forwarded_attribute(py, object, name, slot)? {
            Some(_) if through == Through::Class && is_intercepted(object, "__getattribute__")? => get()?,
            Some(value) => value,
            None if event && self.state().reads.enabled => {
                self.noted(py, get(), Word::Load, object, Some(name.as_any()), event)?
            }
            None => get()?,
        };
        self.adopt(&value, slot);
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
        if self.may_reshape(object, name)? {
            self.refuse_reshaping(py, object, name)?;
            if name.to_str()? == "__dict__" && self.kind(object) == TypeKind::Instance {
                return self.replace_instance_dict(py, value, object, put);
            }
            if let Some(namespace) = self.rebound_in(py, object, name)? {
                return self.store_global(py, value, &namespace, name);
            }
            if matches!(self.kind(object), TypeKind::Class | TypeKind::Module) {
                self.check_rebinding(py, object, name)?;
                self.keep_original_of_module(object, name)?;
            }
        }
        let Some(slot) = self.find_attribute(object, name) else {
            let Some(phase) = self.awake().map(|state| state.phase) else { return put() };
            self.had_effect(py, "writes")?;
            match phase {
                Phase::Running => {
                    if self.kind(object) == TypeKind::Proxy {
                        if let Some(object) = referent(object) {
                            return self.store_attribute(py, value, &object, name);
                        }
                    }
                    self.check_rebinding(py, object, name)?;
                }
                // Made while modules are imported: it exists before every execution.
                Phase::Idle => drop(self.created(object.clone())?),
                _ => {}
            }
            return put();
        };
        self.check_fresh(py, object)?;
        self.require_settled_class(py, slot)?;
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
        let event = self.touch_slot(py, slot, AccessMode::Write)?;
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
        if self.may_reshape(object, name)? {
            self.refuse_reshaping(py, object, name)?;
            if let Some(namespace) = self.rebound_in(py, object, name)? {
                return self.delete_global(py, &namespace, name);
            }
            if matches!(self.kind(object), TypeKind::Class | TypeKind::Module) {
                // The attribute comes from another class then, or from none.
                self.state().note_deleted_from_class(name);
                self.keep_original_of_module(object, name)?;
            }
        }
        let Some(slot) = self.find_attribute(object, name) else {
            self.had_effect(py, "writes")?;
            if self.kind(object) == TypeKind::Proxy {
                if let Some(object) = referent(object) {
                    return self.delete_attribute(py, &object, name);
                }
            }
            return delete();
        };
        self.check_fresh(py, object)?;
        self.require_settled_class(py, slot)?;
        self.drain_if_owed(py)?;
        let event = self.touch_deletion(py, slot)?;
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
        if kind == TypeKind::Proxy {
            return match referent(object) {
                Some(object) => self.load_attribute(py, &object, name),
                None => get(),
            };
        }
        if kind == TypeKind::Module && !name.to_str()?.starts_with("__") {
            if let Some(namespace) = instrumented_namespace(object) {
                return self.load_module_variable(py, &namespace, name, get);
            }
        }
        let value = get()?;
        match kind {
            TypeKind::Immutable | TypeKind::Module => Ok(value),
            TypeKind::Instance | TypeKind::Class => {
                if name.to_str()? == "__dict__" {
                    self.alias_instance_dict(&value, object);
                }
                Ok(value)
            }
            // A method of a container that is called later is an operation then.
            _ => self.control(py, value),
        }
    }

    /// Let the dict of an instance's attributes stand for the instance, and what shows those of a class for the class.
    pub fn alias_instance_dict(&self, namespace: &Bound<'_, PyAny>, object: &Bound<'_, PyAny>) {
        let mut state = self.state();
        let facts = state.types.facts(object);
        if state.running() && matches!(facts.kind, TypeKind::Instance | TypeKind::Class) {
            let id = state.object(object, facts);
            if facts.kind == TypeKind::Class {
                state.take_whole(facts.token);
                return state.alias(namespace, id);
            }
            if state.instance_dicts.replaced(id) != id {
                return;
            }
            state.instance_dicts.note(id);
            state.take_whole(facts.token);
            if state.is_permanent(object) {
                state.alias_permanent(namespace, id);
            } else {
                state.alias(namespace, id);
            }
        }
    }

    /// `object.__dict__ = value`: the attributes are the items of that dict from now on, which other objects can share. A
    /// thread that is alone may do so; beside others, which attribute an access means would depend on its place.
    fn replace_instance_dict(
        &self,
        py: Python<'_>,
        value: &Bound<'_, PyAny>,
        object: &Bound<'_, PyAny>,
        put: impl FnOnce() -> PyResult<()>,
    ) -> PyResult<()> {
        if !self.state().is_alone() {
            let report = py.import("dpor.runtime.escapes")?.getattr("report")?;
            report.call1(("stores to the __dict__ of an object while other threads run",))?;
        }
        self.check_fresh(py, object)?;
        let object = object.clone();
        put()?;
        let mut state = self.state();
        let facts = state.types.facts(&object);
        let id = state.object(&object, facts);
        if let Some(dict) = state.container(value) {
            state.instance_dicts.replace(id, dict.object);
        }
        Ok(())
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
        self.load_through(py, object, name, Through::Class, || object.getattr(name))
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
        self.store_through(py, value, object, name, Through::Class, || object.setattr(name, value))
    }

    /// `del object.name`
    #[pyo3(signature = (object, name, /))]
    pub fn delete_attribute(
        &self,
        py: Python<'_>,
        object: &Bound<'_, PyAny>,
        name: &Bound<'_, PyString>,
    ) -> PyResult<()> {
        self.delete_through(py, object, name, || object.delattr(name))
    }
}
