//! The dicts of attributes of instances, where a program reaches them as dicts.

use rustc_hash::{FxHashMap, FxHashSet};

use super::identity::ObjectId;

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
