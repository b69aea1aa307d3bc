//! Objects that a turn of an event loop finds and that no code with hooks has made: what `json.loads` gives, or an
//! object of a module that runs unseen.
//!
//! Such an object is known by the turn that uses it first, or by the place where that finds it: in another order of turns
//! by another one. A step that sleeps, or is planned, would then not be seen to access what others access. So where turns
//! of several agents use such an object, who finds one of its type writes a location of the type from then on: those who
//! may give names depend on each other. Threads need none of this: each of their events is one access, of which the
//! explorers learn again whenever a thread arrives at it.

use pyo3::ffi;
use pyo3::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::operation::ThreadId;
use crate::python::identities::identity::ObjectId;
use crate::python::state::State;

/// How many references there are to a new object that nobody else has.
#[derive(Clone, Copy)]
pub enum References {
    /// A call has just given it.
    OfCall = 1,
    /// It is the argument of a hook, too.
    OfHook = 2,
}

#[derive(Default)]
pub struct FoundObjects {
    /// Whose turn has found an object of the running execution.
    finders: FxHashMap<ObjectId, ThreadId>,
    /// Types, by their tokens, of which several agents have used one.
    shared: FxHashSet<u32>,
}

impl FoundObjects {
    /// Forget those of the last execution.
    pub fn forget_current(&mut self) {
        self.finders.clear();
    }
}

impl State {
    /// An object of a type is known from now on, whose name its finder decides.
    #[inline]
    pub fn note_found(&mut self, object: ObjectId, token: u32) {
        if !self.waits.turns.are_events() {
            return;
        }
        let actor = self.actor();
        self.objects.found.finders.insert(object, actor);
        if self.objects.found.shared.contains(&token) {
            self.touch_naming(token);
        }
    }

    /// An object of a type is used that is known already.
    #[inline]
    pub fn note_use_of_found(&mut self, object: ObjectId, token: u32) {
        if self.waits.turns.are_events() {
            self.note_shared_find(object, token);
        }
    }

    fn note_shared_find(&mut self, object: ObjectId, token: u32) {
        let Some(finder) = self.objects.found.finders.get(&object) else { return };
        if *finder != self.actor() && self.objects.found.shared.insert(token) {
            self.exploration.learning.learned();
        }
    }

    /// Whoever runs has not found an object but made it, if nobody else has it.
    pub fn note_made(&mut self, made: &Bound<'_, PyAny>, object: ObjectId, references: References) {
        if !self.waits.turns.are_allowed() {
            return;
        }
        // SAFETY: the object is alive.
        let is_fresh = unsafe { ffi::Py_REFCNT(made.as_ptr()) } <= references as isize;
        let actor = self.actor();
        if !is_fresh {
            return;
        }
        self.forget_user(object);
        if self.objects.found.finders.get(&object) == Some(&actor) {
            self.objects.found.finders.remove(&object);
        }
    }
}
