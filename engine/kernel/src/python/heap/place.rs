//! Places that hold one value, as things to write to and read from without an operation.

use pyo3::exceptions::PyAttributeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFunction, PyList, PyString};

use crate::python::footprints::containers::has_cell;
use crate::python::heap::undo::Undo;
use crate::python::hooks::variables::Cell;
use crate::python::primitives::atomic::Atomic;
use crate::python::state::State;
use crate::python::types::ancestry::{told_by_type, Ancestry};

/// Where a store puts its value.
pub enum Place {
    Attribute { object: Py<PyAny>, name: Py<PyString> },
    Variable { namespace: Py<PyDict>, name: Py<PyString> },
    Cell { cell: Py<Cell>, name: Py<PyString> },
    Item { container: Py<PyAny>, key: Py<PyAny> },
    Atomic { atomic: Py<Atomic> },
}

impl Place {
    /// What the recorder calls the target and the key.
    pub fn names(&self, py: Python<'_>) -> (Py<PyAny>, Option<Py<PyAny>>) {
        match self {
            Place::Attribute { object, name } => (object.clone_ref(py), Some(name.clone_ref(py).into_any())),
            Place::Variable { namespace, name } => {
                (namespace.clone_ref(py).into_any(), Some(name.clone_ref(py).into_any()))
            }
            Place::Cell { cell, name } => (cell.clone_ref(py).into_any(), Some(name.clone_ref(py).into_any())),
            Place::Item { container, key } => (container.clone_ref(py), Some(key.clone_ref(py))),
            Place::Atomic { atomic } => (atomic.clone_ref(py).into_any(), None),
        }
    }

    /// The state token of the location; see `MemoryModel::state_token`.
    pub fn token(&self, py: Python<'_>, state: &mut State) -> u32 {
        match self {
            Place::Atomic { atomic } => state.identities.value_token(&Atomic::held(atomic.bind(py))),
            Place::Item { container, key } => u32::from(has_cell(container.bind(py), key.bind(py))),
            _ => 0,
        }
    }

    /// What would take the store back, if predicates may ask for it.
    pub fn undo(&self, py: Python<'_>) -> PyResult<Option<Undo>> {
        Ok(match self {
            Place::Attribute { object, name } => Some(Undo::of_attribute(object.bind(py), name.bind(py))?),
            Place::Variable { namespace, name } => {
                let value = namespace.bind(py).get_item(name)?.map(Bound::unbind);
                Some(Undo::Item { namespace: namespace.clone_ref(py), name: name.clone_ref(py), value })
            }
            Place::Cell { cell, .. } => {
                let value = cell.borrow(py).contents(py);
                Some(Undo::Variable { cell: cell.clone_ref(py), value })
            }
            Place::Item { container, .. } => Undo::of_container(container.bind(py))?,
            Place::Atomic { atomic } => {
                let value = Atomic::held(atomic.bind(py)).unbind();
                Some(Undo::Atomic { atomic: atomic.clone_ref(py), value })
            }
        })
    }

    /// Write the value to memory. Returns what it replaced.
    pub fn write(&self, py: Python<'_>, value: &Py<PyAny>) -> PyResult<Option<Py<PyAny>>> {
        match self {
            Place::Attribute { object, name } => {
                let (object, name) = (object.bind(py), name.bind(py));
                let old = load_plainly(object, name)?.map(Bound::unbind);
                store_plainly(object, name, value.bind(py))?;
                Ok(old)
            }
            Place::Variable { namespace, name } => {
                let namespace = namespace.bind(py);
                let old = namespace.get_item(name)?.map(Bound::unbind);
                namespace.set_item(name, value)?;
                Ok(old)
            }
            Place::Cell { cell, .. } => {
                let mut value = Some(value.clone_ref(py));
                cell.bind(py).borrow_mut().swap(&mut value);
                Ok(value)
            }
            Place::Item { container, key } => {
                let (container, key) = (container.bind(py), key.bind(py));
                let old = plain_item(container, key)?.map(Bound::unbind);
                // Otherwise the place is gone: the store went to an item that another thread has removed since.
                if old.is_some() {
                    store_item_plainly(container, key, value.bind(py))?;
                }
                Ok(old)
            }
            Place::Atomic { atomic } => {
                let mut value = value.clone_ref(py);
                atomic.get().swap(&mut value);
                Ok(Some(value))
            }
        }
    }

    pub fn clone_ref(&self, py: Python<'_>) -> Place {
        match self {
            Place::Attribute { object, name } => {
                Place::Attribute { object: object.clone_ref(py), name: name.clone_ref(py) }
            }
            Place::Variable { namespace, name } => {
                Place::Variable { namespace: namespace.clone_ref(py), name: name.clone_ref(py) }
            }
            Place::Cell { cell, name } => Place::Cell { cell: cell.clone_ref(py), name: name.clone_ref(py) },
            Place::Item { container, key } => {
                Place::Item { container: container.clone_ref(py), key: key.clone_ref(py) }
            }
            Place::Atomic { atomic } => Place::Atomic { atomic: atomic.clone_ref(py) },
        }
    }

    /// What the place itself holds now; None if there is nothing, whatever a load would find elsewhere.
    pub fn now(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        Ok(match self {
            Place::Attribute { object, name } => own_attribute(object.bind(py), name.bind(py))?.map(Bound::unbind),
            Place::Variable { namespace, name } => namespace.bind(py).get_item(name)?.map(Bound::unbind),
            Place::Cell { cell, .. } => cell.borrow(py).contents(py),
            Place::Item { container, key } => plain_item(container.bind(py), key.bind(py))?.map(Bound::unbind),
            Place::Atomic { atomic } => Some(Atomic::held(atomic.bind(py)).unbind()),
        })
    }

    /// Let the place hold a value, or nothing. Returns what it held.
    pub fn exchange(&self, py: Python<'_>, value: Option<Py<PyAny>>) -> PyResult<Option<Py<PyAny>>> {
        let old = self.now(py)?;
        match (self, value) {
            (Place::Cell { cell, .. }, mut value) => {
                cell.bind(py).borrow_mut().swap(&mut value);
                return Ok(value);
            }
            (_, Some(value)) => drop(self.write(py, &value)?),
            (Place::Attribute { object, name }, None) if old.is_some() => {
                let object = object.bind(py);
                plain_method(object, "__delattr__")?.call1((object, name))?;
            }
            (Place::Variable { namespace, name }, None) if old.is_some() => namespace.bind(py).del_item(name)?,
            _ => {}
        }
        Ok(old)
    }
}

/// `object.name = value`, past what its class does about it: that has run when the store entered the buffer.
fn store_plainly(object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>, value: &Bound<'_, PyAny>) -> PyResult<()> {
    plain_method(object, "__setattr__")?.call1((object, name, value)).map(drop)
}

/// Let the object have an attribute itself, or not, past what its class does about it: in its `__dict__`, or in a slot.
pub fn put_own_attribute(
    object: &Bound<'_, PyAny>,
    name: &Bound<'_, PyString>,
    value: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let py = object.py();
    let namespace = plain_method(object, "__getattribute__")?.call1((object, intern!(py, "__dict__")));
    if let (false, Some(Ok(namespace))) =
        (has_slot(object, name)?, namespace.ok().map(|found| found.cast_into::<PyDict>()))
    {
        return match value {
            Some(value) => namespace.set_item(name, value),
            None if namespace.contains(name)? => namespace.del_item(name),
            None => Ok(()),
        };
    }
    match value {
        Some(value) => store_plainly(object, name, value),
        None if own_attribute(object, name)?.is_none() => Ok(()),
        None => plain_method(object, "__delattr__")?.call1((object, name)).map(drop),
    }
}

/// Whether the object keeps the attribute in a slot of its class.
fn has_slot(object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<bool> {
    for class in object.get_type().ancestry().iter() {
        if let Some(found) = own_method(&class, name)? {
            return found.get_type().name().map(|name| name == "member_descriptor" || name == "getset_descriptor");
        }
    }
    Ok(false)
}

/// Under which other keys a class keeps its annotations since Python 3.14: those that it has made, and the function
/// that makes them.
const ANNOTATIONS: &[&str] = &["__annotations_cache__", "__annotate_func__", "__annotate__"];

/// The attribute that the object has itself, past what its class does about it: in its `__dict__`, or in a slot.
pub fn own_attribute<'py>(
    object: &Bound<'py, PyAny>,
    name: &Bound<'py, PyString>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    let load = plain_method(object, "__getattribute__")?;
    if !lacks_dict(object)? {
        if let Ok(own) = load.call1((object, intern!(py, "__dict__"))) {
            if own.contains(name)? {
                return own.get_item(name).map(Some);
            }
            let makes = name == "__annotations__" && !object.is_instance_of::<PyFunction>();
            if makes {
                // To ask for those that are not there makes them.
                let kept = ANNOTATIONS.iter().find(|kept| own.contains(kept).unwrap_or(false));
                return kept.map(|kept| own.get_item(kept)).transpose();
            }
        }
    }
    Ok(if has_slot(object, name)? { load.call1((object, name)).ok() } else { None })
}

/// Whether the object is an exception, a partial or another C object that gets a `__dict__` with its first attribute,
/// and has none yet. To look for its `__dict__` makes it, which the object's `__reduce__` tells from none.
pub fn lacks_dict(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    // `Py_TPFLAGS_MANAGED_DICT`: objects of Python classes, whose `__dict__` is in no field of theirs.
    const MANAGED_DICT: std::ffi::c_ulong = 1 << 4;
    let class = object.get_type();
    // SAFETY: the class is alive.
    if unsafe { pyo3::ffi::PyType_GetFlags(class.as_type_ptr()) } & MANAGED_DICT != 0 {
        return Ok(false);
    }
    let load = plain_method(&class, "__getattribute__")?;
    let offset: isize = load.call1((&class, intern!(object.py(), "__dictoffset__")))?.extract()?;
    if offset <= 0 {
        return Ok(false);
    }
    // SAFETY: an object of a class with a positive `tp_dictoffset` has a pointer to its dict there, or NULL.
    Ok(unsafe { object.as_ptr().byte_offset(offset).cast::<*mut pyo3::ffi::PyObject>().read().is_null() })
}

/// The attribute, past what its class does about it; None if there is none.
fn load_plainly<'py>(object: &Bound<'py, PyAny>, name: &Bound<'py, PyString>) -> PyResult<Option<Bound<'py, PyAny>>> {
    match plain_method(object, "__getattribute__")?.call1((object, name)) {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_instance_of::<PyAttributeError>(object.py()) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The item of a list or dict, past what its class does about it; None if there is none.
fn plain_item<'py>(container: &Bound<'py, PyAny>, key: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    if let Ok(dict) = container.cast::<PyDict>() {
        return dict.get_item(key);
    }
    match (container.cast::<PyList>(), has_cell(container, key)) {
        (Ok(list), true) => list.get_item(index_in(list, key)?).map(Some),
        _ => Ok(None),
    }
}

/// `container[key] = value` for an item that exists, past what its class does about it.
fn store_item_plainly(
    container: &Bound<'_, PyAny>,
    key: &Bound<'_, PyAny>,
    value: &Bound<'_, PyAny>,
) -> PyResult<()> {
    match (container.cast::<PyDict>(), container.cast::<PyList>()) {
        (Ok(dict), _) => dict.set_item(key, value),
        (_, Ok(list)) => list.set_item(index_in(list, key)?, value),
        _ => Ok(()),
    }
}

fn index_in(list: &Bound<'_, PyList>, key: &Bound<'_, PyAny>) -> PyResult<usize> {
    let index: isize = key.extract()?;
    Ok(if index < 0 { list.len().saturating_add_signed(index) } else { index.unsigned_abs() })
}

/// What attributes go to in the end, past what classes written in Python do about it: the method of the nearest class
/// that is written in C.
fn plain_method<'py>(object: &Bound<'py, PyAny>, method: &str) -> PyResult<Bound<'py, PyAny>> {
    native_method(object, method)
}

/// A method of the nearest class of an object that is written in C, to be called with the object.
pub fn native_method<'py>(object: &Bound<'py, PyAny>, method: &str) -> PyResult<Bound<'py, PyAny>> {
    let name = PyString::new(object.py(), method);
    for class in object.get_type().ancestry().iter() {
        if let Some(found) = own_method(&class, &name)?.filter(is_native) {
            return Ok(found);
        }
    }
    object.get_type().getattr(method)
}

fn own_method<'py>(class: &Bound<'py, PyAny>, name: &Bound<'py, PyString>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let namespace = told_by_type(class, intern!(class.py(), "__dict__"))?;
    Ok(if namespace.contains(name)? { Some(namespace.get_item(name)?) } else { None })
}

fn is_native(method: &Bound<'_, PyAny>) -> bool {
    method.get_type().name().is_ok_and(|name| name == "wrapper_descriptor" || name == "method_descriptor")
}

/// Whether stores to (or loads from) the object's attributes go to a method of its class first, which comes to the
/// attribute itself later.
pub fn is_intercepted(object: &Bound<'_, PyAny>, method: &str) -> PyResult<bool> {
    let name = PyString::new(object.py(), method);
    for class in object.get_type().ancestry().iter() {
        if let Some(found) = own_method(&class, &name)? {
            return Ok(!is_native(&found));
        }
    }
    Ok(false)
}
