//! Who wrote a function in Python, told by its code: a function keeps its namespace when it gets other code, and code
//! that is generated has the namespace of somebody else.

use pyo3::exceptions::PyBaseException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::python::calls::function_code::code_of;
use crate::python::explore::assumptions::AssumptionKind;
use crate::python::explore::learning::Restart;
use crate::python::host::Host;
use crate::python::modules::known_code::KnownCode;
use crate::python::modules::left_modules::{named_class, LeftModules};
use crate::python::modules::module_variables::variables_of_module;
use crate::python::modules::namespaces::is_instrumented_namespace;
use crate::python::state::Phase;
use crate::python::types::ancestry::{told_by_type, Ancestry};
use crate::python::types::kinds::is_heap_class;

/// What is done about code in Python.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Origin {
    Instrumented,
    /// It needs no watching.
    Safe,
    /// It needs no watching, but reads what it is given: a module that computes from texts, or looks at objects.
    Reading,
    /// The standard library's, to be instrumented before it runs in an execution.
    Library,
    /// Nothing is known of it: its calls are taken as atomic operations on their object.
    Foreign,
}

/// What is known of a function's code.
#[derive(Clone, Copy)]
pub struct Written {
    pub origin: Origin,
    /// Whether calls of the function make generators.
    pub makes_generators: bool,
}

/// Packages of the checker itself and of what it runs on.
const OWN: &[&str] = &["dpor", "dpor_lsp", "greenlet", "builtins"];
/// Its stand-ins for functions in C of the system, which read what they are given: buffers, rows of a table.
const OUTSIDE: &str = "dpor.runtime.outside";
/// How much code is remembered: more is only there where every execution generates some.
const REMEMBERED: usize = 20_000;

/// The origins of all code that was met.
#[derive(Default)]
pub struct Origins {
    /// By address; the code is kept.
    codes: FxHashMap<usize, (Written, Py<PyAny>)>,
    told: KnownCode,
    /// Modules of the standard library whose code is instrumented when it is needed; none without a library.
    standard: FxHashSet<String>,
    /// Packages that the checker runs on.
    own: FxHashSet<String>,
    /// Modules of the standard library that are left as they are.
    pub left: LeftModules,
    /// Modules that were wanted for their classes.
    included: FxHashSet<String>,
    /// Classes, by address, all of whose modules are instrumented if they have to be.
    settled: FxHashSet<usize>,
    /// Whether generators were made whose code runs unseen.
    has_unseen_generators: bool,
    /// What has to be instrumented before the next execution: functions, classes and modules.
    wanted: Vec<Py<PyAny>>,
}

impl Origins {
    /// What is known of a function; callables without code in Python are safe here.
    #[inline]
    pub fn of(&mut self, function: &Bound<'_, PyAny>) -> PyResult<Written> {
        let Some(code) = code_of(function) else {
            return Ok(Written { origin: Origin::Safe, makes_generators: false });
        };
        match self.codes.get(&(code.as_ptr() as usize)) {
            Some((known, _)) => Ok(*known),
            None => self.learn(function, &code),
        }
    }

    /// What was told of code, rather than concluded from a function that has it.
    pub fn told_origin(&self, code: &Bound<'_, PyAny>) -> Option<Origin> {
        self.told.origin(code)
    }

    /// Whether the code of a generator runs unseen: a step of it reads what its variables hold.
    pub fn is_unseen_generator(&self, generator: &Bound<'_, PyAny>) -> bool {
        // To ask a generator for its code is an audit event.
        self.has_unseen_generators
            && generator.getattr(intern!(generator.py(), "gi_code")).is_ok_and(|code| {
                let known = self.codes.get(&(code.as_ptr() as usize));
                known.is_some_and(|(written, _)| written.origin == Origin::Reading)
            })
    }

    #[cold]
    fn learn(&mut self, function: &Bound<'_, PyAny>, code: &Bound<'_, PyAny>) -> PyResult<Written> {
        const GENERATOR: u32 = 0x20;
        let flags: u32 = code.getattr(intern!(code.py(), "co_flags"))?.extract()?;
        let address = code.as_ptr() as usize;
        let origin = match self.told.origin(code) {
            Some(origin) => origin,
            None => self.by_namespace(function, code)?,
        };
        let found = Written { origin, makes_generators: flags & GENERATOR != 0 };
        self.has_unseen_generators |= found.makes_generators && origin == Origin::Reading;
        if self.codes.len() >= REMEMBERED {
            self.codes.clear();
        }
        self.codes.insert(address, (found, code.clone().unbind()));
        Ok(found)
    }

    fn by_namespace(&mut self, function: &Bound<'_, PyAny>, code: &Bound<'_, PyAny>) -> PyResult<Origin> {
        let py = function.py();
        let Ok(namespace) = function.getattr(intern!(py, "__globals__")).and_then(|n| Ok(n.cast_into::<PyDict>()?))
        else {
            return Ok(Origin::Safe);
        };
        // A namespace that code was given, and that is no module's.
        let Some(name) = namespace.get_item(intern!(py, "__name__"))? else { return Ok(Origin::Foreign) };
        let name: String = name.extract().unwrap_or_default();
        if self.left.is_described(&name) && runs_over_arguments(code)? {
            return Ok(Origin::Reading);
        }
        let qualified: String = code.getattr(intern!(py, "co_qualname"))?.extract()?;
        if self.left.contains(&name) && self.left.is_incurious(&name, &qualified) {
            return Ok(Origin::Safe);
        }
        if !self.is_standard(&name) && is_instrumented_namespace(&namespace) {
            // Otherwise it was made from text by code that is not instrumented, for a class or function of the module.
            let instrumented = self.told.is_copy_of_instrumented(code)?;
            return Ok(if instrumented { Origin::Instrumented } else { Origin::Foreign });
        }
        Ok(self.of_module(&name))
    }

    fn of_module(&self, name: &str) -> Origin {
        let top = name.split('.').next().unwrap_or_default();
        if OWN.contains(&top) {
            return if name.starts_with(OUTSIDE) { Origin::Reading } else { Origin::Safe };
        }
        if !self.is_library(name) {
            return if self.left.is_described(name) {
                Origin::Safe
            } else if self.left.contains(name) {
                Origin::Reading
            } else {
                Origin::Foreign
            };
        }
        Origin::Library
    }

    /// Whether a module is one of the standard library.
    pub fn is_standard(&self, name: &str) -> bool {
        self.standard.contains(name.split('.').next().unwrap_or_default())
    }

    /// Whether a package is neither the standard library's nor the checker's.
    pub fn is_foreign_package(&self, package: &str) -> bool {
        !self.is_standard(package) && !self.own.contains(package)
    }

    /// Whether a module is one of those that are instrumented when they are needed.
    fn is_library(&self, name: &str) -> bool {
        self.is_standard(name) && !self.left.contains(name)
    }

    /// Have a module instrumented that is left as it is, the one of `function`. Returns whether it was.
    pub fn watch(&mut self, name: &str, function: &Bound<'_, PyAny>) -> bool {
        if !self.left.watch(name) {
            return false;
        }
        // Classes of the module have to be looked at again.
        self.settled.clear();
        self.wanted.push(function.clone().unbind());
        true
    }

    /// Classes are no longer known by their addresses, which others can have.
    pub fn forget_classes(&mut self) {
        self.settled.clear();
        self.left.forget_classes();
    }

    /// Whether the class of an object, or one that it inherits from, has to be.
    #[inline]
    fn wants_class_of(&self, object: &Bound<'_, PyAny>) -> bool {
        if self.wanted.is_empty() {
            return false;
        }
        let class = object.cast::<PyType>().cloned().unwrap_or_else(|_| object.get_type());
        class.ancestry().iter().any(|class| self.wanted.iter().any(|wanted| wanted.is(&class)))
    }

    /// Note the modules of the classes of `ty` that have to be instrumented before methods of it run.
    pub fn want_class(&mut self, ty: &Bound<'_, PyType>) {
        if self.standard.is_empty() || !self.settled.insert(ty.as_ptr() as usize) {
            return;
        }
        let is_heap = |class: &Bound<'_, PyAny>| class.cast::<PyType>().is_ok_and(is_heap_class);
        let named = |class: Bound<'_, PyAny>| {
            let name = class.cast::<PyType>().ok().and_then(named_class)?;
            Some((class.unbind(), name))
        };
        let classes: Vec<_> = ty.ancestry().iter().filter(is_heap).filter_map(named).collect();
        // Members of enumerations do not change, and neither do exceptions once they are made.
        let fixed = |(module, name): &(String, String)| module == "enum" && name == "Enum";
        let is_fixed =
            classes.iter().any(|(_, named)| fixed(named)) || ty.is_subclass_of::<PyBaseException>().unwrap_or(false);
        for (class, (module, name)) in classes {
            if !is_fixed && self.left.changes_unseen(&module, &name) {
                self.left.watch(&module);
            }
            if !self.is_library(&module) {
                continue;
            }
            self.want_descriptors(class.bind(ty.py()));
            if self.included.insert(module) {
                self.wanted.push(class);
            }
        }
    }

    /// Note the modules of what a class of the library holds, which runs when attributes are loaded: a
    /// `cached_property`.
    fn want_descriptors(&mut self, class: &Bound<'_, PyAny>) {
        let py = class.py();
        let namespace =
            told_by_type(class, intern!(py, "__dict__")).and_then(|namespace| namespace.call_method0("values"));
        for value in namespace.and_then(|values| values.try_iter()).into_iter().flatten().flatten() {
            let holder = value.get_type();
            let Some((module, _)) = named_class(&holder).filter(|_| is_heap_class(&holder)) else { continue };
            if self.is_library(&module) && self.included.insert(module) {
                self.wanted.push(holder.into_any().unbind());
            }
        }
    }
}

/// Whether code of a module that runs on stand-ins takes the items of a container that it is given.
fn runs_over_arguments(code: &Bound<'_, PyAny>) -> PyResult<bool> {
    let name = code.getattr(intern!(code.py(), "co_name"))?;
    Ok(name.eq("wait")? || name.eq("as_completed")?)
}

#[pymethods]
impl Host {
    /// Instrument modules of the standard library when they are needed. `standard` names their top levels, `own` the
    /// packages that the checker runs on; `include` is called with functions, classes and modules, and has the modules
    /// instrumented.
    fn use_library(&self, standard: Vec<String>, own: Vec<String>, include: Py<PyAny>) {
        let mut state = self.state();
        state.types.origins.own = own.into_iter().collect();
        state.types.origins.standard = standard.into_iter().collect();
        state.code.library = Some(include);
    }

    /// Say of code, and of all code that is defined in it, that it is instrumented.
    fn tell_instrumented(&self, code: &Bound<'_, PyAny>) -> PyResult<()> {
        self.note_origin(code, Origin::Instrumented)
    }

    /// Say that it is not, and that nothing is known of it.
    fn tell_foreign(&self, code: &Bound<'_, PyAny>) -> PyResult<()> {
        self.note_origin(code, Origin::Foreign)
    }

    /// Say that it needs no watching.
    fn trust_code(&self, code: &Bound<'_, PyAny>) -> PyResult<()> {
        self.note_origin(code, Origin::Safe)
    }
}

impl Host {
    fn note_origin(&self, code: &Bound<'_, PyAny>, origin: Origin) -> PyResult<()> {
        let mut state = self.state();
        let origins = &mut state.types.origins;
        for code in origins.told.note(code, origin)? {
            origins.codes.remove(&(code.as_ptr() as usize));
        }
        Ok(())
    }
}

impl Host {
    /// Who wrote a function, after it has been instrumented if it has to be.
    pub fn origin(&self, function: &Bound<'_, PyAny>) -> PyResult<Written> {
        let (found, phase) = {
            let mut state = self.state();
            (state.types.origins.of(function)?, state.phase)
        };
        if found.origin != Origin::Library {
            return Ok(found);
        }
        match phase {
            Phase::Idle => {
                self.state().types.origins.wanted.push(function.clone().unbind());
                self.include_wanted(function.py())?;
                self.state().types.origins.of(function)
            }
            Phase::Probing => {
                self.state().types.origins.wanted.push(function.clone().unbind());
                Ok(Written { origin: Origin::Safe, ..found })
            }
            Phase::Running | Phase::Unwinding | Phase::Releasing => {
                self.state().types.origins.wanted.push(function.clone().unbind());
                Err(self.restart_with(function.py(), Restart::Library))
            }
        }
    }

    /// A class is about to be called: its methods are instrumented if they have to be.
    pub fn want_class(&self, class: &Bound<'_, PyType>) -> PyResult<()> {
        let phase = {
            let mut state = self.state();
            let origins = &mut state.types.origins;
            let before = origins.wanted.len();
            origins.want_class(class);
            // What else is wanted is no matter of this class.
            if origins.wanted.len() == before && !origins.wants_class_of(class) {
                return Ok(());
            }
            state.phase
        };
        match phase {
            Phase::Idle => self.include_wanted(class.py()).map(drop),
            Phase::Probing => Ok(()),
            Phase::Running | Phase::Unwinding | Phase::Releasing => {
                Err(self.restart_with(class.py(), Restart::Library))
            }
        }
    }

    /// Before an object may run code of its class: end the execution if the class was met for the first time and has to
    /// be instrumented. What the code changes would not be seen, and what that was before would not be known any more.
    #[inline]
    pub fn require_instrumented(&self, object: &Bound<'_, PyAny>) -> PyResult<()> {
        let wants = self.awake().is_some_and(|state| state.puts_back() && state.types.origins.wants_class_of(object));
        if wants {
            return Err(self.restart_with(object.py(), Restart::Library));
        }
        Ok(())
    }

    /// A function gets code: calls of functions of the same module are not looked at.
    pub fn assume_unseen_code(&self, code: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = code.py();
        if code.get_type().name()? != "code" {
            // It is refused.
            return Ok(());
        }
        let seen = {
            let told = &mut self.state().types.origins.told;
            match told.origin(code) {
                Some(origin) => origin != Origin::Foreign,
                None => told.is_copy_of_instrumented(code)?,
            }
        };
        if !seen {
            let file: String = code.getattr(intern!(py, "co_filename"))?.extract()?;
            self.assume(py, AssumptionKind::UnseenCode, &file);
        }
        Ok(())
    }

    /// A module is about to be changed: one that outlives executions has to be put back.
    pub fn want_module(&self, module: &Bound<'_, PyAny>) -> PyResult<()> {
        // A module that was never initialised has no name.
        let name = variables_of_module(module).and_then(|own| own.get_item(intern!(module.py(), "__name__")).ok()?);
        let name: String = name.and_then(|name| name.extract().ok()).unwrap_or_default();
        {
            let mut state = self.state();
            let origins = &mut state.types.origins;
            if !origins.is_library(&name) || !origins.included.insert(name) {
                return Ok(());
            }
            origins.wanted.push(module.clone().unbind());
        }
        Err(self.restart_with(module.py(), Restart::Library))
    }

    /// Instrument what is wanted, between executions. Returns whether there was anything.
    pub fn include_wanted(&self, py: Python<'_>) -> PyResult<bool> {
        let (wanted, include) = {
            let mut state = self.state();
            let include = state.code.library.as_ref().map(|include| include.clone_ref(py));
            (std::mem::take(&mut state.types.origins.wanted), include)
        };
        let Some(include) = include.filter(|_| !wanted.is_empty()) else { return Ok(false) };
        self.asleep(|| include.call1(py, (wanted,)))?;
        let codes = std::mem::take(&mut self.state().types.origins.codes);
        drop(codes);
        self.state().types.forget();
        Ok(true)
    }
}
