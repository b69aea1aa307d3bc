//! What instrumented code finds in modules that are not instrumented: their objects exist before executions begin, and
//! nobody makes them anew. What an execution changes of them is put back, or named where that is not known how to do.

use crate::python::modules::module_variables::{instrumented_namespace, variables_of_module};
use std::rc::Rc;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFunction, PyModule, PyTuple, PyType, PyWeakrefReference};
use rustc_hash::FxHashMap;

use crate::python::explore::assumptions::AssumptionKind;
use crate::python::footprints::insides::{has_nothing_inside, own_dict, referents};
use crate::python::host::Host;
use crate::python::primitives::keeps_attributes;
use crate::python::types::ancestry::{told_by_type, Ancestry};
use crate::python::types::harmless_methods::{is_own, is_own_primitive};
use crate::python::types::kinds::{is_heap_class, module_of, qualified_name};

/// Objects of modules that are not instrumented, and what has been looked at to find them.
#[derive(Default)]
pub struct Found {
    /// By address: the package that the object was found in, and the object, which is kept.
    packages: FxHashMap<usize, (Rc<str>, Py<PyAny>)>,
}

impl Found {
    #[inline]
    fn knows(&self, object: &Bound<'_, PyAny>) -> bool {
        self.packages.contains_key(&(object.as_ptr() as usize))
    }

    fn add(&mut self, object: &Bound<'_, PyAny>, package: Rc<str>) {
        self.packages.insert(object.as_ptr() as usize, (package, object.clone().unbind()));
    }
}

impl Host {
    /// A module has given a value to instrumented code. Unless it is instrumented, the value, and all that can be
    /// reached from it without leaving the package's code, exists before executions begin.
    #[inline]
    pub fn keep_found(&self, module: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) {
        if has_nothing_inside(value) || !module.is_instance_of::<PyModule>() {
            return;
        }
        if self.awake().is_some_and(|state| !state.lasting.found.knows(value)) {
            self.asleep(|| self.keep_reachable(module, value));
        }
    }

    #[cold]
    fn keep_reachable(&self, module: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) {
        let Some(namespace) = variables_of_module(module) else { return };
        if instrumented_namespace(module).is_some() {
            return;
        }
        let name: String = match namespace.get_item(intern!(module.py(), "__name__")) {
            Ok(Some(name)) => name.extract().unwrap_or_default(),
            _ => String::new(),
        };
        let package: Rc<str> = name.split('.').next().unwrap_or_default().into();
        if matches!(&*package, "" | "dpor" | "dpor_lsp") {
            // The checker's own, which is not asked for again.
            self.state().lasting.found.add(value, package);
            return;
        }
        // `vars` of the module gives all of them.
        let mut waiting = match value.is(&namespace) {
            true => namespace.values().iter().collect(),
            false => vec![value.clone()],
        };
        while let Some(object) = waiting.pop() {
            if has_nothing_inside(&object) || self.state().lasting.found.knows(&object) {
                continue;
            }
            let parts = parts_of(&object, &package);
            let mut state = self.state();
            state.lasting.found.add(&object, package.clone());
            if state.lasting.is_used_unseen(&object) {
                continue;
            }
            let Some(parts) = parts else { continue };
            waiting.extend(parts);
            if !object.is_instance_of::<PyType>() {
                state.lasting.know(&object);
            }
        }
    }

    /// An object that lasts is about to be changed, and cannot be put back. Returns whether the report names the
    /// package that it was found in.
    pub fn assume_found(&self, object: &Bound<'_, PyAny>) -> bool {
        let mut state = self.state();
        let found = state.lasting.found.packages.get(&(object.as_ptr() as usize));
        let Some(package) = found.map(|(package, _)| package.clone()) else { return false };
        if state.executes() {
            let class = qualified_name(&object.get_type());
            state.assume(object.py(), AssumptionKind::KeptState, &format!("{class} of {package}"));
        }
        true
    }
}

/// Threads of execution, which lead everywhere, and what refers to objects without keeping them.
const NOT_FOLLOWED: &[&str] = &["_abc_data", "code", "frame", "traceback"];

/// What can be reached from an object; None if the object is none of the package's: the checker's own, or a class or
/// the variables of another module. What is known of types is not asked: to learn of one has its module instrumented.
fn parts_of<'py>(object: &Bound<'py, PyAny>, package: &str) -> Option<Vec<Bound<'py, PyAny>>> {
    let py = object.py();
    if let Ok(class) = object.cast::<PyType>() {
        let own = module_of(class).split('.').next() == Some(package);
        if !own || is_own(class) || !is_heap_class(class) {
            return None;
        }
        let values = told_by_type(class, intern!(py, "__dict__")).and_then(|own| own.call_method0("values")).ok()?;
        let values = values.try_iter().ok()?.flatten();
        return Some(values.chain(class.ancestry().iter()).collect());
    }
    if let Ok(function) = object.cast::<PyFunction>() {
        return Some(kept_by_function(function));
    }
    if keeps_attributes(object) {
        return own_dict(object).map(|attributes| vec![attributes.into_any()]);
    }
    let followed =
        object.get_type().name().is_ok_and(|name| name.to_str().is_ok_and(|name| !NOT_FOLLOWED.contains(&name)));
    let leads_on = followed && !object.is_instance_of::<PyModule>() && !object.is_instance_of::<PyWeakrefReference>();
    if !leads_on || is_own_primitive(object) || is_own(&object.get_type()) {
        return None;
    }
    let is_namespace = |dict: &Bound<'py, PyDict>| dict.contains(intern!(py, "__builtins__")).unwrap_or(true);
    if object.cast::<PyDict>().is_ok_and(is_namespace) {
        return None;
    }
    Some(referents(object))
}

/// What a function keeps: default values, the variables of a closure, attributes.
fn kept_by_function<'py>(function: &Bound<'py, PyFunction>) -> Vec<Bound<'py, PyAny>> {
    let py = function.py();
    let mut kept = Vec::new();
    if let Ok(Ok(defaults)) =
        function.getattr(intern!(py, "__defaults__")).map(|defaults| defaults.cast_into::<PyTuple>())
    {
        kept.extend(defaults.iter());
    }
    for name in [intern!(py, "__kwdefaults__"), intern!(py, "__dict__")] {
        kept.extend(function.getattr(name).ok().filter(|value| value.is_instance_of::<PyDict>()));
    }
    let closure = function.getattr(intern!(py, "__closure__")).map(|closure| closure.cast_into::<PyTuple>());
    if let Ok(Ok(cells)) = closure {
        kept.extend(cells.iter().filter_map(|cell| cell.getattr(intern!(py, "cell_contents")).ok()));
    }
    kept
}
