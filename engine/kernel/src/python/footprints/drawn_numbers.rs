//! Numbers that another run may give differently: addresses in memory, hashes that depend on addresses or on a seed,
//! identifiers of threads; and orders that such numbers decide: that of the items of a set.
//!
//! A check gives the same ones whenever it follows the same schedule. What a program makes of others is not explored,
//! so that a verdict rests on them where the program can tell: it is an assumption. Of the program's own code alone:
//! the library's keeps objects by such numbers, and is careful with them.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyComplex, PyDict, PyFloat, PyFrozenSet, PyInt, PySet, PyTuple};

use crate::python::explore::assumptions::{runs_first_party, AssumptionKind};
use crate::python::footprints::insides::has_nothing_inside;
use crate::python::host::Host;
use crate::python::modules::module_variables::variables_of_module;
use crate::python::threads::own_modules::OwnModule;
use crate::python::types::kinds::module_of;

/// Functions of the interpreter that tell how its memory is used, and which threads it has.
const TELLING_OF_MEMORY: &[(&str, &[&str])] = &[
    ("_weakref", &["getweakrefcount", "getweakrefs"]),
    ("gc", &["get_count", "get_freeze_count", "get_objects", "get_referents", "get_referrers", "get_stats"]),
    (
        "sys",
        &[
            "_current_exceptions",
            "_current_frames",
            "_debugmallocstats",
            "getallocatedblocks",
            "getrefcount",
            "getunicodeinternedsize",
        ],
    ),
];
/// What they make of such a number is one of these numbers again, or a text that shows it.
const PASSING_ON: &[&str] = &["__hash__", "__repr__", "__str__", "__format__"];

impl Host {
    /// `function` gives such a number to the code that runs.
    pub fn note_drawn_number(&self, py: Python<'_>, function: &str) {
        let knows = {
            let state = self.state();
            !state.executes() || state.exploration.assumptions.knows(AssumptionKind::DrawnNumber, function)
        };
        if !knows && runs_first_party(py, PASSING_ON) {
            self.assume(py, AssumptionKind::DrawnNumber, function);
        }
    }

    /// Two objects are compared by identity. Whether `re` makes a pattern anew depends on what else has been in its
    /// cache.
    #[inline]
    pub fn note_identity(&self, left: &Bound<'_, PyAny>, right: &Bound<'_, PyAny>) {
        if !has_nothing_inside(left) && !has_nothing_inside(right) {
            self.note_identity_of_patterns(left, right);
        }
    }

    #[cold]
    fn note_identity_of_patterns(&self, left: &Bound<'_, PyAny>, right: &Bound<'_, PyAny>) {
        let (left, right) = (left.get_type(), right.get_type());
        if left.is(&right)
            && module_of(&left) == "re"
            && self.awake().is_some_and(|state| state.executes() && !state.has_no_company())
        {
            self.assume(left.py(), AssumptionKind::UnseenCode, "re.compile");
        }
    }

    /// A function in C of a module is about to be called.
    pub fn note_memory_told(&self, module: &Bound<'_, PyAny>, function: &str) {
        // Not by the attributes of the module, whose class may have code of the model for them.
        let name = variables_of_module(module).and_then(|own| own.get_item("__name__").ok()?);
        let Some(name) = name.and_then(|name| name.extract::<String>().ok()) else { return };
        if TELLING_OF_MEMORY.iter().any(|(module, functions)| *module == name && functions.contains(&function)) {
            self.note_drawn_number(module.py(), &format!("{name}.{function}"));
        }
    }

    /// Built-in code is called with these objects.
    pub fn note_drawn_in_call(
        &self,
        function: &Bound<'_, PyAny>,
        given: &[Bound<'_, PyAny>],
        keywords: Option<&Bound<'_, PyDict>>,
    ) {
        if self.state().code.builtins.is_hash(function) && !given.iter().all(has_fixed_hash) {
            self.note_drawn_number(function.py(), "hash");
        }
        if given.iter().any(is_set) {
            let py = function.py();
            let name = function.getattr(intern!(py, "__name__")).and_then(|name| name.extract::<String>());
            // Items that a key does not tell apart stay in the order in which they are.
            let has_key = keywords.is_some_and(|keywords| keywords.contains(intern!(py, "key")).unwrap_or(true));
            self.note_drawn_orders(name.as_deref().unwrap_or_default(), has_key, given);
        }
    }

    /// A method of this name is called with these objects.
    pub fn note_drawn_orders(&self, method: &str, has_key: bool, given: &[Bound<'_, PyAny>]) {
        if has_key || shows_order(method) {
            given.iter().for_each(|object| self.note_drawn_order(object));
        }
    }

    /// The code that runs is about to see the order of the items of an object.
    pub fn note_drawn_order(&self, object: &Bound<'_, PyAny>) {
        if !is_set(object) {
            return;
        }
        let py = object.py();
        let knows = {
            let state = self.state();
            !state.executes() || state.exploration.assumptions.knows(AssumptionKind::HashOrder, "a set")
        };
        if !knows && is_in_drawn_order(object).unwrap_or(true) && runs_first_party(py, &[]) {
            self.assume(py, AssumptionKind::HashOrder, "a set");
        }
    }
}

#[pymethods]
impl Host {
    /// A number that is about to be computed with, or compared for order.
    fn drawn<'py>(&self, py: Python<'py>, number: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let told = OwnModule::ThreadFunctions.get(py)?.call_method0(intern!(py, "running_ident"))?;
        if number.is_exact_instance_of::<PyInt>() && number.eq(told)? {
            self.note_drawn_number(py, "threading.get_ident");
        }
        Ok(number)
    }
}

fn is_set(object: &Bound<'_, PyAny>) -> bool {
    object.is_instance_of::<PySet>() || object.is_instance_of::<PyFrozenSet>()
}

/// Whether the hash of a value is the same in all runs.
pub fn has_fixed_hash(value: &Bound<'_, PyAny>) -> bool {
    value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyComplex>()
        || value.cast_exact::<PyFloat>().is_ok_and(|number| !number.value().is_nan())
        || value.cast_exact::<PyTuple>().is_ok_and(|tuple| tuple.iter().all(|item| has_fixed_hash(&item)))
}

/// Whether the order of the items of a set depends on hashes that may be others.
fn is_in_drawn_order(set: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = set.py();
    // Not by the methods of a subclass, which may be code of the model.
    let class = match set.is_instance_of::<PySet>() {
        true => py.get_type::<PySet>(),
        false => py.get_type::<PyFrozenSet>(),
    };
    if class.call_method1(intern!(py, "__len__"), (set,))?.extract::<usize>()? < 2 {
        return Ok(false);
    }
    for item in class.call_method1(intern!(py, "__iter__"), (set,))?.try_iter()? {
        if !has_fixed_hash(&item?) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a function or method of this name shows the order of the items of what it is given. What sorts them, finds
/// the least, or takes them for a set or for one item among others shows none.
fn shows_order(name: &str) -> bool {
    const SHOWING_NONE: &[&str] = &[
        "__contains__",
        "__eq__",
        "__getitem__",
        "__ne__",
        "__setitem__",
        "add",
        "all",
        "any",
        "append",
        "appendleft",
        "bool",
        "count",
        "dict",
        "difference",
        "discard",
        "frozenset",
        "get",
        "hash",
        "index",
        "insert",
        "intersection",
        "isdisjoint",
        "issubset",
        "issuperset",
        "len",
        "max",
        "min",
        "pop",
        "remove",
        "set",
        "setdefault",
        "sorted",
        "sum",
        "symmetric_difference",
        "type",
        "union",
    ];
    !SHOWING_NONE.contains(&name)
}
