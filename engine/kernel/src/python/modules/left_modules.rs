//! Modules of the standard library in Python that are left as they are: their code runs unseen.
//!
//! That is right as long as they compute from what nobody else changes, and keep nothing that two threads share. So
//! such a module is instrumented after all, from the next execution on, as soon as
//! - a function of it is given something that other threads change while it may read it, or an object whose attributes
//!   it may store, or
//! - an object is made of a class of it, unless such objects are known not to change.

use std::sync::atomic::Ordering;

use pyo3::exceptions::PyBaseException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFunction, PyString, PyTuple, PyType};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::operation::Access;
use crate::python::calls::builtins::CallableKind;
use crate::python::calls::callback_results::ResultUse;
use crate::python::calls::entered_code::Entry;
use crate::python::explore::assumptions::{package_of, AssumptionKind};
use crate::python::explore::learning::Restart;
use crate::python::footprints::container_effects::ContainerEffect;
use crate::python::footprints::look::{Depth, Looking, Part};
use crate::python::footprints::whole_reads::given;
use crate::python::host::Host;
use crate::python::modules::unseen_readers::UnseenReaders;
use crate::python::state::Phase;
use crate::python::threads::own_modules::OwnModule;
use crate::python::types::ancestry::told_by_type;
use crate::python::types::kinds::{is_heap_class, TypeKind};

#[derive(Default)]
pub struct LeftModules {
    /// Their names, which stand for their submodules too.
    names: FxHashSet<String>,
    /// Those of them that run on stand-ins, which tell of what they read. They stay as they are.
    described: FxHashSet<String>,
    /// Modules whose classes make objects that do not change, and such classes by module and name.
    unchanging: FxHashSet<String>,
    /// Functions, by module and name, that look into nothing that they are given.
    incurious: FxHashSet<String>,
    /// Functions, by module and name, that read the items of what they are given, and nothing in those.
    shallow: FxHashSet<String>,
    /// Functions, by module and name, that hand what they are given to code in C, which reads it in one step.
    at_once: FxHashSet<String>,
    /// Modules that are instrumented after all.
    watched: FxHashSet<String>,
    /// Classes, by address, of objects whose attributes are changed, in this execution.
    changed: FxHashSet<usize>,
    pub readers: UnseenReaders,
    /// Whether functions, by the address of their code, store attributes of objects.
    writers: FxHashMap<usize, bool>,
}

impl LeftModules {
    /// Whether a module is left as it is.
    pub fn contains(&self, name: &str) -> bool {
        !self.watched.contains(name) && is_below(name, &self.names)
    }

    /// Whether a module runs on stand-ins.
    pub fn is_described(&self, name: &str) -> bool {
        self.described.contains(name.split('.').next().unwrap_or_default())
    }

    /// Whether a function looks into nothing that it is given.
    pub fn is_incurious(&self, module: &str, function: &str) -> bool {
        self.incurious.contains(&format!("{module}.{function}"))
    }

    /// How deep a function looks into what it is given.
    pub fn depth(&self, module: &str, function: &str) -> Depth {
        match self.shallow.contains(&format!("{module}.{function}")) {
            true => Depth::Items,
            false => Depth::Everything,
        }
    }

    /// Whether a function reads what it is given in one step.
    pub fn reads_at_once(&self, module: &str, function: &str) -> bool {
        self.at_once.contains(&format!("{module}.{function}"))
    }

    /// Leave the module as it is no longer. Returns whether it was.
    pub fn watch(&mut self, name: &str) -> bool {
        self.contains(name) && !self.is_described(name) && self.watched.insert(name.to_owned())
    }

    /// Addresses of classes may be those of others from now on.
    pub fn forget_classes(&mut self) {
        self.changed.clear();
        self.readers.clear();
    }

    /// Whether objects of a class may change unseen, of a module that is left as it is.
    pub fn changes_unseen(&self, module: &str, class: &str) -> bool {
        self.contains(module) && !self.is_unchanging(module, class)
    }

    /// Whether the class is of such a module, but its objects do not change unless a program changes them.
    pub fn is_unchanging(&self, module: &str, class: &str) -> bool {
        let named = || self.unchanging.contains(&format!("{module}.{class}"));
        self.contains(module) && (is_below(module, &self.unchanging) || named())
    }
}

/// Whether a name is one of these, or of a submodule of one.
fn is_below(name: &str, names: &FxHashSet<String>) -> bool {
    let mut rest = name;
    loop {
        if names.contains(rest) {
            return true;
        }
        match rest.rsplit_once('.') {
            Some((parent, _)) => rest = parent,
            None => return false,
        }
    }
}

#[pymethods]
impl Host {
    /// Leave modules of the standard library as they are. `described` names those of them that run on stand-ins,
    /// `unchanging` modules, and classes with their modules, whose objects do not change. Of functions with their
    /// modules, `incurious` look into nothing that they are given, `shallow` read the items of it and nothing in those,
    /// and `at_once` read it in one step.
    fn leave_modules(
        &self,
        names: Vec<String>,
        described: Vec<String>,
        unchanging: Vec<String>,
        incurious: Vec<String>,
        shallow: Vec<String>,
        at_once: Vec<String>,
    ) {
        self.state().types.origins.left = LeftModules {
            names: names.into_iter().collect(),
            described: described.into_iter().collect(),
            unchanging: unchanging.into_iter().collect(),
            incurious: incurious.into_iter().collect(),
            shallow: shallow.into_iter().collect(),
            at_once: at_once.into_iter().collect(),
            watched: FxHashSet::default(),
            changed: FxHashSet::default(),
            readers: UnseenReaders::default(),
            writers: FxHashMap::default(),
        };
    }
}

impl Host {
    /// Call a function of a module that is left as it is. It may read all that it is given.
    pub fn call_reading<'py>(
        &self,
        py: Python<'py>,
        function: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let read = given(arguments, keywords);
        self.watch_if_storing(function, &read)?;
        // Nobody else can have changed what it reads, nor will before it has read it: to look there would find nothing
        // new.
        let alone = self.awake().is_some_and(|state| state.running() && state.is_alone());
        let depth = match named_function(function) {
            Ok((module, name)) => self.state().types.origins.left.depth(&module, &name),
            Err(_) => Depth::Everything,
        };
        let mut parts = if alone { Vec::new() } else { self.reading_parts(&read, depth) };
        if depth == Depth::Everything && !alone {
            for object in &read {
                parts.extend(self.definition_parts(object)?);
            }
        }
        self.watch_if_raced(function, &parts, depth)?;
        let used = ResultUse::Read(depth);
        let call = || function.call(arguments, keywords);
        let whole = (parts.as_slice(), depth);
        let (made, _) = self.operate_on_arguments_from(py, whole, &read, used, Entry::UnseenCode, call)?;
        if alone && self.awake().is_some_and(|state| !state.is_alone()) {
            // Code of the model has started a thread in the middle of it.
            self.assume(py, AssumptionKind::UnseenCode, &package_of(function));
        }
        if self.kind(&made) == TypeKind::Instance {
            self.want_class(&made.get_type())?;
        }
        self.stand_for_buffer(&made, &read);
        Ok(made)
    }

    /// What is read of definitions: of a class or an instance the attributes of classes, of a function its own and its
    /// annotations. Of an exception only its text is.
    fn definition_parts<'py>(&self, object: &Bound<'py, PyAny>) -> PyResult<Vec<Part<'py>>> {
        let py = object.py();
        match self.kind(object) {
            TypeKind::Class => self.named_parts(object),
            TypeKind::Instance if !object.is_instance_of::<PyBaseException>() => self.named_parts(object),
            TypeKind::Module => Ok(vec![Part { object: object.clone(), effect: ContainerEffect::ReadWhole }]),
            _ if self.callable_kind(object) == CallableKind::Function => {
                // A function cannot tell whether it had a dict before somebody asked.
                let own = object.getattr(intern!(py, "__dict__"))?;
                self.alias_instance_dict(&own, object);
                let annotations = object.getattr(intern!(py, "__annotations__"))?;
                Ok(self.reading_parts(&[own, annotations], Depth::Everything))
            }
            _ => Ok(Vec::new()),
        }
    }

    /// An attribute of an object is changed: code of its class would read it unseen.
    #[inline]
    pub fn watch_left_class(&self, object: &Bound<'_, PyAny>) -> PyResult<()> {
        let class = object.get_type();
        let looks = self.awake().is_some_and(|mut state| {
            state.running() && state.types.origins.left.changed.insert(class.as_ptr() as usize)
        });
        if !looks {
            return Ok(());
        }
        self.watch_changed_class(&class)?;
        self.learn_readers(&class)
    }

    #[cold]
    fn watch_changed_class(&self, class: &Bound<'_, PyType>) -> PyResult<()> {
        let Some((module, _)) = named_class(class).filter(|_| is_heap_class(class)) else { return Ok(()) };
        let wants = {
            let mut state = self.state();
            let origins = &mut state.types.origins;
            // Made with others of its module: their functions are instrumented with it.
            let function = origins.left.contains(&module).then(|| class.clone().into_any());
            function.is_some_and(|class| origins.watch(&module, &class))
        };
        match wants {
            true => Err(self.restart_with(class.py(), Restart::Library)),
            false => Ok(()),
        }
    }

    /// Whether an object can be given attributes which another thread, or another execution, would find.
    fn matters_to_others(&self, object: &Bound<'_, PyAny>) -> bool {
        let Some(mut state) = self.awake().filter(|state| state.phase == Phase::Running) else { return false };
        let made = match object.is_instance_of::<PyFunction>() {
            true => state.types.code_token(object).is_some_and(|token| state.made_function(object, token).is_some()),
            false => {
                let kind = state.types.facts(object).kind;
                if !matches!(kind, TypeKind::Class | TypeKind::Instance) {
                    return false;
                }
                state.objects.current(object).is_some()
            }
        };
        !made || !state.has_no_company()
    }

    /// If a function stores attributes of objects, such as those that it may be given, its stores are operations of
    /// their own.
    fn watch_if_storing(&self, function: &Bound<'_, PyAny>, given: &[Bound<'_, PyAny>]) -> PyResult<()> {
        let py = function.py();
        if self.importing.load(Ordering::Relaxed) || !given.iter().any(|object| self.matters_to_others(object)) {
            return Ok(());
        }
        let function = behind_method(function)?;
        let code = function.getattr(intern!(py, "__code__"))?;
        let address = code.as_ptr() as usize;
        let known = self.state().types.origins.left.writers.get(&address).copied();
        let stores = match known {
            Some(stores) => stores,
            None => {
                let ask = OwnModule::StoredAttributes.get(py)?;
                let stores =
                    self.asleep(|| ask.call_method1(intern!(py, "stores_attributes"), (code,))?.is_truthy())?;
                self.state().types.origins.left.writers.insert(address, stores);
                stores
            }
        };
        let wants = stores && {
            let (module, _) = named_function(&function)?;
            self.state().types.origins.watch(&module, &function)
        };
        match wants {
            true => Err(self.restart_with(py, Restart::Library)),
            false => Ok(()),
        }
    }

    /// If other threads change what a function may read, its reads are operations of their own.
    fn watch_if_raced(&self, function: &Bound<'_, PyAny>, parts: &[Part<'_>], depth: Depth) -> PyResult<()> {
        if parts.is_empty() {
            return Ok(());
        }
        let py = function.py();
        let raced = {
            let Some(mut state) = self.awake().filter(|state| state.phase == Phase::Running) else { return Ok(()) };
            let (accesses, _) = state.whole_accesses(&Looking::at(parts, &[], depth));
            let races = |access: &Access| {
                state.exploration.settings.everything_races || state.identities.is_visible(access.location)
            };
            accesses.iter().any(races)
        };
        if !raced {
            return Ok(());
        }
        let function = behind_method(function)?;
        let (module, name) = named_function(&function)?;
        let wants = {
            let origins = &mut self.state().types.origins;
            !origins.left.reads_at_once(&module, &name) && origins.watch(&module, &function)
        };
        match wants {
            true => Err(self.restart_with(py, Restart::Library)),
            false => Ok(()),
        }
    }
}

/// The function of a bound method, or the function itself.
fn behind_method<'py>(function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let behind = function.getattr_opt(intern!(function.py(), "__func__"))?;
    Ok(behind.unwrap_or_else(|| function.clone()))
}

/// The module that a function in Python, or the one of a bound method, is of, and its name there.
fn named_function(function: &Bound<'_, PyAny>) -> PyResult<(String, String)> {
    let py = function.py();
    let function = behind_method(function)?;
    let namespace = function.getattr(intern!(py, "__globals__"))?;
    let module = namespace.get_item(intern!(py, "__name__"))?.extract()?;
    Ok((module, function.getattr(intern!(py, "__qualname__"))?.extract()?))
}

/// The name of a class in its module, if it is one that a class statement has made.
pub fn named_class(class: &Bound<'_, PyType>) -> Option<(String, String)> {
    let told = |name: &Bound<'_, PyString>| told_by_type(class, name).ok()?.extract::<String>().ok();
    Some((told(intern!(class.py(), "__module__"))?, told(intern!(class.py(), "__qualname__"))?))
}
