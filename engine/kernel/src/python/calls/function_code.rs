//! The code of functions in Python, and what of the interpreter's own functions the stable interface lacks.

use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyFunction;

use crate::python::types::ancestry::found_in_class;
use crate::python::types::kinds::is_heap_class;

/// `PyFunction_GetCode`: gives a borrowed reference, null for what is no function.
type CodeOfFunction = unsafe extern "C" fn(*mut ffi::PyObject) -> *mut ffi::PyObject;

static CODE_OF_FUNCTION: PyOnceLock<CodeOfFunction> = PyOnceLock::new();

/// The address of a function of the interpreter, which the stable interface, against which the kernel is linked, lacks.
/// Raises AttributeError if this interpreter has none of this name.
pub fn address(py: Python<'_>, name: &str) -> PyResult<usize> {
    let ctypes = py.import("ctypes")?;
    let function = ctypes.getattr("pythonapi")?.getattr(name)?;
    ctypes.call_method1("cast", (function, ctypes.getattr("c_void_p")?))?.getattr("value")?.extract()
}

/// Have `code_of` ready for use while a host's state is borrowed.
pub fn prepare(py: Python<'_>) -> PyResult<()> {
    CODE_OF_FUNCTION
        .get_or_try_init(py, || {
            let found = address(py, "PyFunction_GetCode")?;
            // SAFETY: this is the function of this name and type in `cpython/funcobject.h`.
            Ok(unsafe { std::mem::transmute::<usize, CodeOfFunction>(found) })
        })
        .map(drop)
}

/// Whether a callable is what a compiler to C, such as Cython, makes of a function in Python: an object in C that tells
/// of its code and of its module's variables.
pub fn is_compiled_function(callable: &Bound<'_, PyAny>) -> bool {
    let class = callable.get_type();
    let tells = |name: &str| found_in_class(&class, name).is_some();
    !callable.is_instance_of::<PyFunction>() && !is_heap_class(&class) && tells("__code__") && tells("__globals__")
}

/// The code of a callable; None if it has none in Python.
///
/// Reading the attribute of a function is an audit event, which costs more than most of what asks for the code.
#[inline]
pub fn code_of<'py>(callable: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let py = callable.py();
    match CODE_OF_FUNCTION.get(py) {
        // SAFETY: a function is valid, and keeps its code.
        Some(get) if callable.is_exact_instance_of::<PyFunction>() => unsafe {
            Bound::from_borrowed_ptr_or_opt(py, get(callable.as_ptr()))
        },
        _ => callable.getattr(intern!(py, "__code__")).ok(),
    }
}
