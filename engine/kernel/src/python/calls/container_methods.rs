//! Calls of the methods of containers, iterators and other objects in C of which the methods are known.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PySet, PyString, PyTuple};

use crate::python::calls::builtins::{attribute_effect, gives_container};
use crate::python::calls::callback_results::ResultUse;
use crate::python::calls::callbacks::{Callback, OpenOperation};
use crate::python::explore::recording::Word;
use crate::python::footprints::behind_iterators::{is_generator, GeneratorKind};
use crate::python::footprints::container_effects::{method_effect, ContainerEffect};
use crate::python::footprints::look::{Depth, Part};
use crate::python::footprints::whole_reads::{looks_inside, reading_effect};
use crate::python::hooks::items::has_builtin_items;
use crate::python::host::Host;
use crate::python::types::harmless_methods::is_harmless_method;
use crate::python::types::kinds::TypeKind;
use crate::python::types::native_types::{is_native, keeps_to_itself, leaves_buffers, takes_items};

/// Whether the callable is a type of which every call makes a new container.
pub fn makes_container(function: &Bound<'_, PyAny>) -> bool {
    let py = function.py();
    function.is(py.get_type::<PyList>())
        || function.is(py.get_type::<PyDict>())
        || function.is(py.get_type::<PySet>())
}

impl Host {
    /// A method of a container: which cells it accesses, and what it reads of its arguments in the same step.
    pub fn call_container<'py>(
        &self,
        py: Python<'py>,
        object: &Bound<'py, PyAny>,
        name: &Bound<'py, PyString>,
        function: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.note_native_use(object)?;
        let kind = self.kind(object);
        let text = name.to_str().unwrap_or_default();
        match kind {
            TypeKind::Set if matches!(text, "pop" | "__iter__" | "__repr__") => self.note_drawn_order(object),
            TypeKind::Set => {}
            _ => arguments.iter().for_each(|argument| self.note_drawn_orders(text, false, &[argument])),
        }
        let mut effect = method_effect(&object.get_type(), kind, text, arguments.len());
        if kind == TypeKind::List && text == "pop" && arguments.is_empty() && object.len().unwrap_or(1) == 0 {
            effect = ContainerEffect::WriteWhole;
        }
        if kind == TypeKind::Set && arguments.iter().next().is_some_and(|item| self.kind(&item) == TypeKind::Set) {
            effect = effect.by_items_of_key();
        }
        let whole = effect.is_on_whole();
        let calls_back = arguments.iter().any(|argument| self.key_may_call_back(&argument));
        let holds = arguments.iter().any(|argument| has_builtin_items(self.kind(&argument)));
        let concrete = match effect {
            ContainerEffect::CellLoad
            | ContainerEffect::CellStore
            | ContainerEffect::CellDelete
            | ContainerEffect::CellDefault => self.concrete_arguments(object, arguments)?,
            _ => None,
        };
        let arguments = concrete.as_ref().unwrap_or(arguments);
        let key = match effect {
            ContainerEffect::CellLoad
            | ContainerEffect::CellStore
            | ContainerEffect::CellDelete
            | ContainerEffect::CellDefault => arguments.get_item(0).ok(),
            _ => None,
        };
        if key.is_none()
            && matches!(
                effect,
                ContainerEffect::CellLoad
                    | ContainerEffect::CellStore
                    | ContainerEffect::CellDelete
                    | ContainerEffect::CellDefault
            )
        {
            effect = ContainerEffect::WriteWhole;
        }
        if kind == TypeKind::DefaultDict && matches!(text, "__getitem__" | "__missing__") {
            if let Ok(key) = arguments.get_item(0) {
                if let Some(value) = self.missing_item(py, object, text, &key)? {
                    return Ok(value);
                }
            }
        }
        self.access_namespace(py, object, key.as_ref(), effect)?;
        if matches!(text, "release" | "__exit__") {
            self.state().keep_view(object);
        }
        let steps_coroutine =
            matches!(text, "send" | "throw" | "close") && GeneratorKind::of(object) == Some(GeneratorKind::Coroutine);
        if text == "throw" {
            arguments.iter().try_for_each(|exception| self.access_raise(&exception).map(drop))?;
        }
        let is_iterator =
            kind == TypeKind::Iterator && !text.starts_with("__") || text == "__next__" || steps_coroutine;
        let (read, keywords) = self.with_callbacks(py, function, arguments, keywords)?;
        let call = || function.call(&read, keywords.as_ref());
        let depth = match looks_inside(text) {
            Some(depth) if key.is_none() => Some(if keywords.is_some() { Depth::Everything } else { depth }),
            // What is given to it is read in the same step.
            _ if whole && (calls_back || holds) => {
                Some(if takes_items(kind, &object.get_type()) { Depth::Items } else { Depth::Everything })
            }
            // How much is left, or what: it looks at what it runs over.
            _ if kind == TypeKind::Iterator && text.starts_with("__") && text != "__iter__" => Some(Depth::Items),
            // A writer of rows writes to the stream that it holds.
            _ if whole && kind == TypeKind::Opaque && !keeps_to_itself(&object.get_type()) => Some(Depth::Everything),
            _ => None,
        };
        let (called, event) = match depth {
            _ if is_iterator && (is_generator(object) || !holds && !calls_back) => {
                let effect = if text == "__next__" { ContainerEffect::Step } else { effect };
                self.step_iterator(py, object, effect, matches!(text, "throw" | "close"), call)?
            }
            Some(depth) => {
                let fills = is_native(kind) && !leaves_buffers(&object.get_type(), text);
                let read = arguments.iter().map(|object| match self.kind(&object) {
                    TypeKind::Opaque | TypeKind::View if fills => {
                        Part { effect: ContainerEffect::WriteWhole, object }
                    }
                    kind => Part { effect: reading_effect(kind), object },
                });
                let parts: Vec<Part<'_>> =
                    [Part { object: object.clone(), effect }].into_iter().chain(read).collect();
                let event = self.access_wholes(py, &parts, depth)?;
                let result_use = match text {
                    "extend" | "__iadd__" if kind == TypeKind::List => ResultUse::Kept,
                    "sort" => ResultUse::Read(Depth::Comparison),
                    _ => ResultUse::Read(depth),
                };
                (self.operating(py, OpenOperation::on_wholes_with(&parts, depth, result_use), call), event)
            }
            None => {
                let event = self.access_container(py, object, effect, key.as_ref())?;
                let on_cell = matches!(effect, ContainerEffect::Append | ContainerEffect::Length) || key.is_some();
                let searches = key.as_ref().is_some_and(|key| self.search_may_call_back(object, key));
                if on_cell && !calls_back && !searches {
                    (call(), event)
                } else {
                    let operation = OpenOperation::on_container(object, effect, key.as_ref());
                    (self.operating(py, operation, call), event)
                }
            }
        };
        let called = match (kind, text) {
            (TypeKind::Iterator, "__reduce__" | "__reduce_ex__") => called.and_then(Callback::shown),
            _ => called,
        };
        let result = self.noted(py, called, Word::Call, object, Some(name.as_any()), event)?;
        self.assume_view_end(py, &result, event);
        if effect == ContainerEffect::View && self.kind(&result) == TypeKind::View {
            self.alias_of(&result, object);
        } else {
            self.adopt_result(&result, object, key.as_ref());
        }
        self.note(py, Word::Call, Some(object), Some(name.as_any()), Some(&result), event);
        Ok(result)
    }

    /// A method taken from a container's class, with the container as its first argument.
    pub fn call_unbound<'py>(
        &self,
        py: Python<'py>,
        name: &Bound<'py, PyString>,
        function: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Ok(object) = arguments.get_item(0) else { return function.call(arguments, keywords) };
        let text = name.to_str()?;
        let kind = self.kind(&object);
        let value = !is_harmless_method(&object, text) || gives_container(text) || attribute_effect(text).is_some();
        if kind == TypeKind::Immutable && !value {
            return function.call(arguments, keywords);
        }
        let bound = function.call_method1(intern!(py, "__get__"), (&object, object.get_type()))?;
        let rest = arguments.get_slice(1, arguments.len());
        if value || !kind.is_container() {
            return self.control(py, bound)?.call(rest, keywords);
        }
        self.call_container(py, &object, name, &bound, &rest, keywords)
    }
}
