//! Methods in C by which an object gives its state, to be copied or pickled.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyAny, PyDict, PyTuple};

use crate::python::footprints::insides::own_dict;
use crate::python::footprints::look::Depth;
use crate::python::heap::place::lacks_dict;
use crate::python::host::Host;
use crate::python::types::ancestry::{holder_of, told_by_type};

/// Whether a method in C of any object gives what the object holds, which may be its own dict of attributes.
pub fn gives_state(method: &str) -> bool {
    matches!(method, "__reduce_ex__" | "__reduce__" | "__getstate__" | "__dir__")
}

impl Host {
    /// Call `function`, a method in C of the object that gives its state.
    pub fn call_for_state<'py>(
        &self,
        py: Python<'py>,
        object: &Bound<'py, PyAny>,
        function: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.note_look(object, None)?;
        self.watch_left_class(object)?;
        if needs_slot_names(object, function)? {
            // What it would ask for when it has begun: then it reads the object in one step.
            py.import(intern!(py, "copyreg"))?.call_method1(intern!(py, "_slotnames"), (object.get_type(),))?;
        }
        self.look(py, std::slice::from_ref(object), Depth::Everything)?;
        let state = function.call(arguments, keywords)?;
        let own = match lacks_dict(object)? {
            true => None,
            false => own_dict(object),
        };
        for part in state.cast::<PyTuple>().into_iter().flatten().chain([state.clone()]) {
            if own.as_ref().is_some_and(|own| own.is(&part)) {
                self.alias_instance_dict(&part, object);
            }
        }
        Ok(state)
    }
}

/// Whether the method asks `copyreg` for the names of the slots of the object's class, which the class keeps then.
fn needs_slot_names(object: &Bound<'_, PyAny>, function: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    let class = object.get_type();
    let base = py.get_type::<PyAny>();
    let plain = |method| holder_of(&class, method).is_some_and(|holder| holder.is(&base));
    if function.getattr(intern!(py, "__name__"))?.eq(intern!(py, "__dir__"))?
        || !plain(intern!(py, "__reduce__"))
        || !plain(intern!(py, "__getstate__"))
    {
        return Ok(false);
    }
    let namespace = told_by_type(&class, intern!(py, "__dict__"))?;
    Ok(!namespace.contains(intern!(py, "__slotnames__"))?)
}
