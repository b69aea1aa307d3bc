//! What iterators written in C run over, and hold: advancing one reads that, and advances others.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::operation::{AccessMode, Accesses};
use crate::python::calls::callbacks::Callback;
use crate::python::footprints::container_effects::ContainerEffect;
use crate::python::footprints::insides::referents;
use crate::python::footprints::look::{Inside, Look};
use crate::python::identities::identity::KeyId;
use crate::python::state::{access, State};
use crate::python::types::kinds::TypeKind;
use crate::python::types::TypeFacts;

impl State {
    /// A step of a list's own iterator reads one item: note that, and return whether the object is one.
    pub fn look_at_list_iterator<'py>(
        &mut self,
        look: &mut Look<'py>,
        object: &Bound<'py, PyAny>,
        effect: ContainerEffect,
        inside: Inside,
    ) -> bool {
        if !inside.step || effect.reads_only() || self.heap.reads.enabled || self.driver.wants_values() || inside.deep
        {
            return false;
        }
        let Some((list, position)) = list_and_position(object) else { return false };
        let (facts, iterator_facts) = (self.types.facts(list.as_any()), self.types.facts(object));
        let (list_id, iterator) = (self.object(list.as_any(), facts), self.object(object, iterator_facts));
        let (items, own) = (self.container_of(list_id, facts.kind), self.container_of(iterator, TypeKind::Iterator));
        let cell = self.cell(items, KeyId::index(position));
        let mut accesses: Accesses = SmallVec::from_slice(&[
            access(own.whole, AccessMode::Write),
            access(cell, AccessMode::Read),
            access(items.whole, AccessMode::IntentRead),
        ]);
        if position >= list.len() || self.is_fixed(items) {
            accesses.push(access(items.length, AccessMode::Read));
        }
        let mut found = inside;
        found.racing |= self.is_visible(own.whole);
        found.owner.get_or_insert(own.object);
        look.races(found);
        if accesses.iter().any(|access| self.is_visible(access.location)) {
            accesses[1..].iter().for_each(|access| look.moves(access.location, found));
        }
        look.add(accesses);
        true
    }

    /// Collect what an iterator written in C holds: other iterators, which it advances if it is, and what they run
    /// over.
    pub fn look_behind_iterator<'py>(&mut self, look: &mut Look<'py>, iterator: &Bound<'py, PyAny>, inside: Inside) {
        if is_generator(iterator) && !self.types.origins.is_unseen_generator(iterator) {
            // Its code is instrumented.
            return;
        }
        if inside.written {
            look.results_read.add(iterator);
        }
        let deep = inside.deep || calls_native_code(iterator);
        let (advances, inside) = (inside.written, Inside { native: true, deep, ..inside });
        let shared = is_shared_by_iterators(iterator);
        let inside = Inside { step: inside.step && takes_one(iterator), ..inside };
        for held in referents(iterator) {
            // The others are items that came from the iterator.
            if shared && !iterates(&self.types.facts(&held), &held) {
                continue;
            }
            // `zip` and others hold the iterators that they advance in a tuple.
            match held.cast::<PyTuple>() {
                Ok(several) => {
                    items_of(several).into_iter().for_each(|one| self.finds_behind(look, one, advances, inside))
                }
                Err(_) => self.finds_behind(look, held, advances, inside),
            }
        }
        if iterator.get_type().name().is_ok_and(|name| name == "chain") {
            // Its source is what it holds last.
            if let Some(source) = referents(iterator).pop() {
                self.look_at_items(look, &source, advances, inside);
            }
        } else if advances && tells_truth(iterator) {
            self.look_at_items(look, iterator, false, inside);
        }
    }

    /// Collect the items of what an iterator runs over, which another one runs over (`advances`) or asks for their
    /// truth.
    fn look_at_items<'py>(
        &mut self,
        look: &mut Look<'py>,
        iterator: &Bound<'py, PyAny>,
        advances: bool,
        inside: Inside,
    ) {
        for container in self.run_over(iterator) {
            for item in referents(&container) {
                self.finds_behind(look, item, advances, inside);
            }
        }
    }

    /// What an iterator takes its items from in the end, through other iterators; not what generators compute.
    fn run_over<'py>(&mut self, iterator: &Bound<'py, PyAny>) -> Vec<Bound<'py, PyAny>> {
        let (mut found, mut open) = (Vec::new(), vec![iterator.clone()]);
        let mut seen = FxHashSet::default();
        while let Some(next) = open.pop() {
            if is_generator(&next) || !seen.insert(next.as_ptr() as usize) {
                continue;
            }
            // What a container's own iterator holds is the container, whatever that holds.
            let adapts = !is_of_container(&next);
            for held in referents(&next) {
                let several = held.cast::<PyTuple>().is_ok_and(|held| held.iter().any(|one| self.is_iterator(&one)));
                match adapts && (several || self.is_iterator(&held)) {
                    true => open.push(held),
                    false => found.push(held),
                }
            }
        }
        found
    }

    fn is_iterator(&mut self, object: &Bound<'_, PyAny>) -> bool {
        iterates(&self.types.facts(object), object)
    }

    pub fn finds_behind<'py>(
        &mut self,
        look: &mut Look<'py>,
        held: Bound<'py, PyAny>,
        advances: bool,
        inside: Inside,
    ) {
        // Containers in C, such as a deque, are read by the iterators over them.
        let written = advances && iterates(&self.types.facts(&held), &held);
        look.finds(held, Inside { written, ..inside });
    }
}

/// The list that its own iterator runs over, and the index of the item that comes next.
fn list_and_position<'py>(iterator: &Bound<'py, PyAny>) -> Option<(Bound<'py, PyList>, usize)> {
    let name = iterator.get_type().name().ok()?;
    if !matches!(name.to_str().ok()?, "list_iterator" | "list_reverseiterator") {
        return None;
    }
    let made: Bound<'py, PyTuple> =
        iterator.call_method0(intern!(iterator.py(), "__reduce__")).ok()?.cast_into().ok()?;
    // An iterator that has come to its end is made of an empty list, without a position.
    let position = made.get_item(2).ok()?.extract().ok()?;
    let list =
        made.get_item(1).ok()?.cast_into::<PyTuple>().ok()?.get_item(0).ok()?.cast_into_exact::<PyList>().ok()?;
    Some((list, position))
}

pub fn is_generator(object: &Bound<'_, PyAny>) -> bool {
    GeneratorKind::of(object).is_some()
}

/// What is advanced step by step, and can be found running.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum GeneratorKind {
    Generator,
    Coroutine,
}

impl GeneratorKind {
    pub fn of(object: &Bound<'_, PyAny>) -> Option<GeneratorKind> {
        match object.get_type().name().ok()?.to_str().ok()? {
            "generator" => Some(GeneratorKind::Generator),
            "coroutine" => Some(GeneratorKind::Coroutine),
            _ => None,
        }
    }

    /// What CPython calls it.
    pub fn name(self) -> &'static str {
        match self {
            GeneratorKind::Generator => "generator",
            GeneratorKind::Coroutine => "coroutine",
        }
    }

    pub fn is_running(self, object: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.attribute(object, "running")?.is_truthy()
    }

    /// One of the attributes that tell how far it is.
    fn attribute<'py>(self, object: &Bound<'py, PyAny>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let prefix = match self {
            GeneratorKind::Generator => "gi",
            GeneratorKind::Coroutine => "cr",
        };
        object.getattr(format!("{prefix}_{name}"))
    }
}

/// Whether the next step of a generator runs none of its code, so that nobody can find it running: it has ended, or an
/// exception comes before it has begun.
pub fn runs_nothing(generator: &Bound<'_, PyAny>, raises: bool) -> PyResult<bool> {
    let Some(kind) = GeneratorKind::of(generator) else { return Ok(false) };
    if kind.is_running(generator)? {
        return Ok(false);
    }
    if kind.attribute(generator, "frame")?.is_none() {
        return Ok(true);
    }
    Ok(raises && !kind.attribute(generator, "suspended")?.is_truthy()?)
}

/// The items of a tuple that C code keeps for itself: `zip_longest` takes those out that have come to their end.
fn items_of<'py>(several: &Bound<'py, PyTuple>) -> Vec<Bound<'py, PyAny>> {
    let py = several.py();
    let item = |index| {
        // SAFETY: the tuple is alive and the index is in it; a borrowed reference or NULL comes back.
        unsafe { Bound::from_borrowed_ptr_or_opt(py, pyo3::ffi::PyTuple_GetItem(several.as_ptr(), index)) }
    };
    (0..several.len() as isize).filter_map(item).collect()
}

/// Whether a step of an iterator takes at most one item from each that it holds.
fn takes_one(iterator: &Bound<'_, PyAny>) -> bool {
    const TAKING_ONE: &[&str] = &["enumerate", "map", "zip", "_tee", "_tee_dataobject"];
    iterator.get_type().name().is_ok_and(|name| name.to_str().is_ok_and(|name| TAKING_ONE.contains(&name)))
}

/// Whether an object is an iterator in C, or a part of one.
pub fn iterates(facts: &TypeFacts, object: &Bound<'_, PyAny>) -> bool {
    facts.kind == TypeKind::Iterator || facts.kind == TypeKind::Opaque && is_shared_by_iterators(object)
}

/// What several iterators advance together: that of `itertools.tee`.
pub fn is_shared_by_iterators(object: &Bound<'_, PyAny>) -> bool {
    object.get_type().name().is_ok_and(|name| name == "_tee_dataobject" || name == "_grouper")
}

/// Whether an iterator in C is one that a container makes of itself.
pub fn is_of_container(iterator: &Bound<'_, PyAny>) -> bool {
    let class = iterator.get_type();
    let own = |name: &str| name.ends_with("iterator") && name != "callable_iterator";
    class.name().is_ok_and(|name| name.to_str().is_ok_and(own))
}

/// Whether an iterator asks for the truth of items that it gets.
fn tells_truth(iterator: &Bound<'_, PyAny>) -> bool {
    const ASKING: &[&str] = &["compress", "filter", "filterfalse"];
    let asks = iterator.get_type().name().is_ok_and(|name| name.to_str().is_ok_and(|name| ASKING.contains(&name)));
    asks && !calls_back(iterator)
}

/// Whether an iterator calls a function in Python that it was given.
pub fn calls_back(iterator: &Bound<'_, PyAny>) -> bool {
    referents(iterator).iter().any(|held| held.is_instance_of::<Callback>())
}

/// Whether an iterator applies C code to the items that it gets: a function, or an operator.
pub fn calls_native_code(iterator: &Bound<'_, PyAny>) -> bool {
    // Without a function it adds; and what `starmap` unpacks is in the items.
    if iterator.get_type().name().is_ok_and(|name| name == "accumulate" || name == "starmap") {
        return true;
    }
    const APPLYING: &[&str] = &["map", "filter", "starmap", "takewhile", "dropwhile", "filterfalse", "groupby"];
    let applies =
        iterator.get_type().name().is_ok_and(|name| name.to_str().is_ok_and(|name| APPLYING.contains(&name)));
    applies && referents(iterator).iter().any(|held| held.is_callable() && !held.is_instance_of::<Callback>())
}
