//! Enumerations: the code of `enum` runs unseen. What it keeps of a class and of its members does not change once the class is
//! made, as a rule; where a program changes it, or makes it look at values that change, that is named or refused.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

use super::ancestry::Ancestry;
use super::assumptions::{calls_for_user, AssumptionKind};
use super::host::{report_escape, Host};
use super::types::module_of;

/// What `enum` keeps for itself in a class.
const KEPT: &[&str] = &["_member_map_", "_member_names_", "_unhashable_values_", "_value2member_map_"];

/// Whether a class makes members of enumerations, by its metaclass.
pub fn is_enumeration(class: &Bound<'_, PyType>) -> bool {
    class.get_type().ancestry().iter().filter_map(|base| base.cast_into::<PyType>().ok()).any(|base| {
        module_of(&base) == "enum" && base.name().is_ok_and(|name| name == "EnumType" || name == "EnumMeta")
    })
}

impl Host {
    /// Before an attribute is loaded.
    #[inline]
    pub fn note_look_at_enumeration(&self, object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) {
        let Ok(class) = object.cast::<PyType>() else { return };
        if name.to_str().is_ok_and(|name| KEPT.contains(&name)) && is_enumeration(class) {
            self.assume_enum(object.py());
        }
    }

    /// Before a class is called: to find the member with a value that cannot be hashed, `enum` compares it with that of each.
    pub fn note_member_wanted(&self, class: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) {
        let changes = self.kind(value).is_tracked();
        if changes && class.cast::<PyType>().is_ok_and(is_enumeration) {
            self.assume_enum(class.py());
        }
    }

    fn assume_enum(&self, py: Python<'_>) {
        let mut state = self.state();
        if state.executes() && !state.has_no_company() {
            state.assume(py, AssumptionKind::UnseenCode, "enum");
        }
    }

    /// Before an attribute of an object is stored: `enum` keeps the members that it makes of other flags for the process, where
    /// another execution would find what this one stores in them.
    pub fn refuse_made_member(&self, object: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = object.py();
        let refused = {
            let Some(mut state) = self.awake() else { return Ok(()) };
            state.executes() && state.types.facts(object).is_member && !state.is_permanent(object)
        };
        // `enum` says of the members that a class defines whose they are, and names those that it makes later.
        let made_later = || -> PyResult<bool> {
            let own = object.getattr(intern!(py, "__dict__"))?;
            Ok(own.contains(intern!(py, "_name_"))? && !own.contains(intern!(py, "__objclass__"))?)
        };
        match refused && self.asleep(made_later)? && calls_for_user(py, &[]) {
            true => report_escape(py, "stores an attribute in a member that enum has made of others"),
            false => Ok(()),
        }
    }
}
