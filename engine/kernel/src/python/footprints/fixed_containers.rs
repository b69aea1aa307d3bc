//! What is known of containers, and what operations on them access because of that.
//!
//! What an operation accesses can depend on the container's state: whether the cell is there, where a list ends. An
//! explorer reverses two events and has to know what the second would have accessed before the first. It can know that
//! of events on the same cell (`MemoryModel::accesses_before`), but not of those that change many cells at once. So
//! once such an event has taken place on a container, what others access of it is fixed: all that they could access in
//! any state.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::smallvec;

use crate::operation::{AccessMode, Accesses, LocationId, ThreadId};
use crate::python::footprints::container_effects::ContainerEffect;
use crate::python::footprints::containers::{is_from_end, Container};
use crate::python::footprints::set_order::has_collisions;
use crate::python::identities::identity::ObjectId;
use crate::python::modules::namespaces::is_instrumented_namespace;
use crate::python::state::{access, State};
use crate::python::types::kinds::TypeKind;

/// What is known of containers from all executions so far, by the locations of their lengths.
#[derive(Default)]
pub struct ContainerFacts {
    /// Somebody looks at the order of the items, and it depends on the order of insertions.
    pub ordered: FxHashSet<LocationId>,
    /// Who inserts items while there are other threads, where that was one thread only, or None.
    inserting: FxHashMap<LocationId, Option<ThreadId>>,
    /// An item is removed from the set.
    shrinking: FxHashSet<LocationId>,
    /// An event changes many cells at once.
    rewritten: FxHashSet<LocationId>,
    /// Namespaces of modules that operations take as wholes.
    namespaces: FxHashSet<ObjectId>,
}

impl State {
    /// How an insertion relates to those of different cells: they commute unless somebody looks at the order of the
    /// items.
    pub fn insertion_mode(&mut self, container: Container) -> AccessMode {
        if self.contents.containers.ordered.contains(&container.length) {
            return AccessMode::Write;
        }
        if !self.is_alone() {
            let me = self.actor();
            let inserting = self.contents.containers.inserting.entry(container.length).or_insert(Some(me));
            *inserting = inserting.filter(|known| *known == me);
        }
        AccessMode::IntentWrite
    }

    /// Note that somebody looks at the order of the items. If it depends on the order of insertions, that matters from
    /// now on, and what was explored until now, in which insertions of several threads commuted, does not count.
    pub fn observe_order(&mut self, object: &Bound<'_, PyAny>, container: Container) {
        if self.contents.containers.ordered.contains(&container.length) {
            return;
        }
        let depends = match container.kind {
            TypeKind::Dict | TypeKind::DefaultDict => true,
            TypeKind::Set => self.contents.containers.shrinking.contains(&container.length) || has_collisions(object),
            _ => false,
        };
        // Not before: events that are repeated are to be what they were.
        let by_several = || self.contents.containers.inserting.get(&container.length) == Some(&None);
        if depends && by_several() {
            self.contents.containers.ordered.insert(container.length);
            self.exploration.learning.learned();
        }
    }

    /// Note that an item is removed. Where it was another one may have found its place taken, which cannot be told
    /// later.
    pub fn note_removal(&mut self, container: Container) {
        if container.kind == TypeKind::Set && !self.has_no_company() {
            self.contents.containers.shrinking.insert(container.length);
        }
    }

    /// Note that an operation takes a dict as a whole. If its items are the variables of a module, these are no places
    /// of their own any more.
    pub fn note_namespace_taken(&mut self, object: &Bound<'_, PyAny>, container: Container) {
        let is_namespace = || object.cast::<PyDict>().is_ok_and(is_instrumented_namespace);
        if container.kind == TypeKind::Dict
            && !self.contents.containers.namespaces.contains(&container.object)
            && is_namespace()
            && self.contents.containers.namespaces.insert(container.object)
        {
            self.exploration.learning.learned();
        }
    }

    /// The location of a module's namespace as a whole, if operations take it so.
    pub fn namespace_taken_whole(&mut self, namespace: ObjectId) -> Option<LocationId> {
        let taken = self.contents.containers.namespaces.contains(&namespace);
        taken.then(|| self.container_of(namespace, TypeKind::Dict).whole)
    }

    /// Note that an event changes many cells at once.
    pub fn note_rewritten(&mut self, container: Container) {
        if container.kind.has_cells()
            && self.exploration.learning.is_on()
            && self.is_visible(container.whole)
            && !self.has_no_company()
            && self.contents.containers.rewritten.insert(container.length)
        {
            self.exploration.learning.must_begin_anew();
        }
    }

    /// Whether what operations on cells access may not depend on the container's state.
    pub fn is_fixed(&self, container: Container) -> bool {
        self.contents.containers.rewritten.contains(&container.length)
            || self.contents.instance_dicts.reaches(container.object)
            || container.kind == TypeKind::List && self.driver.requirements().repeats_accesses
    }

    /// What an operation accesses as an event, given what it accesses now. See the head of the file.
    pub fn fixed_accesses(
        &mut self,
        object: &Bound<'_, PyAny>,
        container: Container,
        effect: ContainerEffect,
        key: Option<&Bound<'_, PyAny>>,
        accesses: Accesses,
    ) -> Accesses {
        use AccessMode::*;
        let Container { whole, length, .. } = container;
        if self.driver.wants_values() {
            return accesses;
        }
        let on_cell = effect.is_on_cell() && accesses.first().is_some_and(|first| first.location != whole);
        let is_list = container.kind == TypeKind::List;
        if on_cell && is_list && key.is_some_and(is_from_end) {
            // Which cell it is changes with the length.
            return smallvec![access(whole, if effect.reads_only() { Read } else { Write })];
        }
        if !self.is_fixed(container) || !(on_cell || effect == ContainerEffect::Append) {
            return accesses;
        }
        let cell = key.and_then(|key| self.cell_key(object, key)).map(|key| self.cell(container, key));
        match (effect, cell) {
            // Who looks for the cell reads the length.
            (ContainerEffect::Append, _) => smallvec![access(length, Write), access(whole, IntentWrite)],
            (ContainerEffect::CellLoad, Some(cell)) if is_list => {
                smallvec![access(cell, Read), access(whole, IntentRead), access(length, Read)]
            }
            (_, Some(cell)) if is_list => {
                smallvec![access(cell, Write), access(whole, IntentWrite), access(length, Read)]
            }
            (ContainerEffect::CellLoad, _) | (_, None) => accesses,
            (_, Some(cell)) => {
                // An attribute that comes last is for all who look at the attributes.
                let mode = if self.contents.instance_dicts.reaches(container.object) { Write } else { IntentWrite };
                smallvec![access(cell, Write), access(whole, mode), access(length, self.insertion_mode(container))]
            }
        }
    }
}
