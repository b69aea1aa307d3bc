//! A look at objects as wholes: what one operation looks at, how deep, and what it finds.

use pyo3::prelude::*;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::operation::{Access, Accesses, LocationId};
use crate::python::calls::callback_results::{Results, ResultsRead};
use crate::python::footprints::container_effects::ContainerEffect;
use crate::python::footprints::insides::has_nothing_inside;
use crate::python::hooks::named_reads::Path;
use crate::python::identities::identity::ObjectId;
use crate::python::types::kinds::TypeKind;
use crate::python::types::TypeFacts;

/// How deep an operation looks into the objects that it is given.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Depth {
    /// At the items of a container, and at objects of which code without instrumentation gives the items.
    Items,
    /// Also at what is in the items, and at objects that code without instrumentation compares.
    Comparison,
    /// Also at what is in the items, and at objects that code without instrumentation turns into text.
    Text,
    /// At everything that can be reached.
    Everything,
}

impl Depth {
    pub fn looks_into(self, facts: &TypeFacts) -> bool {
        match self {
            Depth::Items => facts.items_by_foreign_code,
            Depth::Comparison => facts.compared_by_foreign_code,
            Depth::Text => facts.shown_by_foreign_code,
            Depth::Everything => facts.kind == TypeKind::Instance,
        }
    }
}

pub type Owners = SmallVec<[ObjectId; 1]>;

/// One object of an operation, and what the operation does to it.
pub struct Part<'py> {
    pub object: Bound<'py, PyAny>,
    pub effect: ContainerEffect,
}

/// All that one operation looks at.
#[derive(Clone, Copy)]
pub struct Looking<'a, 'py> {
    pub parts: &'a [Part<'py>],
    pub paths: &'a [Path<'py>],
    pub depth: Depth,
    pub results: Results<'a, 'py>,
    /// Objects that the operation may hold since it began.
    pub held: &'a [(Bound<'py, PyAny>, Inside)],
}

impl<'a, 'py> Looking<'a, 'py> {
    pub fn at(parts: &'a [Part<'py>], paths: &'a [Path<'py>], depth: Depth) -> Looking<'a, 'py> {
        Looking { parts, paths, depth, results: Results::NONE, held: &[] }
    }

    pub fn writes(&self) -> bool {
        self.parts.iter().any(|part| !part.effect.reads_only())
    }
}

/// The objects that an operation looks at, and where they were found.
pub type Found<'py> = Vec<(Bound<'py, PyAny>, Inside)>;

/// How an operation on several objects was performed.
pub enum Performed<'py> {
    /// As an event, at which other threads may have run.
    Event,
    /// As none; these are the objects that it has looked at.
    Quietly(Found<'py>),
}

/// Up to this many accesses, looking at each is faster than a set.
const FEW_ACCESSES: usize = 16;

/// What one look at objects found so far.
pub struct Look<'py> {
    pub depth: Depth,
    pub results_read: ResultsRead,
    seen: FxHashSet<usize>,
    found_again: FxHashSet<usize>,
    pub accesses: Accesses,
    /// The same as a set, once they are many.
    known: FxHashSet<Access>,
    /// Locations that are read only as long as an object that races, the second, holds them.
    pub movable: Vec<(LocationId, ObjectId)>,
    /// Objects of the operation that race, or in which something does.
    pub owners: Owners,
    /// Objects to look at, and where they were found. They are kept, so that addresses keep their meaning.
    pub found: Found<'py>,
    pub next: usize,
}

/// Where an object was found: in which of the operation's, whether something around it races, and what is done to it.
#[derive(Clone, Copy, Default)]
pub struct Inside {
    pub owner: Option<ObjectId>,
    pub racing: bool,
    /// Whether the operation may change it.
    pub written: bool,
    /// Whether the operation looks at everything in it, whatever the depth is elsewhere.
    pub deep: bool,
    /// Whether C code holds it.
    pub native: bool,
    /// Whether the operation takes one item from it, if it is an iterator.
    pub step: bool,
}

impl<'py> Look<'py> {
    pub fn of_depth(depth: Depth) -> Look<'py> {
        Look {
            depth,
            results_read: ResultsRead::default(),
            seen: FxHashSet::default(),
            found_again: FxHashSet::default(),
            accesses: Accesses::new(),
            known: FxHashSet::default(),
            movable: Vec::new(),
            owners: Owners::new(),
            found: Vec::new(),
            next: 0,
        }
    }

    pub fn finds(&mut self, object: Bound<'py, PyAny>, inside: Inside) {
        if has_nothing_inside(&object) {
            return;
        }
        let address = object.as_ptr() as usize;
        if self.seen.insert(address) {
            self.found.push((object, inside));
        } else if inside.step && self.found_again.insert(address) {
            // Two of those that hold it take an item each.
            self.found.push((object, Inside { step: false, ..inside }));
        }
    }

    pub fn races(&mut self, inside: Inside) {
        if let (true, Some(owner)) = (inside.racing, inside.owner) {
            if !self.owners.contains(&owner) {
                self.owners.push(owner);
            }
        }
    }

    pub fn moves(&mut self, location: LocationId, inside: Inside) {
        if let (true, Some(owner)) = (inside.racing, inside.owner) {
            self.movable.push((location, owner));
        }
    }

    pub fn add(&mut self, accesses: impl IntoIterator<Item = Access>) {
        for access in accesses {
            let is_new = if self.accesses.len() < FEW_ACCESSES {
                !self.accesses.contains(&access)
            } else {
                if self.known.is_empty() {
                    self.known.extend(self.accesses.iter().copied());
                }
                self.known.insert(access)
            };
            if is_new {
                self.accesses.push(access);
            }
        }
    }
}
