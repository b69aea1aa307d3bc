//! Visible operations on built-in containers: which locations each accesses.
//!
//! A container has a location for each cell (list index, dict key, set element), one for its length, and one for the
//! whole. Cell operations announce themselves on the whole with an intent, so that different cells do not conflict
//! but whole-container operations conflict with all of them. What compares by neither value nor identity has no cell
//! of its own: such operations are taken as operations on the whole.
//! What they access as events may not depend on everything that the container's state tells: see `fixed_containers`.

use std::cell::RefCell;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyInt, PyList, PySet};
use smallvec::smallvec;

use crate::operation::{AccessMode, Accesses, Buffering, LocationId, MemoryOrder, Operation, OperationKind};
use crate::python::calls::entered_code::without_code;
use crate::python::footprints::container_effects::ContainerEffect;
use crate::python::heap::undo::Undo;
use crate::python::host::Host;
use crate::python::identities::identity::{KeyId, ObjectId};
use crate::python::state::{access, Phase, State};
use crate::python::threads::switching::Footprint;
use crate::python::types::kinds::TypeKind;

/// The locations of one container.
#[derive(Clone, Copy)]
pub struct Container {
    pub object: ObjectId,
    pub kind: TypeKind,
    pub whole: LocationId,
    pub length: LocationId,
}

/// What the operation is about to access, given the container's present state.
struct Plan {
    kind: OperationKind,
    target: LocationId,
    detail: u32,
    order: MemoryOrder,
}

impl State {
    /// The locations of a container (or of what a view or iterator stands for).
    #[inline]
    pub fn container(&mut self, object: &Bound<'_, PyAny>) -> Option<Container> {
        let facts = self.types.facts(object);
        if !facts.kind.has_content() {
            return None;
        }
        let id = self.object(object, facts);
        Some(self.container_of(id, facts.kind))
    }

    /// The locations of an object that is taken as one piece.
    pub fn container_of(&mut self, object: ObjectId, kind: TypeKind) -> Container {
        // Instances of one class are taken as wholes by the same code, as their attributes are used by the same code.
        let is_instance = kind == TypeKind::Instance;
        Container {
            object,
            kind,
            whole: self.identities.location(object, KeyId::WHOLE, is_instance),
            length: self.identities.location(object, KeyId::LENGTH, is_instance),
        }
    }

    pub fn cell(&mut self, container: Container, key: KeyId) -> LocationId {
        self.identities.location(container.object, key, false)
    }

    /// The key of a cell; None if it cannot be told apart from others.
    pub fn cell_key(&mut self, object: &Bound<'_, PyAny>, key: &Bound<'_, PyAny>) -> Option<KeyId> {
        if let Ok(list) = object.cast::<PyList>() {
            let index: isize = key.cast_exact::<PyInt>().ok()?.extract().ok()?;
            let length = list.len() as isize;
            let index = if index < 0 { index + length } else { index };
            return (index >= 0).then(|| KeyId::index(index as usize));
        }
        if let Some(key) = self.identities.item(key) {
            return Some(key);
        }
        let facts = self.types.facts(key);
        if facts.identity_key {
            let object = self.object(key, facts);
            return Some(self.identities.object_key(object));
        }
        None
    }

    /// What an operation accesses now. `key` is the cell's key, if the operation is on one.
    pub fn container_accesses(
        &mut self,
        object: &Bound<'_, PyAny>,
        container: Container,
        effect: ContainerEffect,
        key: Option<&Bound<'_, PyAny>>,
    ) -> (Accesses, u32) {
        use AccessMode::*;
        let Container { whole, length, .. } = container;
        if !effect.is_on_cell() {
            self.note_namespace_taken(object, container);
        }
        if !effect.reads_only() {
            self.note_written_dict(object, container, key.filter(|_| effect.is_on_cell()));
        }
        if self.driver.wants_values() {
            return (self.undivided_accesses(object, container, effect, key), 0);
        }
        // Among keys that code of the model compares there are no cells of their own: any of them may be meant.
        let cell = key.and_then(|key| self.cell_key(object, key).zip(finds(object, key).map(|exists| (key, exists))));
        let on_cell = effect.is_on_cell() && cell.is_some();
        if !on_cell && !effect.reads_only() && effect != ContainerEffect::Append {
            self.note_rewritten(container);
        }
        if !effect.reads_only() && (!on_cell || effect == ContainerEffect::CellDelete) {
            self.note_removal(container);
        }
        if effect.looks_at_order() {
            self.observe_order(object, container);
        }
        if self.contents.instance_dicts.reaches(container.object) && cell.is_none() {
            let mode = if effect.reads_only() { Read } else { Write };
            return (self.instance_accesses(object, container, mode), 0);
        }
        match effect {
            ContainerEffect::ReadWhole | ContainerEffect::ReadOrder | ContainerEffect::View => {
                (smallvec![access(whole, Read)], 0)
            }
            ContainerEffect::WriteWhole | ContainerEffect::WriteByOrder | ContainerEffect::Step => {
                (smallvec![access(whole, Write)], 0)
            }
            ContainerEffect::Length => (smallvec![access(length, Read), access(whole, IntentRead)], 0),
            ContainerEffect::Append => {
                // Not `object.len()`, which a subclass may have overridden with model code.
                let end = object.cast::<PyList>().map_or(0, |list| list.len());
                let cell = self.cell(container, KeyId::index(end));
                (smallvec![access(length, Write), access(cell, Write), access(whole, IntentWrite)], end as u32)
            }
            ContainerEffect::CellLoad => match cell {
                Some((id, (key, exists))) => {
                    let location = self.cell(container, id);
                    let mut accesses: Accesses = smallvec![access(location, Read), access(whole, IntentRead)];
                    if let Ok(list) = object.cast::<PyList>() {
                        let index: isize = key.extract().unwrap_or(0);
                        if index < 0 || index as usize >= list.len() {
                            accesses.push(access(length, Read));
                        }
                    }
                    // Asked about later by an insertion that would have come before: would it have been one?
                    (accesses, u32::from(exists))
                }
                None => (smallvec![access(whole, Read)], 0),
            },
            ContainerEffect::CellStore | ContainerEffect::CellDefault | ContainerEffect::CellDelete => match cell {
                Some((id, (key, exists))) => {
                    let location = self.cell(container, id);
                    let is_list = object.is_instance_of::<PyList>();
                    let (writes, resizes) = match effect {
                        ContainerEffect::CellStore => (true, !exists && !is_list),
                        ContainerEffect::CellDefault => (!exists, !exists),
                        _ => (exists, exists),
                    };
                    let mut accesses: Accesses = if writes {
                        smallvec![access(location, Write), access(whole, IntentWrite)]
                    } else {
                        smallvec![access(location, Read), access(whole, IntentRead)]
                    };
                    if resizes {
                        accesses.push(access(length, self.insertion_mode(container)));
                        if self.contents.instance_dicts.reaches(container.object) {
                            // An attribute that comes last is for all who look at the attributes.
                            accesses.push(access(whole, Write));
                        }
                    } else if is_list && (!exists || is_from_end(key)) {
                        accesses.push(access(length, Read));
                    }
                    (accesses, u32::from(exists))
                }
                None => (smallvec![access(whole, Write)], 0),
            },
        }
    }

    /// What an operation accesses if the container is taken as one piece, as explorers that ask for values do: which
    /// cells there are depends on the order of operations, which they have to know beforehand.
    fn undivided_accesses(
        &mut self,
        object: &Bound<'_, PyAny>,
        container: Container,
        effect: ContainerEffect,
        key: Option<&Bound<'_, PyAny>>,
    ) -> Accesses {
        let mode = if effect.reads_only() { AccessMode::Read } else { AccessMode::Write };
        if !self.contents.instance_dicts.reaches(container.object) {
            return smallvec![access(container.whole, mode)];
        }
        let mut accesses = self.instance_accesses(object, container, mode);
        if let Some(key) = key.and_then(|key| self.cell_key(object, key)) {
            let cell = access(self.cell(container, key), mode);
            if !accesses.contains(&cell) {
                accesses.push(cell);
            }
        }
        accesses
    }

    /// What an operation on an instance's whole `__dict__` accesses: every attribute in it.
    fn instance_accesses(&mut self, object: &Bound<'_, PyAny>, container: Container, mode: AccessMode) -> Accesses {
        let mut accesses: Accesses = smallvec![access(container.whole, mode)];
        if let Ok(dict) = object.cast::<PyDict>() {
            for (name, _) in dict.iter() {
                if let Some(key) = self.identities.item(&name) {
                    let location = self.identities.location(container.object, key, true);
                    accesses.push(access(location, mode));
                }
            }
        }
        accesses
    }

    /// Split accesses into those that are part of an event and those that are only checked for races, and check them.
    pub fn visible_part(&mut self, accesses: Accesses) -> Accesses {
        let (visible, quiet): (Accesses, Accesses) =
            accesses.into_iter().partition(|access| self.is_visible(access.location));
        self.quiet_part(&quiet);
        visible
    }

    fn plan(
        &mut self,
        object: &Bound<'_, PyAny>,
        container: Container,
        effect: ContainerEffect,
        key: Option<&Bound<'_, PyAny>>,
    ) -> Plan {
        use ContainerEffect::*;
        if self.driver.wants_values() {
            let kind = if effect.reads_only() { OperationKind::Load } else { OperationKind::ReadModifyWrite };
            return Plan { kind, target: container.whole, detail: 0, order: MemoryOrder::SequentiallyConsistent };
        }
        let location = match key {
            // Which cell an index from the end means is known at the operation's turn only.
            Some(key) if is_from_end(key) && object.is_instance_of::<PyList>() => None,
            Some(key) if matches!(effect, CellLoad | CellStore | CellDelete | CellDefault) => {
                self.cell_key(object, key).map(|id| self.cell(container, id))
            }
            _ => None,
        };
        let is_list = object.is_instance_of::<PyList>();
        let fixed = self.is_fixed(container);
        let kind = match (effect, location) {
            // Whether it changes anything is told once it has taken place.
            (CellDelete | CellDefault, Some(_)) if fixed => OperationKind::CellUpdate,
            (CellStore, Some(_)) if !is_list && !fixed => OperationKind::CellStore,
            (CellDelete, Some(_)) if !is_list && !fixed => OperationKind::CellDelete,
            (CellDefault, Some(_)) if !fixed => OperationKind::CellDefault,
            (Append, _) if !fixed => OperationKind::CellAppend,
            (ReadWhole | ReadOrder | View | Length | CellLoad, _) => OperationKind::Load,
            _ => OperationKind::Store,
        };
        let order = if self.contents.containers.ordered.contains(&container.length) {
            MemoryOrder::SequentiallyConsistent
        } else {
            MemoryOrder::Relaxed
        };
        let target = location.unwrap_or(if effect == Append { container.length } else { container.whole });
        Plan { kind, target, detail: container.length.0, order }
    }
}

/// Whether a list counts the index from its end.
pub fn is_from_end(key: &Bound<'_, PyAny>) -> bool {
    key.cast_exact::<PyInt>().is_ok_and(|index| index.extract::<isize>().is_ok_and(|index| index < 0))
}

/// Whether the container has the cell now; not if only code of the model could tell.
pub fn has_cell(object: &Bound<'_, PyAny>, key: &Bound<'_, PyAny>) -> bool {
    finds(object, key).unwrap_or(false)
}

/// Whether the container has the cell now; None if that takes an `__eq__` or `__index__` of the model, which is not
/// asked.
fn finds(object: &Bound<'_, PyAny>, key: &Bound<'_, PyAny>) -> Option<bool> {
    if let Ok(list) = object.cast::<PyList>() {
        let index: isize = key.cast::<PyInt>().ok()?.extract().unwrap_or(isize::MAX);
        let length = list.len() as isize;
        return Some(index < length && index >= -length);
    }
    let py = object.py();
    if let Ok(dict) = object.cast::<PyDict>() {
        return without_code(py, || dict.contains(key)).ok();
    }
    match object.cast::<PySet>() {
        Ok(set) => without_code(py, || set.contains(key)).ok(),
        Err(_) => Some(false),
    }
}

impl Host {
    /// Perform a container operation: as an event if the container races. Returns whether it was one.
    pub fn access_container(
        &self,
        py: Python<'_>,
        object: &Bound<'_, PyAny>,
        effect: ContainerEffect,
        key: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let container = {
            let Some(mut state) = self.awake() else { return Ok(false) };
            if !state.running() {
                return Ok(false);
            }
            match state.container(object) {
                Some(container) => container,
                None => return Ok(false),
            }
        };
        if self.watched_facts(object).is_some_and(|facts| facts.shares_unseen) {
            self.note_sharing(object);
        }
        self.access_located(py, object, container, effect, key)
    }

    /// The same for locations that are known. Where stores go through buffers it waits for those of the thread.
    pub fn access_located(
        &self,
        py: Python<'_>,
        object: &Bound<'_, PyAny>,
        container: Container,
        effect: ContainerEffect,
        key: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        self.drain_if_owed(py)?;
        let chooses = {
            let state = self.state();
            state.heap.reads.enabled && state.phase == Phase::Running
        };
        if chooses {
            return self.access_structure(py, object, container, effect, key, true);
        }
        self.access_container_as(py, object, container, effect, key, Buffering::Drains)
    }

    /// Load or store a cell that exists, as plainly as an attribute: nothing waits for anything.
    pub fn access_cell(
        &self,
        py: Python<'_>,
        object: &Bound<'_, PyAny>,
        container: Container,
        effect: ContainerEffect,
        key: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        self.access_container_as(py, object, container, effect, Some(key), Buffering::Indifferent)
    }

    /// The container and the location of a cell, if it has one of its own.
    pub fn located_cell(&self, object: &Bound<'_, PyAny>, key: &Bound<'_, PyAny>) -> Option<(Container, LocationId)> {
        let mut state = self.awake()?;
        if !state.running() {
            return None;
        }
        let container = state.container(object)?;
        let key = state.cell_key(object, key)?;
        Some((container, state.cell(container, key)))
    }

    /// Whether the container has the cell, for a store that then goes through a buffer. That it does can change only
    /// with its length, so that is what is read.
    pub fn finds_cell(
        &self,
        py: Python<'_>,
        object: &Bound<'_, PyAny>,
        container: Container,
        key: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let reads = [access(container.length, AccessMode::Read), access(container.whole, AccessMode::IntentRead)];
        let operation = Operation::new(OperationKind::Load, container.length, 0);
        self.perform(py, operation, 1, |state| Footprint::of(state.visible_part(reads.into_iter().collect())))?;
        Ok(has_cell(object, key))
    }

    pub fn access_container_as(
        &self,
        py: Python<'_>,
        object: &Bound<'_, PyAny>,
        container: Container,
        effect: ContainerEffect,
        key: Option<&Bound<'_, PyAny>>,
        buffering: Buffering,
    ) -> PyResult<bool> {
        if !effect.reads_only() {
            self.check_fresh_container(py, object)?;
        }
        if let Some(key) = key {
            self.look_at_key(py, key)?;
        }
        let plan = {
            let mut state = self.state();
            if state.phase == Phase::Probing {
                let (accesses, _) = state.container_accesses(object, container, effect, key);
                state.probe(py, &accesses)?;
                return Ok(false);
            }
            if !state.is_visible(container.whole) {
                let (accesses, _) = state.container_accesses(object, container, effect, key);
                // The attributes of an instance can be visible apart from the rest of its `__dict__`.
                if !state.run.halted && !accesses.iter().any(|access| state.is_visible(access.location)) {
                    state.quiet(&accesses);
                    state.plain_access(&accesses);
                    return Ok(false);
                }
            }
            state.plan(object, container, effect, key)
        };
        let Plan { kind, target, detail, mut order } = plan;
        // An explorer that asks for values knows an operation before it knows whether there is such a cell.
        let buffering = if self.state().driver.wants_values() { Buffering::Indifferent } else { buffering };
        if kind == OperationKind::Store && buffering == Buffering::Indifferent {
            order = MemoryOrder::Relaxed;
        }
        let operation = Operation { kind, target, detail, order, buffering };
        let accesses_now = RefCell::new(Accesses::new());
        self.perform(py, operation, 1, |state| {
            let (accesses, before) = state.container_accesses(object, container, effect, key);
            state.plain_access(&accesses);
            accesses_now.replace(accesses.clone());
            let accesses = state.fixed_accesses(object, container, effect, key, accesses);
            Footprint { accesses: Some(state.visible_part(accesses)), before: Some(before), found: None }
        })?;
        if kind == OperationKind::ReadModifyWrite {
            // Unlike with an atomic, nobody tells later whether it has changed anything.
            self.state().affect_loops();
        }
        if kind == OperationKind::CellUpdate {
            let now = accesses_now.into_inner();
            match now.iter().any(|access| access.mode == AccessMode::Write) {
                true => self.state().affect_loops(),
                false => self.state().note_silent_event_in_loops(&now),
            }
        }
        if !effect.reads_only() && self.keeps_undo() {
            if let Some(undo) = Undo::of_container(object)? {
                self.keep_undo(undo);
            }
        }
        Ok(true)
    }
}
