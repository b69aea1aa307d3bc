//! Who an object is: from its address, while it is kept alive, to its identity.
//!
//! Objects that exist before executions begin are known for the whole check; the others for one execution.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyMemoryView, PyType};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::python::footprints::insides::referents;
use crate::python::host::Host;
use crate::python::identities::found_objects::FoundObjects;
use crate::python::identities::identity::{KeyId, ObjectId};
use crate::python::identities::made_functions::MadeFunctions;
use crate::python::modules::namespaces::is_instrumented_namespace;
use crate::python::state::{Phase, State};
use crate::python::types::foreign_types::memory_owner;
use crate::python::types::kinds::TypeKind;
use crate::python::types::TypeFacts;

/// The identities of one kind of objects by address; they are kept alive so that addresses keep their meaning.
#[derive(Default)]
struct Known {
    by_address: FxHashMap<usize, ObjectId>,
    kept: Vec<Py<PyAny>>,
}

impl Known {
    fn get(&self, object: &Bound<'_, PyAny>) -> Option<ObjectId> {
        self.by_address.get(&(object.as_ptr() as usize)).copied()
    }

    fn insert(&mut self, object: &Bound<'_, PyAny>, id: ObjectId) {
        self.by_address.insert(object.as_ptr() as usize, id);
        self.kept.push(object.clone().unbind());
    }
}

/// The tracked objects of a check.
#[derive(Default)]
pub struct Objects {
    /// Those of the running execution.
    current: Known,
    /// Those that exist before executions begin.
    permanent: Known,
    /// Identities by the place where an object was first found, which is not the same place in every execution.
    adopted: FxHashSet<ObjectId>,
    pub functions: MadeFunctions,
    pub found: FoundObjects,
}

impl Objects {
    /// The identity of an object that controlled code has made, or that exists before executions begin.
    pub fn made(&self, object: &Bound<'_, PyAny>) -> Option<ObjectId> {
        let known = self.current.get(object).or_else(|| self.permanent.get(object))?;
        (!self.adopted.contains(&known)).then_some(known)
    }

    /// The identity of an object that the running execution has made or found.
    #[inline]
    pub fn current(&self, object: &Bound<'_, PyAny>) -> Option<ObjectId> {
        self.current.get(object)
    }

    /// Whether the object has an identity.
    pub fn is_known(&self, object: &Bound<'_, PyAny>) -> bool {
        self.current.get(object).is_some() || self.permanent.get(object).is_some()
    }

    /// An object by its identity. Slow.
    pub fn known_as(&self, py: Python<'_>, id: ObjectId) -> Option<Py<PyAny>> {
        [&self.current, &self.permanent].into_iter().find_map(|known| {
            let (address, _) = known.by_address.iter().find(|(_, found)| **found == id)?;
            known.kept.iter().find(|object| object.as_ptr() as usize == *address).map(|object| object.clone_ref(py))
        })
    }

    /// Whether there are objects of an execution.
    pub fn keeps_any(&self) -> bool {
        !self.current.kept.is_empty()
    }

    /// Forget those of the last execution; they are to be dropped without a borrow of the state.
    pub fn forget_current(&mut self) -> Vec<Py<PyAny>> {
        self.functions.forget();
        self.found.forget_current();
        self.current.by_address.clear();
        let room = Vec::with_capacity(self.current.kept.len());
        std::mem::replace(&mut self.current.kept, room)
    }

    /// Forget all classes: they are found again by their names. They are to be dropped without a borrow of the state.
    pub fn forget_classes(&mut self, py: Python<'_>) -> Vec<Py<PyAny>> {
        let permanent = std::mem::take(&mut self.permanent.kept);
        let (classes, kept): (Vec<_>, _) =
            permanent.into_iter().partition(|object| object.bind(py).is_instance_of::<PyType>());
        self.permanent.kept = kept;
        for class in &classes {
            self.permanent.by_address.remove(&(class.as_ptr() as usize));
        }
        classes
    }
}

impl State {
    /// The identity of the next object of a type that the running thread makes (or import time).
    pub fn next_object(&mut self, token: u32) -> ObjectId {
        if self.phase == Phase::Idle {
            return self.identities.anonymous(token);
        }
        self.identities.created(self.actor(), token)
    }

    /// The identity of a tracked object that is used, given now if it has none.
    #[inline]
    pub fn object(&mut self, object: &Bound<'_, PyAny>, facts: TypeFacts) -> ObjectId {
        let id = self.known_object(object, facts);
        self.note_suspended(object, id, facts.kind);
        id
    }

    /// The same of one that is not used yet.
    #[inline]
    pub fn known_object(&mut self, object: &Bound<'_, PyAny>, facts: TypeFacts) -> ObjectId {
        match self.objects.current.get(object) {
            Some(known) => {
                self.note_use_of_found(known, facts.token);
                known
            }
            None => self.register(object, facts),
        }
    }

    #[cold]
    fn register(&mut self, object: &Bound<'_, PyAny>, facts: TypeFacts) -> ObjectId {
        if let Some(known) = self.objects.permanent.get(object) {
            return known;
        }
        if let Some(shown) = shown_by_memory_view(object) {
            // Not the view itself: while it lives, what it shows cannot be resized.
            let facts = self.types.facts(&shown);
            return self.object(&shown, facts);
        }
        if let Some(base) = self.memory_owner(object, facts) {
            let base_facts = self.types.facts(&base);
            let id = self.object(&base, base_facts);
            self.remember(object, id);
            return id;
        }
        if let Some(shown) = shown_by_view(object, facts) {
            // Whoever has made the view, and when: it is a way to its container.
            let shown_facts = self.types.facts(&shown);
            let id = self.object(&shown, shown_facts);
            self.remember(object, id);
            return id;
        }
        if let (TypeKind::Dict, Ok(variables)) = (facts.kind, object.cast_exact::<PyDict>()) {
            if is_instrumented_namespace(variables) {
                return self.namespace(variables);
            }
        }
        if matches!(facts.kind, TypeKind::Class | TypeKind::Module) {
            // Classes and modules are who they are by name, whoever accesses them first.
            let token = self.types.name_token(object);
            let id = self.identities.part(ObjectId::NAMED, KeyId(token), facts.token);
            if self.exploration.settings.fresh_modules {
                self.remember(object, id);
            } else {
                self.objects.permanent.insert(object, id);
            }
            return id;
        }
        if facts.tells_end {
            self.types.note_weak(object);
        }
        let id = self.next_object(facts.token);
        self.note_found(id, facts.token);
        self.remember(object, id);
        id
    }

    /// The identity of a module's namespace.
    pub fn namespace(&mut self, namespace: &Bound<'_, PyDict>) -> ObjectId {
        if let Some(known) = self.objects.current.get(namespace) {
            return known;
        }
        let name = namespace.get_item("__name__").ok().flatten();
        let name = name.map(|name| name.to_string()).unwrap_or_default();
        let token = self.types.token(format!("module {name}"));
        let id = self.identities.part(ObjectId::NAMED, KeyId(token), token);
        self.objects.current.insert(namespace, id);
        id
    }

    /// The object whose memory an object in C of which nothing else is known shows.
    fn memory_owner<'py>(&self, object: &Bound<'py, PyAny>, facts: TypeFacts) -> Option<Bound<'py, PyAny>> {
        let computes = self.types.computes && facts.kind == TypeKind::Opaque;
        computes.then(|| memory_owner(object)).flatten()
    }

    fn remember(&mut self, object: &Bound<'_, PyAny>, id: ObjectId) {
        let known = if self.phase == Phase::Idle { &mut self.objects.permanent } else { &mut self.objects.current };
        known.insert(object, id);
    }

    /// Give an object that is seen for the first time as the value at `key` of `parent` an identity by that place.
    #[inline]
    pub fn adopt(&mut self, value: &Bound<'_, PyAny>, parent: ObjectId, key: KeyId) {
        let facts = self.types.facts(value);
        if matches!(facts.kind, TypeKind::Immutable | TypeKind::Module | TypeKind::Class) {
            return;
        }
        if facts.kind == TypeKind::View || self.memory_owner(value, facts).is_some() {
            self.object(value, facts);
            return;
        }
        match self.objects.current.get(value) {
            Some(known) => self.note_use_of_found(known, facts.token),
            None if self.objects.permanent.get(value).is_some() => {}
            None => {
                let id = self.identities.part(parent, key, facts.token);
                self.objects.adopted.insert(id);
                self.note_found(id, facts.token);
                self.remember(value, id);
            }
        }
    }

    /// Let `alias` (a view or iterator of `object`) stand for the object.
    pub fn alias(&mut self, alias: &Bound<'_, PyAny>, object: ObjectId) {
        if shown_by_memory_view(alias).is_none() {
            self.remember(alias, object);
        }
    }

    /// A view of memory is about to be released: it no longer tells then what it has shown, for which it stands.
    pub fn keep_view(&mut self, view: &Bound<'_, PyAny>) {
        if self.running() && view.is_instance_of::<PyMemoryView>() {
            let facts = self.types.facts(view);
            let shown = self.object(view, facts);
            self.remember(view, shown);
        }
    }

    /// The same for an object that exists before executions begin.
    pub fn alias_permanent(&mut self, alias: &Bound<'_, PyAny>, object: ObjectId) {
        self.objects.permanent.insert(alias, object);
    }

    pub fn is_permanent(&self, object: &Bound<'_, PyAny>) -> bool {
        self.objects.current.get(object).is_none() && self.objects.permanent.get(object).is_some()
    }
}

#[pymethods]
impl Host {
    /// What `id` gives in a model: of an object whose identity matters a number that is the same whenever the same
    /// schedule is followed, so that a program which keeps objects by it does the same each time; of others the
    /// address.
    #[pyo3(signature = (object, /))]
    fn id(&self, object: &Bound<'_, PyAny>) -> u64 {
        let address = object.as_ptr() as u64;
        if self.awake().is_none() {
            return address;
        }
        self.note_drawn_number(object.py(), "id");
        let mut state = self.state();
        if let Some(number) = state.number_of_made(object) {
            return number;
        }
        let facts = state.types.facts(object);
        if !matches!(facts.kind, TypeKind::Instance | TypeKind::Iterator) && !facts.kind.is_container() {
            return address;
        }
        if state.memory_owner(object, facts).is_some() {
            return address;
        }
        let known = state.object(object, facts);
        let number = state.identities.number(known, facts.token, state.types.name_of(facts.token));
        number.unwrap_or(address)
    }
}

/// The container that a view of another kind than of memory looks at.
fn shown_by_view<'py>(view: &Bound<'py, PyAny>, facts: TypeFacts) -> Option<Bound<'py, PyAny>> {
    if facts.kind != TypeKind::View || view.is_instance_of::<PyMemoryView>() {
        return None;
    }
    referents(view).into_iter().next()
}

/// The object whose memory a `memoryview` shows; None for anything else.
pub fn shown_by_memory_view<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    if !object.is_instance_of::<PyMemoryView>() {
        return None;
    }
    let shown = object.getattr(intern!(object.py(), "obj")).ok()?;
    // That of a BytesIO shows an object of its own, which stands for the stream.
    if shown.get_type().name().is_ok_and(|name| name == "_BytesIOBuffer") {
        return referents(&shown).into_iter().next();
    }
    (!shown.is_none()).then_some(shown)
}
