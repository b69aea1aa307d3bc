//! The limits of nested calls: what the hooks add between two calls of a program does not count.
//!
//! While a hook calls code of the model, the interpreter's limit is higher by the calls that the hook takes itself. So
//! a recursion gets as deep as it does without the checker. CPython 3.11 has one limit for all calls; 3.12 and 3.13 have
//! one for code in Python and one for code in C; 3.14 looks at the stack instead of the latter.

use std::ffi::c_int;
use std::sync::atomic::{AtomicI32, Ordering};

use pyo3::exceptions::PyRecursionError;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyCFunction;

use crate::python::host::Host;
use crate::python::threads::own_modules::OwnModule;

/// So many nested calls does it take, at most, to record a step.
const NESTED_CALLS: u32 = 80;
/// So many calls the recorder gets where the model has used up those that it has.
const MORE_CALLS: i32 = 1000;
/// The numbers at the beginning of a thread's state among which is that of the calls in C that are left.
const NUMBERS: usize = 16;

/// By how many calls the interpreter's limit is higher than the model's.
pub struct UncountedCalls {
    now: AtomicI32,
    /// The model's limit, while some calls do not count.
    limit: AtomicI32,
    /// The nested calls below the model's.
    made_before: AtomicI32,
    calls_in_c: CallsInC,
}

/// What counts calls of code in C.
enum CallsInC {
    /// The limit of all calls.
    WithOthers,
    /// A number of the thread's state, which has this index there.
    Apart(usize),
    Nothing,
}

impl UncountedCalls {
    pub fn of_interpreter(py: Python<'_>) -> UncountedCalls {
        let calls_in_c = match py.version_info() < (3, 12) {
            true => CallsInC::WithOthers,
            false => CallsInC::counted_apart(py),
        };
        UncountedCalls {
            now: AtomicI32::new(0),
            limit: AtomicI32::new(0),
            made_before: AtomicI32::new(0),
            calls_in_c,
        }
    }

    /// Let so many more calls not count.
    fn count_less(&self, py: Python<'_>, calls: i32) {
        let before = self.now.fetch_add(calls, Ordering::Relaxed);
        if before == 0 {
            self.limit.store(limit(py), Ordering::Relaxed);
        }
        // A program can ask for the highest limit that there is.
        set_limit(py, self.limit.load(Ordering::Relaxed).saturating_add(before + calls));
    }

    /// The calls below an execution's, which do not count either.
    pub fn made_before(&self) -> i32 {
        self.made_before.load(Ordering::Relaxed)
    }
}

impl CallsInC {
    /// The counter is no part of the interpreter's stable interface. It is the number that a call in C makes less by
    /// one, and its end makes what it was.
    fn counted_apart(py: Python<'_>) -> CallsInC {
        let before = numbers_of_thread(py);
        let Ok(inside) = deeper(py, || Ok(numbers_of_thread(py))) else { return CallsInC::Nothing };
        let after = numbers_of_thread(py);
        let is_counter = |at: &usize| before[*at] == after[*at] && before[*at].checked_sub(1) == Some(inside[*at]);
        let mut counters = (0..NUMBERS).filter(is_counter);
        match (counters.next(), counters.next()) {
            (Some(at), None) => CallsInC::Apart(at),
            _ => CallsInC::Nothing,
        }
    }

    /// Have so many more calls in C be left, where they are counted apart.
    fn leave_more(&self, _py: Python<'_>, calls: i32) {
        if let CallsInC::Apart(at) = *self {
            // SAFETY: the interpreter is held, and with it the state of this thread, which has these numbers.
            unsafe { *thread_state().add(at) += calls }
        }
    }

    /// How many are left, if that is a number of its own.
    fn left(&self, py: Python<'_>) -> Option<i32> {
        match *self {
            CallsInC::Apart(at) => Some(numbers_of_thread(py)[at]),
            CallsInC::WithOthers | CallsInC::Nothing => None,
        }
    }
}

fn thread_state() -> *mut c_int {
    // SAFETY: whoever calls this holds the interpreter.
    unsafe { ffi::PyThreadState_Get() }.cast()
}

fn numbers_of_thread(_py: Python<'_>) -> [c_int; NUMBERS] {
    // SAFETY: the interpreter is held, and a thread's state is many times as large.
    unsafe { thread_state().cast::<[c_int; NUMBERS]>().read() }
}

fn limit(_py: Python<'_>) -> c_int {
    // SAFETY: the interpreter is held.
    unsafe { ffi::Py_GetRecursionLimit() }
}

fn set_limit(_py: Python<'_>, limit: c_int) {
    // SAFETY: the interpreter is held, and the limit is a number of its own.
    unsafe { ffi::Py_SetRecursionLimit(limit) }
}

/// The nested calls in C that it takes to call a function through an object of the kernel, beyond those that the
/// interpreter takes by itself: it enters many functions in C without any.
pub fn calls_added_to(function: &Bound<'_, PyAny>) -> i32 {
    if !function.is_exact_instance_of::<PyCFunction>() {
        return 1;
    }
    // SAFETY: it is a function in C.
    let flags = unsafe { ffi::PyCFunction_GetFlags(function.as_ptr()) };
    if flags & ffi::METH_FASTCALL == 0 {
        1
    } else {
        2
    }
}

impl Host {
    /// Note how many calls there are where an exploration begins.
    pub fn note_calls_made(&self, py: Python<'_>) -> PyResult<()> {
        let made = OwnModule::Headroom.get(py)?.call_method0(intern!(py, "calls_made"))?.extract()?;
        self.uncounted.made_before.store(made, Ordering::Relaxed);
        Ok(())
    }

    /// Do what makes a call of the model's, from a hook whose own calls in C are so many.
    #[inline]
    pub fn uncounted_in_c<T>(&self, py: Python<'_>, calls: i32, go: impl FnOnce() -> T) -> T {
        self.do_not_count_in_c(py, calls);
        let result = go();
        self.do_not_count_in_c(py, -calls);
        result
    }

    fn do_not_count_in_c(&self, py: Python<'_>, calls: i32) {
        match self.uncounted.calls_in_c {
            CallsInC::WithOthers => self.uncounted.count_less(py, calls),
            CallsInC::Apart(_) | CallsInC::Nothing => self.uncounted.calls_in_c.leave_more(py, calls),
        }
    }

    /// Call the recorder where the model may have used up the calls that can be nested: it must not run out of them in
    /// the place of the model.
    pub fn with_headroom<T>(&self, py: Python<'_>, call: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
        let more_in_c = match self.uncounted.calls_in_c.left(py) {
            Some(left) if left < MORE_CALLS => MORE_CALLS,
            _ => 0,
        };
        let (before, has_headroom) = (limit(py), has_headroom(py));
        self.uncounted.calls_in_c.leave_more(py, more_in_c);
        if !has_headroom {
            set_limit(py, before.saturating_add(MORE_CALLS));
        }
        let result = call();
        if !has_headroom {
            set_limit(py, before);
        }
        self.uncounted.calls_in_c.leave_more(py, -more_in_c);
        result
    }
}

fn has_headroom(py: Python<'_>) -> bool {
    let headroom = OwnModule::Headroom.get(py);
    let descended = headroom.and_then(|headroom| headroom.call_method1(intern!(py, "descend"), (NESTED_CALLS,)));
    !descended.is_err_and(|error| error.is_instance_of::<PyRecursionError>(py))
}

/// Go one call deeper, as the interpreter does. Raises RecursionError where it does.
pub fn deeper<T>(py: Python<'_>, go: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    // SAFETY: the interpreter is held, and each entry that succeeds is left.
    if unsafe { ffi::Py_EnterRecursiveCall(c" while calling a Python object".as_ptr()) } != 0 {
        return Err(PyErr::fetch(py));
    }
    let result = go();
    // SAFETY: as above.
    unsafe { ffi::Py_LeaveRecursiveCall() };
    result
}

#[pymethods]
impl Host {
    /// Have so many nested calls not count, until it is called with as many less than none.
    pub fn do_not_count(&self, py: Python<'_>, calls: i32) {
        self.uncounted.count_less(py, calls);
    }

    /// The calls that do not count at the moment.
    fn uncounted_calls(&self) -> i32 {
        self.uncounted.now.load(Ordering::Relaxed)
    }

    /// The limit of nested calls that the model has.
    fn recursion_limit(&self, py: Python<'_>) -> i32 {
        match self.uncounted.now.load(Ordering::Relaxed) {
            0 => limit(py),
            _ => self.uncounted.limit.load(Ordering::Relaxed),
        }
    }

    /// The model has another limit from now on.
    fn note_recursion_limit(&self, limit: i32) {
        self.uncounted.limit.store(limit, Ordering::Relaxed);
    }
}
