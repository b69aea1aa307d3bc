//! What an object stands for that code in C has just given: a view for what it shows, a search for the buffer that it
//! goes through, anything else for itself.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyMemoryView;

use crate::python::explore::assumptions::AssumptionKind;
use crate::python::footprints::insides::referents;
use crate::python::host::Host;
use crate::python::types::kinds::TypeKind;
use crate::python::types::native_types::is_native;

impl Host {
    /// While a view of memory lives, what it shows cannot be resized; when it ends is not followed.
    pub fn assume_view_end(&self, py: Python<'_>, made: &Bound<'_, PyAny>, event: bool) {
        if event && made.is_instance_of::<PyMemoryView>() {
            self.assume(py, AssumptionKind::ObjectEnd, "memoryview");
        }
    }

    /// Let a view or iterator stand for the container that it looks at.
    pub fn alias_of(&self, alias: &Bound<'_, PyAny>, object: &Bound<'_, PyAny>) {
        let mut state = self.state();
        if !state.running() || alias.is(object) {
            return;
        }
        if let (Some(container), TypeKind::View) = (state.container(object), state.types.facts(alias).kind) {
            state.alias(alias, container.object);
        }
    }

    /// Let an object in C stand for the buffer that it was made with, unless it tells that it holds that: what
    /// `finditer` gives searches it later.
    pub fn stand_for_buffer(&self, made: &Bound<'_, PyAny>, given: &[Bound<'_, PyAny>]) {
        let Some(mut state) = self.awake().filter(|state| state.running()) else { return };
        // What is known has not just been made: a function may give what it is given.
        if !is_native(state.types.facts(made).kind) || state.objects.is_known(made) {
            return;
        }
        let changes = |kind: TypeKind| matches!(kind, TypeKind::Opaque | TypeKind::View);
        // SAFETY: the object is valid.
        let is_buffer = |object: &&Bound<'_, PyAny>| unsafe { ffi::PyObject_CheckBuffer(object.as_ptr()) != 0 };
        let buffer = given.iter().filter(is_buffer).find(|object| changes(state.types.facts(object).kind));
        let Some(buffer) = buffer.filter(|buffer| !referents(made).iter().any(|held| held.is(*buffer))) else {
            return;
        };
        if let Some(container) = state.container(buffer) {
            state.alias(made, container.object);
        }
    }

    /// Give what an operation on an item has found, or what an operation has made, an identity.
    pub fn adopt_result(&self, result: &Bound<'_, PyAny>, object: &Bound<'_, PyAny>, key: Option<&Bound<'_, PyAny>>) {
        let mut state = self.state();
        if !state.running() || !state.types.facts(result).kind.is_tracked() {
            return;
        }
        let key = key.and_then(|key| state.identities.item(key));
        match (state.container(object), key) {
            (Some(container), Some(key)) => state.adopt(result, container.object, key),
            _ => {
                let facts = state.types.facts(result);
                state.object(result, facts);
            }
        }
    }
}
