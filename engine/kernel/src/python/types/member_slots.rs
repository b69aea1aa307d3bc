//! Which attributes the instances of a class have in slots (`__slots__`), looked up once for each class.

use std::rc::Rc;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};
use rustc_hash::FxHashMap;

use crate::python::calls::builtins::interned;
use crate::python::types::ancestry::{told_by_type, Ancestry};

/// A slot: the name of the attribute, and the descriptor that finds its value in an instance.
pub type MemberSlot = (Py<PyString>, Py<PyAny>);

/// The slots by class, by address; the classes are kept.
#[derive(Default)]
pub struct MemberSlots {
    classes: FxHashMap<usize, (Py<PyType>, Rc<[MemberSlot]>)>,
}

impl MemberSlots {
    /// The slots of instances of a class, also those of its bases.
    pub fn of(&mut self, class: &Bound<'_, PyType>) -> Rc<[MemberSlot]> {
        let (_, slots) = self
            .classes
            .entry(class.as_ptr() as usize)
            .or_insert_with(|| (class.clone().unbind(), slots_of(class).into()));
        slots.clone()
    }

    pub fn forget(&mut self) {
        self.classes.clear();
    }
}

fn slots_of(class: &Bound<'_, PyType>) -> Vec<MemberSlot> {
    let mut found = Vec::new();
    for base in class.ancestry().iter() {
        let Ok(namespace) = told_by_type(&base, intern!(base.py(), "__dict__")) else { continue };
        if !namespace.contains(intern!(base.py(), "__slots__")).unwrap_or(false) {
            continue;
        }
        let Ok(names) = namespace.try_iter() else { continue };
        for name in names.flatten() {
            let Ok(slot) = namespace.get_item(&name) else { continue };
            if slot.get_type().name().is_ok_and(|name| name == "member_descriptor") {
                let name = name.cast_into::<PyString>().ok().and_then(|name| interned(&name).ok());
                found.extend(name.map(|name| (name.unbind(), slot.unbind())));
            }
        }
    }
    found
}
