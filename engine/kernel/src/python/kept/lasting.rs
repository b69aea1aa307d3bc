//! Objects of modules that are not loaded afresh for each execution, such as the standard library's, and variables and
//! plain containers of any module: what an execution changes of them is put back before the next.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyModule, PyString, PyType};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::python::calls::builtins::CallableKind;
use crate::python::explore::assumptions::AssumptionKind;
use crate::python::explore::learning::Restart;
use crate::python::footprints::insides::own_dict;
use crate::python::heap::undo::Undo;
use crate::python::hooks::raising::STORED_BY_RAISING;
use crate::python::host::Host;
use crate::python::identities::subclasses::Subclasses;
use crate::python::kept::counters::Counter;
use crate::python::kept::found_state::Found;
use crate::python::kept::restorable::slots_of;
use crate::python::modules::module_variables::variables_of_module;
use crate::python::modules::rebinding::OriginalAttribute;
use crate::python::types::ancestry::told_by_type;
use crate::python::types::kinds::TypeKind;
use crate::python::types::TypeFacts;

/// What an object was before an execution changed it.
pub enum Original {
    Value(Undo),
    /// What decides the meaning of an object: the code of a function, the bases of a class.
    Definition(Undo),
    Attributes {
        object: Py<PyAny>,
        attributes: Py<PyDict>,
    },
    Class {
        class: Py<PyAny>,
        attributes: Py<PyDict>,
    },
    /// `sys.modules`: what was imported since stays.
    Modules {
        modules: Py<PyDict>,
        before: Py<PyDict>,
    },
    Variable {
        namespace: Py<PyDict>,
        name: Py<PyString>,
        value: Option<Py<PyAny>>,
    },
    Counter(Counter),
}

/// The objects that last, and what the running execution has changed of them.
#[derive(Default)]
pub struct Lasting {
    /// By address; they are kept.
    known: FxHashMap<usize, Py<PyAny>>,
    /// The names of objects and namespaces, by address, that modules use whose code is not instrumented; they are kept.
    used_unseen: FxHashMap<usize, (String, Py<PyAny>)>,
    /// Objects of modules that are not instrumented.
    pub found: Found,
    pub changed: FxHashSet<usize>,
    /// Attributes, by the addresses of object and name.
    pub changed_attributes: FxHashSet<(usize, usize)>,
    pub subclasses: Subclasses,
    /// The exceptions, by address, that it has raised.
    raised: FxHashSet<usize>,
    pub originals: Vec<Original>,
    /// Whether the model's modules hold iterators.
    pub has_iterators: bool,
}

impl Lasting {
    pub fn contains(&self, object: &Bound<'_, PyAny>) -> bool {
        !self.known.is_empty() && self.known.contains_key(&(object.as_ptr() as usize))
    }

    /// Whether code that is not instrumented uses the object by itself.
    pub fn is_used_unseen(&self, object: &Bound<'_, PyAny>) -> bool {
        self.used_unseen.contains_key(&(object.as_ptr() as usize))
    }

    /// What an execution changes of the object is to be put back.
    pub fn know(&mut self, object: &Bound<'_, PyAny>) {
        self.known.insert(object.as_ptr() as usize, object.clone().unbind());
    }
}

impl Original {
    fn put_back(self, py: Python<'_>) -> PyResult<()> {
        match self {
            Original::Value(mut undo) | Original::Definition(mut undo) => undo.swap(py),
            Original::Attributes { object, attributes } => {
                let object = object.bind(py);
                let now = variables_of_module(object).or_else(|| own_dict(object));
                let Some(now) = now else { return Ok(()) };
                now.clear();
                now.update(attributes.bind(py).as_mapping())
            }
            Original::Class { class, attributes } => {
                let (class, attributes) = (class.bind(py), attributes.bind(py));
                let names: Vec<Bound<'_, PyAny>> =
                    told_by_type(class, intern!(py, "__dict__"))?.try_iter()?.collect::<PyResult<_>>()?;
                for name in names {
                    if !attributes.contains(&name)? {
                        class.delattr(name.cast_into::<PyString>()?)?;
                    }
                }
                let now = told_by_type(class, intern!(py, "__dict__"))?;
                for (name, value) in attributes.iter() {
                    let same = now.get_item(&name).is_ok_and(|found| found.is(&value));
                    if !same {
                        class.setattr(name.cast_into::<PyString>()?, value)?;
                    }
                }
                Ok(())
            }
            Original::Modules { modules, before } => {
                let (modules, before) = (modules.bind(py), before.bind(py));
                for (name, module) in modules.copy()?.iter() {
                    if !before.contains(&name)? && !was_imported(&name, &module) {
                        modules.del_item(&name)?;
                    }
                }
                modules.update(before.as_mapping())
            }
            Original::Variable { namespace, name, value } => match value {
                Some(value) => namespace.bind(py).set_item(name, value),
                None => namespace.bind(py).del_item(name).or(Ok(())),
            },
            Original::Counter(counter) => {
                counter.put_back(py);
                Ok(())
            }
        }
    }
}

/// Whether the import system has put a module among the modules, rather than the program.
fn was_imported(name: &Bound<'_, PyAny>, module: &Bound<'_, PyAny>) -> bool {
    let py = name.py();
    let of_spec =
        |spec: Bound<'_, PyAny>| spec.getattr(intern!(py, "name")).is_ok_and(|own| own.eq(name).unwrap_or(false));
    module.is_instance_of::<PyModule>() && module.getattr(intern!(py, "__spec__")).is_ok_and(of_spec)
}

fn copied<'py>(mapping: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
    let copy = PyDict::new(mapping.py());
    copy.call_method1(intern!(mapping.py(), "update"), (mapping,))?;
    Ok(copy)
}

fn original_of(object: &Bound<'_, PyAny>, kind: TypeKind) -> PyResult<Option<Original>> {
    let py = object.py();
    if let Ok(modules) = object.cast_exact::<PyDict>() {
        if modules.is(&py.import(intern!(py, "sys"))?.getattr(intern!(py, "modules"))?) {
            let before = modules.copy()?.unbind();
            return Ok(Some(Original::Modules { modules: modules.clone().unbind(), before }));
        }
    }
    if kind.is_container() {
        return Ok(Undo::of_container(object)?.map(Original::Value));
    }
    let own = match kind {
        TypeKind::Module => variables_of_module(object).map(Bound::into_any),
        TypeKind::Class => Some(told_by_type(object, intern!(py, "__dict__"))?),
        _ => own_dict(object).map(Bound::into_any),
    };
    let Some(attributes) = own else { return Ok(None) };
    let (attributes, kept) = (copied(&attributes)?.unbind(), object.clone().unbind());
    Ok(Some(match object.is_instance_of::<PyType>() {
        true => Original::Class { class: kept, attributes },
        false => Original::Attributes { object: kept, attributes },
    }))
}

impl Host {
    /// An object that lasts is about to be changed.
    pub fn keep_original(&self, object: &Bound<'_, PyAny>) -> PyResult<()> {
        self.assume_unseen(object, None);
        let kind = {
            let mut state = self.state();
            if !state.lasting.changed.insert(object.as_ptr() as usize) {
                return Ok(());
            }
            state.types.facts(object).kind
        };
        let (original, slots) = self.asleep(|| {
            let slots = if kind.is_container() { Vec::new() } else { slots_of(object)? };
            Ok::<_, PyErr>((original_of(object, kind)?, slots))
        })?;
        let in_slots = !slots.is_empty();
        self.state().lasting.originals.extend(slots.into_iter().map(Original::Value));
        match original {
            Some(original) => self.state().lasting.originals.push(original),
            None if in_slots => {}
            None if self.assume_found(object) => {}
            None => {
                let class = object.get_type().name()?;
                let what =
                    format!("changes a {class} that exists before executions begin, and that cannot be put back");
                return Err(self.uncontrolled(object.py(), what));
            }
        }
        Ok(())
    }

    /// What modules use without being seen is about to be changed, or an attribute of it. Returns whether it is such.
    fn assume_unseen(&self, object: &Bound<'_, PyAny>, attribute: Option<&Bound<'_, PyString>>) -> bool {
        let (name, matters) = {
            let state = self.state();
            let Some((name, _)) = state.lasting.used_unseen.get(&(object.as_ptr() as usize)) else { return false };
            (name.clone(), !state.has_no_company())
        };
        let name = match attribute {
            Some(attribute) => format!("{name}.{attribute}"),
            None => name,
        };
        // What `print` writes to is followed.
        if matters && name != "sys.stdout" {
            self.assume(object.py(), AssumptionKind::ChangedDefinition, &name);
        }
        true
    }

    /// Before an attribute of an object is changed that is written in C and lasts.
    pub fn keep_original_of_native(&self, object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<()> {
        let asks = {
            let state = self.state();
            !state.lasting.used_unseen.is_empty() && state.puts_back() && !state.lasting.contains(object)
        };
        if !asks || self.kind(object) == TypeKind::Module || !self.assume_unseen(object, Some(name)) {
            return Ok(());
        }
        let Some(value) = self.asleep(|| object.getattr_opt(name))? else { return Ok(()) };
        let undo = Undo::Attribute {
            object: object.clone().unbind(),
            name: name.clone().unbind(),
            value: Some(value.unbind()),
        };
        self.state().lasting.originals.push(Original::Value(undo));
        Ok(())
    }

    /// Before an object is changed: one that exists before executions begin must be made afresh for each, or put
    /// back if it cannot be.
    #[inline]
    pub fn check_fresh(&self, py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<()> {
        let permanent = {
            let mut state = self.state();
            if state.puts_back() && state.lasting.contains(object) {
                drop(state);
                return self.keep_original(object);
            }
            let container = if object.is_exact_instance_of::<PyDict>() { state.container(object) } else { None };
            let of_function =
                container.is_some_and(|container| state.contents.instance_dicts.is_of_function(container.object));
            if of_function && state.puts_back() && !state.exploration.settings.fresh_modules {
                drop(state);
                return self.keep_original(object);
            }
            let lasting = state.is_permanent(object) || state.code.builtins.kind_of(object) == CallableKind::Function;
            state.puts_back() && !state.exploration.settings.fresh_modules && lasting
        };
        match permanent && !self.keep_counter(object) {
            true => Err(self.restart_with(py, Restart::ModuleState)),
            false => Ok(()),
        }
    }

    /// Keep a counter as it is. Returns false if the object is none that can be put back.
    fn keep_counter(&self, object: &Bound<'_, PyAny>) -> bool {
        // Of other objects a part may have been kept, and not what is changed now.
        if !Counter::is_one(object) {
            return false;
        }
        let address = object.as_ptr() as usize;
        if self.state().lasting.changed.contains(&address) {
            return true;
        }
        let Some(counter) = self.asleep(|| Counter::of(object)) else { return false };
        let mut state = self.state();
        state.lasting.changed.insert(address);
        state.lasting.originals.push(Original::Counter(counter));
        true
    }

    /// Before a variable of a module is changed. Returns False if the module has to be loaded afresh for each
    /// execution: the running one has imported it.
    pub fn keep_original_variable(
        &self,
        namespace: &Bound<'_, PyDict>,
        name: &Bound<'_, PyString>,
    ) -> PyResult<bool> {
        // Code in C uses it, though the module has been instrumented since.
        self.assume_unseen(namespace, Some(name));
        {
            let state = self.state();
            if !state.lasting.contains(namespace) {
                return Ok(state.exploration.settings.fresh_modules);
            }
        }
        let value = namespace.get_item(name)?.map(Bound::unbind);
        let (namespace, name) = (namespace.clone().unbind(), name.clone().unbind());
        self.state().lasting.originals.push(Original::Variable { namespace, name, value });
        Ok(true)
    }

    /// Before an exception is raised, of which each execution has to find what raising it stores as it was.
    pub fn keep_original_exception(&self, exception: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = exception.py();
        let lasts = {
            let mut state = self.state();
            let lasts = state.lasting.contains(exception)
                || state.is_permanent(exception) && !state.exploration.settings.fresh_modules;
            lasts && state.puts_back() && state.lasting.raised.insert(exception.as_ptr() as usize)
        };
        if !lasts {
            return Ok(());
        }
        // They are put back in the reverse order.
        for name in STORED_BY_RAISING.into_iter().rev() {
            let name = PyString::intern(py, name);
            let value = Some(self.asleep(|| exception.getattr(&name))?.unbind());
            let undo = Undo::Attribute { object: exception.clone().unbind(), name: name.unbind(), value };
            self.state().lasting.originals.push(Original::Value(undo));
        }
        Ok(())
    }

    /// An attribute has been changed; `original` is what it was, if that is to be put back.
    pub fn keep_original_attribute(&self, original: Option<OriginalAttribute>) {
        let Some(OriginalAttribute { undo, decides, of_class }) = original else { return };
        let redefines = decides || of_class;
        let original = if redefines { Original::Definition(undo) } else { Original::Value(undo) };
        self.state().lasting.originals.push(original);
        if redefines {
            self.forget_definitions();
        }
    }

    /// A variable of a module that is not instrumented, if the object is one, is about to be changed.
    pub fn keep_original_of_module(&self, object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<()> {
        if self.kind(object) != TypeKind::Module {
            return Ok(());
        }
        let Some(namespace) = variables_of_module(object) else { return Ok(()) };
        self.assume_unseen(&namespace, Some(name));
        let value = namespace.get_item(name)?.map(Bound::unbind);
        let (namespace, name) = (namespace.unbind(), name.clone().unbind());
        self.state().lasting.originals.push(Original::Variable { namespace, name, value });
        Ok(())
    }

    /// Put back what the last execution has changed of objects that last. Between executions.
    pub fn put_originals_back(&self, py: Python<'_>) -> PyResult<()> {
        let originals = {
            let mut state = self.state();
            state.lasting.changed.clear();
            state.lasting.changed_attributes.clear();
            state.lasting.raised.clear();
            std::mem::take(&mut state.lasting.originals)
        };
        let mut redefined = false;
        let mut failed = Ok(());
        for original in originals.into_iter().rev() {
            redefined |= matches!(original, Original::Definition(_));
            failed = failed.and(original.put_back(py));
        }
        if redefined {
            self.forget_definitions();
        }
        failed
    }
}

#[pymethods]
impl Host {
    /// An object lasts from execution to execution, and what an execution changes of it is to be put back. Unless it is
    /// `named`, as classes, functions and namespaces are, it exists before executions begin.
    fn keep(&self, object: &Bound<'_, PyAny>, named: bool) {
        let mut state = self.state();
        let facts = state.types.facts(object);
        if !named {
            if !facts.kind.is_tracked() || matches!(facts.kind, TypeKind::Class | TypeKind::Module) {
                return;
            }
            // Nobody's but the module's.
            let facts = TypeFacts { tells_end: false, ..facts };
            state.object(object, facts);
        }
        state.lasting.know(object);
    }

    /// An object that the model's modules hold exists before executions begin.
    fn keep_of_model(&self, object: Bound<'_, PyAny>) -> PyResult<()> {
        {
            let mut state = self.state();
            let is_iterator = state.types.facts(&object).kind == TypeKind::Iterator;
            state.lasting.has_iterators |= is_iterator;
        }
        self.created(object).map(drop)
    }

    /// A container exists before executions begin, and a module that is not instrumented has it by this name. What an
    /// execution changes of it is to be put back. Who of them uses it, is not seen.
    fn keep_of_module(&self, object: &Bound<'_, PyAny>, name: String) {
        self.keep(object, false);
        if self.state().lasting.contains(object) {
            self.use_unseen(object, name);
        }
    }

    /// The same of the namespace of such a module, and of an object in C that it has: their attributes.
    fn use_unseen(&self, object: &Bound<'_, PyAny>, name: String) {
        let kept = (name, object.clone().unbind());
        self.state().lasting.used_unseen.insert(object.as_ptr() as usize, kept);
    }
}
