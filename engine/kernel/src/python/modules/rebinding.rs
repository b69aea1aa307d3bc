//! Names that are rebound where code took them for constant: methods of classes, variables of modules from outside, and
//! what decides which code an object has.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFunction, PyString, PyType};

use crate::python::explore::assumptions::AssumptionKind;
use crate::python::heap::undo::Undo;
use crate::python::host::Host;
use crate::python::kept::lasting::Original;
use crate::python::modules::module_variables::instrumented_namespace;
use crate::python::state::State;
use crate::python::types::ancestry::{holder_of, told_by_type};
use crate::python::types::attribute_kinds::AttributeKind;
use crate::python::types::kinds::TypeKind;
use crate::python::types::native_types::{descriptor_kind, Descriptor};

/// Attributes with two underscores that decide nothing of what other accesses to the object mean.
const HARMLESS_DUNDERS: &[&str] = &[
    "__annotations__",
    "__cause__",
    "__context__",
    "__dict__",
    "__doc__",
    "__module__",
    "__name__",
    "__notes__",
    "__qualname__",
    // What copyreg found out about a class, and would find out again.
    "__slotnames__",
    "__suppress_context__",
    "__traceback__",
    "__type_params__",
    "__wrapped__",
];

/// Whether an attribute decides what other accesses to the object mean, by its name.
pub fn decides_meaning(name: &str) -> bool {
    name.starts_with("__") && name.ends_with("__") && !HARMLESS_DUNDERS.contains(&name)
}

/// Whether what the class of an object has under a name gives way to an attribute of the object itself: not if it takes
/// the store.
pub fn can_be_hidden(object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<bool> {
    let py = object.py();
    let Some(class) = holder_of(&object.get_type(), name) else { return Ok(false) };
    // Not by `getattr`, which would call a descriptor of the model.
    let found = told_by_type(&class, intern!(py, "__dict__"))?.get_item(name)?;
    Ok(!found.get_type().hasattr(intern!(py, "__set__"))?)
}

/// How a report names an object that a definition belongs to: a function or class by its name, others by their class,
/// which runs no code of the model.
fn owner_of_definition(object: &Bound<'_, PyAny>) -> PyResult<String> {
    let named = match object.cast::<PyType>() {
        Ok(class) => class.qualname().ok().map(|name| name.to_string()),
        Err(_) if object.is_instance_of::<PyFunction>() => {
            object.getattr(intern!(object.py(), "__qualname__"))?.extract().ok()
        }
        Err(_) => None,
    };
    match named {
        Some(name) => Ok(name),
        None => Ok(format!("an object of class {}", object.get_type().name()?)),
    }
}

/// What an attribute of a class or function was, and whether it decides what other accesses to the object mean.
pub struct OriginalAttribute {
    pub undo: Undo,
    pub decides: bool,
    /// Whether it can decide what accesses to the instances of a class mean: a value may have become a descriptor.
    pub of_class: bool,
}

impl OriginalAttribute {
    /// Whether a class has had a value of its own there that is no descriptor, and gets another one.
    pub fn keeps_plain_value(&self, value: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<bool> {
        let Undo::Attribute { value: Some(former), .. } = &self.undo else { return Ok(false) };
        let is_plain =
            |value: &Bound<'_, PyAny>| -> PyResult<bool> { Ok(descriptor_kind(value, name)? == Descriptor::Value) };
        Ok(is_plain(former.bind(value.py()))? && is_plain(value)?)
    }
}

impl State {
    /// An attribute of a class or module is deleted.
    pub fn note_deleted_from_class(&mut self, name: &Bound<'_, PyString>) {
        if !self.is_alone() && self.types.note_rebound(name) {
            self.exploration.learning.must_begin_anew();
        }
    }
}

impl Host {
    /// Before an attribute is changed: see whether it was taken for constant, or for one that its class does not have.
    pub fn check_rebinding(
        &self,
        py: Python<'_>,
        object: &Bound<'_, PyAny>,
        name: &Bound<'_, PyString>,
    ) -> PyResult<()> {
        if self.state().is_alone() || self.state().types.is_rebound(name) {
            return Ok(());
        }
        let rebinds = match self.kind(object) {
            TypeKind::Immutable => false,
            TypeKind::Module => true,
            TypeKind::Class => {
                let namespace = told_by_type(object, intern!(py, "__dict__"))?;
                !namespace.contains(name)?
                    || self.state().types.attribute(object, name, TypeKind::Class) == AttributeKind::Constant
            }
            _ => self.state().attribute_slot(object, name).is_none() && can_be_hidden(object, name)?,
        };
        if rebinds && self.state().types.note_rebound(name) {
            let mut state = self.state();
            state.exploration.learning.must_begin_anew();
        }
        Ok(())
    }

    /// Whether a change of the attribute can change more than a value that an instance holds.
    #[inline]
    pub fn may_reshape(&self, object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<bool> {
        let kind = match self.awake() {
            Some(mut state) if state.puts_back() => state.types.facts(object).kind,
            _ => return Ok(false),
        };
        self.require_instrumented(object)?;
        Ok(kind != TypeKind::Instance || name.to_str()?.starts_with("__"))
    }

    /// Before an attribute is changed: whether it decides what other accesses to the object mean, such as its class, or
    /// the code of a function. A thread that is alone may change it; that others use the object meanwhile is assumed
    /// away.
    ///
    /// Returns what the attribute is now, for `keep_original_attribute` after it has been changed. Of instances nothing
    /// else is kept here: they are known from when they were made. A class or function may be anybody's.
    pub fn reshapes(
        &self,
        py: Python<'_>,
        object: &Bound<'_, PyAny>,
        name: &Bound<'_, PyString>,
    ) -> PyResult<Option<OriginalAttribute>> {
        let kind = self.kind(object);
        let decides = decides_meaning(name.to_str()?);
        let named = matches!(kind, TypeKind::Class | TypeKind::Immutable) || decides && kind == TypeKind::Module;
        // Not by `getattr`, which would call a descriptor of the model.
        let kept = named || decides && holder_of(&object.get_type(), name).is_some();
        if !kept || !self.state().puts_back() {
            return Ok(None);
        }
        if decides && !self.state().has_no_company() {
            let whose = self.asleep(|| owner_of_definition(object))?;
            self.assume(py, AssumptionKind::ChangedDefinition, &format!("{name} of {whose}"));
        }
        let undo = self.asleep(|| Undo::of_attribute(object, name))?;
        Ok(Some(OriginalAttribute { undo, decides, of_class: kind == TypeKind::Class }))
    }

    /// Get the annotations of an object with `get`. A class or module makes them if there are none yet.
    #[cold]
    pub fn made_annotations<'py>(
        &self,
        py: Python<'py>,
        object: &Bound<'py, PyAny>,
        name: &Bound<'py, PyString>,
        get: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let whose = match self.kind(object) {
            TypeKind::Class => "type",
            TypeKind::Module => "module",
            _ => return get(),
        };
        let former = self.asleep(|| Undo::of_attribute(object, name))?;
        let made = get()?;
        let makes = matches!(former, Undo::Attribute { value: None, .. });
        if makes && self.state().puts_back() {
            if !self.state().has_no_company() {
                // Whoever looks at all attributes meanwhile finds them or not.
                self.assume(py, AssumptionKind::UnseenCode, &format!("builtins.{whose}.__annotations__"));
            }
            self.state().lasting.originals.push(Original::Value(former));
        }
        let mut state = self.state();
        if state.running() && made.is_exact_instance_of::<PyDict>() {
            let facts = state.types.facts(object);
            let (id, key) = (state.object(object, facts), state.identities.name(name));
            let lasts = !makes && state.objects.current(&made).is_none();
            state.adopt(&made, id, key);
            if let (true, Some(dict)) = (lasts, state.container(&made)) {
                state.contents.instance_dicts.note_of_function(dict.object);
            }
        }
        Ok(made)
    }

    /// Forget what followed from definitions that have been changed.
    pub fn forget_definitions(&self) {
        self.state().types.forget();
    }

    /// Before an attribute of a module is changed: the namespace to change it in, if the module is instrumented. Its
    /// own code must take it for a variable that is rebound; if it does not yet, the exploration will begin anew.
    pub fn rebound_in<'py>(
        &self,
        py: Python<'py>,
        object: &Bound<'py, PyAny>,
        name: &Bound<'py, PyString>,
    ) -> PyResult<Option<Bound<'py, PyDict>>> {
        if self.kind(object) != TypeKind::Module {
            return Ok(None);
        }
        self.want_module(object)?;
        let Some(namespace) = instrumented_namespace(object) else { return Ok(None) };
        self.require_rebound(py, &namespace, name)?;
        Ok(Some(namespace))
    }

    /// A module's variable is about to be changed from outside of its code.
    pub fn require_rebound(
        &self,
        py: Python<'_>,
        namespace: &Bound<'_, PyDict>,
        name: &Bound<'_, PyString>,
    ) -> PyResult<()> {
        let Some(module) = namespace.get_item(intern!(py, "__name__"))? else { return Ok(()) };
        let variable = (module.extract::<String>()?, name.to_string());
        let mut state = self.state();
        if state.code.rebound.contains(&variable) {
            return Ok(());
        }
        // The thread goes on up to its next visible operation: a module that binds its names when they are asked for
        // binds many. One that an execution has noted which had another reason to begin anew is still to be learned.
        state.exploration.learning.note_rebinding(variable);
        Ok(())
    }
}
