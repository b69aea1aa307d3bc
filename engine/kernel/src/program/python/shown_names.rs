//! Names of functions and classes that the text of an object shows, and texts about them that functions look for. Nobody changes them while other threads run, as a rule;
//! once somebody does, all texts read them.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;

use super::builtins::CallableKind;
use super::host::Host;
use super::state::{Restart, State};
use super::types::TypeKind;
use super::whole_reads::{Depth, Look};
use crate::operation::AccessMode;

const SHOWN: &[&str] = &["__name__", "__qualname__", "__module__", "__doc__"];

impl State {
    /// Note what the text of an object reads of names.
    pub fn look_at_names<'py>(&mut self, look: &mut Look<'py>, object: &Bound<'py, PyAny>, kind: TypeKind) {
        if look.depth < Depth::Text {
            return;
        }
        let py = object.py();
        let named = match self.builtins.kind_of(object) {
            CallableKind::Function => object.clone(),
            CallableKind::BoundMethod => object.getattr(intern!(py, "__func__")).unwrap_or_else(|_| object.clone()),
            _ if kind == TypeKind::Class => object.clone(),
            _ => object.get_type().into_any(),
        };
        for name in SHOWN {
            if let Some(slot) = self.attribute_slot(&named, &PyString::intern(py, name)) {
                look.touches(slot.accesses(AccessMode::Read));
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
        if state.has_no_company() || std::mem::replace(&mut state.names_change, true) {
            return;
        }
        if state.learning {
            state.restart.get_or_insert(Restart::Visible);
        }
    }
}
