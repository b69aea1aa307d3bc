//! Which objects of the model's modules can be put back as they were: those of which it is known what they consist of.
//! A change of any other has the modules loaded afresh for each execution.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyType};

use crate::python::heap::place::{lacks_dict, native_method};
use crate::python::heap::undo::Undo;
use crate::python::hooks::variables::Cell;
use crate::python::host::Host;
use crate::python::identities::objects::shown_by_memory_view;
use crate::python::kept::lasting::Original;
use crate::python::modules::rebinding::decides_meaning;
use crate::python::types::ancestry::{told_by_type, Ancestry};
use crate::python::types::kinds::{is_heap_class, module_of, qualified_name, TypeKind};

/// Classes written in C of which an instance is its items, in their order, and nothing else that an operation on it
/// changes.
const CONTAINERS: &[(&str, &str)] = &[
    ("builtins", "dict"),
    ("builtins", "list"),
    ("builtins", "set"),
    ("collections", "OrderedDict"),
    ("collections", "defaultdict"),
    ("collections", "deque"),
];

/// Whether what an object of the class holds can be taken out of it and put back: it is one of these containers, or
/// derives from one in Python.
fn is_restorable_container(class: &Bound<'_, PyType>) -> bool {
    let known = |base: &Bound<'_, PyType>| {
        let (module, name) = (module_of(base), qualified_name(base));
        CONTAINERS.iter().any(|(of, named)| *of == module && *named == name)
    };
    class.ancestry().iter().all(|base| {
        let Ok(base) = base.cast_into::<PyType>() else { return false };
        known(&base) || is_plain_class(&base)
    })
}

/// Whether the class adds nothing to its instances but attributes.
fn is_plain_class(class: &Bound<'_, PyType>) -> bool {
    class.is(class.py().get_type::<PyAny>()) || is_heap_class(class)
}

/// Whether a dict is the namespace of a module.
fn is_namespace(dict: &Bound<'_, PyDict>) -> bool {
    dict.contains(intern!(dict.py(), "__builtins__")).unwrap_or(true)
}

impl Host {
    /// Whether what an execution changes of the object could be put back: it exists before executions begin, and they
    /// do not make it anew.
    fn outlives_executions(&self, object: &Bound<'_, PyAny>) -> bool {
        let state = self.state();
        state.puts_back()
            && !state.exploration.settings.fresh_modules
            && !state.lasting.contains(object)
            && state.is_permanent(object)
    }

    /// Whether the running execution has made the object, or has found it in what it has made: the common case, which
    /// is to cost little. A dict of a function lasts with the function.
    #[inline]
    fn is_of_execution(&self, object: &Bound<'_, PyAny>) -> bool {
        let state = self.state();
        state.objects.current(object).is_some_and(|id| {
            !state.lasting.contains(object)
                && (state.exploration.settings.fresh_modules || !state.contents.instance_dicts.is_of_function(id))
        })
    }

    /// Before an operation changes the items of one container and nothing in it: what an execution changes of one that
    /// exists before executions begin is put back, which costs less than to load the modules afresh.
    pub fn check_fresh_container(&self, py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Some(shown) = shown_by_memory_view(object) {
            return self.check_fresh_container(py, &shown);
        }
        if self.is_of_execution(object) {
            return Ok(());
        }
        let is_namespace = || object.cast_exact::<PyDict>().is_ok_and(is_namespace);
        let outlives = self.outlives_executions(object) && !is_namespace();
        match outlives && is_restorable_container(&object.get_type()) {
            true => self.keep_original(object),
            false => self.check_fresh(py, object),
        }
    }

    /// The same before an attribute of an object is stored or, with `deletes`, deleted. `in_container` tells whether C
    /// code keeps it with the rest of the object.
    pub fn check_fresh_attribute(
        &self,
        py: Python<'_>,
        object: &Bound<'_, PyAny>,
        name: &Bound<'_, PyString>,
        in_container: bool,
        deletes: bool,
    ) -> PyResult<()> {
        if self.is_of_execution(object) {
            return Ok(());
        }
        if in_container || !self.outlives_executions(object) {
            return self.check_fresh(py, object);
        }
        let kind = self.kind(object);
        let has_attributes = kind == TypeKind::Instance || kind.is_container();
        // Who looks for a dict that is not there makes it.
        let known = has_attributes && !decides_meaning(name.to_str()?) && !self.asleep(|| lacks_dict(object))?;
        match known && self.asleep(|| self.keep_own_attribute(object, name, deletes))? {
            true => Ok(()),
            false => self.check_fresh(py, object),
        }
    }

    /// Keep an attribute as it is. Returns false if it is none that the object has itself, in its `__dict__` or in a
    /// slot of a class in Python.
    fn keep_own_attribute(
        &self,
        object: &Bound<'_, PyAny>,
        name: &Bound<'_, PyString>,
        deletes: bool,
    ) -> PyResult<bool> {
        let py = object.py();
        let key = (object.as_ptr() as usize, name.as_ptr() as usize);
        if !deletes && self.state().lasting.changed_attributes.contains(&key) {
            return Ok(true);
        }
        let slot = slot_of(object, name)?;
        if slot == Some(false) {
            return Ok(false);
        }
        let undo = match slot {
            Some(_) => Undo::of_attribute(object, name)?,
            None => {
                let load = native_method(object, "__getattribute__")?;
                let Ok(own) = load.call1((object, intern!(py, "__dict__"))) else { return Ok(false) };
                let Ok(own) = own.cast_into_exact::<PyDict>() else { return Ok(false) };
                match deletes && own.contains(name)? {
                    // Another time it would come back behind the others.
                    true => {
                        Undo::Container { content: own.copy()?.into_any().unbind(), object: own.into_any().unbind() }
                    }
                    false => Undo::of_attribute(object, name)?,
                }
            }
        };
        let mut state = self.state();
        state.lasting.originals.push(Original::Value(undo));
        // The name lives as long as what it was.
        if !deletes {
            state.lasting.changed_attributes.insert(key);
        }
        Ok(true)
    }

    /// The same before a variable that functions share is changed.
    pub fn check_fresh_cell(&self, py: Python<'_>, cell: &Bound<'_, Cell>) -> PyResult<()> {
        if self.is_of_execution(cell.as_any()) {
            return Ok(());
        }
        if !self.outlives_executions(cell.as_any()) {
            return self.check_fresh(py, cell.as_any());
        }
        let value = cell.borrow().contents(py);
        let mut state = self.state();
        if state.lasting.changed.insert(cell.as_ptr() as usize) {
            let undo = Undo::Variable { cell: cell.clone().unbind(), value };
            state.lasting.originals.push(Original::Value(undo));
        }
        Ok(())
    }

    /// Whether an attribute of a class that exists before executions begin, which is about to be stored or deleted, is
    /// put back where it was.
    pub fn puts_back_in_class(
        &self,
        class: &Bound<'_, PyAny>,
        name: &Bound<'_, PyString>,
        deletes: bool,
    ) -> PyResult<bool> {
        if self.kind(class) != TypeKind::Class || !self.outlives_executions(class) {
            return Ok(false);
        }
        if !deletes {
            return Ok(true);
        }
        // Another time it would come back behind the others.
        let own = told_by_type(class, intern!(class.py(), "__dict__"))?;
        Ok(!own.contains(name)?)
    }

    /// Before an operation in C changes an object in a way that is not known from what the operation says of it.
    pub fn check_fresh_whole(&self, py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<()> {
        match self.kind(object).is_container() {
            true => self.check_fresh_container(py, object),
            false => self.check_fresh(py, object),
        }
    }
}

/// Whether the object keeps the attribute in a slot of a class in Python (Some(true)), or it is up to another
/// descriptor in C (Some(false)); None if it is in the object's `__dict__`.
fn slot_of(object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<Option<bool>> {
    let py = object.py();
    for class in object.get_type().ancestry().iter() {
        let namespace = told_by_type(&class, intern!(py, "__dict__"))?;
        if !namespace.contains(name)? {
            continue;
        }
        let found = namespace.get_item(name)?.get_type().name()?;
        let class = class.cast_into::<PyType>()?;
        return Ok(match found.to_str()? {
            "member_descriptor" => Some(is_heap_class(&class)),
            "getset_descriptor" => Some(false),
            _ => None,
        });
    }
    Ok(None)
}

/// What the object holds in slots, if its classes are all in Python.
pub fn slots_of(object: &Bound<'_, PyAny>) -> PyResult<Vec<Undo>> {
    let py = object.py();
    let mut held = Vec::new();
    if object.is_instance_of::<PyType>() {
        return Ok(held);
    }
    for class in object.get_type().ancestry().iter() {
        let class = class.cast_into::<PyType>()?;
        if !is_plain_class(&class) {
            return Ok(Vec::new());
        }
        for item in told_by_type(&class, intern!(py, "__dict__"))?.call_method0(intern!(py, "items"))?.try_iter()? {
            let (name, found) = item?.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>()?;
            if found.get_type().name()? == "member_descriptor" {
                held.push(Undo::of_attribute(object, &name.cast_into::<PyString>()?)?);
            }
        }
    }
    Ok(held)
}
