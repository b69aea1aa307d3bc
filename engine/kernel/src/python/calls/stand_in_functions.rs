//! Functions in C that call one in Python: they stand in for functions of the interpreter, and look like those.
//!
//! A function in Python in such a place would show: as the attribute of a class it binds its instances, and tools that
//! ask what it is take it for the program's.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::sync::{Mutex, PoisonError};

use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyModule};

/// The name under which the module that a stand-in is bound to holds its function in Python.
const FUNCTION: &CStr = c"dpor_function";

/// What the copy of a module tells of it, which a stand-in is bound to in its place.
const TOLD_OF_MODULE: &[&str] = &["__doc__", "__loader__", "__name__", "__package__", "__spec__"];

/// The definitions of all such functions, by name and text. The interpreter keeps pointers to them for as long as such a
/// function lives, so that none is ever freed.
static DEFINITIONS: Mutex<BTreeMap<Told, &Definition>> = Mutex::new(BTreeMap::new());

/// A function's name and its text.
type Told = (CString, Option<CString>);

struct Definition(ffi::PyMethodDef);

// SAFETY: it is never changed, and what it points to is never freed.
unsafe impl Sync for Definition {}

/// The function in Python that `callable` calls, if it is one of these.
#[inline]
pub fn function_behind<'py>(callable: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let py = callable.py();
    // SAFETY: what is asked is a function in C that is alive; its module, and what that holds, live as long.
    unsafe {
        if ffi::PyCFunction_CheckExact(callable.as_ptr()) == 0 {
            return None;
        }
        let called = ffi::PyCFunction_GetFunction(callable.as_ptr())? as usize;
        if called != call_function_behind as *const () as usize {
            return None;
        }
        function_in(py, ffi::PyCFunction_GetSelf(callable.as_ptr()))
    }
}

pub fn stands_in(callable: &Bound<'_, PyAny>) -> bool {
    function_behind(callable).is_some()
}

/// SAFETY: `module` must be a module that is alive.
unsafe fn function_in(py: Python<'_>, module: *mut ffi::PyObject) -> Option<Bound<'_, PyAny>> {
    let names = ffi::PyModule_GetDict(module);
    Bound::from_borrowed_ptr_or_opt(py, ffi::PyDict_GetItemString(names, FUNCTION.as_ptr()))
}

/// What the interpreter calls.
unsafe extern "C" fn call_function_behind(
    module: *mut ffi::PyObject,
    arguments: *mut ffi::PyObject,
    keywords: *mut ffi::PyObject,
) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls this while it is held, with a tuple and with a dict or null, and `module` is that
    // of `stand_in_function`.
    let names = ffi::PyModule_GetDict(module);
    let function = ffi::PyDict_GetItemString(names, FUNCTION.as_ptr());
    if function.is_null() {
        ffi::PyErr_SetString(ffi::PyExc_ReferenceError, c"the function behind this one is gone".as_ptr());
        return std::ptr::null_mut();
    }
    ffi::Py_INCREF(function);
    let result = ffi::PyObject_Call(function, arguments, keywords);
    ffi::Py_DECREF(function);
    result
}

/// A function in C that calls `function` and tells of itself what `real` does: its name, module, signature and text.
#[pyfunction]
#[pyo3(signature = (function, real, /))]
pub fn stand_in_function<'py>(
    function: &Bound<'py, PyAny>,
    real: &Bound<'py, PyCFunction>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = function.py();
    let name: String = real.getattr(intern!(py, "__name__"))?.extract()?;
    let text: Option<String> = real.getattr(intern!(py, "__doc__"))?.extract()?;
    let signature: Option<String> = real.getattr(intern!(py, "__text_signature__"))?.extract()?;
    // As the interpreter's own functions have their signature, at the beginning of their text.
    let text = match signature {
        Some(signature) => Some(format!("{name}{signature}\n--\n\n{}", text.unwrap_or_default())),
        None => text,
    };
    let module = real.getattr(intern!(py, "__module__"))?;
    let holder = PyModule::new(py, &name)?;
    if let Ok(owner) = real.getattr(intern!(py, "__self__"))?.cast_into::<PyModule>() {
        for told in TOLD_OF_MODULE {
            if let Some(value) = owner.dict().get_item(told)? {
                holder.dict().set_item(told, value)?;
            }
        }
    }
    holder.dict().set_item(FUNCTION, function)?;
    let definition = definition((CString::new(name)?, text.map(CString::new).transpose()?));
    // SAFETY: the interpreter does not change the definition; the other two are objects that are alive.
    unsafe {
        let definition = std::ptr::from_ref(definition).cast_mut();
        Bound::from_owned_ptr_or_err(py, ffi::PyCFunction_NewEx(definition, holder.as_ptr(), module.as_ptr()))
    }
}

/// The function in Python that `callable` calls, if it is one of these; None otherwise.
#[pyfunction]
#[pyo3(name = "function_behind", signature = (callable, /))]
pub fn told_function_behind<'py>(callable: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    function_behind(callable)
}

fn definition(told: Told) -> &'static ffi::PyMethodDef {
    let mut definitions = DEFINITIONS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = definitions.get(&told) {
        return &known.0;
    }
    // Leaked: see above.
    let kept: &'static Told = Box::leak(Box::new(told.clone()));
    let made: &'static Definition = Box::leak(Box::new(Definition(ffi::PyMethodDef {
        ml_name: kept.0.as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunctionWithKeywords: call_function_behind },
        ml_flags: ffi::METH_VARARGS | ffi::METH_KEYWORDS,
        ml_doc: kept.1.as_ref().map_or(std::ptr::null(), |text| text.as_ptr()),
    })));
    definitions.insert(told, made);
    &made.0
}
