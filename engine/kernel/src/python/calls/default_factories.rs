//! What a `defaultdict` calls for an item that it does not have: its factory.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyFunction, PyType};

use crate::python::calls::builtins::CallableKind;
use crate::python::calls::stand_in_functions::{function_behind, stands_in};
use crate::python::explore::recording::Word;
use crate::python::footprints::container_effects::ContainerEffect;
use crate::python::footprints::look::{Depth, Part};
use crate::python::host::Host;
use crate::python::types::ancestry::found_in_class;
use crate::python::types::class_flags::is_made_at_run_time;

impl Host {
    /// Have a `defaultdict` give an item where its factory is a method in C of `receiver`: nobody comes between the
    /// look for the item, the call of the factory and the store.
    pub fn use_factory_in_c<'py>(
        &self,
        py: Python<'py>,
        object: &Bound<'py, PyAny>,
        receiver: &Bound<'py, PyAny>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let part = |object: &Bound<'py, PyAny>| Part { object: object.clone(), effect: ContainerEffect::WriteWhole };
        let parts = [part(object), part(receiver)];
        let get = || Ok(object.get_item(key));
        let (result, event) = self.operate_on_wholes(py, &parts, Depth::Items, get)?;
        let value = self.noted(py, result, Word::Load, object, Some(key), event)?;
        self.adopt_item(&value, object, key);
        self.note(py, Word::Load, Some(object), Some(key), Some(&value), event);
        Ok(value)
    }

    /// The factory of a `defaultdict`, if it runs code in Python: then what a lookup of a missing key does is a lookup, a
    /// call of the factory, and a store, between which other threads can run.
    pub fn factory_in_python<'py>(&self, object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let factory = object.getattr(intern!(object.py(), "default_factory"))?;
        let native = match factory.cast::<PyType>() {
            Ok(class) => !is_made_at_run_time(class),
            Err(_) if stands_in(&factory) || self.callable_kind(&factory) == CallableKind::StandIn => {
                stands_for_class_in_c(&factory)?
            }
            Err(_) => factory.is_none() || factory.is_instance_of::<PyCFunction>(),
        };
        Ok(if native { None } else { Some(factory) })
    }

    /// `__missing__` of a `defaultdict` whose factory is in C: None if it has another one, or the class another method.
    pub fn missing_item<'py>(
        &self,
        py: Python<'py>,
        object: &Bound<'py, PyAny>,
        method: &str,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        if factory_in_c(object).is_none() {
            return Ok(None);
        }
        if method == "__getitem__" {
            return self.load_item(py, object, key).map(Some);
        }
        self.access_container(py, object, ContainerEffect::ReadWhole, None)?;
        // Another thread may have set it meanwhile.
        let Some(factory) = factory_in_c(object) else { return Ok(None) };
        let value = self.control(py, factory)?.call0()?;
        self.store_item(py, &value, object, key)?;
        Ok(Some(value))
    }
}

/// Whether what a stand-in stands for makes its objects in C.
fn stands_for_class_in_c(stand_in: &Bound<'_, PyAny>) -> PyResult<bool> {
    let maker = function_behind(stand_in).unwrap_or_else(|| stand_in.clone());
    match maker.getattr_opt(intern!(stand_in.py(), "dpor_makes_in_c"))? {
        Some(makes) => makes.is_truthy(),
        None => Ok(false),
    }
}

/// The factory of a `defaultdict` that is neither a class nor a function in Python: what it calls, no hook sees.
pub fn factory_in_c<'py>(object: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    // Not the attribute, which a dict of the model may have made up.
    let class = object.get_type();
    let descriptor = found_in_class(&class, "default_factory")?;
    if descriptor.get_type().name().ok()? != "member_descriptor" {
        return None;
    }
    let factory = descriptor.call_method1(intern!(object.py(), "__get__"), (object, &class)).ok()?;
    let seen = factory.is_none() || factory.is_instance_of::<PyType>() || factory.is_instance_of::<PyFunction>();
    let seen = seen || stands_in(&factory);
    (!seen).then_some(factory)
}
