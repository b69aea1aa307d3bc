//! Code in Python that built-in code enters, whatever way it has got at it: a function that it was given, a method with
//! or without a special name, a lambda in a class, a handler that an object in C keeps.
//!
//! The interpreter evaluates each frame that C code enters through a function that can be replaced (PEP 523); calls
//! from Python to Python do not go through it. So it is replaced while an operation of built-in code runs, and put back
//! for the code that is entered: what that code calls itself returns to Python. When it returns, built-in code goes on,
//! and that is an event of its own (`callbacks.rs`).
//!
//! Where the operation is one of code in Python that is not instrumented, all of its calls go through the function, and
//! what counts is what it calls that is instrumented.

use std::os::raw::{c_int, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};

use pyo3::exceptions::{PyImportError, PyRuntimeError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::panic::PanicException;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyString;
use rustc_hash::FxHashMap;

use crate::operation::ThreadId;
use crate::python::calls::callback_results::CallbackResult;
use crate::python::calls::function_code::address;
use crate::python::host::{current_host, Host};
use crate::python::modules::origins::Origin;
use crate::python::state::Phase;

/// `_PyFrameEvalFunction`: the thread's state, the frame, and whether an exception is thrown into it.
type Evaluate = unsafe extern "C" fn(*mut c_void, *mut c_void, c_int) -> *mut ffi::PyObject;
type GetEvaluate = unsafe extern "C" fn(*mut ffi::PyInterpreterState) -> Evaluate;
type SetEvaluate = unsafe extern "C" fn(*mut ffi::PyInterpreterState, Evaluate);
/// Gives a new reference.
type CodeOfFrame = unsafe extern "C" fn(*mut c_void) -> *mut ffi::PyObject;

/// In CPython 3.11 a frame has no function that gives its code: it is the fifth pointer in it (`pycore_frame.h`).
const CODE_IN_3_11: usize = 4;

/// How many codes are remembered.
const REMEMBERED: usize = 20_000;

/// From where code in Python that runs next is entered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Entry {
    /// From instrumented code, which needs no watching.
    #[default]
    Seen,
    /// From built-in code that carries out an operation.
    BuiltinCode,
    /// From code in Python that is not instrumented and carries out an operation.
    UnseenCode,
}

/// What code is, as far as its return to built-in code is concerned.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Code {
    /// It tells by itself: a generator that is instrumented, or one into which an exception is thrown.
    Telling,
    /// The checker's, which stands for built-in code.
    Own,
    Instrumented {
        gives_source: bool,
    },
    Unseen,
}

/// What is known of code that was entered, by address; the code is kept.
#[derive(Default)]
pub struct EnteredCode {
    known: FxHashMap<usize, (Code, Py<PyAny>)>,
}

/// The functions of the interpreter that evaluation goes through.
struct Evaluation {
    get: GetEvaluate,
    set: SetEvaluate,
    /// The interpreter's own.
    default: Evaluate,
    /// None in CPython 3.11.
    code: Option<CodeOfFrame>,
}

static EVALUATION: PyOnceLock<Evaluation> = PyOnceLock::new();

impl Evaluation {
    /// Raises ImportError if the interpreter has no such functions.
    fn of(py: Python<'_>) -> PyResult<&Evaluation> {
        EVALUATION.get_or_try_init(py, || {
            let missing = |_| PyImportError::new_err("this Python has no replaceable evaluation of frames (PEP 523)");
            let get = address(py, "_PyInterpreterState_GetEvalFrameFunc").map_err(missing)?;
            let set = address(py, "_PyInterpreterState_SetEvalFrameFunc").map_err(missing)?;
            let code = match py.version_info() >= (3, 12) {
                true => Some(address(py, "PyUnstable_InterpreterFrame_GetCode").map_err(missing)?),
                false => None,
            };
            // SAFETY: these are the functions of these names and types in `cpython/pystate.h` and `cpython/pyframe.h`.
            unsafe {
                let get = std::mem::transmute::<usize, GetEvaluate>(get);
                Ok(Evaluation {
                    get,
                    set: std::mem::transmute::<usize, SetEvaluate>(set),
                    default: get(ffi::PyInterpreterState_Get()),
                    code: code.map(|code| std::mem::transmute::<usize, CodeOfFrame>(code)),
                })
            }
        })
    }

    fn replace(&self, watched: bool) {
        // SAFETY: the interpreter's lock is held; both functions evaluate any frame.
        unsafe { (self.set)(ffi::PyInterpreterState_Get(), if watched { evaluate } else { self.default }) }
    }

    fn is_replaced(&self) -> bool {
        // SAFETY: the interpreter's lock is held.
        unsafe { (self.get)(ffi::PyInterpreterState_Get()) as usize == evaluate as *const () as usize }
    }

    fn code<'py>(&self, py: Python<'py>, frame: *mut c_void) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: the frame is the one that is about to be evaluated; its layout is that of the version.
        unsafe {
            match self.code {
                Some(code) => Bound::from_owned_ptr_or_err(py, code(frame)),
                None => Bound::from_borrowed_ptr_or_err(py, *frame.cast::<*mut ffi::PyObject>().add(CODE_IN_3_11)),
            }
        }
    }
}

/// Run something in which other greenlets may run, which have operations of their own.
pub fn apart<T>(py: Python<'_>, run: impl FnOnce() -> T) -> T {
    match EVALUATION.get(py) {
        Some(evaluation) if evaluation.is_replaced() => {
            evaluation.replace(false);
            let result = run();
            evaluation.replace(true);
            result
        }
        _ => run(),
    }
}

/// Run something of the interpreter that may call code of the model, while the host's state is in use: such code is not
/// run, but raises where it begins. So what finds out what an operation will access does nothing that the operation
/// does.
pub fn without_code<T>(py: Python<'_>, run: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    let evaluation = Evaluation::of(py)?;
    // SAFETY: the interpreter's lock is held, and both functions evaluate any frame.
    unsafe {
        let before = (evaluation.get)(ffi::PyInterpreterState_Get());
        (evaluation.set)(ffi::PyInterpreterState_Get(), refuse);
        let result = run();
        (evaluation.set)(ffi::PyInterpreterState_Get(), before);
        result
    }
}

/// Let a frame raise before its first instruction.
unsafe extern "C" fn refuse(thread: *mut c_void, frame: *mut c_void, _throws: c_int) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls this with its lock held. A frame into which an exception is thrown is left by the
    // interpreter's own function, which also takes it down.
    unsafe {
        let py = Python::assume_attached();
        let Some(evaluation) = EVALUATION.get(py) else { return std::ptr::null_mut() };
        if ffi::PyErr_Occurred().is_null() {
            if evaluation.code(py, frame).is_ok_and(|code| is_own_hash(&code)) {
                return (evaluation.default)(thread, frame, 0);
            }
            PyRuntimeError::new_err("code of the model would run").restore(py);
        }
        (evaluation.default)(thread, frame, 1)
    }
}

/// Whether code is a `__hash__` of the checker's, which gives the number that an object has.
fn is_own_hash(code: &Bound<'_, PyAny>) -> bool {
    let py = code.py();
    let name = code.getattr(intern!(py, "co_name")).and_then(|name| name.eq(intern!(py, "__hash__")));
    name.unwrap_or(false) && is_own_code(code).unwrap_or(false)
}

/// Evaluate a frame while operations of built-in code are watched.
unsafe extern "C" fn evaluate(thread: *mut c_void, frame: *mut c_void, throws: c_int) -> *mut ffi::PyObject {
    // SAFETY: the interpreter calls this with its lock held.
    let py = unsafe { Python::assume_attached() };
    let Some(evaluation) = EVALUATION.get(py) else { return std::ptr::null_mut() };
    let host = current_host(py);
    let enter = || host.as_ref().and_then(|host| host.get().enter(py, evaluation, frame, throws != 0));
    let entered = raising(py, enter);
    // SAFETY: what the interpreter has given to be evaluated.
    let result = unsafe { (evaluation.default)(thread, frame, throws) };
    match (&host, entered) {
        (_, Err(error)) => {
            // SAFETY: the reference is new, or null.
            unsafe { ffi::Py_XDECREF(result) };
            error.restore(py);
            std::ptr::null_mut()
        }
        (Some(host), Ok(Some(entered))) => raising(py, || host.get().leave_entered(py, entered, result))
            .unwrap_or_else(|error| {
                error.restore(py);
                std::ptr::null_mut()
            }),
        _ => result,
    }
}

/// Raise a panic as an exception: unwinding into the interpreter would end the process.
fn raising<T>(py: Python<'_>, run: impl FnOnce() -> T) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        drop(PyErr::take(py));
        let message = panic.downcast_ref::<String>().cloned();
        let message = message.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        PanicException::new_err(message.unwrap_or_default())
    })
}

/// Code that was entered, and from where.
struct Entered {
    thread: ThreadId,
    from: Entry,
    code: Code,
}

impl Host {
    /// Have the interpreter's functions ready. Raises ImportError if it has none.
    pub fn prepare_watching(py: Python<'_>) -> PyResult<()> {
        Evaluation::of(py).map(drop)
    }

    /// Code that runs next in a thread is entered so. Returns how it was until now.
    pub fn watch_entries(&self, py: Python<'_>, thread: ThreadId, entry: Entry) -> Entry {
        let before = std::mem::replace(&mut self.state().thread(thread).entry, entry);
        if let Some(evaluation) = EVALUATION.get(py).filter(|_| before != entry) {
            evaluation.replace(entry != Entry::Seen);
        }
        before
    }

    fn enter(&self, py: Python<'_>, evaluation: &Evaluation, frame: *mut c_void, throws: bool) -> Option<Entered> {
        let (thread, from) = {
            let mut state = self.awake().filter(|state| state.phase == Phase::Running)?;
            let current = state.current;
            (current, state.thread(current).entry)
        };
        if from == Entry::Seen {
            return None;
        }
        self.watch_entries(py, thread, Entry::Seen);
        let code = match throws {
            true => Code::Telling,
            false => evaluation.code(py, frame).map_or(Code::Unseen, |code| self.entered_code(&code)),
        };
        if matches!(code, Code::Unseen | Code::Own) {
            self.watch_entries(py, thread, Entry::UnseenCode);
        }
        Some(Entered { thread, from, code })
    }

    /// The code that was entered gives `result`, a new reference, or has raised.
    fn leave_entered(&self, py: Python<'_>, entered: Entered, result: *mut ffi::PyObject) -> *mut ffi::PyObject {
        let Entered { thread, from, code } = entered;
        self.watch_entries(py, thread, from);
        let gives_source = match code {
            Code::Telling | Code::Own => return result,
            Code::Unseen if from == Entry::UnseenCode => return result,
            Code::Unseen => false,
            Code::Instrumented { gives_source } => gives_source,
        };
        // SAFETY: the reference is new, or null with an exception set.
        let given = unsafe { Bound::from_owned_ptr_or_err(py, result) };
        let told = match &given {
            Ok(value) => {
                // SAFETY: the object is valid.
                let is_source = gives_source || unsafe { ffi::PyIter_Check(value.as_ptr()) } != 0;
                self.resume_operation(py, Some(CallbackResult { value, is_source }))
            }
            Err(_) => self.resume_operation(py, None),
        };
        match told.and(given) {
            Ok(value) => value.into_ptr(),
            Err(error) => {
                error.restore(py);
                std::ptr::null_mut()
            }
        }
    }

    fn entered_code(&self, code: &Bound<'_, PyAny>) -> Code {
        let address = code.as_ptr() as usize;
        if let Some((known, _)) = self.state().code.entered.known.get(&address) {
            return *known;
        }
        let origin = self.state().types.origins.told_origin(code);
        let found = classify(code, origin).unwrap_or(Code::Unseen);
        let known = &mut self.state().code.entered.known;
        let forgotten = (known.len() >= REMEMBERED).then(|| std::mem::take(known));
        known.insert(address, (found, code.clone().unbind()));
        drop(forgotten);
        found
    }
}

fn classify(code: &Bound<'_, PyAny>, origin: Option<Origin>) -> PyResult<Code> {
    const GENERATOR: u32 = 0x20;
    let py = code.py();
    if origin == Some(Origin::Instrumented) {
        let flags: u32 = code.getattr(intern!(py, "co_flags"))?.extract()?;
        if flags & GENERATOR != 0 {
            return Ok(Code::Telling);
        }
        let name = code.getattr(intern!(py, "co_name"))?.cast_into::<PyString>()?;
        // The methods of a mapping whose result built-in code runs over.
        let gives_source = matches!(name.to_str()?, "items" | "keys" | "values");
        return Ok(Code::Instrumented { gives_source });
    }
    Ok(if is_own_code(code)? { Code::Own } else { Code::Unseen })
}

/// Whether code in Python is the checker's own.
pub fn is_own_code(code: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = code.py();
    let file = code.getattr(intern!(py, "co_filename"))?;
    let own = py.import("dpor")?.getattr("__path__")?.get_item(0)?;
    let inside = format!("{own}{}", std::path::MAIN_SEPARATOR);
    file.call_method1("startswith", (inside,))?.is_truthy()
}
