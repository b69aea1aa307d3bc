//! The dicts of attributes of instances, where a program reaches them as dicts.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::python::calls::builtins::CallableKind;
use crate::python::explore::assumptions::AssumptionKind;
use crate::python::explore::refusals::Refusal;
use crate::python::footprints::container_effects::ContainerEffect;
use crate::python::footprints::containers::Container;
use crate::python::footprints::insides::own_dict;
use crate::python::footprints::look::{Depth, Part};
use crate::python::footprints::slots::Slot;
use crate::python::heap::place::lacks_dict;
use crate::python::host::{report_uncontrolled, Host};
use crate::python::identities::identity::{KeyId, ObjectId};
use crate::python::modules::rebinding::can_be_hidden;
use crate::python::state::State;
use crate::python::types::harmless_methods::is_own;
use crate::python::types::kinds::{module_of, qualified_name, TypeKind};
use crate::python::types::TypeFacts;

#[derive(Default)]
pub struct InstanceDicts {
    /// Instances whose `__dict__` was reached as a dict.
    reached: FxHashSet<ObjectId>,
    /// The types of these, by what stands for the dict.
    types: FxHashMap<ObjectId, u32>,
    /// What a thread beside others has stored in or deleted from such a dict: an attribute of a type, or any (None). It
    /// may hide what the class has under that name.
    written: FxHashSet<(u32, Option<KeyId>)>,
    /// Dicts that functions keep: of their attributes, their annotations, their defaults. Annotations of a module are
    /// one, too.
    of_functions: FxHashSet<ObjectId>,
    /// Instances whose `__dict__` is a dict that the program has given them, in this execution.
    replaced: FxHashMap<ObjectId, ObjectId>,
}

impl InstanceDicts {
    pub fn note(&mut self, instance: ObjectId, token: u32) {
        self.reached.insert(instance);
        self.types.insert(instance, token);
    }

    /// The object is a dict that a function keeps: whoever accesses it first, it may exist before executions begin.
    pub fn note_of_function(&mut self, dict: ObjectId) {
        self.of_functions.insert(dict);
    }

    pub fn is_of_function(&self, dict: ObjectId) -> bool {
        self.of_functions.contains(&dict)
    }

    /// Whether the object is an instance whose `__dict__` was reached as a dict.
    pub fn reaches(&self, object: ObjectId) -> bool {
        self.reached.contains(&object)
    }

    /// The attributes of the instance are the items of the dict from now on.
    pub fn replace(&mut self, instance: ObjectId, token: u32, dict: ObjectId) {
        self.replaced.insert(instance, dict);
        self.types.insert(dict, token);
    }

    /// Note that a dict is written, at a key or anywhere in it. Returns whether that is news of the attributes of a
    /// type.
    fn note_written(&mut self, dict: ObjectId, key: Option<KeyId>) -> bool {
        self.types.get(&dict).is_some_and(|token| self.written.insert((*token, key)))
    }

    /// Whether an instance of the type may have got an attribute by its `__dict__`.
    #[inline]
    fn may_hide(&self, token: u32, key: impl FnOnce() -> KeyId) -> bool {
        !self.written.is_empty()
            && (self.written.contains(&(token, None)) || self.written.contains(&(token, Some(key()))))
    }

    /// Whose items the attributes of the instance are: those of a dict that it was given, or its own.
    #[inline]
    pub fn replaced(&self, instance: ObjectId) -> ObjectId {
        match self.replaced.is_empty() {
            true => instance,
            false => self.replaced.get(&instance).copied().unwrap_or(instance),
        }
    }

    /// Forget what belongs to one execution.
    pub fn begin_execution(&mut self) {
        self.replaced.clear();
    }
}

impl State {
    /// An operation is about to change a dict: what it stores there may hide what a class has under that name, which
    /// was constant until then. What a thread does while it is alone, others find.
    #[inline]
    pub fn note_written_dict(
        &mut self,
        dict: &Bound<'_, PyAny>,
        container: Container,
        key: Option<&Bound<'_, PyAny>>,
    ) {
        if self.contents.instance_dicts.types.is_empty() || self.is_alone() {
            return;
        }
        let key = key.and_then(|key| self.cell_key(dict, key));
        if self.contents.instance_dicts.note_written(container.object, key) {
            self.exploration.learning.learned();
        }
    }

    /// The slot of what the class of an instance has under a name and the instance's `__dict__`, written as a dict, may
    /// hide.
    #[inline]
    pub fn hidden_slot(
        &mut self,
        object: &Bound<'_, PyAny>,
        name: &Bound<'_, PyString>,
        facts: TypeFacts,
    ) -> Option<Slot> {
        let identities = &mut self.identities;
        let may_hide = self.contents.instance_dicts.may_hide(facts.token, || identities.name(name));
        if !may_hide || !can_be_hidden(object, name).unwrap_or(true) {
            return None;
        }
        let (own, key) = (self.object(object, facts), self.identities.name(name));
        Some(self.own_slot(own, key, facts))
    }
}

impl Host {
    /// Somebody asks for the `__dict__` of an object. If it has none yet, it is made now, and what tells the state of
    /// the object shows it.
    pub fn access_new_dict<'py>(&self, py: Python<'py>, object: &Bound<'py, PyAny>) -> PyResult<()> {
        self.note_look(object, None)?;
        self.refuse_insides(py, object, intern!(py, "__dict__"))?;
        let kind = self.kind(object);
        if kind == TypeKind::Module {
            self.note_look_at_module(py, object);
        }
        if kind == TypeKind::Immutable {
            self.note_dict_beside_attributes(py, object);
        }
        if kind == TypeKind::Instance {
            self.watch_left_class(object)?;
            self.note_dict_of_member(object);
        }
        if (kind == TypeKind::Instance || kind.has_content()) && lacks_dict(object)? {
            let made = Part { object: object.clone(), effect: ContainerEffect::WriteWhole };
            self.access_wholes(py, &[made], Depth::Items)?;
        }
        Ok(())
    }

    /// Somebody asks for the `__dict__` of an object whose attributes are taken for constant, such as a `staticmethod`:
    /// what is stored there, who loads an attribute does not see.
    fn note_dict_beside_attributes(&self, py: Python<'_>, object: &Bound<'_, PyAny>) {
        let class = object.get_type();
        let matters = self.awake().is_some_and(|state| {
            let kind = state.code.builtins.kind_of(object);
            let is_function = matches!(kind, CallableKind::Function | CallableKind::BoundMethod);
            !is_function && state.executes() && !state.has_no_company()
        });
        if matters && !is_own(&class) && own_dict(object).is_some() {
            let subject = format!("{}.{}.__dict__", module_of(&class), qualified_name(&class));
            self.assume(py, AssumptionKind::UnseenCode, &subject);
        }
    }

    /// Let the dict of an instance's attributes stand for the instance, and what shows those of a class for the class.
    /// That of a list or dict stands for it with its items, which are more.
    pub fn alias_instance_dict(&self, namespace: &Bound<'_, PyAny>, object: &Bound<'_, PyAny>) {
        let Some(mut state) = self.awake() else { return };
        let facts = state.types.facts(object);
        if !state.running() {
            return;
        }
        if let (TypeKind::Immutable, Some(id)) = (facts.kind, state.function(object)) {
            if state.heap.reads.enabled && state.executes() {
                state.exploration.refusals.add(Refusal::Untreated("the attributes of a function as a dict"));
            }
            state.contents.instance_dicts.note(id, facts.token);
            state.contents.instance_dicts.note_of_function(id);
            state.take_whole(facts.token);
            return state.alias(namespace, id);
        }
        if matches!(facts.kind, TypeKind::Instance | TypeKind::Class) || facts.kind.has_content() {
            let id = state.object(object, facts);
            if facts.kind == TypeKind::Class {
                if state.heap.reads.enabled && state.executes() {
                    state.exploration.refusals.add(Refusal::Untreated("the attributes of a class as a dict"));
                }
                state.take_whole(facts.token);
                return state.alias(namespace, id);
            }
            if state.contents.instance_dicts.replaced(id) != id {
                return;
            }
            state.contents.instance_dicts.note(id, facts.token);
            state.take_whole(facts.token);
            if state.is_permanent(object) {
                state.alias_permanent(namespace, id);
            } else {
                state.alias(namespace, id);
            }
        }
    }

    /// `object.__dict__ = value`: the attributes are the items of that dict from now on, which other objects can share.
    /// A thread that is alone may do so; beside others, which attribute an access means would depend on its place.
    pub fn replace_instance_dict(
        &self,
        py: Python<'_>,
        value: &Bound<'_, PyAny>,
        object: &Bound<'_, PyAny>,
        put: impl FnOnce() -> PyResult<()>,
    ) -> PyResult<()> {
        self.check_lone_replacement(py)?;
        self.check_fresh(py, object)?;
        let object = object.clone();
        put()?;
        let mut state = self.state();
        let facts = state.types.facts(&object);
        let id = state.object(&object, facts);
        if let Some(dict) = state.container(value) {
            state.contents.instance_dicts.replace(id, facts.token, dict.object);
            state.take_whole(facts.token);
        }
        Ok(())
    }

    pub fn check_lone_replacement(&self, py: Python<'_>) -> PyResult<()> {
        if !self.state().has_no_company() {
            report_uncontrolled(py, "stores to the __dict__ of an object while other threads run")?;
        }
        Ok(())
    }
}
