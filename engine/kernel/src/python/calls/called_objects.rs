//! Calls of objects that are neither functions nor classes: what carries them out is what their class has as
//! `__call__`.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyFunction, PyType};

use crate::python::calls::builtins::{is_json_worker, BuiltinEffect, CallableKind};
use crate::python::calls::controlled_call::How;
use crate::python::calls::function_code::is_compiled_function;
use crate::python::calls::nested_calls::deeper;
use crate::python::explore::assumptions::{writer_of, AssumptionKind};
use crate::python::footprints::insides::own_dict;
use crate::python::host::Host;
use crate::python::primitives::is_own_class;
use crate::python::types::ancestry::found_in_class;
use crate::python::types::kinds::{is_heap_class, module_of, qualified_name};

/// Classes in C of which a call of an instance changes nothing, or is known by the function in C that the instance is.
const KNOWN: &[(&str, &str)] =
    &[("builtins", "builtin_function_or_method"), ("builtins", "method-wrapper"), ("weakref", "ReferenceType")];

impl Host {
    /// What to call for such an object. One in C of which nothing is known may change all that it reaches.
    pub fn control_object<'py>(&self, py: Python<'py>, object: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let class = object.get_type();
        let Some(found) = found_in_class(&class, "__call__") else { return Ok(object) };
        if found.is_instance_of::<PyFunction>() {
            return match origin_of_typing(&object) {
                Some(origin) => self.control_alias(py, &object, &origin),
                None => Ok(object),
            };
        }
        if found.get_type().name()? != "wrapper_descriptor" {
            if !is_heap_class(&class) {
                return Ok(object);
            }
            let called = match found.get_type().getattr_opt(intern!(py, "__get__"))? {
                Some(get) => get.call1((&found, &object, &class))?,
                None => found,
            };
            // What is called may have itself for `__call__`, once or by way of others.
            return deeper(py, || self.control(py, called));
        }
        let holder = found.getattr(intern!(py, "__objclass__"))?.cast_into::<PyType>()?;
        // Bound first: what holds the state in a match is held by its arms, and they would find the host asleep.
        let kind = self.state().code.builtins.kind_of_class(&holder);
        match kind {
            Some(CallableKind::Partial) => return self.controlled(py, &object, How::Partial),
            Some(CallableKind::StaticMethod) => {
                return self.control(py, object.getattr(intern!(py, "__func__"))?);
            }
            _ => {}
        }
        let (module, name) = (module_of(&holder), qualified_name(&holder));
        if (&*module, &*name) == ("types", "GenericAlias") {
            let origin = object.getattr(intern!(py, "__origin__"))?;
            return match origin.cast_into::<PyType>() {
                Ok(origin) if is_heap_class(&origin) => self.control_alias(py, &object, &origin),
                Ok(origin) => self.control(py, origin.into_any()),
                Err(_) => Ok(object),
            };
        }
        if is_json_worker(&object) {
            return self.controlled(py, &object, How::Builtin(BuiltinEffect::Examine));
        }
        if is_own_class(&holder) || KNOWN.iter().any(|(of, named)| *of == module && *named == name) {
            return Ok(object);
        }
        if is_compiled_function(&object) {
            // What a function reaches by its module's variables is not looked at, whatever it is written in.
            self.assume(py, AssumptionKind::UnseenCode, &writer_of(&object));
            return self.controlled(py, &object, How::ForeignFunction);
        }
        self.controlled(py, &object, How::Foreign { object: object.clone().unbind() })
    }

    /// An alias is called, which makes an instance of its class.
    fn control_alias<'py>(
        &self,
        py: Python<'py>,
        alias: &Bound<'py, PyAny>,
        class: &Bound<'py, PyType>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let reads_arguments = self.state().types.reads_when_made(class)?;
        self.controlled(py, alias, How::Construct { reads_arguments })
    }
}

/// The class that an alias of `typing` makes instances of.
fn origin_of_typing<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyType>> {
    if module_of(&object.get_type()) != "typing" {
        return None;
    }
    let origin = own_dict(object)?.get_item(intern!(object.py(), "__origin__")).ok()??;
    origin.cast_into::<PyType>().ok()
}
