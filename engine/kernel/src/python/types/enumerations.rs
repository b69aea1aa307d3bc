//! Enumerations: the code of `enum` runs unseen. What it keeps of a class and of its members does not change once the
//! class is made, but for combinations of flags, of which it makes no difference when they are made (each execution
//! makes its own, see `dpor.instrument.combined_flags`). Where a program sees it after all, or changes it, that is
//! named.

use pyo3::prelude::*;
use pyo3::types::{PyFunction, PyString, PyType};

use crate::python::explore::assumptions::AssumptionKind;
use crate::python::host::Host;
use crate::python::types::ancestry::{found_in_class, Ancestry};
use crate::python::types::kinds::{module_of, qualified_name};
use crate::python::types::TypeTable;

/// What `enum` keeps for itself in a class, or in a member.
const KEPT: &[&str] = &[
    "_inverted_",
    "_member_map_",
    "_member_names_",
    "_unhashable_values_",
    "_unhashable_values_map_",
    "_value2member_map_",
];

/// Whether a class makes members of enumerations, by its metaclass.
pub fn is_enumeration(class: &Bound<'_, PyType>) -> bool {
    class.get_type().ancestry().iter().filter_map(|base| base.cast_into::<PyType>().ok()).any(|base| {
        module_of(&base) == "enum" && base.name().is_ok_and(|name| name == "EnumType" || name == "EnumMeta")
    })
}

/// Whether members of a class can be combined.
fn is_flag(class: &Bound<'_, PyType>) -> bool {
    let bases = class.ancestry();
    let mut bases = bases.iter().filter_map(|base| base.cast_into::<PyType>().ok());
    bases.any(|base| module_of(&base) == "enum" && base.name().is_ok_and(|name| name == "Flag"))
}

impl TypeTable {
    /// Note it if code of the model makes the members of a class of flags: `enum` looks whether there is one before it
    /// calls that code, and keeps the new one after it.
    pub fn note_made_flags(&mut self, class: &Bound<'_, PyType>) {
        let by_model = |made: Bound<'_, PyAny>| made.is_instance_of::<PyFunction>();
        if is_enumeration(class) && is_flag(class) && found_in_class(class, "_new_member_").is_some_and(by_model) {
            let named = format!("enum before and after {}.__new__", qualified_name(class));
            self.assumptions.add(class.py(), AssumptionKind::UnseenCode, &named, None);
        }
    }
}

impl Host {
    /// Before an attribute is loaded.
    #[inline]
    pub fn note_look_at_enumeration(&self, object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) {
        if !name.to_str().is_ok_and(|name| KEPT.contains(&name)) {
            return;
        }
        let class = match object.cast::<PyType>() {
            Ok(class) => class.clone(),
            Err(_) => object.get_type(),
        };
        if is_enumeration(&class) {
            self.assume_enum(object.py());
        }
    }

    /// Somebody asks for the dict of a member's attributes, through which `enum` reads them.
    pub fn note_dict_of_member(&self, object: &Bound<'_, PyAny>) {
        let mut state = self.state();
        // It can be changed later, beside threads that are not there yet.
        if state.executes() && state.types.origins.left.contains("enum") && is_enumeration(&object.get_type()) {
            state.assume(object.py(), AssumptionKind::UnseenCode, "enum");
        }
    }

    /// Before a class is called: to find the member with a value that cannot be hashed, `enum` compares it with that of
    /// each.
    pub fn note_member_wanted(&self, class: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) {
        let changes = self.kind(value).is_tracked();
        if changes && class.cast::<PyType>().is_ok_and(is_enumeration) {
            self.assume_enum(class.py());
        }
    }

    fn assume_enum(&self, py: Python<'_>) {
        let mut state = self.state();
        if state.executes() && !state.has_no_company() && state.types.origins.left.contains("enum") {
            state.assume(py, AssumptionKind::UnseenCode, "enum");
        }
    }

    /// Before `value in class`: since Python 3.12 that looks among the members, and those that were made of others are
    /// there too.
    pub fn note_value_looked_for(&self, class: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) {
        let Ok(of) = class.cast::<PyType>() else { return };
        if !value.get_type().is(of) && is_enumeration(of) && is_flag(of) {
            self.assume_enum(class.py());
        }
    }
}
