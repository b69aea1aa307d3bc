//! Calls of the built-in functions, by what they do.

use pyo3::exceptions::{PyAttributeError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyCFunction, PyDict, PyString, PyTuple, PyType};

use crate::python::calls::builtins::{interned, BuiltinEffect, CallableKind};
use crate::python::calls::callback_results::{used_by_function, ResultUse};
use crate::python::calls::callbacks::OpenOperation;
use crate::python::calls::container_methods::makes_container;
use crate::python::explore::assumptions::AssumptionKind;
use crate::python::explore::recording::Word;
use crate::python::footprints::container_effects::ContainerEffect;
use crate::python::footprints::insides::own_dict;
use crate::python::footprints::look::{Depth, Part};
use crate::python::footprints::whole_reads::given;
use crate::python::hooks::attributes::Through;
use crate::python::host::Host;
use crate::python::types::ancestry::{found_in_class, told_by_type, Ancestry};
use crate::python::types::kinds::{is_heap_class, TypeKind};

impl Host {
    pub fn call_builtin<'py>(
        &self,
        py: Python<'py>,
        effect: BuiltinEffect,
        function: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let name = |index: usize| -> PyResult<Bound<'py, PyString>> {
            let name = arguments.get_item(index)?.cast_into::<PyString>();
            name.map_err(|_| PyTypeError::new_err("attribute name must be string"))
        };
        match effect {
            BuiltinEffect::Nothing | BuiltinEffect::Compute => function.call(arguments, keywords),
            BuiltinEffect::Length if arguments.len() == 1 => {
                let object = arguments.get_item(0)?;
                self.access_foreign_items(py, &object, &[])?;
                let event = self.access_container(py, &object, ContainerEffect::Length, None)?;
                let result = function.call(arguments, keywords)?;
                if self.kind(&object).is_container() {
                    self.note(py, Word::Length, Some(&object), None, Some(&result), event);
                }
                Ok(result)
            }
            BuiltinEffect::Truth if arguments.len() == 1 && keywords.is_none() => {
                Ok(PyBool::new(py, self.truth(py, &arguments.get_item(0)?)?).to_owned().into_any())
            }
            BuiltinEffect::Evaluate => match self.seen_expression(py, function, arguments, keywords)? {
                Some(seen) => function.call(seen, keywords),
                None if self.runs_text_of_package(py, arguments)? => {
                    self.assume(py, AssumptionKind::UnseenCode, "<string>");
                    self.call_builtin(py, BuiltinEffect::Write, function, arguments, keywords)
                }
                None => {
                    self.refuse_code(py, function, arguments)?;
                    function.call(arguments, keywords)
                }
            },
            BuiltinEffect::Advance => {
                if let Ok(object) = arguments.get_item(0) {
                    self.note_advance(&object);
                }
                function.call(arguments, keywords)
            }
            BuiltinEffect::Next if !arguments.is_empty() => {
                let object = arguments.get_item(0)?;
                if !matches!(self.kind(&object), TypeKind::Iterator | TypeKind::Opaque) {
                    return function.call(arguments, keywords);
                }
                let key = intern!(py, "next").as_any();
                let call = || function.call(arguments, keywords);
                let (called, event) = self.step_iterator(py, &object, ContainerEffect::Step, false, call)?;
                let result = self.noted(py, called, Word::Call, &object, Some(key), event)?;
                self.note(py, Word::Call, Some(&object), Some(key), Some(&result), event);
                Ok(result)
            }
            BuiltinEffect::GetAttribute | BuiltinEffect::SetAttribute | BuiltinEffect::DeleteAttribute => {
                let function_name = function.getattr(intern!(py, "__name__"))?;
                let by_class =
                    ["getattr", "setattr", "delattr"].contains(&function_name.extract::<String>()?.as_str());
                let through = if by_class { Through::Class } else { Through::Object };
                self.call_attribute(py, effect, through, arguments, || function.call(arguments, keywords))
            }
            BuiltinEffect::HasAttribute if arguments.len() == 2 => {
                match self.load_attribute(py, &arguments.get_item(0)?, &interned(&name(1)?)?) {
                    Ok(_) => Ok(PyBool::new(py, true).to_owned().into_any()),
                    Err(error) if error.is_instance_of::<PyAttributeError>(py) => {
                        Ok(PyBool::new(py, false).to_owned().into_any())
                    }
                    Err(error) => Err(error),
                }
            }
            BuiltinEffect::InstanceDict if arguments.is_empty() => {
                let names = function.call(arguments, keywords)?;
                self.show_variables(py, &names)?;
                self.note_class_namespace(&names)?;
                Ok(names)
            }
            BuiltinEffect::InstanceDict if arguments.len() == 1 => {
                let object = arguments.get_item(0)?;
                self.access_new_dict(py, &object)?;
                let namespace = function.call(arguments, keywords)?;
                self.alias_instance_dict(&namespace, &object);
                self.keep_found(&object, &namespace);
                Ok(namespace)
            }
            BuiltinEffect::RemoveItem
                if arguments.len() == 2 && keywords.is_none() && !self.state().exploration.symbolic.used =>
            {
                self.remove_item(py, function, arguments)
            }
            BuiltinEffect::Write | BuiltinEffect::RemoveItem => {
                let parts: Vec<Part<'py>> = given(arguments, keywords)
                    .into_iter()
                    .map(|object| Part { object, effect: ContainerEffect::WriteByOrder })
                    .collect();
                let event = self.access_wholes(py, &parts, Depth::Comparison)?;
                let (arguments, keywords) = self.with_callbacks(py, function, arguments, keywords)?;
                let operation = OpenOperation::on_wholes_with(&parts, Depth::Comparison, ResultUse::Written);
                let result = self.operating(py, operation, || function.call(&arguments, keywords.as_ref()))?;
                for Part { object, .. } in parts.iter().filter(|part| self.kind(&part.object).is_container()) {
                    let name = function.getattr(intern!(py, "__name__"))?;
                    self.note(py, Word::Call, Some(object), Some(&name), None, event);
                }
                self.created(result)
            }
            BuiltinEffect::Class if arguments.len() == 1 => {
                let asked = arguments.get_item(0)?;
                match self.callable_kind(&asked) {
                    // As what it stands in for.
                    CallableKind::StandIn => asked.getattr(intern!(py, "__class__")),
                    _ => self.shown_class(function.call(arguments, keywords)?),
                }
            }
            BuiltinEffect::Class if arguments.len() == 3 => {
                let bases = self.with_classes(&arguments.get_item(1)?)?;
                let arguments = PyTuple::new(py, [arguments.get_item(0)?, bases, arguments.get_item(2)?])?;
                self.call_builtin(py, BuiltinEffect::Read, function, &arguments, keywords)
            }
            BuiltinEffect::Print => self.print(py, function, arguments, keywords),
            BuiltinEffect::Attributes if arguments.is_empty() => {
                let names = function.call(arguments, keywords)?;
                self.hide_temporaries(&names)?;
                self.created(names)
            }
            BuiltinEffect::Attributes if arguments.len() == 1 => {
                self.tell_attributes(py, &arguments.get_item(0)?, || function.call(arguments, keywords))
            }
            _ => {
                let depth = match effect {
                    // A key can be a built-in function or an `attrgetter`, which look further.
                    BuiltinEffect::Compare if keywords.is_some() => Depth::Everything,
                    BuiltinEffect::Compare => Depth::Comparison,
                    BuiltinEffect::Show => Depth::Text,
                    BuiltinEffect::Examine => Depth::Everything,
                    _ => Depth::Items,
                };
                let mut read = given(arguments, keywords);
                self.note_drawn_in_call(function, &read, keywords);
                if effect == BuiltinEffect::Examine && !function.is_instance_of::<PyCFunction>() {
                    // A scanner calls what it was made with.
                    read.push(function.clone());
                }
                let mut parts = self.reading_parts(&read, depth);
                if effect == BuiltinEffect::Alias {
                    // It is made, and advanced later on.
                    parts.iter_mut().for_each(|part| part.effect = ContainerEffect::ReadWhole);
                }
                let result_use = match effect {
                    // What an iterator does with it is seen when it is advanced.
                    BuiltinEffect::Alias => ResultUse::Left,
                    // The values of a key function are compared, whatever it is.
                    BuiltinEffect::Compare => used_by_function(function, Depth::Comparison)?,
                    _ => used_by_function(function, depth)?,
                };
                let (arguments, keywords) = self.with_callbacks(py, function, arguments, keywords)?;
                let call = || function.call(&arguments, keywords.as_ref());
                let (result, event) = self.operate_on_arguments(py, (&parts, depth), &read, result_use, call)?;
                self.note_reads(py, &parts, event);
                self.assume_view_end(py, &result, event);
                self.stand_for_buffer(&result, &read);
                let result = if makes_container(function) { self.made(result)? } else { self.created(result)? };
                if let (BuiltinEffect::Alias, Ok(object)) = (effect, arguments.get_item(0)) {
                    self.alias_of(&result, &object);
                }
                Ok(result)
            }
        }
    }

    /// The bases that `type` is given, with the classes that stand-ins stand for: it makes no class of other objects.
    fn with_classes<'py>(&self, bases: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = bases.py();
        let Ok(known) = bases.cast_exact::<PyTuple>() else { return Ok(bases.clone()) };
        let class_of = |base: Bound<'py, PyAny>| match found_in_class(&base.get_type(), "__dpor_stands_for__") {
            Some(_) => base.call_method1(intern!(py, "__mro_entries__"), (bases,))?.get_item(0),
            None => Ok(base),
        };
        Ok(PyTuple::new(py, known.iter().map(class_of).collect::<PyResult<Vec<_>>>()?)?.into_any())
    }

    fn remove_item<'py>(
        &self,
        py: Python<'py>,
        function: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (object, key) = (arguments.get_item(0)?, arguments.get_item(1)?);
        let effect = ContainerEffect::CellDelete;
        self.note_native_use(&object)?;
        self.access_namespace(py, &object, Some(&key), effect)?;
        let event = self.access_container(py, &object, effect, Some(&key))?;
        let call = || function.call1(arguments);
        let called = match self.search_may_call_back(&object, &key) {
            false => call(),
            true => self.operating(py, OpenOperation::on_container(&object, effect, Some(&key)), call),
        };
        let name = function.getattr(intern!(py, "__name__"))?;
        let result = self.noted(py, called, Word::Call, &object, Some(&name), event)?;
        self.note(py, Word::Call, Some(&object), Some(&name), Some(&result), event);
        Ok(result)
    }

    /// `print`: as many calls of the stream's `write` as CPython makes, where another thread can come between them:
    /// they are code of the model, or a file's whose decoder is written in Python or whose buffer is full. Else one
    /// operation on the stream.
    pub fn print<'py>(
        &self,
        py: Python<'py>,
        function: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let option = |name: &str| -> PyResult<Option<Bound<'py, PyAny>>> {
            let given = keywords.map(|keywords| keywords.get_item(name)).transpose()?.flatten();
            Ok(given.filter(|value| !value.is_none()))
        };
        let stream = match option("file")? {
            Some(stream) => stream,
            None => self.load_attribute(py, py.import("sys")?.as_any(), intern!(py, "stdout"))?,
        };
        let known = ["sep", "end", "file", "flush"];
        let regular = keywords.is_none_or(|keywords| {
            keywords
                .keys()
                .iter()
                .all(|name| name.extract::<String>().is_ok_and(|name| known.contains(&name.as_str())))
        });
        let own = stream.get_type().hasattr(intern!(py, "__dpor_untracked__"))?;
        let write = |text: &Bound<'py, PyAny>| -> PyResult<()> {
            self.method(py, &stream, intern!(py, "write"))?.call1((text,)).map(drop)
        };
        let flush = || -> PyResult<()> {
            if option("flush")?.is_some_and(|flush| flush.is_truthy().unwrap_or(false)) {
                self.method(py, &stream, intern!(py, "flush"))?.call0()?;
            }
            Ok(())
        };
        if own && regular {
            let text = self.printed(py, function, arguments, keywords)?;
            if stream.call_method1(intern!(py, "dpor_prints_at_once"), (&text,))?.is_truthy()? {
                write(&text)?;
                flush()?;
                return Ok(py.None().into_bound(py));
            }
        }
        if (own || self.kind(&stream) == TypeKind::Instance) && regular {
            let text = |option: Option<Bound<'py, PyAny>>, default: &str| match option {
                Some(text) => text,
                None => PyString::new(py, default).into_any(),
            };
            let (separator, end) = (text(option("sep")?, " "), text(option("end")?, "\n"));
            for (index, argument) in arguments.iter().enumerate() {
                if index > 0 {
                    write(&separator)?;
                }
                let parts = self.reading_parts(std::slice::from_ref(&argument), Depth::Text);
                let (shown, _) = self.operate_on_wholes(py, &parts, Depth::Text, || argument.str())?;
                write(shown.as_any())?;
            }
            write(&end)?;
            flush()?;
            return Ok(py.None().into_bound(py));
        }
        let mut parts = self.reading_parts(&given(arguments, None), Depth::Text);
        if self.kind(&stream).is_tracked() {
            parts.push(Part { object: stream, effect: ContainerEffect::WriteWhole });
            self.state().affect_loops();
        }
        self.operate_on_wholes(py, &parts, Depth::Text, || function.call(arguments, keywords))
            .map(|(result, _)| result)
    }

    /// What `print` writes for these arguments, in all.
    fn printed<'py>(
        &self,
        py: Python<'py>,
        function: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let buffer = py.import("io")?.call_method0(intern!(py, "StringIO"))?;
        let named = keywords.map(|keywords| keywords.copy()).transpose()?.unwrap_or_else(|| PyDict::new(py));
        named.set_item("file", &buffer)?;
        let parts = self.reading_parts(&given(arguments, None), Depth::Text);
        self.operate_on_wholes(py, &parts, Depth::Text, || function.call(arguments, Some(&named)))?;
        buffer.call_method0(intern!(py, "getvalue"))
    }

    /// Let `tell` say which attributes an object has.
    pub fn tell_attributes<'py>(
        &self,
        py: Python<'py>,
        object: &Bound<'py, PyAny>,
        tell: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if self.kind(object) == TypeKind::Module {
            self.note_look_at_module(py, object);
        }
        let parts = self.named_parts(object)?;
        let (names, _) = self.operate_on_wholes(py, &parts, Depth::Everything, tell)?;
        self.created(names)
    }

    /// What `dir(object)` looks at: the attributes of the object and of its classes.
    pub fn named_parts<'py>(&self, object: &Bound<'py, PyAny>) -> PyResult<Vec<Part<'py>>> {
        let py = object.py();
        let whole = |object| Part { object, effect: ContainerEffect::ReadWhole };
        let mut parts = Vec::new();
        let classes = match object.cast::<PyType>() {
            Ok(class) => class.ancestry(),
            Err(_) => {
                if self.kind(object) == TypeKind::Instance {
                    parts.push(whole(object.clone()));
                } else if let Some(namespace) = own_dict(object) {
                    self.alias_instance_dict(&namespace, object);
                    parts.push(whole(namespace.into_any()));
                }
                object.get_type().ancestry()
            }
        };
        for class in classes.iter().filter(|class| class.cast::<PyType>().is_ok_and(is_heap_class)) {
            let namespace = told_by_type(&class, intern!(py, "__dict__"))?;
            self.alias_instance_dict(&namespace, &class);
            parts.push(whole(namespace));
        }
        Ok(parts)
    }
}
