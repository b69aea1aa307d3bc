//! Which place an attribute is, and the footprint of an access to such a place.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PySuper, PyType};
use smallvec::smallvec;

use crate::operation::{AccessMode, Accesses, LocationId, MemoryOrder, Operation, OperationKind, ThreadId};
use crate::python::calls::builtins::CallableKind;
use crate::python::footprints::insides::{lacks_attribute, own_dict};
use crate::python::host::Host;
use crate::python::identities::identity::{KeyId, ObjectId};
use crate::python::modules::module_variables::instrumented_namespace;
use crate::python::modules::rebinding::decides_meaning;
use crate::python::state::{access, Phase, State};
use crate::python::threads::switching::Footprint;
use crate::python::types::ancestry::{holder_after, holder_of, told_by_type};
use crate::python::types::attribute_kinds::AttributeKind;
use crate::python::types::kinds::TypeKind;
use crate::python::types::native_types::{descriptor_kind, Descriptor};
use crate::python::types::TypeFacts;

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
    /// Whether it is part of what C code keeps of a container, an iterator or the like.
    pub in_container: bool,
    /// The object as a whole, if some operation takes objects of its type as wholes.
    pub whole: Option<LocationId>,
    /// The same where reads-from is chosen and an access to the place is none to the whole, but has
    /// to be ordered with those.
    pub beside: Option<LocationId>,
    /// Whether a store changes what such an operation sees of other places, too: their order, how many there are.
    pub changes_whole: bool,
}

impl Slot {
    /// A place of its own, which no operation takes together with others.
    pub fn alone(location: LocationId, object: ObjectId, key: KeyId) -> Slot {
        let (default, whole, beside) = (None, None, None);
        let (class_decides, in_container, changes_whole) = (false, false, false);
        Slot { location, object, key, default, class_decides, in_container, whole, changes_whole, beside }
    }

    /// The same on an object that operations take as a whole at this location. `chosen` tells whether reads-from is
    /// chosen; see `chosen_items.rs`.
    pub fn of_whole(self, whole: Option<LocationId>, chosen: bool) -> Slot {
        match chosen {
            true => Slot { beside: whole, ..self },
            false => Slot { whole, ..self },
        }
    }

    fn reads_class(self, mode: AccessMode) -> bool {
        mode == AccessMode::Read || self.class_decides
    }

    /// The footprint of an access to the place.
    pub fn accesses(self, mode: AccessMode) -> Accesses {
        let mut found: Accesses = smallvec![access(self.location, mode)];
        let intent = match mode {
            AccessMode::Read => AccessMode::IntentRead,
            _ if self.changes_whole => AccessMode::Write,
            _ => AccessMode::IntentWrite,
        };
        found.extend(self.default.filter(|_| self.reads_class(mode)).map(|at| access(at, AccessMode::Read)));
        found.extend(self.whole.map(|at| access(at, intent)));
        found
    }
}

impl State {
    /// The slot of an attribute; None if reading or writing it is no visible operation.
    #[inline]
    pub fn attribute_slot(&mut self, object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> Option<Slot> {
        let facts = self.types.facts(object);
        match facts.kind {
            TypeKind::Immutable => {
                return self
                    .inherited_slot(object, name)
                    .or_else(|| self.function_slot(object, name, facts))
                    .or_else(|| self.slot_behind_method(object, name))
                    .or_else(|| self.slot_behind_alias(object, name));
            }
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
        match kind {
            AttributeKind::Constant if facts.kind != TypeKind::Class => return self.hidden_slot(object, name, facts),
            AttributeKind::Constant | AttributeKind::ComputedInC => return None,
            _ => {}
        }
        if kind == AttributeKind::OfOrigin {
            if let Some(slot) = self.slot_behind_alias(object, name) {
                return Some(slot);
            }
        }
        let own = self.object(object, facts);
        let id = self.contents.instance_dicts.replaced(own);
        let key = self.identities.name(name);
        let is_class = facts.kind == TypeKind::Class;
        if kind == AttributeKind::Native {
            return Some(self.native_slot(object, facts, name));
        }
        if kind == AttributeKind::Raised {
            let together = self.identities.name(intern!(object.py(), "__traceback__"));
            return Some(Slot::alone(self.identities.location(id, together, true), id, key));
        }
        if kind == AttributeKind::DataOfAnyClass {
            let of_classes = self.identities.location(ObjectId::CLASSES, key, false);
            if is_class {
                let whole = self.taken_whole(id, facts);
                return Some(Slot::alone(of_classes, id, key).of_whole(whole, self.heap.reads.enabled));
            }
            return Some(Slot { default: Some(of_classes), class_decides: true, ..self.own_slot(own, key, facts) });
        }
        let slot = match is_class {
            true => {
                let held = if kind == AttributeKind::Data { self.holding_class(object, name) } else { None };
                let id = held.unwrap_or(id);
                let location = self.identities.location(id, key, false);
                let whole = self.taken_whole(id, facts);
                Slot::alone(location, id, key).of_whole(whole, self.heap.reads.enabled)
            }
            false => self.own_slot(own, key, facts),
        };
        let default = match kind {
            AttributeKind::DataWithDefault => holder_of(&object.get_type(), name).map(|class| {
                let facts = self.types.facts(&class);
                let class = self.object(&class, facts);
                self.identities.location(class, key, false)
            }),
            _ => None,
        };
        Some(Slot { default, ..slot })
    }

    /// The slot of an attribute that an instance has itself.
    #[inline]
    pub fn own_slot(&mut self, own: ObjectId, key: KeyId, facts: TypeFacts) -> Slot {
        let id = self.contents.instance_dicts.replaced(own);
        let location = self.identities.location(id, key, true);
        let whole = self.taken_whole(id, facts);
        // An item of a dict that the instance was given tells how many there are, too.
        let changes_whole = id != own;
        Slot { changes_whole, ..Slot::alone(location, id, key) }.of_whole(whole, self.heap.reads.enabled)
    }

    /// The base of a class that it has an attribute from. A class that gets one of its own makes it an attribute of any
    /// class.
    fn holding_class(&mut self, class: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> Option<ObjectId> {
        let holder = holder_of(class.cast::<PyType>().ok()?, name).filter(|holder| !holder.is(class))?;
        let facts = self.types.facts(&holder);
        Some(self.object(&holder, facts))
    }

    /// The location of an instance, class or container as a whole, if operations take those of its type as wholes.
    #[inline]
    fn taken_whole(&mut self, id: ObjectId, facts: TypeFacts) -> Option<LocationId> {
        let is_whole = matches!(facts.kind, TypeKind::Instance | TypeKind::Class) || facts.kind.has_content();
        let taken = is_whole && self.types.is_taken_whole(facts.token);
        taken.then(|| self.container_of(id, facts.kind).whole)
    }

    /// The slot of an attribute that a program gives to a function.
    #[inline]
    fn function_slot(
        &mut self,
        object: &Bound<'_, PyAny>,
        name: &Bound<'_, PyString>,
        facts: TypeFacts,
    ) -> Option<Slot> {
        if name.to_str().is_ok_and(|name| decides_meaning(name) || name == "__dict__") {
            return None;
        }
        let id = self.function(object)?;
        let key = self.identities.name(name);
        let location = self.identities.location(id, key, true);
        let taken = self.types.is_taken_whole(facts.token);
        let whole = taken.then(|| self.container_of(id, TypeKind::Instance).whole);
        Some(Slot::alone(location, id, key).of_whole(whole, self.heap.reads.enabled))
    }

    /// The slot of an attribute that a bound method shows of its function.
    #[inline]
    fn slot_behind_method(&mut self, object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> Option<Slot> {
        if self.code.builtins.kind_of(object) != CallableKind::BoundMethod {
            return None;
        }
        // The type of methods has a description of its own, which is that of the function.
        if holder_of(&object.get_type(), name).is_some() && name.to_str().is_ok_and(|name| name != "__doc__") {
            return None;
        }
        let function = object.getattr(intern!(object.py(), "__func__")).ok()?;
        self.attribute_slot(&function, name)
    }

    /// The slot of an attribute that a generic alias, `K[int]`, shows of its class.
    #[inline]
    fn slot_behind_alias(&mut self, object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> Option<Slot> {
        if !self.types.facts(object).may_be_alias || name.to_str().is_ok_and(|name| name.starts_with("__")) {
            return None;
        }
        let class = object.get_type();
        let py = object.py();
        let origin = match own_dict(object) {
            Some(own) if own.contains(name).unwrap_or(true) => return None,
            Some(own) => own.get_item(intern!(py, "__origin__")).ok()??,
            None if class.name().is_ok_and(|name| name == "GenericAlias") => {
                object.getattr(intern!(py, "__origin__")).ok()?
            }
            None => return None,
        };
        match holder_of(&class, name) {
            Some(_) => None,
            None => self.attribute_slot(&origin, name),
        }
    }

    /// The identity of a function that can be given attributes; None for anything else.
    pub fn function(&mut self, object: &Bound<'_, PyAny>) -> Option<ObjectId> {
        if self.code.builtins.kind_of(object) != CallableKind::Function {
            return None;
        }
        let token = self.types.code_token(object)?;
        let made = self.made_function(object, token);
        Some(made.unwrap_or_else(|| self.identities.part(ObjectId::NAMED, KeyId(token), token)))
    }

    /// The slot of an attribute that `super()` looks up in the bases of a class; None for any other object.
    #[inline]
    fn inherited_slot(&mut self, object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> Option<Slot> {
        if !object.is_instance_of::<PySuper>() {
            return None;
        }
        let key = self.identities.name(name);
        if self.types.is_rebound(name) {
            let of_classes = self.identities.location(ObjectId::CLASSES, key, false);
            return Some(Slot::alone(of_classes, ObjectId::CLASSES, key));
        }
        let class = holder_after(object, name)?;
        if self.types.attribute(&class, name, TypeKind::Class) == AttributeKind::Constant {
            return self.slot_behind_super(object, &class, name);
        }
        let facts = self.types.facts(&class);
        let id = self.object(&class, facts);
        Some(Slot::alone(self.identities.location(id, key, false), id, key))
    }

    /// The instance as a whole, where `super()` finds a descriptor in C that looks into it.
    #[cold]
    fn slot_behind_super(
        &mut self,
        object: &Bound<'_, PyAny>,
        class: &Bound<'_, PyAny>,
        name: &Bound<'_, PyString>,
    ) -> Option<Slot> {
        let py = object.py();
        let found = told_by_type(class, intern!(py, "__dict__")).ok()?.get_item(name).ok()?;
        if !matches!(descriptor_kind(&found, name), Ok(Descriptor::Native)) {
            return None;
        }
        let instance = object.getattr(intern!(py, "__self__")).ok()?;
        let facts = self.types.facts(&instance);
        let has_whole = facts.kind.is_tracked() && facts.kind != TypeKind::Class;
        has_whole.then(|| self.native_slot(&instance, facts, name))
    }

    /// What C code keeps of an attribute in an object, which is not told apart from the rest of the object.
    fn native_slot(&mut self, object: &Bound<'_, PyAny>, facts: TypeFacts, name: &Bound<'_, PyString>) -> Slot {
        let own = self.object(object, facts);
        let id = self.contents.instance_dicts.replaced(own);
        let whole = self.container_of(id, facts.kind).whole;
        let in_container = facts.kind.has_content();
        Slot { in_container, ..Slot::alone(whole, id, self.identities.name(name)) }
    }

    /// Whether no thread has been started yet, so that all that any other one does comes later; or whether all have
    /// ended.
    pub fn is_alone(&self) -> bool {
        self.is_over() || self.current == ThreadId::MAIN && self.driver.threads.get(ThreadId::MAIN).spawned == 0
    }

    /// Whether no other thread runs, neither yet nor still. Slower than `is_alone`, which asks for the first.
    pub fn has_no_company(&self) -> bool {
        self.is_alone() || !self.waits.turns.are_events() && self.driver.has_joined_all(self.current)
    }

    /// An operation takes instances of this type as wholes.
    pub fn take_whole(&mut self, token: u32) {
        if self.types.note_taken_whole(token) {
            self.exploration.learning.learned();
        }
    }
}

impl Host {
    /// The place behind a bound method of a descriptor in C, `K.slot.__get__`, where the class has something else under
    /// its name; None where the attribute by this name is the same.
    pub fn member_slot(
        &self,
        method: &Bound<'_, PyAny>,
        object: &Bound<'_, PyAny>,
        name: &Bound<'_, PyString>,
    ) -> PyResult<Option<Slot>> {
        let descriptor = method.getattr(intern!(method.py(), "__self__"))?;
        let found = holder_of(&object.get_type(), name)
            .and_then(|class| told_by_type(&class, intern!(object.py(), "__dict__")).ok()?.get_item(name).ok());
        if found.is_some_and(|found| found.is(&descriptor)) {
            return Ok(None);
        }
        let kind = descriptor_kind(&descriptor, name)?;
        let Some(mut state) = self.awake().filter(|state| state.running()) else { return Ok(None) };
        let facts = state.types.facts(object);
        if !matches!(kind, Descriptor::Slot | Descriptor::Native) || !facts.kind.is_tracked() {
            return Ok(None);
        }
        if kind == Descriptor::Native {
            return Ok(Some(state.native_slot(object, facts, name)));
        }
        let (own, key) = (state.object(object, facts), state.identities.name(name));
        Ok(Some(state.own_slot(own, key, facts)))
    }

    /// An access to a slot of which no value is kept: explorers that choose or compare values cannot treat one that
    /// races. `what` is what a refusal calls it.
    pub fn access_member(&self, py: Python<'_>, slot: Slot, mode: AccessMode, what: &'static str) -> PyResult<bool> {
        let by_value = self.is_buffered(slot.location) || {
            let state = self.state();
            state.chooses(slot.location) || state.driver.wants_values() && state.is_visible(slot.location)
        };
        match by_value {
            true => self.leave_untreated(py, what),
            false => self.access_slot(py, slot, mode),
        }
    }

    /// Perform an access to a slot: as an event if its location is visible. Returns whether it was one.
    #[inline]
    pub fn access_slot(&self, py: Python<'_>, slot: Slot, mode: AccessMode) -> PyResult<bool> {
        self.require_ordered_slot(py, slot, mode)?;
        if slot.whole.is_some() || slot.default.is_some() && slot.reads_class(mode) {
            return self.access_several(py, slot, mode, None);
        }
        {
            let mut state = self.state();
            if state.phase == Phase::Probing {
                state.probe(py, &[access(slot.location, mode)])?;
                return Ok(false);
            }
            if !state.is_visible(slot.location) && !state.run.halted {
                state.quiet(&[access(slot.location, mode)]);
                state.plain_access(&[access(slot.location, mode)]);
                return Ok(false);
            }
        }
        let kind = if mode == AccessMode::Read { OperationKind::Load } else { OperationKind::Store };
        self.perform_on_slot(py, slot.location, mode, kind)?;
        Ok(true)
    }

    /// The same for a store to an attribute. One that the object does not have yet comes last in its dict, which
    /// whoever takes the object as a whole can tell.
    pub fn access_store(
        &self,
        py: Python<'_>,
        slot: Slot,
        object: &Bound<'_, PyAny>,
        name: &Bound<'_, PyString>,
    ) -> PyResult<bool> {
        match slot.whole {
            Some(_) => self.access_several(py, slot, AccessMode::Write, Some((object, name))),
            None => self.access_slot(py, slot, AccessMode::Write),
        }
    }

    pub fn perform_on_slot(
        &self,
        py: Python<'_>,
        location: LocationId,
        mode: AccessMode,
        kind: OperationKind,
    ) -> PyResult<()> {
        let operation = Operation { order: MemoryOrder::Relaxed, ..Operation::new(kind, location, 0) };
        self.perform(py, operation, 1, |_| Footprint::of(smallvec![access(location, mode)]))?;
        self.state().plain_access(&[access(location, mode)]);
        self.require_ordered_store(py, location, mode)
    }

    /// Perform the deletion of what a slot holds, which finds out whether there is anything. Returns whether it was an
    /// event.
    pub fn access_deletion(&self, py: Python<'_>, slot: Slot) -> PyResult<bool> {
        let finds = {
            let state = self.state();
            let by_value = state.driver.wants_values() && state.running() && state.is_visible(slot.location);
            state.chooses(slot.location) || by_value
        };
        if !finds {
            return self.access_slot(py, slot, AccessMode::Write);
        }
        self.perform_on_slot(py, slot.location, AccessMode::Write, OperationKind::ReadModifyWrite)?;
        self.state().affect_loops();
        Ok(true)
    }

    /// An access to more than the place itself: a load finds the instance's value or the class's and reads
    /// both. `stored` is the attribute that a store may make.
    ///
    /// Whether a store makes the attribute depends on what others do, and what an event accesses may not, since nobody
    /// can tell what it would have accessed earlier. So a store of which one like it has made an attribute counts as
    /// one that does.
    fn access_several(
        &self,
        py: Python<'_>,
        slot: Slot,
        mode: AccessMode,
        stored: Option<(&Bound<'_, PyAny>, &Bound<'_, PyString>)>,
    ) -> PyResult<bool> {
        let makes = || stored.is_some_and(|(object, name)| lacks_attribute(object, name));
        let accesses_if = |makes: bool| {
            let mut accesses = slot.accesses(mode);
            for access in accesses.iter_mut().filter(|access| makes && Some(access.location) == slot.whole) {
                access.mode = AccessMode::Write;
            }
            accesses
        };
        let token = {
            let accesses = accesses_if(makes());
            let mut state = self.state();
            if state.phase == Phase::Probing {
                state.probe(py, &accesses)?;
                return Ok(false);
            }
            if !state.run.halted && !accesses.iter().any(|access| state.is_visible(access.location)) {
                state.quiet(&accesses);
                state.plain_access(&accesses);
                return Ok(false);
            }
            stored.map(|(object, _)| state.types.facts(object).token)
        };
        let kind = if mode == AccessMode::Read { OperationKind::Load } else { OperationKind::Store };
        self.perform(py, Operation::new(kind, slot.location, 0), 1, |state| {
            let makes = makes();
            state.plain_access(&accesses_if(makes));
            let may_make = token.is_some_and(|token| {
                if makes && state.types.note_gaining(token) {
                    state.exploration.learning.learned();
                }
                state.types.is_gaining(token)
            });
            Footprint::of(state.visible_part(accesses_if(may_make)))
        })?;
        match slot.default {
            Some(default) if mode == AccessMode::Read => self.settle_default(py, slot.location, default)?,
            _ => {}
        }
        Ok(true)
    }

    /// Before a store or a deletion that the class decides about: explorers in which a write reads nothing cannot order
    /// it with a change of the class.
    pub fn require_settled_class(&self, py: Python<'_>, slot: Slot) -> PyResult<()> {
        let races = {
            let state = self.state();
            let default = slot.default.filter(|_| slot.class_decides);
            default.is_some_and(|default| state.running() && state.is_visible(default))
        };
        let is_split = races && {
            let state = self.state();
            state.heap.reads.enabled || state.driver.wants_values()
        };
        match is_split || races && self.is_buffered(slot.location) {
            true => self.leave_untreated(py, "an attribute that is stored to both in instances and in their class"),
            false => Ok(()),
        }
    }
}
