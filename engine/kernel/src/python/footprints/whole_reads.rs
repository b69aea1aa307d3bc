//! Operations that look at objects as wholes: comparisons, formatting, and calls of code that is not instrumented.
//!
//! One such operation reads everything that it looks at in one event: both sides of `a == b`, and what is in them.
//! Containers inside a container that itself races are the delicate case, because which of them are read depends on
//! where the operation stands. The operation conflicts with writes to any of these, wherever it stands.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::operation::{AccessMode, Accesses, Buffering, LocationId, MemoryOrder, Operation, OperationKind};
use crate::python::calls::callables::receiver_in_c;
use crate::python::explore::recording::Word;
use crate::python::explore::refusals::Refusal;
use crate::python::footprints::behind_iterators::iterates;
use crate::python::footprints::container_effects::ContainerEffect;
use crate::python::footprints::insides::{has_nothing_inside, holds_objects, shows_what_it_holds};
use crate::python::footprints::look::{Depth, Found, Inside, Look, Looking, Owners, Part, Performed};
use crate::python::heap::undo::Undo;
use crate::python::hooks::variables::Cell;
use crate::python::host::Host;
use crate::python::identities::identity::KeyId;
use crate::python::modules::module_variables::instrumented_namespace;
use crate::python::state::{access, Phase, State};
use crate::python::threads::switching::Footprint;
use crate::python::types::kinds::{referent, TypeKind};
use crate::python::types::native_types::keeps_to_itself;

impl State {
    /// What an operation on these objects accesses now, and those of them of which it reads different parts in
    /// different places.
    pub fn whole_accesses(&mut self, looking: &Looking<'_, '_>) -> (Accesses, Owners) {
        let look = self.look(looking);
        let (accesses, owners, _) = self.accesses_of(look);
        (accesses, owners)
    }

    /// What a look at objects has found that is accessed, in which of them it depends on the place, and the objects.
    fn accesses_of<'py>(&mut self, mut look: Look<'py>) -> (Accesses, Owners, Found<'py>) {
        for (location, owner) in std::mem::take(&mut look.movable) {
            if self.contents.nesting.note(location, owner) {
                self.exploration.learning.learned();
            }
        }
        look.owners.retain(|owner| self.contents.nesting.contains(*owner));
        if !look.owners.is_empty() && self.driver.wants_values() {
            let what = "a container inside of another one, both of which other threads change";
            self.exploration.refusals.add(Refusal::Untreated(what));
        }
        (look.accesses, look.owners, look.found)
    }

    /// The objects that an operation finds in those that it is given, and in each other.
    pub fn found_inside<'py>(&mut self, looking: &Looking<'_, 'py>) -> Found<'py> {
        self.look(looking).found
    }

    fn look<'py>(&mut self, looking: &Looking<'_, 'py>) -> Look<'py> {
        let mut look = Look::of_depth(looking.depth);
        for Part { object, effect } in looking.parts {
            let inside = Inside { step: *effect == ContainerEffect::Step, ..Inside::default() };
            self.look_at(&mut look, object, *effect, inside);
        }
        for path in looking.paths {
            self.follow(&mut look, path);
        }
        self.look_at_found(&mut look);
        if !looking.results.values.is_empty() {
            self.look_at_results(&mut look, looking.results);
            self.look_at_found(&mut look);
        }
        for (object, inside) in looking.held {
            look.finds(object.clone(), Inside { step: false, ..*inside });
        }
        self.look_at_found(&mut look);
        look
    }

    fn look_at_found<'py>(&mut self, look: &mut Look<'py>) {
        while let Some((object, inside)) = look.found.get(look.next).cloned() {
            look.next += 1;
            let kind = self.types.facts(&object).kind;
            let effect = match kind {
                kind @ (TypeKind::Class | TypeKind::Module) => reading_effect(kind),
                _ if inside.written => ContainerEffect::WriteByOrder,
                // An iterator inside something is not advanced.
                TypeKind::Iterator => ContainerEffect::ReadWhole,
                // Sets with the same items are equal.
                TypeKind::Set if look.depth == Depth::Comparison => ContainerEffect::ReadWhole,
                kind => reading_effect(kind),
            };
            self.look_at(look, &object, effect, inside);
        }
    }

    /// Note that the variables of a module are read, but not what they hold: that is most of what there is.
    fn look_at_variables<'py>(&mut self, look: &mut Look<'py>, module: &Bound<'py, PyAny>, inside: Inside) {
        let Some(variables) = instrumented_namespace(module) else { return };
        let Some(container) = self.container(&variables) else { return };
        let (accesses, _) = self.container_accesses(&variables, container, ContainerEffect::View, None);
        if accesses.iter().any(|access| self.is_visible(access.location)) {
            accesses.iter().for_each(|access| look.moves(access.location, inside));
            look.races(inside);
        }
        look.add(accesses);
    }

    /// Note what an object is read by, and what is in it.
    pub fn look_at<'py>(
        &mut self,
        look: &mut Look<'py>,
        object: &Bound<'py, PyAny>,
        effect: ContainerEffect,
        mut inside: Inside,
    ) {
        if self.look_at_list_iterator(look, object, effect, inside) {
            return;
        }
        if let Ok(cell) = object.cast_exact::<Cell>() {
            self.look_at_cell(look, cell, inside);
            return;
        }
        let facts = self.types.facts(object);
        if self.contents.shown.names || facts.kind == TypeKind::Module {
            self.look_at_names(look, object, facts.kind);
        }
        match facts.kind {
            TypeKind::Module => self.look_at_variables(look, object, inside),
            // It passes on what is asked of it.
            TypeKind::Proxy => referent(object).into_iter().for_each(|object| look.finds(object, inside)),
            _ => {}
        }
        let writes = !effect.reads_only();
        // What C code keeps of an object is taken as one piece.
        let is_kept = facts.kind.has_content() || facts.kind.is_tracked() && (writes || inside.native);
        let container = is_kept.then(|| {
            let id = if writes { self.object(object, facts) } else { self.known_object(object, facts) };
            self.container_of(id, facts.kind)
        });
        if let Some(container) = container {
            let (accesses, _) = self.container_accesses(object, container, effect, None);
            let races = accesses.iter().any(|access| self.is_visible(access.location));
            if races {
                accesses.iter().for_each(|access| look.moves(access.location, inside));
            }
            inside.racing |= races;
            inside.owner.get_or_insert(container.object);
            look.races(inside);
            look.add(accesses);
        }
        if iterates(&facts, object) {
            self.look_behind_iterator(look, object, Inside { written: writes, ..inside });
        } else if inside.deep || look.depth != Depth::Items || look.depth.looks_into(&facts) {
            // A writer of rows writes to the stream that it holds.
            if writes && facts.kind == TypeKind::Opaque && !keeps_to_itself(&object.get_type()) {
                inside = Inside { written: true, native: true, ..inside };
            }
            // Who may change what it is given may call it.
            if writes && facts.kind == TypeKind::Immutable && receiver_in_c(object).is_some() {
                inside.written = true;
            }
            self.look_inside(look, object, inside);
        }
    }
}

/// What reading an object as a whole does to it.
pub fn reading_effect(kind: TypeKind) -> ContainerEffect {
    match kind {
        TypeKind::Iterator => ContainerEffect::WriteWhole,
        TypeKind::Dict | TypeKind::DefaultDict => ContainerEffect::View,
        TypeKind::Set => ContainerEffect::ReadOrder,
        _ => ContainerEffect::ReadWhole,
    }
}

/// How deep a method of a container looks into it and its arguments, if deeper than at the items.
pub fn looks_inside(method: &str) -> Option<Depth> {
    match method {
        "index" | "count" | "remove" | "sort" | "__contains__" | "__eq__" | "__ne__" | "__lt__" | "__le__"
        | "__gt__" | "__ge__" => Some(Depth::Comparison),
        "__repr__" | "__str__" | "__format__" => Some(Depth::Text),
        _ => None,
    }
}

/// What a call is given.
pub fn given<'py>(arguments: &Bound<'py, PyTuple>, keywords: Option<&Bound<'py, PyDict>>) -> Vec<Bound<'py, PyAny>> {
    let named = keywords.into_iter().flat_map(|keywords| keywords.values().iter().collect::<Vec<_>>());
    arguments.iter().chain(named).collect()
}

impl Host {
    /// Whether looking at the object that deep reads nothing that could be shared.
    #[inline]
    pub fn tells_nothing(&self, object: &Bound<'_, PyAny>, depth: Depth) -> bool {
        if has_nothing_inside(object) {
            return true;
        }
        let Some(mut state) = self.awake() else { return true };
        if !state.running() {
            return true;
        }
        if state.contents.shown.names && depth >= Depth::Text {
            return false;
        }
        let facts = state.types.facts(object);
        match facts.kind {
            TypeKind::Immutable if shows_what_it_holds(object, depth) && holds_objects(object) => false,
            TypeKind::Immutable | TypeKind::Instance => {
                !depth.looks_into(&facts) && (depth == Depth::Items || !object.is_instance_of::<PyTuple>())
            }
            TypeKind::Module => depth < Depth::Text,
            TypeKind::Class => true,
            _ => false,
        }
    }

    /// A key is about to be hashed and compared, which code that is not instrumented can do by looking into it.
    pub fn look_at_key<'py>(&self, py: Python<'py>, key: &Bound<'py, PyAny>) -> PyResult<()> {
        let looks = {
            let mut state = self.state();
            let facts = state.types.facts(key);
            facts.kind == TypeKind::Instance && facts.compared_by_foreign_code
        };
        if looks {
            self.look(py, std::slice::from_ref(key), Depth::Comparison)?;
        }
        Ok(())
    }

    /// Objects are about to be read as wholes, by one operation.
    pub fn look<'py>(&self, py: Python<'py>, objects: &[Bound<'py, PyAny>], depth: Depth) -> PyResult<()> {
        let parts = self.reading_parts(objects, depth);
        let event = self.access_wholes(py, &parts, depth)?;
        self.note_reads(py, &parts, event);
        Ok(())
    }

    /// Those of the objects in which an operation that looks that deep reads something that could be shared.
    pub fn reading_parts<'py>(&self, objects: &[Bound<'py, PyAny>], depth: Depth) -> Vec<Part<'py>> {
        let told = objects.iter().filter(|object| !self.tells_nothing(object, depth));
        told.map(|object| Part { object: object.clone(), effect: reading_effect(self.kind(object)) }).collect()
    }

    /// Tell the recorder of containers that were read as wholes.
    pub fn note_reads(&self, py: Python<'_>, parts: &[Part<'_>], event: bool) {
        for Part { object, .. } in parts {
            let kind = self.kind(object);
            if kind.is_container() || kind == TypeKind::View {
                self.note(py, Word::ReadAll, Some(object), None, Some(object), event);
            }
        }
    }

    /// Whether an operation on an argument as a whole can run code in Python: it is a generator, an iterator over one,
    /// or an object whose class is written in Python.
    pub fn may_call_back(&self, object: &Bound<'_, PyAny>) -> bool {
        !has_nothing_inside(object) && matches!(self.kind(object), TypeKind::Iterator | TypeKind::Instance)
    }

    /// Perform one operation on several objects: as an event if one of them races. Returns whether it was one.
    pub fn access_wholes<'py>(&self, py: Python<'py>, parts: &[Part<'py>], depth: Depth) -> PyResult<bool> {
        self.perform_look(py, &Looking::at(parts, &[], depth))
    }

    /// The operation of built-in code on several things at once, the first of which is `target`.
    pub fn whole_operation(&self, target: LocationId, writes: bool) -> Operation {
        let kind = match writes {
            // What it does depends on what it finds.
            true if self.state().driver.wants_values() => OperationKind::ReadModifyWrite,
            true => OperationKind::Store,
            false => OperationKind::Load,
        };
        Operation {
            kind,
            target,
            detail: target.0,
            order: MemoryOrder::SequentiallyConsistent,
            buffering: Buffering::Drains,
        }
    }

    /// Before an operation changes what it finds in objects that it is given, those of the model's modules: code that
    /// nobody looks into may change all of it, and an iterator advances those that it runs over.
    fn check_fresh_inside<'py>(&self, py: Python<'py>, depth: Depth, found: &Found<'py>) -> PyResult<()> {
        {
            let state = self.state();
            if !state.puts_back() || state.exploration.settings.fresh_modules {
                return Ok(());
            }
        }
        let outlives = |object: &Bound<'py, PyAny>| {
            let mut state = self.state();
            let named = matches!(state.types.facts(object).kind, TypeKind::Class | TypeKind::Module);
            !named && !state.lasting.contains(object) && state.is_permanent(object)
        };
        let changes = |inside: &Inside| depth == Depth::Everything || inside.written;
        let changed = found.iter().filter(|(object, inside)| changes(inside) && outlives(object));
        changed.map(|(object, _)| object).try_for_each(|object| self.check_fresh(py, object))
    }

    /// The same for all that an operation looks at.
    pub fn perform_look<'py>(&self, py: Python<'py>, looking: &Looking<'_, 'py>) -> PyResult<bool> {
        Ok(matches!(self.perform_look_at(py, looking)?, Performed::Event))
    }

    /// The same, and gives what was found. To look once more costs as much as the operation.
    pub fn perform_look_at<'py>(&self, py: Python<'py>, looking: &Looking<'_, 'py>) -> PyResult<Performed<'py>> {
        let nothing = looking.parts.is_empty()
            && looking.paths.is_empty()
            && looking.results.values.is_empty()
            && looking.held.is_empty();
        if nothing || !self.awake().is_some_and(|state| state.running()) {
            return Ok(Performed::Quietly(Vec::new()));
        }
        let parts = looking.parts;
        for part in parts {
            self.note_native_use(&part.object)?;
        }
        self.drain_if_owed(py)?;
        let advances = |value: &Bound<'py, PyAny>| self.kind(value) == TypeKind::Iterator;
        let advances_results = looking.results.values.iter().any(advances);
        let writes = looking.writes() || advances_results;
        for part in parts.iter().filter(|part| !part.effect.reads_only()) {
            match looking.depth {
                // What code that nobody looks into changes is not known.
                Depth::Everything => self.check_fresh(py, &part.object)?,
                _ => self.check_fresh_whole(py, &part.object)?,
            }
        }
        let advances_others = || {
            let advances_part = |part: &Part<'py>| !part.effect.reads_only() && advances(&part.object);
            self.state().lasting.has_iterators && (advances_results || parts.iter().any(advances_part))
        };
        let mut look = self.state().look(looking);
        if writes && (looking.depth == Depth::Everything || advances_others()) {
            self.check_fresh_inside(py, looking.depth, &look.found)?;
        }
        if self.state().heap.reads.enabled {
            self.gather_wholes(py, looking)?;
            look = self.state().look(looking);
        }
        let target = {
            let mut state = self.state();
            let (accesses, _, found) = state.accesses_of(look);
            if state.phase == Phase::Probing {
                state.probe(py, &accesses)?;
                return Ok(Performed::Quietly(found));
            }
            let first = accesses.iter().find(|access| state.is_visible(access.location));
            match first {
                Some(access) => access.location,
                None if state.run.halted && !accesses.is_empty() => accesses[0].location,
                None => {
                    state.quiet(&accesses);
                    state.plain_access(&accesses);
                    return Ok(Performed::Quietly(found));
                }
            }
        };
        self.perform(py, self.whole_operation(target, writes), 1, |state| {
            let (accesses, owners) = state.whole_accesses(looking);
            state.plain_access(&accesses);
            let mut visible = state.visible_part(accesses);
            for owner in owners {
                let location = state.identities.location(owner, KeyId::NESTED, false);
                visible.push(access(location, AccessMode::Read));
            }
            Footprint { accesses: Some(visible), before: Some(0), found: None }
        })?;
        if writes {
            self.state().affect_loops();
        }
        self.require_ordered_whole(py)?;
        for part in parts.iter().filter(|part| !part.effect.reads_only()) {
            if self.keeps_undo() {
                if let Some(undo) = Undo::of_container(&part.object)? {
                    self.keep_undo(undo);
                }
            }
        }
        Ok(Performed::Event)
    }
}

#[pymethods]
impl Host {
    /// `left` and `right` are about to be compared by identity; gives `right`, or `left` if they are symbolic values
    /// that stand for the same number or truth value.
    #[pyo3(signature = (left, right, /))]
    fn identical<'py>(
        &self,
        py: Python<'py>,
        left: &Bound<'py, PyAny>,
        right: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if left.is(&right) || !(self.is_symbolic(left) || self.is_symbolic(&right)) {
            self.note_identity(left, &right);
            return Ok(right);
        }
        let Some(solver) = self.solver(py) else { return Ok(right) };
        let same: bool = solver.bind(py).call_method1(intern!(py, "identical"), (left, &right))?.extract()?;
        Ok(if same { left.clone() } else { right })
    }

    /// A value that has to be a number or a truth value of Python's own.
    #[pyo3(signature = (object, /))]
    fn number<'py>(&self, py: Python<'py>, object: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match self.is_symbolic(&object) {
            true => object.call_method0(intern!(py, "__dpor_concrete__")),
            false => Ok(object),
        }
    }
}
