//! How attributes behave, by what a class has under their names.

use pyo3::exceptions::PyBaseException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

use crate::python::calls::properties::calls_other_code;
use crate::python::hooks::raising::STORED_BY_RAISING;
use crate::python::primitives::is_own_class;
use crate::python::types::ancestry::{holder_of, told_by_type, Ancestry};
use crate::python::types::kinds::{has_instance_dict, module_of};
use crate::python::types::native_types::{descriptor_kind, Descriptor};

/// How an attribute of a type's instances behaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AttributeKind {
    /// Lives in the instance (or its class) and can be rebound: loads and stores are visible operations.
    Data,
    /// The same, and the class holds a value that an instance without its own shows.
    DataWithDefault,
    /// The same, and it can come and go in any class of the instance.
    DataOfAnyClass,
    /// An attribute of a generic alias: its own or one that it shows of its class.
    OfOrigin,
    /// Part of what C code keeps of the object, which is taken as one piece.
    Native,
    /// Part of what raising an exception stores in it.
    Raised,
    /// A property of which one of the functions is not one in Python.
    ComputedInC,
    /// A method or descriptor that nothing rebinds: no visible operation by itself.
    Constant,
}

/// How attribute `name` behaves on instances of `class` (on the class itself if `on_class`).
pub fn attribute_kind(
    class: &Bound<'_, PyType>,
    name: &Bound<'_, PyString>,
    on_class: bool,
) -> PyResult<AttributeKind> {
    let py = class.py();
    for base in class.ancestry().iter() {
        let namespace = told_by_type(&base, intern!(py, "__dict__"))?;
        if !namespace.contains(name)? {
            continue;
        }
        if base.cast::<PyType>().is_ok_and(is_own_class) {
            return Ok(AttributeKind::Constant);
        }
        let value = namespace.get_item(name)?;
        let descriptor = descriptor_kind(&value, name)?;
        return Ok(match descriptor {
            Descriptor::Method => AttributeKind::Constant,
            Descriptor::Shadowed | Descriptor::Value if on_class => AttributeKind::Data,
            _ if on_class => AttributeKind::Constant,
            Descriptor::Computed if calls_other_code(&value)? => AttributeKind::ComputedInC,
            Descriptor::Computed => AttributeKind::Constant,
            // The value of a slot lives in the instance.
            Descriptor::Slot => AttributeKind::Data,
            Descriptor::Native
                if base.is(py.get_type::<PyBaseException>()) && STORED_BY_RAISING.contains(&name.to_str()?) =>
            {
                AttributeKind::Raised
            }
            Descriptor::Native => AttributeKind::Native,
            Descriptor::Shadowed | Descriptor::Value | Descriptor::Class => AttributeKind::DataWithDefault,
        });
    }
    if let (true, Some(metaclass)) = (on_class, holder_of(&class.get_type(), name)) {
        let value = told_by_type(&metaclass, intern!(py, "__dict__"))?.get_item(name)?;
        return Ok(match descriptor_kind(&value, name)? {
            Descriptor::Shadowed | Descriptor::Value => AttributeKind::DataWithDefault,
            Descriptor::Computed if calls_other_code(&value)? => AttributeKind::ComputedInC,
            _ => AttributeKind::Constant,
        });
    }
    if !on_class && module_of(class) == "typing" {
        return Ok(AttributeKind::OfOrigin);
    }
    // Some types in C give their instances a dict that they do not tell of.
    let data = on_class || has_instance_dict(class) && name != "__dict__";
    Ok(if data { AttributeKind::Data } else { AttributeKind::Constant })
}
