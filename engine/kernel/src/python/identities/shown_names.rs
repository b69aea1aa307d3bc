//! Names of functions, classes and modules that the text of an object shows, and texts about them that functions look
//! for. Nobody changes them while other threads run, as a rule; once somebody does, all texts read them. The text of a
//! module does so from the beginning.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

use crate::operation::AccessMode;
use crate::python::calls::builtins::CallableKind;
use crate::python::footprints::look::{Depth, Look};
use crate::python::host::Host;
use crate::python::modules::module_variables::instrumented_namespace;
use crate::python::state::State;
use crate::python::types::kinds::TypeKind;

const SHOWN: &[&str] = &["__doc__", "__file__", "__loader__", "__module__", "__name__", "__qualname__", "__spec__"];

/// What programs look at that most do not, beside other threads.
#[derive(Default)]
pub struct Shown {
    /// The text of an RLock or a Condition, which tells how often the lock is held and how many wait.
    pub waits: bool,
    /// What raising stores in an exception, also after the other threads.
    pub raised: bool,
    /// Texts that depend on the name of a function or class, which gets another one.
    pub names: bool,
}

impl State {
    /// Note what the text of an object reads of names.
    pub fn look_at_names<'py>(&mut self, look: &mut Look<'py>, object: &Bound<'py, PyAny>, kind: TypeKind) {
        if look.depth < Depth::Text {
            return;
        }
        let py = object.py();
        let named = match self.code.builtins.kind_of(object) {
            CallableKind::Function => object.clone(),
            CallableKind::BoundMethod => object.getattr(intern!(py, "__func__")).unwrap_or_else(|_| object.clone()),
            _ if matches!(kind, TypeKind::Class | TypeKind::Module) => object.clone(),
            _ => object.get_type().into_any(),
        };
        for name in SHOWN {
            let name = PyString::intern(py, name);
            let variables = if kind == TypeKind::Module { instrumented_namespace(&named) } else { None };
            let slot = match variables {
                Some(variables) => Some(self.slot_of_variable(&variables, &name)),
                None => self.attribute_slot(&named, &name),
            };
            if let Some(slot) = slot {
                look.add(slot.accesses(AccessMode::Read));
            }
        }
    }
}

impl Host {
    /// An attribute of an object is about to be changed.
    #[inline]
    pub fn note_name_change(&self, object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) {
        if name.to_str().is_ok_and(|name| SHOWN.contains(&name)) {
            self.names_change(object);
        }
    }

    #[cold]
    fn names_change(&self, object: &Bound<'_, PyAny>) {
        let named = self.kind(object) == TypeKind::Class || self.callable_kind(object) == CallableKind::Function;
        let Some(mut state) = self.awake().filter(|state| named && state.running()) else { return };
        if state.has_no_company() || std::mem::replace(&mut state.contents.shown.names, true) {
            return;
        }
        state.exploration.learning.learned();
    }
}
