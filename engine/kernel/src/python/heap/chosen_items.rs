//! Items of lists and dicts where reads-from is chosen.
//!
//! An item that exists is a place like an attribute: its loads and stores are ordered by what they read alone. Whatever
//! else is done to a container is one operation on an object, in an order that every thread agrees on. The two do not
//! mix at random: which items there are, and what they hold together, has no meaning while a store to one of them may
//! or may not have reached a thread. So an operation on the whole must be ordered with the stores to items, by spawn,
//! join or a lock; it then reads the items one by one before it takes place.
//!
//! Where that turns out not to be so, the exploration begins again with a container that keeps its order: loads and
//! stores of its items are operations on an object like any other. Under sequential consistency that is what they are
//! anyway. Under RC11 it is an assumption, which the report names, and which CPython keeps by the lock that it has for
//! each container. TSO and PSO have machines of their own, which say what it means (`weak_memory.rs`); there it is
//! refused.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::explorer::End;
use crate::operation::{
    Access, AccessMode, Accesses, Buffering, EventId, LocationId, MemoryOrder, Operation, OperationKind,
};
use crate::python::explore::assumptions::AssumptionKind;
use crate::python::explore::refusals::Refusal;
use crate::python::footprints::container_effects::ContainerEffect;
use crate::python::footprints::containers::{has_cell, Container};
use crate::python::footprints::look::Looking;
use crate::python::footprints::slots::Slot;
use crate::python::host::Host;
use crate::python::state::{Phase, State};
use crate::python::threads::switching::Footprint;
use crate::python::types::kinds::TypeKind;

const MIXED: &str =
    "an object in which one thread stores items or attributes while another changes its size or takes it as a whole";
const OUTDATED: &str = "an item that is used after its list or dict was changed otherwise than by storing items";
const ATTRIBUTES: &str = "the attributes of an instance as a dict, while threads store to them";

impl State {
    /// Whether the items of the container may be visible: those of an instance's `__dict__` are its attributes.
    fn takes_attributes(&mut self, object: &Bound<'_, PyAny>, container: Container) -> bool {
        if !self.contents.instance_dicts.reaches(container.object) {
            return false;
        }
        let Ok(dict) = object.cast::<PyDict>() else { return false };
        dict.iter().any(|(name, _)| {
            let Some(key) = self.identities.item(&name) else { return false };
            let location = self.identities.location(container.object, key, true);
            self.is_visible(location)
        })
    }

    /// The running thread's last event changes the container, or takes it as a whole. Returns whether that races with
    /// loads and stores of items.
    fn note_structure(&mut self, container: Container, effect: ContainerEffect, item: Option<LocationId>) -> bool {
        use ContainerEffect::*;
        let current = self.current;
        if self.contents.instance_dicts.reaches(container.object) {
            // Its items are attributes, which are loaded and stored without the dict.
            let access = match (effect, item) {
                (CellLoad, Some(item)) => Some((item, AccessMode::Read)),
                (Append | CellStore | CellDelete | CellDefault, Some(item)) => Some((item, AccessMode::Write)),
                (Length, _) => Some((container.whole, AccessMode::Read)),
                _ => None,
            };
            if access.is_some_and(|(location, mode)| self.driver.event_access(current, location, mode)) {
                return true;
            }
        }
        match (effect, item) {
            (Length | CellLoad, Some(_)) | (Length, None) => false,
            (Append | CellStore | CellDelete | CellDefault, Some(item)) => {
                self.outdate_items(container.whole, Some(item));
                let resizes =
                    effect == Append && self.driver.event_access(current, container.length, AccessMode::IntentWrite);
                self.driver.event_access(current, item, AccessMode::IntentWrite) || resizes
            }
            (ReadWhole | ReadOrder | View, _) | (CellLoad, None) => {
                self.driver.event_access(current, container.whole, AccessMode::Read)
            }
            _ => {
                self.outdate_items(container.whole, None);
                self.driver.event_access(current, container.whole, AccessMode::Write)
            }
        }
    }
}

impl Host {
    /// Give the check up because of what the model does, unless the exploration is about to begin anew: until then,
    /// part of what was accessed is no event. Never returns normally.
    pub fn leave_untreated<T>(&self, py: Python<'_>, what: &'static str) -> PyResult<T> {
        {
            let mut state = self.state();
            if state.is_over() {
                return Err(Self::aborted());
            }
            if state.exploration.learning.restart().is_none() {
                state.exploration.refusals.add(Refusal::Untreated(what));
            }
        }
        self.leave(py, End::Cut)
    }

    /// Operations on the container as a whole and on its items meet in a way that has no meaning where reads-from is
    /// chosen: let it keep its order, if it is a list or dict and the memory model says what that
    /// means. Never returns normally.
    fn keep_order<T>(&self, py: Python<'_>, container: LocationId, what: &'static str) -> PyResult<T> {
        let keeps_order = {
            let mut state = self.state();
            let can = state.exploration.learning.is_on()
                && !state.heap.reads.objects_are_fences
                && state.heap.reads.containers.contains(&container);
            // While the exploration is about to begin anew, part of what was accessed is no event, and may seem
            // unordered.
            if can && state.exploration.learning.restart().is_none() {
                state.heap.keeps_order.insert(container);
                state.exploration.assumptions.add(py, AssumptionKind::ContainerOrder, "", None);
                state.exploration.learning.must_begin_anew();
            }
            can
        };
        match keeps_order {
            true => self.leave(py, End::Cut),
            false => self.leave_untreated(py, what),
        }
    }

    /// Whether loads and stores of the item read from, or are, writes to choose from.
    pub fn chooses_item(
        &self,
        object: &Bound<'_, PyAny>,
        container: Container,
        location: LocationId,
        key: &Bound<'_, PyAny>,
    ) -> bool {
        let chooses = {
            let state = self.state();
            state.chooses(location) && !state.heap.keeps_order.contains(&container.whole)
        };
        chooses
            && matches!(container.kind, TypeKind::List | TypeKind::Dict | TypeKind::DefaultDict)
            && has_cell(object, key)
    }

    /// Perform the load or store of such an item.
    pub fn access_chosen_item(
        &self,
        py: Python<'_>,
        object: &Bound<'_, PyAny>,
        container: Container,
        location: LocationId,
        effect: ContainerEffect,
        key: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let (explores, outdated) = {
            let mut state = self.state();
            // The attributes of an instance have places of their own besides.
            if !state.contents.instance_dicts.reaches(container.object) {
                state.heap.reads.containers.insert(container.whole);
            }
            (state.explores_reads(), state.is_outdated(location))
        };
        if !explores {
            return self.access_cell(py, object, container, effect, key);
        }
        if outdated {
            return self.keep_order(py, container.whole, OUTDATED);
        }
        let (kind, on_whole) = match effect.reads_only() {
            true => (OperationKind::Load, AccessMode::IntentRead),
            false => (OperationKind::Store, AccessMode::IntentWrite),
        };
        if kind == OperationKind::Store {
            self.check_fresh_container(py, object)?;
        }
        let operation = Operation { order: MemoryOrder::Relaxed, ..Operation::new(kind, location, 0) };
        self.perform(py, operation, 1, |_| Footprint::of(Accesses::new()))?;
        let mixed = {
            let mut state = self.state();
            let mode = if kind == OperationKind::Load { AccessMode::Read } else { AccessMode::Write };
            state.plain_access(&[Access { location, mode }]);
            let current = state.current;
            let item = state.driver.event_access(current, location, AccessMode::Read);
            // Which item a negative index means depends on the length.
            let from_the_end = key.extract::<isize>().is_ok_and(|index| index < 0);
            let length = from_the_end && state.driver.event_access(current, container.length, AccessMode::Read);
            state.driver.event_access(current, container.whole, on_whole) || item || length
        };
        if mixed {
            return self.keep_order(py, container.whole, MIXED);
        }
        Ok(true)
    }

    /// Perform any other operation on a container. `reads_item` tells whether one that finds an item takes its value.
    pub fn access_structure(
        &self,
        py: Python<'_>,
        object: &Bound<'_, PyAny>,
        container: Container,
        effect: ContainerEffect,
        key: Option<&Bound<'_, PyAny>>,
        reads_item: bool,
    ) -> PyResult<bool> {
        use ContainerEffect::*;
        let on_item = matches!(effect, CellLoad | CellStore | CellDelete | CellDefault);
        let item = key.filter(|_| on_item).and_then(|key| Some((self.located_cell(object, key)?.1, key)));
        if let (Some((location, key)), true) = (item, reads_item && matches!(effect, CellLoad | CellDefault)) {
            if self.chooses_item(object, container, location, key) {
                return self.access_chosen_item(py, object, container, location, CellLoad, key);
            }
        }
        let (runs, explores, visible, attributes) = {
            let mut state = self.state();
            let attributes = item.is_none() && state.takes_attributes(object, container);
            let runs = state.phase == Phase::Running;
            (runs, state.explores_reads(), state.is_visible(container.whole), attributes)
        };
        if runs && explores && attributes {
            return self.leave_untreated(py, ATTRIBUTES);
        }
        let mut location = item.map(|(location, _)| location);
        if runs && visible {
            match (effect, location) {
                (CellDelete, Some(_)) => self.gather_items(py, container.whole, location)?,
                (Length | Append, _) | (_, Some(_)) => {}
                _ => self.gather_items(py, container.whole, None)?,
            }
        }
        let event = self.access_container_as(py, object, container, effect, key, Buffering::Drains)?;
        let keeps_order = self.state().heap.keeps_order.contains(&container.whole);
        if event && explores && !keeps_order {
            if effect == Append {
                let end = object.cast::<PyList>().map_or(0, |list| list.len());
                let end = end.into_pyobject(py)?;
                location = self.located_cell(object, end.as_any()).map(|(_, location)| location);
            }
            let mixed = self.state().note_structure(container, effect, location);
            if mixed {
                return self.keep_order(py, container.whole, MIXED);
            }
        }
        Ok(event)
    }

    /// Before objects are taken as wholes by one operation: read what was stored to what is in them.
    pub fn gather_wholes<'py>(&self, py: Python<'py>, looking: &Looking<'_, 'py>) -> PyResult<()> {
        let (chooses, explores) = {
            let state = self.state();
            (state.heap.reads.enabled && state.phase == Phase::Running, state.explores_reads())
        };
        if !chooses {
            return Ok(());
        }
        if !explores {
            return self.gather_items(py, LocationId::NONE, None);
        }
        let mut done: Vec<LocationId> = Vec::new();
        loop {
            // What is read can hold further objects.
            let found: Vec<LocationId> = {
                let mut state = self.state();
                let (accesses, _) = state.whole_accesses(looking);
                let visible = accesses.iter().map(|access| access.location).filter(|at| state.is_visible(*at));
                let found: Vec<LocationId> = visible.flat_map(|at| state.heap.reads.stored_within(at)).collect();
                found.into_iter().filter(|at| !done.contains(at) && !state.is_outdated(*at)).collect()
            };
            if found.is_empty() {
                return Ok(());
            }
            for location in found {
                self.gather(py, location)?;
                done.push(location);
            }
        }
    }

    /// The running thread's last event accesses a place: see whether it is ordered with operations on the whole of what
    /// the place is in, if it stores.
    pub fn require_ordered_store(&self, py: Python<'_>, location: LocationId, mode: AccessMode) -> PyResult<()> {
        let mixed = {
            let mut state = self.state();
            let current = state.current;
            mode == AccessMode::Write
                && state.explores_reads()
                && state.driver.event_access(current, location, AccessMode::IntentWrite)
        };
        if mixed {
            return self.leave_untreated(py, MIXED);
        }
        Ok(())
    }

    /// Before an access to a slot: see whether it is ordered with operations on its object as a whole. Those cannot
    /// tell which attributes there could be besides the ones that there are.
    pub fn require_ordered_slot(&self, py: Python<'_>, slot: Slot, mode: AccessMode) -> PyResult<()> {
        let Some(whole) = slot.beside else { return Ok(()) };
        let untreated = {
            let mut state = self.state();
            if state.phase != Phase::Running || state.is_over() {
                return Ok(());
            }
            let intent = if mode == AccessMode::Read { AccessMode::IntentRead } else { AccessMode::IntentWrite };
            let current = state.current;
            let races = state.driver.quiet_access(current, whole, intent);
            let visible = state.is_visible(whole);
            if races && !visible {
                state.make_visible(whole);
            }
            let mixed = mode == AccessMode::Read
                && state.is_visible(slot.location)
                && state.driver.event_access(current, slot.location, AccessMode::IntentRead);
            state.explores_reads() && (races && visible || mixed)
        };
        match untreated {
            true => self.leave_untreated(py, MIXED),
            false => Ok(()),
        }
    }

    /// The running thread's last event has taken objects as wholes: see whether it is ordered with stores to what is in
    /// them.
    pub fn require_ordered_whole(&self, py: Python<'_>) -> PyResult<()> {
        let mixed = {
            let mut state = self.state();
            if !state.explores_reads() {
                return Ok(());
            }
            let current = state.current;
            let event = EventId((state.driver.position() as u32).saturating_sub(1));
            let accesses = state.driver.execution.event(event).accesses.clone();
            let mut mixed = None;
            for access in accesses {
                if access.mode == AccessMode::Write {
                    state.outdate_items(access.location, None);
                }
                let keeps_order = state.heap.keeps_order.contains(&access.location);
                if !keeps_order && state.driver.event_access(current, access.location, access.mode) {
                    mixed = mixed.or(Some(access.location));
                }
            }
            mixed
        };
        match mixed {
            Some(location) => self.keep_order(py, location, MIXED),
            None => Ok(()),
        }
    }

    /// Ask whether there is an item.
    pub fn access_membership(
        &self,
        py: Python<'_>,
        object: &Bound<'_, PyAny>,
        effect: ContainerEffect,
        item: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let container = {
            let mut state = self.state();
            match state.heap.reads.enabled && state.phase == Phase::Running {
                true => state.container(object),
                false => None,
            }
        };
        match container {
            Some(container) => {
                self.drain_if_owed(py)?;
                self.access_structure(py, object, container, effect, Some(item), false)
            }
            None => self.access_container(py, object, effect, Some(item)),
        }
    }
}
