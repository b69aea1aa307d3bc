//! What making an instance of a class reads of what it is given, where code in C does it.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyFunction, PyString, PyType};

use crate::python::modules::origins::Origin;
use crate::python::types::ancestry::{holder_of, told_by_type};
use crate::python::types::class_flags::is_made_at_run_time;
use crate::python::types::kinds::{module_of, qualified_name};
use crate::python::types::TypeTable;

/// Built-in classes whose `__new__` leaves what it is given to `__init__`.
const LEAVES_TO_INIT: &[(&str, &str)] = &[
    ("builtins", "bytearray"),
    ("builtins", "dict"),
    ("builtins", "list"),
    ("builtins", "set"),
    ("collections", "OrderedDict"),
    ("collections", "defaultdict"),
    ("collections", "deque"),
];
/// Built-in classes that keep what they are given as it is, or take nothing.
const KEEPS: &[&str] = &[
    "object",
    "ArithmeticError",
    "AssertionError",
    "AttributeError",
    "BaseException",
    "Exception",
    "IndexError",
    "KeyError",
    "LookupError",
    "NameError",
    "NotImplementedError",
    "RuntimeError",
    "StopIteration",
    "SystemExit",
    "TypeError",
    "ValueError",
    "Warning",
];

impl TypeTable {
    /// Whether code in C reads what a call of the class is given. Code in Python tells of what it reads.
    pub fn reads_when_made(&mut self, class: &Bound<'_, PyType>) -> PyResult<bool> {
        if !is_made_at_run_time(class) {
            return Ok(true);
        }
        let address = class.as_ptr() as usize;
        if let Some((reads, _)) = self.constructors.get(&address) {
            return Ok(*reads);
        }
        let py = class.py();
        let reads = self.reads_in(class, intern!(py, "__init__"))? || self.reads_in(class, intern!(py, "__new__"))?;
        self.constructors.insert(address, (reads, class.clone().into_any().unbind()));
        Ok(reads)
    }

    fn reads_in(&mut self, class: &Bound<'_, PyType>, method: &Bound<'_, PyString>) -> PyResult<bool> {
        let py = class.py();
        let Some(holder) = holder_of(class, method).and_then(|holder| holder.cast_into::<PyType>().ok()) else {
            return Ok(false);
        };
        let found = told_by_type(&holder, intern!(py, "__dict__"))?.get_item(method)?;
        // `__new__` is a static method. Nothing is asked that code of the model could answer.
        let is_static = found.get_type().name()? == "staticmethod";
        let function = if is_static { found.getattr(intern!(py, "__func__"))? } else { found };
        if function.is_instance_of::<PyFunction>() {
            return Ok(self.origins.of(&function)?.origin == Origin::Reading);
        }
        if is_made_at_run_time(&function.get_type()) {
            return Ok(false);
        }
        let (module, name) = (module_of(&holder), qualified_name(&holder));
        let keeps = module == "builtins" && KEEPS.contains(&name.as_str());
        let leaves = method == "__new__" && LEAVES_TO_INIT.contains(&(module.as_str(), name.as_str()));
        Ok(!keeps && !leaves)
    }
}
