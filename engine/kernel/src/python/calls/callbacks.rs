//! Built-in code that calls back: a sort with a key, `extend` with a generator, a dict whose keys have an `__eq__` in
//! Python.
//!
//! In CPython other threads can run while the code that is called back runs, but not while C code does. So such an
//! operation is one event for each stretch of C code: at its begin, and whenever code that it has called returns. Each
//! of them accesses what the whole operation can access, and what that is is looked up anew, because it can have
//! changed meanwhile.
//!
//! Where code that is called back returns is seen by the interpreter's evaluation of frames (`entered_code.rs`). A
//! generator is instrumented there (`Hook.RETURNED`, `Hook.YIELDS`), because it has to tell while nobody else can
//! advance it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyTuple};

use crate::operation::ThreadId;
use crate::python::calls::callback_results::{CallbackResult, ResultUse, Results};
use crate::python::calls::controlled_call::ControlledCall;
use crate::python::calls::entered_code::Entry;
use crate::python::footprints::container_effects::ContainerEffect;
use crate::python::footprints::look::{Depth, Found, Inside, Looking, Part, Performed};
use crate::python::footprints::whole_reads::reading_effect;
use crate::python::host::{require_host, Host};
use crate::python::state::{Phase, State};
use crate::python::threads::own_modules::OwnModule;
use crate::python::types::kinds::TypeKind;

/// An operation of built-in code that may call back.
pub enum OpenOperation {
    /// It has called code that is instrumented by itself, and which calls no more on its behalf.
    Suspended,
    /// On one container, perhaps on one of its cells.
    Container { object: Py<PyAny>, effect: ContainerEffect, key: Option<Py<PyAny>> },
    /// A step of a generator; `told` is whether its code has told of its end.
    Step { generator: Py<PyAny>, told: Rc<Cell<bool>> },
    /// On several objects at once.
    Wholes(OpenWholes),
}

/// An open operation on several objects at once.
pub struct OpenWholes {
    parts: RefCell<Vec<(Py<PyAny>, ContainerEffect)>>,
    depth: Depth,
    result_use: ResultUse,
    /// What code that it called has given and the operation may still read.
    results: RefCell<Vec<Py<PyAny>>>,
    /// Whether it may change what it looks at: it advances an iterator among the results.
    advances: Cell<bool>,
    /// What was inside of the parts whenever it looked: C code goes on with what it has got of a container, also if
    /// that is in there no more. A sort takes all items out of its list.
    held: RefCell<Vec<(Py<PyAny>, Inside)>>,
}

impl OpenWholes {
    fn parts<'py>(&self, py: Python<'py>) -> Vec<Part<'py>> {
        let part = |(object, effect): &(Py<PyAny>, ContainerEffect)| Part {
            object: object.bind(py).clone(),
            effect: *effect,
        };
        self.parts.borrow().iter().map(part).collect()
    }

    fn held<'py>(&self, py: Python<'py>) -> Vec<(Bound<'py, PyAny>, Inside)> {
        self.held.borrow().iter().map(|(object, inside)| (object.bind(py).clone(), *inside)).collect()
    }

    /// Keep what is inside of the parts now.
    fn hold(&self, py: Python<'_>, state: &mut State) {
        let (parts, held) = (self.parts(py), self.held(py));
        let looking = Looking { parts: &parts, paths: &[], depth: self.depth, results: Results::NONE, held: &held };
        self.hold_found(state.found_inside(&looking));
    }

    fn hold_found(&self, found: Found<'_>) {
        // All that was held is found again: nothing ends here.
        self.held.replace(found.into_iter().map(|(object, inside)| (object.unbind(), inside)).collect());
    }
}

/// The operations of one thread that are open, the innermost last.
pub type OpenOperations = Vec<Rc<OpenOperation>>;

impl OpenOperation {
    /// It reads what code that it calls gives as deep as what it was given itself.
    pub fn on_wholes(parts: &[Part<'_>], depth: Depth) -> OpenOperation {
        OpenOperation::on_wholes_with(parts, depth, ResultUse::Read(depth))
    }

    pub fn on_wholes_with(parts: &[Part<'_>], depth: Depth, result_use: ResultUse) -> OpenOperation {
        let parts: Vec<_> = parts.iter().map(|part| (part.object.clone().unbind(), part.effect)).collect();
        let (results, held, advances) = (RefCell::default(), RefCell::default(), Cell::default());
        OpenOperation::Wholes(OpenWholes { parts: parts.into(), depth, result_use, results, advances, held })
    }

    pub fn on_container(
        object: &Bound<'_, PyAny>,
        effect: ContainerEffect,
        key: Option<&Bound<'_, PyAny>>,
    ) -> OpenOperation {
        let key = key.map(|key| key.clone().unbind());
        OpenOperation::Container { object: object.clone().unbind(), effect, key }
    }
}

/// A function that built-in code is given to call it.
#[pyclass(frozen, module = "dpor._kernel")]
pub struct Callback {
    host: Py<Host>,
    #[pyo3(get, name = "__wrapped__")]
    function: Py<PyAny>,
}

#[pymethods]
impl Callback {
    #[pyo3(signature = (*arguments, **keywords))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let host = self.host.get();
        let call = || self.function.bind(py).call(arguments, keywords);
        let result = host.uncounted_in_c(py, 1, || host.operating(py, OpenOperation::Suspended, call));
        let given = result.as_ref().ok().map(|value| CallbackResult { value, is_source: false });
        host.resume_operation(py, given)?;
        result
    }

    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.function.bind(py).getattr(name)
    }

    /// As the function is copied by `copy.deepcopy`.
    fn __deepcopy__(&self, py: Python<'_>, memo: &Bound<'_, PyAny>) -> PyResult<Callback> {
        let function = py.import("copy")?.call_method1(intern!(py, "deepcopy"), (&self.function, memo))?;
        Ok(Callback { host: self.host.clone_ref(py), function: function.unbind() })
    }

    /// As the function is pickled.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Py<PyAny>,))> {
        let itself = OwnModule::Current.get(py)?.getattr("itself")?;
        Ok((itself, (self.function.clone_ref(py),)))
    }

    fn __copy__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.function.bind(py).repr()?.to_string())
    }
}

impl Callback {
    /// What an iterator in C tells of how it was made, with the functions that it was given.
    pub fn shown<'py>(state: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(callback) = state.cast_exact::<Callback>() {
            return Ok(ControlledCall::what_it_calls(callback.get().function.bind(state.py())));
        }
        let Ok(parts) = state.cast_exact::<PyTuple>() else { return Ok(state) };
        let parts: Vec<_> = parts.iter().map(Callback::shown).collect::<PyResult<_>>()?;
        Ok(PyTuple::new(state.py(), parts)?.into_any())
    }
}

/// Built-in callables that call a function which they are given, now or later on, and do more after that; and the
/// position of the function among the arguments, if it can be given by position. There a function in C that they are
/// given is an operation of its own. Elsewhere it is part of the operation, with what it is bound to; code in Python is
/// seen wherever it is called (`entered_code.rs`).
const CALLING: &[(&str, Option<usize>)] = &[
    ("accumulate", Some(1)),
    ("bisect", None),
    ("bisect_left", None),
    ("bisect_right", None),
    ("Encoder", Some(1)),
    ("cmp_to_key", Some(0)),
    ("dropwhile", Some(0)),
    ("filter", Some(0)),
    ("filterfalse", Some(0)),
    ("groupby", Some(1)),
    ("insort", None),
    ("insort_left", None),
    ("insort_right", None),
    ("iter", Some(0)),
    ("map", Some(0)),
    ("max", None),
    ("min", None),
    ("reduce", Some(0)),
    ("run", Some(0)),
    ("sort", None),
    ("sorted", None),
    ("starmap", Some(0)),
    ("sub", Some(0)),
    ("subn", Some(0)),
    ("takewhile", Some(0)),
];

/// Under which keywords they take it.
const FUNCTIONS: &[&str] = &["func", "key", "mycmp", "repl"];

/// Whether a function is a method of a context variable: C that accesses nothing but the running context.
fn is_of_context_variable(function: &Bound<'_, PyAny>) -> bool {
    let receiver = function.getattr(intern!(function.py(), "__self__"));
    function.is_instance_of::<PyCFunction>()
        && receiver.is_ok_and(|receiver| receiver.get_type().name().is_ok_and(|name| name == "ContextVar"))
}

impl Host {
    /// Run built-in code that carries out an operation, which has become an event already.
    pub fn operating<T>(
        &self,
        py: Python<'_>,
        operation: OpenOperation,
        call: impl FnOnce() -> PyResult<T>,
    ) -> PyResult<T> {
        let entry = match operation {
            OpenOperation::Suspended => Entry::Seen,
            _ => Entry::BuiltinCode,
        };
        self.operating_from(py, operation, entry, call)
    }

    /// The same by code from which code in Python is entered so.
    pub fn operating_from<T>(
        &self,
        py: Python<'_>,
        operation: OpenOperation,
        entry: Entry,
        call: impl FnOnce() -> PyResult<T>,
    ) -> PyResult<T> {
        let (thread, depth) = {
            let Some(mut state) = self.awake() else { return call() };
            if let (OpenOperation::Wholes(open), true) = (&operation, state.running()) {
                open.hold(py, &mut state);
            }
            let current = state.current;
            let open = &mut state.thread(current).open;
            open.push(Rc::new(operation));
            (current, open.len())
        };
        let before = self.watch_entries(py, thread, entry);
        let result = call();
        self.watch_entries(py, thread, before);
        let closed = self.close_operations(thread, depth - 1);
        drop(closed);
        result
    }

    fn close_operations(&self, thread: ThreadId, depth: usize) -> OpenOperations {
        let mut state = self.state();
        let open = &mut state.thread(thread).open;
        open.split_off(depth.min(open.len()))
    }

    /// Code that built-in code has called returns to it, and gives it `result` if it did not raise: what that does next
    /// is an event of its own.
    pub fn resume_operation<'py>(&self, py: Python<'py>, result: Option<CallbackResult<'_, 'py>>) -> PyResult<()> {
        let operation = {
            let Some(mut state) = self.awake().filter(|state| state.phase == Phase::Running) else { return Ok(()) };
            let current = state.current;
            match state.thread(current).open.last() {
                Some(operation) => operation.clone(),
                None => return Ok(()),
            }
        };
        self.go_on(py, &operation, result)
    }

    fn go_on<'py>(
        &self,
        py: Python<'py>,
        operation: &OpenOperation,
        result: Option<CallbackResult<'_, 'py>>,
    ) -> PyResult<()> {
        match operation {
            OpenOperation::Suspended => Ok(()),
            OpenOperation::Step { generator, told } => {
                told.set(true);
                self.access_container(py, generator.bind(py), ContainerEffect::WriteWhole, None).map(drop)
            }
            OpenOperation::Container { object, effect, key } => {
                if let Some(result) = result {
                    // Whether a key is equal is the truth of what its `__eq__` gives.
                    self.look(py, std::slice::from_ref(result.value), Depth::Items)?;
                }
                let key = key.as_ref().map(|key| key.bind(py));
                self.access_container(py, object.bind(py), *effect, key).map(drop)
            }
            OpenOperation::Wholes(open) => self.go_on_with_wholes(py, open, result),
        }
    }

    fn go_on_with_wholes<'py>(
        &self,
        py: Python<'py>,
        open: &OpenWholes,
        result: Option<CallbackResult<'_, 'py>>,
    ) -> PyResult<()> {
        let result = result.filter(|result| !self.tells_nothing(result.value, Depth::Everything));
        let (mut source, mut value) = (None, None);
        match result {
            Some(result) if !result.is_source => value = Some(result.value.clone()),
            Some(result) if open.result_use != ResultUse::Left => source = Some(result.value),
            _ => {}
        }
        if let Some(source) = source {
            open.parts.borrow_mut().push((source.clone().unbind(), reading_effect(self.kind(source))));
        }
        if value.as_ref().is_some_and(|value| self.kind(value) == TypeKind::Iterator) {
            open.advances.set(true);
        }
        let alone = self.reads_results_alone(open);
        if !(alone && open.parts.borrow().iter().all(|(_, effect)| effect.reads_only())) {
            let performed = self.access_again(py, open, value.as_ref(), alone)?;
            if let (Performed::Quietly(found), None) = (performed, &value) {
                if open.results.borrow().is_empty() {
                    open.hold_found(found);
                    return Ok(());
                }
            }
        }
        if let Some(value) = value.filter(|_| !open.result_use.forgets()) {
            open.results.borrow_mut().push(value.unbind());
        }
        if let Some(mut state) = self.awake().filter(|state| state.running()) {
            open.hold(py, &mut state);
        }
        Ok(())
    }

    /// Whether no other thread can have changed what an operation was given by code that it calls, or can change it
    /// meanwhile: the operation only reads that, and no other thread exists yet. To look at all of it, each time that
    /// code returns to the operation, would find nothing new.
    fn reads_results_alone(&self, open: &OpenWholes) -> bool {
        let reads_only = open.result_use != ResultUse::Written && !open.advances.get();
        let state = self.state();
        reads_only && state.is_alone() && !state.heap.weak.buffers_stores && !state.heap.reads.enabled
    }

    /// Access what an open operation reads or changes from now on: its parts, the newest result, and those so far
    /// unless they are read `alone`.
    fn access_again<'py>(
        &self,
        py: Python<'py>,
        open: &OpenWholes,
        newest: Option<&Bound<'py, PyAny>>,
        alone: bool,
    ) -> PyResult<Performed<'py>> {
        let mut parts = open.parts(py);
        let mut values: Vec<Bound<'py, PyAny>> = Vec::new();
        if !alone {
            values.extend(open.results.borrow().iter().map(|result| result.bind(py).clone()));
        }
        values.extend(newest.cloned());
        if open.result_use == ResultUse::Written {
            let written = |object| Part { object, effect: ContainerEffect::WriteByOrder };
            parts.extend(values.drain(..).map(written));
        }
        let results = Results::of(&values, open.result_use);
        let held = open.held(py);
        self.perform_look_at(py, &Looking { parts: &parts, paths: &[], depth: open.depth, results, held: &held })
    }

    /// One operation on several objects by built-in code that may call back.
    pub fn operate_on_wholes<'py, T>(
        &self,
        py: Python<'py>,
        parts: &[Part<'py>],
        depth: Depth,
        call: impl FnOnce() -> PyResult<T>,
    ) -> PyResult<(T, bool)> {
        let event = self.access_wholes(py, parts, depth)?;
        if parts.is_empty() {
            return Ok((call()?, event));
        }
        let result = self.operating(py, OpenOperation::on_wholes(parts, depth), call)?;
        Ok((result, event))
    }

    /// The same by a callable that is given `arguments`, and uses what code that it calls gives. They are `parts` as
    /// far as there is something in them to be read.
    pub fn operate_on_arguments<'py, T>(
        &self,
        py: Python<'py>,
        (parts, depth): (&[Part<'py>], Depth),
        arguments: &[Bound<'py, PyAny>],
        result_use: ResultUse,
        call: impl FnOnce() -> PyResult<T>,
    ) -> PyResult<(T, bool)> {
        self.operate_on_arguments_from(py, (parts, depth), arguments, result_use, Entry::BuiltinCode, call)
    }

    /// The same by code from which code in Python is entered so.
    pub fn operate_on_arguments_from<'py, T>(
        &self,
        py: Python<'py>,
        (parts, depth): (&[Part<'py>], Depth),
        arguments: &[Bound<'py, PyAny>],
        result_use: ResultUse,
        entry: Entry,
        call: impl FnOnce() -> PyResult<T>,
    ) -> PyResult<(T, bool)> {
        let event = self.access_wholes(py, parts, depth)?;
        // A key function is called whatever the items are.
        let calls = |argument: &Bound<'py, PyAny>| argument.is_callable() || self.may_call_back(argument);
        if parts.is_empty() && !arguments.iter().any(calls) {
            return Ok((call()?, event));
        }
        let operation = OpenOperation::on_wholes_with(parts, depth, result_use);
        Ok((self.operating_from(py, operation, entry, call)?, event))
    }

    /// The arguments of a built-in callable, with those that it calls made visible.
    pub fn with_callbacks<'py>(
        &self,
        py: Python<'py>,
        function: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Bound<'py, PyTuple>, Option<Bound<'py, PyDict>>)> {
        let callable = |argument: &Bound<'py, PyAny>| argument.is_callable();
        let named = || keywords.is_some_and(|keywords| keywords.values().iter().any(|argument| callable(&argument)));
        if !arguments.iter().any(|argument| callable(&argument)) && !named() {
            return Ok((arguments.clone(), keywords.cloned()));
        }
        let name = function.getattr_opt(intern!(py, "__name__"))?;
        let name = name.and_then(|name| name.extract::<String>().ok()).unwrap_or_default();
        let known = CALLING.iter().find(|(calling, _)| *calling == name);
        let Some((_, position)) = known.filter(|_| self.awake().is_some_and(|state| state.running())) else {
            return Ok((arguments.clone(), keywords.cloned()));
        };
        // `iter(iterable)` calls nothing.
        let position = position.filter(|_| name != "iter" || arguments.len() == 2);
        let mut positional: Vec<Bound<'py, PyAny>> = arguments.iter().collect();
        if let Some(argument) = position.and_then(|position| positional.get_mut(position)) {
            *argument = self.as_callback(py, argument.clone())?;
        }
        let named = match keywords {
            Some(keywords) => {
                let named = keywords.copy()?;
                for name in FUNCTIONS {
                    if let Some(function) = named.get_item(*name)? {
                        named.set_item(*name, self.as_callback(py, function)?)?;
                    }
                }
                Some(named)
            }
            None => None,
        };
        Ok((PyTuple::new(py, positional)?, named))
    }

    /// A function as built-in code may call it; anything else as it is.
    fn as_callback<'py>(&self, py: Python<'py>, argument: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let keeps = argument.is(py.import(intern!(py, "itertools"))?.getattr(intern!(py, "repeat"))?);
        let reads = keeps || self.state().code.builtins.only_reads(&argument);
        if !argument.is_callable() || reads || argument.is_instance_of::<Callback>() {
            return Ok(argument);
        }
        // C that C calls: no other thread comes in between.
        let method = ControlledCall::what_it_calls(&argument);
        if is_of_context_variable(&method) {
            return Ok(method);
        }
        let function = self.control(py, argument)?.unbind();
        Ok(Bound::new(py, Callback { host: require_host(py)?, function })?.into_any())
    }
}

#[pymethods]
impl Host {
    /// A generator that built-in code may have advanced returns `value`; None also if it ends in another way.
    #[pyo3(signature = (value, /))]
    fn returned<'py>(&self, py: Python<'py>, value: &Bound<'py, PyAny>) -> PyResult<()> {
        self.resume_operation(py, Some(CallbackResult { value, is_source: false }))
    }

    /// A generator gives `value` to whoever advances it, which may be built-in code.
    #[pyo3(signature = (value, /))]
    fn yields<'py>(&self, py: Python<'py>, value: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.resume_operation(py, Some(CallbackResult { value: &value, is_source: false }))?;
        Ok(value)
    }

    /// The iterable that a generator expression runs over; at its end the generator ends.
    #[pyo3(signature = (iterable, /))]
    fn ending<'py>(&self, py: Python<'py>, iterable: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let inner = iterable.try_iter()?.into_any();
        if !self.awake().is_some_and(|state| state.running()) {
            return Ok(inner);
        }
        Ok(Bound::new(py, Ending { host: require_host(py)?, inner: inner.unbind() })?.into_any())
    }
}

/// Gives the items of another iterator, and tells of its end.
#[pyclass(frozen, module = "dpor._kernel")]
pub struct Ending {
    host: Py<Host>,
    inner: Py<PyAny>,
}

#[pymethods]
impl Ending {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let next = self.inner.bind(py).try_iter()?.next().transpose()?;
        if next.is_none() {
            self.host.get().resume_operation(py, None)?;
        }
        Ok(next)
    }
}
