//! The host of model code as Python sees it: one for each check, installed in the OS thread that runs the model.
//!
//! Its state is one `RefCell` that is never borrowed across a greenlet switch or a call into model code.

use std::cell::{RefCell, RefMut};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use crate::explorer::End;
use crate::python::calls::function_code;
use crate::python::calls::nested_calls::UncountedCalls;
use crate::python::explore::learning::Restart;
use crate::python::explore::refusals::Refusal;
use crate::python::modules::namespaces::Namespaces;
use crate::python::state::{Phase, State};
use crate::python::threads::greenlets::GreenletApi;
use crate::python::threads::own_modules::OwnModule;

pyo3::create_exception!(
    _kernel,
    Abort,
    pyo3::exceptions::PyBaseException,
    "Raised in a model thread whose execution is given up; never to be swallowed."
);

/// One check's hold on an OS thread: the hooks that instrumented code calls, and the services of the runtime layer.
#[pyclass(frozen, module = "dpor._kernel")]
pub struct Host {
    state: SingleThread,
    pub greenlets: GreenletApi,
    /// Whether a recorder listens; apart from the state, so that the hot paths need no borrow to know.
    pub recording: AtomicBool,
    /// Whether hooks go straight through: code of the checker runs, which may use what is instrumented.
    asleep: AtomicBool,
    /// Whether the body of a module runs that nobody looks into, for an execution.
    importing_unseen: AtomicBool,
    /// Whether the model's modules are being imported.
    pub importing: AtomicBool,
    /// The OS thread that runs the model (0: not known). Others may run what is instrumented at any time.
    owner: AtomicUsize,
    pub uncounted: UncountedCalls,
    pub namespaces: Namespaces,
}

struct SingleThread(RefCell<State>);

// SAFETY: the state is only reached with the interpreter's lock held, and a borrow never spans a point where the lock
// could be given up to another thread that uses the host: borrows end before calls into model code and switches.
unsafe impl Sync for SingleThread {}
// SAFETY: as above; the state owns everything in it.
unsafe impl Send for SingleThread {}

thread_local! {
    /// The host installed in this OS thread; the one place from which primitives find theirs.
    static CURRENT: RefCell<Option<Py<Host>>> = const { RefCell::new(None) };
}

thread_local! {
    /// Something that lies elsewhere in each OS thread.
    static MARK: u8 = const { 0 };
}

/// A number that tells this OS thread from others that run.
#[inline]
fn this_thread() -> usize {
    MARK.with(|mark| std::ptr::from_ref(mark) as usize)
}

/// The Host installed in this OS thread, or None.
#[pyfunction]
pub fn current_host(py: Python<'_>) -> Option<Py<Host>> {
    CURRENT.with_borrow(|current| current.as_ref().map(|host| host.clone_ref(py)))
}

/// What `look` finds in the Host installed in this OS thread, if there is one.
#[inline]
pub fn with_current_host<T>(look: impl FnOnce(&Host) -> T) -> Option<T> {
    CURRENT.with_borrow(|current| current.as_ref().map(|host| look(host.get())))
}

/// The Host of the execution that the caller is part of, or None if the caller is ordinary code.
#[pyfunction]
pub fn active_host(py: Python<'_>) -> Option<Py<Host>> {
    current_host(py).filter(|host| host.get().active())
}

/// The installed host, for primitives that are being created.
pub fn require_host(py: Python<'_>) -> PyResult<Py<Host>> {
    current_host(py).ok_or_else(|| PyRuntimeError::new_err("no Host is installed in this OS thread"))
}

/// End the check: the running line of the model does `what` (a verb phrase), which cannot be controlled.
pub fn report_uncontrolled(py: Python<'_>, what: &str) -> PyResult<()> {
    let report = OwnModule::Uncontrolled.get(py)?.getattr("report")?;
    report.call1((what,)).map(drop)
}

impl Host {
    #[inline]
    pub fn state(&self) -> RefMut<'_, State> {
        self.state.0.borrow_mut()
    }

    /// The state, for a hook; None if hooks go straight through.
    #[inline]
    pub fn awake(&self) -> Option<RefMut<'_, State>> {
        if self.asleep.load(Ordering::Relaxed) || !self.owns_thread() {
            return None;
        }
        // What runs while the state is in use, such as a solver, is the checker's.
        self.state.0.try_borrow_mut().ok()
    }

    /// Whether the calling OS thread is the one that runs the model.
    #[inline]
    pub fn owns_thread(&self) -> bool {
        let owner = self.owner.load(Ordering::Relaxed);
        owner == 0 || owner == this_thread()
    }

    /// Whether hooks go straight through.
    pub fn is_asleep(&self) -> bool {
        self.asleep.load(Ordering::Relaxed)
    }

    /// Whether the body of a module runs that nobody looks into, for an execution.
    pub fn imports_unseen(&self) -> bool {
        self.importing_unseen.load(Ordering::Relaxed)
    }

    /// Call code of the checker, in which hooks go straight through.
    pub fn asleep<T>(&self, call: impl FnOnce() -> T) -> T {
        let before = self.asleep.swap(true, Ordering::Relaxed);
        let result = call();
        self.asleep.store(before, Ordering::Relaxed);
        result
    }

    /// Call code of the model.
    pub fn woken<T>(&self, call: impl FnOnce() -> T) -> T {
        let before = self.asleep.swap(false, Ordering::Relaxed);
        let result = call();
        self.asleep.store(before, Ordering::Relaxed);
        result
    }

    /// What a thread is left with when its execution is given up.
    pub fn aborted() -> PyErr {
        Abort::new_err(())
    }

    /// End the check because of something that cannot be controlled.
    pub fn uncontrolled(&self, py: Python<'_>, message: String) -> PyErr {
        let running = {
            let mut state = self.state();
            state.exploration.refusals.add(Refusal::Uncontrolled(message));
            state.phase == Phase::Running
        };
        if running {
            match self.leave::<()>(py, End::Cut) {
                Ok(()) => Self::aborted(),
                Err(error) => error,
            }
        } else {
            Self::aborted()
        }
    }

    /// Note the value that the running thread has just stored, if that was an event.
    #[inline]
    pub fn note_left(&self, event: bool, value: &Bound<'_, PyAny>) {
        if event {
            let mut state = self.state();
            if state.driver.wants_values() && state.phase == Phase::Running {
                let left = state.equality_token(value);
                state.driver.note_left(left);
            }
        }
    }

    /// Give the exploration up because it rests on something that turned out false.
    pub fn restart_with(&self, py: Python<'_>, reason: Restart) -> PyErr {
        {
            let mut state = self.state();
            state.exploration.learning.begin_anew_for(reason);
            if state.is_over() {
                return Self::aborted();
            }
        }
        match self.leave::<()>(py, End::Cut) {
            Ok(()) => Self::aborted(),
            Err(error) => error,
        }
    }
}

#[pymethods]
impl Host {
    #[new]
    fn new(py: Python<'_>) -> PyResult<Host> {
        Host::prepare_watching(py)?;
        OwnModule::import_all(py)?;
        function_code::prepare(py)?;
        Ok(Host {
            state: SingleThread(RefCell::new(State::new(py)?)),
            greenlets: GreenletApi::load(py)?,
            recording: AtomicBool::new(false),
            asleep: AtomicBool::new(false),
            importing_unseen: AtomicBool::new(false),
            importing: AtomicBool::new(false),
            owner: AtomicUsize::new(0),
            uncounted: UncountedCalls::of_interpreter(py),
            namespaces: Namespaces::default(),
        })
    }

    /// Make this the host of the calling OS thread.
    fn install(slf: &Bound<'_, Host>) {
        slf.get().owner.store(this_thread(), Ordering::Relaxed);
        CURRENT.with_borrow_mut(|current| *current = Some(slf.clone().unbind()));
    }

    fn uninstall(&self) {
        CURRENT.with_borrow_mut(|current| *current = None);
    }

    fn __enter__(slf: Bound<'_, Host>) -> Bound<'_, Host> {
        Host::install(&slf);
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) {
        self.uninstall();
    }

    #[getter]
    fn active(&self) -> bool {
        // Python code that runs while the state is borrowed (the report of an exception that nobody catches), or on a
        // thread of the checker's own, is not the model's.
        let runs = self.owns_thread() && self.state.0.try_borrow().is_ok_and(|state| state.phase != Phase::Idle);
        runs && !self.asleep.load(Ordering::Relaxed)
    }

    #[getter]
    fn execution(&self) -> u64 {
        self.state().run.number
    }

    /// Have hooks go straight through between executions (or no longer). Returns whether they did.
    fn sleep(&self, asleep: bool) -> bool {
        self.asleep.swap(asleep, Ordering::Relaxed)
    }

    /// Have code made of expressions that are evaluated from text.
    fn use_texts(&self, code: Py<PyAny>) {
        self.state().code.texts = Some(code);
    }

    /// Say that the model's modules are being imported (or no longer). Returns whether they were.
    fn set_importing(&self, importing: bool) -> bool {
        self.importing.swap(importing, Ordering::Relaxed)
    }

    /// Say that the body of a module runs that nobody looks into, for an execution (or no longer). Returns whether it did.
    fn set_importing_unseen(&self, importing: bool) -> bool {
        self.importing_unseen.swap(importing, Ordering::Relaxed)
    }

    /// Take a module's variable for one that is rebound from outside of the module.
    fn rebind(&self, module: String, variable: String) {
        self.state().code.rebound.insert((module, variable));
    }

    /// Say that the modules are instrumented so that they tell of operators with literal operands, too.
    fn see_operands(&self) {
        self.state().code.sees_operands = true;
    }

    /// Have the execution fail with an exception after which its thread goes on.
    fn fail(&self, exception: Bound<'_, PyAny>) {
        let py = exception.py();
        let thread = self.state().current;
        self.record_failure(py, thread, PyErr::from_value(exception));
    }

    /// End the check: the model does something that cannot be controlled.
    fn end_uncontrolled(&self, py: Python<'_>, message: String) -> PyResult<()> {
        Err(self.uncontrolled(py, message))
    }
}
