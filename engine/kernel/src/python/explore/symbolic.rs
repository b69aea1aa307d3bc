//! Symbolic values as the host sees them: branches on conditions, the solver, and the places where a value has to be a
//! number (indexes, keys of dicts and elements of sets).
//!
//! Expressions, models and the solver itself are Python (`dpor.symbolic`); here a condition is its number.

use std::cell::RefCell;
use std::rc::Rc;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyInt, PyList, PySet, PyString, PyTuple};
use smallvec::SmallVec;

use crate::execution::{Event, Literal, Sides, Solver};
use crate::operation::{AccessMode, Accesses, LocationId, Operation, OperationKind, ThreadId};
use crate::python::explore::recording::Word;
use crate::python::explore::refusals::Refusal;
use crate::python::footprints::container_effects::ContainerEffect;
use crate::python::host::Host;
use crate::python::state::{Phase, State};
use crate::python::threads::switching::Footprint;

/// Where what the solver raises is kept until the execution has ended.
pub type SolverError = Rc<RefCell<Option<PyErr>>>;

/// A solver in Python: a callable that is given the literals of a path and a condition, and says whether the condition
/// can be true and whether it can be false.
pub struct PythonSolver {
    sides: Py<PyAny>,
    error: SolverError,
}

impl PythonSolver {
    pub fn new(sides: Py<PyAny>, error: SolverError) -> PythonSolver {
        PythonSolver { sides, error }
    }
}

impl Solver for PythonSolver {
    fn sides(&mut self, path: &[Literal], condition: u32) -> Sides {
        let literals: Vec<(u32, bool)> = path.iter().map(|literal| (literal.condition, literal.taken)).collect();
        let asked = Python::attach(|py| {
            let answer = self.sides.bind(py).call1((literals, condition))?;
            answer.extract::<(bool, bool)>()
        });
        match asked {
            Ok((when_true, when_false)) => Sides { when_true, when_false },
            Err(error) => {
                // The exploration ends with this execution, so that it does not matter what is taken.
                self.error.borrow_mut().get_or_insert(error);
                Sides::BOTH
            }
        }
    }
}

/// A branch in the middle of an operation of built-in code, before events that were planned without it.
pub struct EarlyBranch {
    thread: ThreadId,
    /// The events of the operation so far, by their indexes.
    begin: u32,
    end: u32,
    refusal: Py<PyAny>,
}

/// The symbolic values of a check.
#[derive(Default)]
pub struct Symbolic {
    /// Whether the model has any.
    pub used: bool,
    /// What decides branches: the session of the check.
    pub solver: Option<Py<PyAny>>,
    /// What that raised.
    pub error: SolverError,
    pub early: Vec<EarlyBranch>,
}

impl State {
    /// Why the execution cannot stand as it is: a planned event has seen what an operation wrote before it had
    /// branched.
    pub fn divided_operation(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let execution = &self.driver.execution;
        let planned = self.driver.explorer().planning().map_or(0, |explorer| explorer.planned()).min(execution.len());
        let events = &execution.events()[..planned];
        let divided = self.exploration.symbolic.early.iter().find(|early| {
            let own =
                |event: &&Event| event.thread == early.thread && (early.begin..early.end).contains(&event.index);
            let seen = |write: &Event| {
                let others = events.iter().filter(|event| event.thread != early.thread);
                others.into_iter().any(|event| execution.happens_before(write.id, event.id))
            };
            events.iter().filter(own).filter(|event| may_write(event)).any(seen)
        });
        divided.map(|early| early.refusal.clone_ref(py))
    }
}

fn may_write(event: &Event) -> bool {
    let writes = |mode| matches!(mode, AccessMode::Write | AccessMode::IntentWrite);
    let kind = event.operation.kind;
    event.accesses.iter().any(|access| writes(access.mode))
        || event.accesses.is_empty()
            && matches!(kind, OperationKind::Store | OperationKind::ReadModifyWrite | OperationKind::CompareExchange)
}

fn pairs(literals: impl Iterator<Item = Literal>) -> Vec<(u32, bool)> {
    literals.map(|literal| (literal.condition, literal.taken)).collect()
}

#[pymethods]
impl Host {
    /// Decide a symbolic condition for the calling thread; both sides are explored if both are possible. A condition
    /// that was decided in the past of the thread keeps its value.
    fn branch(&self, py: Python<'_>, condition: u32) -> PyResult<bool> {
        let known = {
            let state = self.state();
            match state.phase {
                Phase::Running => {}
                _ => return Err(Self::aborted()),
            }
            let last = state.driver.threads.get(state.current).last;
            state.driver.execution.decided(condition, last)
        };
        if let Some(taken) = known {
            return Ok(taken);
        }
        let operation = Operation::new(OperationKind::Branch, LocationId::NONE, condition);
        self.perform(py, operation, 2, |_| Footprint::of(Accesses::new()))?;
        let taken = self.state().driver.outcome() != 0;
        let value = PyBool::new(py, taken).to_owned();
        if self.is_recording() {
            let solver = self.solver(py);
            let text = solver.map(|solver| solver.call_method1(py, intern!(py, "condition_text"), (condition,)));
            let text = text.transpose()?;
            self.note(py, Word::Branch, None, text.as_ref().map(|text| text.bind(py)), Some(value.as_any()), true);
        }
        Ok(taken)
    }

    /// The conditions that were decided in the past of the calling thread, in every execution in which it comes here.
    fn literals(&self) -> Vec<(u32, bool)> {
        let state = self.state();
        let last = state.driver.threads.get(state.current).last;
        pairs(state.driver.execution.literals_before(last))
    }

    /// All conditions that were decided in the running (or last) execution, by whichever thread.
    fn path(&self) -> Vec<(u32, bool)> {
        let state = self.state();
        let execution = &state.driver.execution;
        let path = execution.path_at(state.driver.position().min(execution.len()));
        pairs(execution.conditions().literals(path).into_iter())
    }

    /// The calling thread has made a symbolic value called `name`.
    fn made_symbolic(&self, py: Python<'_>, name: &Bound<'_, PyString>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        self.had_effect(py, "makes a symbolic value")?;
        self.state().exploration.symbolic.used = true;
        self.note(py, Word::Nondet, None, Some(name.as_any()), Some(value), false);
        Ok(())
    }

    /// What decides symbolic branches, as it was given to `explore`.
    #[getter]
    pub fn solver(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.state().exploration.symbolic.solver.as_ref().map(|solver| solver.clone_ref(py))
    }

    /// Whether the code that runs is a predicate of `wait_until`.
    #[getter]
    fn probing(&self) -> bool {
        self.state().phase == Phase::Probing
    }

    /// Give the check up with a coded error.
    fn refuse(&self, py: Python<'_>, error: Py<PyAny>) -> PyResult<()> {
        self.state().exploration.refusals.add(Refusal::Coded(error));
        Err(self.uncontrolled(py, "has a symbolic value where none can be".to_owned()))
    }
}

impl Host {
    #[inline]
    pub fn is_symbolic(&self, value: &Bound<'_, PyAny>) -> bool {
        self.awake().is_some_and(|mut state| state.exploration.symbolic.used && state.types.facts(value).symbolic)
    }

    /// Make a call of built-in code, which is one operation: if it branches, no other thread comes in between.
    pub fn undivided<T>(&self, call: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
        let begin = {
            let state = self.state();
            // While modules are imported there are no threads.
            if state.running() {
                state.driver.threads.get(state.current).events
            } else {
                0
            }
        };
        self.undivided_from(begin, call)
    }

    /// The same for an operation whose first event was the `begin`th of the thread.
    pub fn undivided_from<T>(&self, begin: u32, call: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
        let caller = {
            let mut state = self.state();
            let current = state.current;
            let thread = state.thread(current);
            if thread.builtin_calls == 0 {
                thread.operation_began = begin;
            }
            thread.builtin_calls += 1;
            current
        };
        let result = call();
        let mut state = self.state();
        let calls = &mut state.thread(caller).builtin_calls;
        *calls = calls.saturating_sub(1);
        drop(state);
        result
    }

    /// Refuse a compare-exchange of symbolic values where it is told apart whether one fails. It counts as a write
    /// whatever the branch that follows it decides, and so would order, and publish, what a read alone does not.
    pub fn refuse_weak_exchange(&self, py: Python<'_>) -> PyResult<()> {
        let solver = {
            let state = self.state();
            match &state.exploration.symbolic.solver {
                Some(solver) if state.heap.reads.failing_orders_less => solver.clone_ref(py),
                _ => return Ok(()),
            }
        };
        solver.call_method0(py, intern!(py, "refuse_weak_exchange")).map(drop)
    }

    /// A branch has come up, and is decided at once. Explorers of graphs may have planned events that come after it in
    /// this execution: if they see what the call of built-in code that branches has written, what they do was planned
    /// without knowing what that is. Whether they do is looked at when the execution has ended.
    pub fn note_early_branch(&self, py: Python<'_>) -> PyResult<()> {
        let solver = {
            let mut state = self.state();
            let current = state.current;
            let inside = state.driver.explorer().planning().is_some_and(|explorer| explorer.is_early())
                && state.thread(current).builtin_calls > 0;
            match &state.exploration.symbolic.solver {
                Some(solver) if inside => solver.clone_ref(py),
                _ => return Ok(()),
            }
        };
        let refusal = solver.call_method0(py, intern!(py, "divided"))?;
        let mut state = self.state();
        let current = state.current;
        let begin = state.thread(current).operation_began;
        let end = state.driver.threads.get(current).events;
        state.exploration.symbolic.early.push(EarlyBranch { thread: current, begin, end, refusal });
        Ok(())
    }

    /// The solver, once the model has made a symbolic value.
    fn solver_in_use<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        let state = self.state();
        let solver = state.exploration.symbolic.solver.as_ref().filter(|_| state.exploration.symbolic.used)?;
        Some(solver.bind(py).clone())
    }

    /// What to call for a built-in function that C would not let take symbolic values: `int`, `pow`, `type`.
    pub fn symbolic_builtin<'py>(&self, function: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match self.solver_in_use(function.py()) {
            Some(solver) => solver.call_method1(intern!(function.py(), "builtin"), (function,)),
            None => Ok(function),
        }
    }

    /// Whether instrumented code takes numbers, and no symbolic values.
    pub fn needs_numbers(&self, function: &Bound<'_, PyAny>) -> PyResult<bool> {
        match self.solver_in_use(function.py()) {
            Some(solver) => solver.call_method1(intern!(function.py(), "needs_numbers"), (function,))?.extract(),
            None => Ok(false),
        }
    }

    /// The arguments of a call with numbers in place of symbolic values, where the function is in C and takes nothing
    /// else.
    pub fn number_arguments<'py>(
        &self,
        function: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Option<(Bound<'py, PyTuple>, Bound<'py, PyDict>)>> {
        let py = function.py();
        let Some(solver) = self.solver_in_use(py) else { return Ok(None) };
        let may_hold = |value: &Bound<'py, PyAny>| {
            let is_container = value.is_exact_instance_of::<PyTuple>()
                || value.is_exact_instance_of::<PyList>()
                || value.is_exact_instance_of::<PyDict>()
                || value.is_exact_instance_of::<PySet>();
            is_container || self.is_symbolic(value)
        };
        let values = || keywords.into_iter().flat_map(|keywords| keywords.values().iter().collect::<Vec<_>>());
        if !arguments.iter().chain(values()).any(|value| may_hold(&value)) {
            return Ok(None);
        }
        solver.call_method1(intern!(py, "number_arguments"), (function, arguments, keywords))?.extract()
    }

    fn has_symbolic(&self, value: &Bound<'_, PyAny>) -> bool {
        if let Ok(tuple) = value.cast_exact::<PyTuple>() {
            return tuple.iter().any(|item| self.has_symbolic(&item));
        }
        self.is_symbolic(value)
    }

    /// A key with numbers in place of symbolic values: each value that they can have is a branch.
    pub fn concrete<'py>(&self, key: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(tuple) = key.cast_exact::<PyTuple>() {
            let items = tuple.iter().map(|item| self.concrete(&item)).collect::<PyResult<Vec<_>>>()?;
            return Ok(PyTuple::new(key.py(), items)?.into_any());
        }
        if self.is_symbolic(key) {
            return key.call_method0(intern!(key.py(), "__dpor_concrete__"));
        }
        Ok(key.clone())
    }

    /// The key with which a container is about to be asked.
    #[inline]
    pub fn concrete_key<'py>(
        &self,
        object: &Bound<'py, PyAny>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        if !self.state().exploration.symbolic.used
            || key.is_exact_instance_of::<PyInt>()
            || key.is_exact_instance_of::<PyString>()
        {
            return Ok(None);
        }
        if !self.has_symbolic(key) {
            return Ok(None);
        }
        let py = key.py();
        if object.cast::<PyList>().is_ok() && self.is_symbolic(key) {
            let bounded: bool = key.call_method0(intern!(py, "__dpor_is_bounded__"))?.extract()?;
            if !bounded {
                // Which values are in range is all that a list can tell apart.
                self.access_container(py, object, ContainerEffect::Length, None)?;
                let length = object.cast::<PyList>().map_or(0, |list| list.len());
                return Ok(Some(key.call_method1(intern!(py, "__dpor_index__"), (length,))?));
            }
        }
        self.concrete(key).map(Some)
    }

    /// The arguments of a container's method, the first of which is a key.
    pub fn concrete_arguments<'py>(
        &self,
        object: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let Ok(first) = arguments.get_item(0) else { return Ok(None) };
        let Some(key) = self.concrete_key(object, &first)? else { return Ok(None) };
        let rest = arguments.iter().skip(1);
        let all: SmallVec<[Bound<'py, PyAny>; 4]> = std::iter::once(key).chain(rest).collect();
        Ok(Some(PyTuple::new(object.py(), all)?))
    }

    /// Let a dict or set that built-in code has just made hold numbers where it was given symbolic values.
    pub fn concrete_content(&self, object: &Bound<'_, PyAny>) -> PyResult<()> {
        if !self.state().exploration.symbolic.used {
            return Ok(());
        }
        if let Ok(dict) = object.cast::<PyDict>() {
            if dict.keys().iter().any(|key| self.has_symbolic(&key)) {
                let items = dict.items();
                dict.clear();
                for item in items.iter() {
                    let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
                    dict.set_item(self.concrete(&key)?, value)?;
                }
            }
        } else if let Ok(set) = object.cast::<PySet>() {
            let items: Vec<_> = set.iter().collect();
            if items.iter().any(|item| self.has_symbolic(item)) {
                set.clear();
                for item in items {
                    set.add(self.concrete(&item)?)?;
                }
            }
        }
        Ok(())
    }
}
