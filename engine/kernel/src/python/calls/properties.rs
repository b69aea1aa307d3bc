//! Properties whose functions are not functions in Python, such as `property(operator.attrgetter("x"))`: the
//! interpreter calls them in C, where no hook tells of what they do.

use pyo3::exceptions::PyAttributeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyFunction, PyString, PySuper, PyType};

use crate::python::calls::builtins::BuiltinEffect;
use crate::python::host::Host;
use crate::python::types::ancestry::{found_in_class, holder_after, holder_of, told_by_type};
use crate::python::types::attribute_kinds::AttributeKind;
use crate::python::types::kinds::TypeKind;

/// The functions of a property, in the order of its arguments.
const FUNCTIONS: [&str; 3] = ["fget", "fset", "fdel"];

/// Whether a descriptor is a property that calls something else than functions in Python.
pub fn calls_other_code(descriptor: &Bound<'_, PyAny>) -> PyResult<bool> {
    if !is_plain_property(descriptor)? {
        return Ok(false);
    }
    for name in FUNCTIONS {
        let function = descriptor.getattr(name)?;
        if !function.is_none() && !function.is_instance_of::<PyFunction>() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a descriptor is a property, and its class does not say otherwise what that means.
fn is_plain_property(descriptor: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = descriptor.py();
    let property = py.import(intern!(py, "builtins"))?.getattr(intern!(py, "property"))?.cast_into::<PyType>()?;
    let class = descriptor.get_type();
    if class.is(&property) {
        return Ok(true);
    }
    let same = |name: &str| match (found_in_class(&class, name), found_in_class(&property, name)) {
        (Some(found), Some(own)) => found.is(&own),
        _ => false,
    };
    Ok(class.is_subclass(&property)? && same("__get__") && same("__set__") && same("__delete__"))
}

impl Host {
    /// The property by this name of an object, if it calls something else than functions in Python.
    fn property_in_c<'py>(
        &self,
        object: &Bound<'py, PyAny>,
        name: &Bound<'py, PyString>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let is_super = object.is_instance_of::<PySuper>();
        let holder = {
            let Some(mut state) = self.awake() else { return Ok(None) };
            let kind = state.types.facts(object).kind;
            match kind {
                _ if is_super => holder_after(object, name),
                TypeKind::Proxy | TypeKind::Module | TypeKind::Immutable => None,
                _ if state.types.attribute(object, name, kind) != AttributeKind::ComputedInC => None,
                _ => holder_of(&object.get_type(), name),
            }
        };
        let Some(holder) = holder else { return Ok(None) };
        let found = told_by_type(&holder, intern!(object.py(), "__dict__"))?.get_item(name)?;
        Ok(if is_super && !calls_other_code(&found)? { None } else { Some(found) })
    }

    /// Load, store or delete an attribute that such a property computes; None if it is no such attribute.
    pub fn use_property<'py>(
        &self,
        py: Python<'py>,
        effect: BuiltinEffect,
        object: &Bound<'py, PyAny>,
        name: &Bound<'py, PyString>,
        value: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Some(property) = self.property_in_c(object, name)? else { return Ok(None) };
        let function = property.getattr(match effect {
            BuiltinEffect::SetAttribute => "fset",
            BuiltinEffect::DeleteAttribute => "fdel",
            _ => "fget",
        })?;
        // Python says what is missing.
        if function.is_none() {
            return Ok(None);
        }
        let object = match object.cast::<PySuper>() {
            Ok(bound) => bound.getattr(intern!(py, "__self__"))?,
            Err(_) => object.clone(),
        };
        let function = self.control(py, function)?;
        let computed = match value {
            Some(value) => function.call1((&object, value)),
            None => function.call1((&object,)),
        };
        match computed {
            // Where there is a `__getattr__`, Python goes on with it.
            Err(error) if error.is_instance_of::<PyAttributeError>(py) && has_fallback(&object, effect) => {
                object.call_method1(intern!(py, "__getattr__"), (name,)).map(Some)
            }
            computed => computed.map(Some),
        }
    }
}

fn has_fallback(object: &Bound<'_, PyAny>, effect: BuiltinEffect) -> bool {
    effect == BuiltinEffect::GetAttribute && found_in_class(&object.get_type(), "__getattr__").is_some()
}
