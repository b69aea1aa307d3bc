//! The dicts of attributes of instances, where a program reaches them as dicts.

use pyo3::intern;
use pyo3::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::container_effects::ContainerEffect;
use super::host::{report_escape, Host};
use super::identity::ObjectId;
use super::place::lacks_dict;
use super::types::TypeKind;
use super::whole_reads::{Depth, Part};

#[derive(Default)]
pub struct InstanceDicts {
    /// Instances whose `__dict__` was reached as a dict.
    reached: FxHashSet<ObjectId>,
    /// Dicts that functions keep: of their attributes, their annotations, their defaults.
    of_functions: FxHashSet<ObjectId>,
    /// Instances whose `__dict__` is a dict that the program has given them, in this execution.
    replaced: FxHashMap<ObjectId, ObjectId>,
}

impl InstanceDicts {
    pub fn note(&mut self, instance: ObjectId) {
        self.reached.insert(instance);
    }

    /// The object is a dict that a function keeps: whoever touches it first, it may exist before executions begin.
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
    pub fn replace(&mut self, instance: ObjectId, dict: ObjectId) {
        self.replaced.insert(instance, dict);
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

impl Host {
    /// Somebody asks for the `__dict__` of an object. If it has none yet, it is made now, and what tells the state of the
    /// object shows it.
    pub fn touch_new_dict<'py>(&self, py: Python<'py>, object: &Bound<'py, PyAny>) -> PyResult<()> {
        self.note_look(object, None)?;
        self.refuse_insides(py, object, intern!(py, "__dict__"))?;
        let kind = self.kind(object);
        if kind == TypeKind::Module {
            self.note_look_at_module(py, object);
        }
        if kind == TypeKind::Instance {
            self.watch_left_class(object)?;
            self.note_dict_of_member(object);
        }
        if (kind == TypeKind::Instance || kind.has_content()) && lacks_dict(object)? {
            let made = Part { object: object.clone(), effect: ContainerEffect::WriteWhole };
            self.touch_wholes(py, &[made], Depth::Items)?;
        }
        Ok(())
    }

    /// Let the dict of an instance's attributes stand for the instance, and what shows those of a class for the class. That
    /// of a list or dict stands for it with its items, which are more.
    pub fn alias_instance_dict(&self, namespace: &Bound<'_, PyAny>, object: &Bound<'_, PyAny>) {
        let Some(mut state) = self.awake() else { return };
        let facts = state.types.facts(object);
        if !state.running() {
            return;
        }
        if let (TypeKind::Immutable, Some(id)) = (facts.kind, state.function(object)) {
            if state.reads.enabled && state.executes() {
                state.untreated.get_or_insert("the attributes of a function as a dict");
            }
            state.instance_dicts.note(id);
            state.instance_dicts.note_of_function(id);
            state.take_whole(facts.token);
            return state.alias(namespace, id);
        }
        if matches!(facts.kind, TypeKind::Instance | TypeKind::Class) || facts.kind.has_content() {
            let id = state.object(object, facts);
            if facts.kind == TypeKind::Class {
                if state.reads.enabled && state.executes() {
                    state.untreated.get_or_insert("the attributes of a class as a dict");
                }
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
            state.instance_dicts.replace(id, dict.object);
        }
        Ok(())
    }

    pub fn check_lone_replacement(&self, py: Python<'_>) -> PyResult<()> {
        if !self.state().has_no_company() {
            report_escape(py, "stores to the __dict__ of an object while other threads run")?;
        }
        Ok(())
    }
}
