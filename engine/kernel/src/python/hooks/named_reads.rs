//! Attributes and items that built-in code reads by name, all in one operation: what the fields of `str.format` name,
//! and what a class pattern asks of its subject.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};

use crate::operation::AccessMode;
use crate::python::footprints::container_effects::ContainerEffect;
use crate::python::footprints::look::{Depth, Inside, Look, Looking, Part};
use crate::python::footprints::whole_reads::{given, reading_effect};
use crate::python::heap::place::is_intercepted;
use crate::python::host::Host;
use crate::python::state::State;
use crate::python::threads::own_modules::OwnModule;
use crate::python::types::ancestry::{holder_of, told_by_type};
use crate::python::types::kinds::TypeKind;

/// One step from an object to what is in it.
pub enum Step<'py> {
    Attribute(Bound<'py, PyString>),
    Item(Bound<'py, PyAny>),
}

/// What is read from an object, step after step.
pub struct Path<'py> {
    pub object: Bound<'py, PyAny>,
    pub steps: Vec<Step<'py>>,
    /// Whether the operation looks at what it finds in the end.
    pub looks: bool,
}

/// An argument of `str.format`, and the steps from it, if any: whether to an attribute, and the name or key.
type Field<'py> = (Bound<'py, PyAny>, Vec<(bool, Bound<'py, PyAny>)>);

impl State {
    /// Note what following a path reads as things are now.
    pub fn follow<'py>(&mut self, look: &mut Look<'py>, path: &Path<'py>) {
        let mut object = path.object.clone();
        let mut inside = Inside::default();
        for step in &path.steps {
            let Some(value) = self.value_at(&object, step) else {
                return self.access_step(look, &object, step, &mut inside);
            };
            self.access_step(look, &object, step, &mut inside);
            object = value;
        }
        if path.looks {
            look.finds(object, inside);
        }
    }

    fn access_step<'py>(
        &mut self,
        look: &mut Look<'py>,
        object: &Bound<'py, PyAny>,
        step: &Step<'py>,
        inside: &mut Inside,
    ) {
        let (owner, accesses) = match step {
            Step::Attribute(name) => {
                let Some(slot) = self.attribute_slot(object, name) else { return };
                (slot.object, slot.accesses(AccessMode::Read))
            }
            Step::Item(key) => {
                let Some(container) = self.container(object) else { return };
                // A load that has a reads-from choice is one event for each item; this one reads the whole.
                let load = match self.explores_reads() {
                    true => reading_effect(self.types.facts(object).kind),
                    false => ContainerEffect::CellLoad,
                };
                let (accesses, _) = self.container_accesses(object, container, load, Some(key));
                (container.object, self.fixed_accesses(object, container, load, Some(key), accesses))
            }
        };
        let races = accesses.iter().any(|access| self.is_visible(access.location));
        if races {
            accesses.iter().for_each(|access| look.moves(access.location, *inside));
        }
        inside.racing |= races;
        inside.owner.get_or_insert(owner);
        look.races(*inside);
        look.add(accesses);
    }

    /// Where a step leads, if no code in Python runs for it.
    fn value_at<'py>(&mut self, object: &Bound<'py, PyAny>, step: &Step<'py>) -> Option<Bound<'py, PyAny>> {
        match step {
            Step::Attribute(name) if is_plain_attribute(self.types.facts(object).kind, object, name) => {
                let value = object.getattr(name).ok()?;
                if let Some(slot) = self.attribute_slot(object, name) {
                    self.adopt(&value, slot.object, slot.key);
                }
                Some(value)
            }
            Step::Item(key) if is_plain_item(object, key) => {
                let value = object.get_item(key).ok()?;
                if let (Some(container), Some(key)) = (self.container(object), self.identities.item(key)) {
                    self.adopt(&value, container.object, key);
                }
                Some(value)
            }
            _ => None,
        }
    }
}

/// Whether loading the attribute runs no code in Python, whatever it gives.
fn is_plain_attribute(kind: TypeKind, object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> bool {
    let native = |method| is_intercepted(object, method).is_ok_and(|intercepted| !intercepted);
    if kind != TypeKind::Instance || !native("__getattribute__") || !native("__getattr__") {
        return false;
    }
    let Some(class) = holder_of(&object.get_type(), name) else { return true };
    let found = told_by_type(&class, intern!(class.py(), "__dict__")).and_then(|namespace| namespace.get_item(name));
    found.is_ok_and(|found| {
        let kind = found.get_type();
        kind.name().is_ok_and(|name| name == "member_descriptor")
            || !kind.hasattr(intern!(kind.py(), "__get__")).unwrap_or(true)
    })
}

fn is_plain_item(object: &Bound<'_, PyAny>, key: &Bound<'_, PyAny>) -> bool {
    let name = key.is_exact_instance_of::<PyString>() || key.is_exact_instance_of::<PyInt>();
    name && (object.is_exact_instance_of::<PyList>()
        || object.is_exact_instance_of::<PyDict>()
        || object.is_exact_instance_of::<PyTuple>())
}

/// Whether turning a value into text runs no code in Python.
fn is_shown_in_c(value: &Bound<'_, PyAny>) -> bool {
    value.is_none()
        || value.is_exact_instance_of::<PyString>()
        || value.is_exact_instance_of::<PyInt>()
        || value.is_exact_instance_of::<PyFloat>()
        || value.is_exact_instance_of::<PyBool>()
        || value.is_exact_instance_of::<PyBytes>()
}

impl<'py> Path<'py> {
    /// What a path that runs no code in Python leads to now; None if it leads nowhere.
    fn end(&self) -> Option<Bound<'py, PyAny>> {
        self.steps.iter().try_fold(self.object.clone(), |object, step| {
            match step {
                Step::Attribute(name) => object.getattr(name),
                Step::Item(key) => object.get_item(key),
            }
            .ok()
        })
    }
}

impl Host {
    /// Whether following the path now runs no code in Python.
    fn is_plain(&self, path: &Path<'_>) -> bool {
        let mut object = path.object.clone();
        for step in &path.steps {
            let kind = self.kind(&object);
            let next = match step {
                Step::Attribute(name) if is_plain_attribute(kind, &object, name) => object.getattr(name),
                Step::Item(key) if is_plain_item(&object, key) => object.get_item(key),
                _ => return false,
            };
            let Ok(next) = next else { return true };
            object = next;
        }
        true
    }

    /// Built-in code is about to take several ways from an object. Returns false, and does nothing, if code in Python
    /// would run on one of them.
    pub fn read_at_once<'py>(
        &self,
        py: Python<'py>,
        object: &Bound<'py, PyAny>,
        ways: Vec<Vec<Step<'py>>>,
    ) -> PyResult<bool> {
        let path = |steps| Path { object: object.clone(), steps, looks: false };
        let paths: Vec<Path<'py>> = ways.into_iter().map(path).collect();
        if !paths.iter().all(|path| self.is_plain(path)) {
            return Ok(false);
        }
        self.perform_look(py, &Looking::at(&[], &paths, Depth::Items))?;
        Ok(true)
    }

    /// `text.format(...)` or `text.format_map(...)` whose fields name attributes or items; None if none does.
    pub fn format_by_name<'py>(
        &self,
        py: Python<'py>,
        text: &Bound<'py, PyAny>,
        function: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let Ok(text) = text.cast::<PyString>() else { return Ok(None) };
        if !self.state().running() {
            return Ok(None);
        }
        let name: String = function.getattr(intern!(py, "__name__"))?.extract()?;
        let values = match name.as_str() {
            "format" => keywords.map(|keywords| keywords.clone().into_any()),
            "format_map" => arguments.get_item(0).ok(),
            _ => return Ok(None),
        };
        // Looking a name up may run code in Python, too.
        let looks_up =
            name == "format_map" && values.as_ref().is_some_and(|names| !names.is_exact_instance_of::<PyDict>());
        if !looks_up && !text.to_str().is_ok_and(|text| text.contains(['.', '['])) {
            return Ok(None);
        }
        let formatting = OwnModule::Formatting.get(py)?;
        let step_by_step = |positional: &Bound<'py, PyTuple>| {
            let host = crate::python::host::require_host(py)?;
            let given = (host, text, positional, &values, name == "format_map");
            formatting.call_method1(intern!(py, "step_by_step"), given).map(Some)
        };
        let positional = if name == "format" { arguments.clone() } else { PyTuple::empty(py) };
        if looks_up {
            return step_by_step(&positional);
        }
        let fields: Vec<Field<'py>> =
            formatting.call_method1(intern!(py, "fields"), (text, &positional, &values))?.extract()?;
        if fields.iter().all(|(_, steps)| steps.is_empty()) {
            return Ok(None);
        }
        let paths: Vec<Path<'py>> = fields
            .into_iter()
            .map(|(object, steps)| {
                let steps = steps.into_iter().map(|(attribute, key)| match (attribute, key.cast::<PyString>()) {
                    (true, Ok(name)) => Step::Attribute(name.clone()),
                    _ => Step::Item(key),
                });
                Path { object, steps: steps.collect(), looks: true }
            })
            .collect();
        // Other threads run while a value is turned into text by code in Python; what comes after is read after that.
        let at_once = |path: &Path<'py>| self.is_plain(path) && path.end().is_none_or(|value| is_shown_in_c(&value));
        if !paths.iter().all(at_once) {
            return step_by_step(&positional);
        }
        let parts: Vec<Part<'py>> = self.reading_parts(&given(arguments, keywords), Depth::Text);
        self.perform_look(py, &Looking::at(&parts, &paths, Depth::Text))?;
        function.call(arguments, keywords).map(Some)
    }
}

#[pymethods]
impl Host {
    /// The attributes of an object that a class pattern asks for, which the interpreter reads in one instruction.
    #[pyo3(signature = (object, names, /))]
    pub fn matched<'py>(
        &self,
        py: Python<'py>,
        object: &Bound<'py, PyAny>,
        names: Vec<Bound<'py, PyString>>,
    ) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let paths: Vec<Path<'py>> = names
            .iter()
            .map(|name| Path { object: object.clone(), steps: vec![Step::Attribute(name.clone())], looks: false })
            .collect();
        if names.len() < 2 || !paths.iter().all(|path| self.is_plain(path)) {
            return names.iter().map(|name| self.load_attribute(py, object, name)).collect();
        }
        self.perform_look(py, &Looking::at(&[], &paths, Depth::Items))?;
        names.iter().map(|name| object.getattr(name)).collect()
    }
}
