//! What is in a container, taken out and put back past what its class does about it: by the methods of the nearest
//! class that is written in C, and never by an iteration or a comparison that the class overrides.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySet};

use crate::python::heap::place::native_method;

/// What is in a container, as an object that nobody else has; None if there is no way to put it back.
pub fn content_of<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = object.py();
    if let Ok(list) = object.cast::<PyList>() {
        return Ok(Some(list.get_slice(0, list.len()).into_any()));
    }
    if let Ok(dict) = object.cast::<PyDict>() {
        if !is_ordered_dict(object)? {
            return Ok(Some(dict.copy()?.into_any()));
        }
        // Its order is not that of the dict that it is.
        let items = native_method(object, "items")?.call1((object,))?;
        return Ok(Some(listed(&items)?.into_any()));
    }
    if object.is_instance_of::<PySet>() {
        return native_method(object, "copy")?.call1((object,)).map(Some);
    }
    if !object.hasattr(intern!(py, "clear"))? || !object.hasattr(intern!(py, "extend"))? {
        return Ok(None);
    }
    let items = native_method(object, "__iter__")?.call1((object,))?;
    Ok(Some(listed(&items)?.into_any()))
}

/// Let a container hold what `content_of` gave, and nothing else.
pub fn put_content(object: &Bound<'_, PyAny>, content: &Bound<'_, PyAny>) -> PyResult<()> {
    if let Ok(dict) = object.cast::<PyDict>() {
        if let Ok(content) = content.cast::<PyDict>() {
            dict.clear();
            return dict.update(content.as_mapping());
        }
        native_method(object, "clear")?.call1((object,))?;
        let store = native_method(object, "__setitem__")?;
        for item in content.cast::<PyList>()?.iter() {
            store.call1((object, item.get_item(0)?, item.get_item(1)?))?;
        }
        return Ok(());
    }
    native_method(object, "clear")?.call1((object,))?;
    let fill = if object.is_instance_of::<PySet>() { "update" } else { "extend" };
    native_method(object, fill)?.call1((object, content)).map(drop)
}

fn listed<'py>(items: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(items.py());
    for item in items.try_iter()? {
        list.append(item?)?;
    }
    Ok(list)
}

fn is_ordered_dict(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = object.py();
    object.is_instance(&py.import("collections")?.getattr(intern!(py, "OrderedDict"))?)
}
