//! A call of built-in or uninstrumented code as one atomic operation, as in CPython.

use std::cell::Cell;
use std::rc::Rc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::operation::AccessMode;
use crate::python::calls::builtins::{interned, BuiltinEffect, CallableKind};
use crate::python::calls::callback_results::ResultUse;
use crate::python::calls::callbacks::OpenOperation;
use crate::python::calls::container_methods::makes_container;
use crate::python::calls::copied_calls::{is_pickled_by_name, own_method};
use crate::python::calls::entered_code::Entry;
use crate::python::calls::nested_calls::calls_added_to;
use crate::python::explore::assumptions::{package_of, AssumptionKind};
use crate::python::explore::recording::Word;
use crate::python::footprints::behind_iterators::{is_generator, runs_nothing, GeneratorKind};
use crate::python::footprints::container_effects::{method_effect, ContainerEffect};
use crate::python::footprints::look::{Depth, Part};
use crate::python::footprints::whole_reads::given;
use crate::python::hooks::attributes::Through;
use crate::python::hooks::cells::cell_behind;
use crate::python::host::{require_host, Host};
use crate::python::types::kinds::TypeKind;

/// A call of built-in or uninstrumented code, made a visible operation.
#[pyclass(frozen, module = "dpor._kernel")]
pub struct ControlledCall {
    host: Py<Host>,
    /// What is called in the end.
    pub(crate) function: Py<PyAny>,
    how: How,
}

pub enum How {
    /// A method of the container.
    Container { object: Py<PyAny>, name: Py<PyString> },
    /// A built-in function.
    Builtin(BuiltinEffect),
    /// The method by which a class lists its subclasses.
    Subclasses { class: Py<PyAny> },
    /// A class: what it makes gets an identity.
    Construct { reads_arguments: bool },
    /// A method of an exception that gives it what it is made of.
    Renewal { object: Py<PyAny> },
    /// A method of uninstrumented Python code, or of C code with a state of its own.
    Foreign { object: Py<PyAny> },
    /// A function of uninstrumented Python code.
    ForeignFunction,
    /// A function or method of the standard library whose code runs unseen, and reads what it is given.
    Reading,
    /// A method of an immutable value that reads its arguments or gives a new container.
    Value { object: Py<PyAny> },
    /// A method of an object that tells which attributes it has.
    Attributes { object: Py<PyAny> },
    /// A method of an object that gives what it holds.
    State { object: Py<PyAny> },
    /// A function whose calls make generators.
    Generator,
    /// Instrumented code that takes numbers in place of symbolic values.
    Numbers,
    /// A method of which the function is not one in Python.
    Method,
    /// A `functools.partial`.
    Partial,
    /// An `operator.attrgetter`, `itemgetter` or `methodcaller`.
    Getter,
    /// A method taken from a container's class, as in `dict.get(mapping, key)`.
    Unbound { name: Py<PyString> },
    /// A method of a descriptor in C that stands for an attribute: `K.slot.__get__`.
    Descriptor { name: Py<PyString>, effect: BuiltinEffect },
    /// `object.__setattr__` and its kin, bound to an instance.
    BoundAttribute { object: Py<PyAny>, effect: BuiltinEffect },
}

impl ControlledCall {
    /// What a call is taken for, by the name of its effect.
    fn treatment(&self, py: Python<'_>) -> String {
        match &self.how {
            How::Container { object, name } => {
                let kind = self.host.get().kind(object.bind(py));
                // With an argument: what it does then is what it mostly does.
                let class = object.bind(py).get_type();
                format!("{:?}", method_effect(&class, kind, &name.bind(py).to_string_lossy(), 1))
            }
            How::Builtin(effect) | How::BoundAttribute { effect, .. } | How::Descriptor { effect, .. } => {
                format!("{effect:?}")
            }
            How::Subclasses { .. } => format!("{:?}", BuiltinEffect::Compare),
            How::Construct { reads_arguments: true } => "ConstructReading".to_owned(),
            How::Construct { .. } => "Construct".to_owned(),
            How::Renewal { .. } => "Renewal".to_owned(),
            How::Foreign { .. } => "Foreign".to_owned(),
            How::ForeignFunction => "ForeignFunction".to_owned(),
            How::Reading => "Reading".to_owned(),
            How::Value { .. } => "Value".to_owned(),
            How::Attributes { .. } => format!("{:?}", BuiltinEffect::Attributes),
            How::State { .. } => "State".to_owned(),
            How::Generator | How::Numbers => "Instrumented".to_owned(),
            How::Method => "Method".to_owned(),
            How::Partial => "Partial".to_owned(),
            How::Getter => "Getter".to_owned(),
            How::Unbound { .. } => "Unbound".to_owned(),
        }
    }
}

#[pymethods]
impl ControlledCall {
    #[pyo3(signature = (*arguments, **keywords))]
    fn __call__<'py>(
        &self,
        py: Python<'py>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let host = self.host.get();
        let function = self.function.bind(py);
        if host.awake().is_none() {
            return function.call(arguments, keywords);
        }
        host.uncounted_in_c(py, calls_added_to(function), || self.call(py, arguments, keywords))
    }

    /// Messages of the interpreter name a callable by its attributes.
    fn __getattribute__<'py>(
        slf: &Bound<'py, Self>,
        py: Python<'py>,
        name: &Bound<'py, PyString>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let call = slf.get();
        match name.to_str()? {
            "treatment" => Ok(PyString::new(py, &call.treatment(py)).into_any()),
            "__wrapped__" => Ok(call.function.bind(py).clone()),
            "__reduce__" | "__reduce_ex__" if is_pickled_by_name(call.function.bind(py)) => {
                own_method(slf, "reduced")
            }
            "__deepcopy__" if is_pickled_by_name(call.function.bind(py)) => own_method(slf, "__copy__"),
            _ => call.function.bind(py).getattr(name),
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.function.bind(py).repr()?.to_string())
    }
}

impl ControlledCall {
    fn call<'py>(
        &self,
        py: Python<'py>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let host = self.host.get();
        let function = self.function.bind(py);
        let numbers = match &self.how {
            How::Container { .. } | How::BoundAttribute { .. } | How::Getter | How::Partial | How::Reading => None,
            _ => host.number_arguments(function, arguments, keywords)?,
        };
        let (arguments, keywords) = match &numbers {
            Some((arguments, keywords)) => (arguments, Some(keywords)),
            None => (arguments, keywords),
        };
        match &self.how {
            How::ForeignFunction => {
                // It may well call what is instrumented.
                let parts = host.access_foreign(py, function, None, arguments, keywords)?;
                let operation = OpenOperation::on_wholes_with(&parts, Depth::Everything, ResultUse::Written);
                let call = || function.call(arguments, keywords);
                return host.created(host.operating_from(py, operation, Entry::UnseenCode, call)?);
            }
            How::Reading => {
                return host.call_reading(py, function, arguments, keywords);
            }
            How::Generator => return host.created(function.call(arguments, keywords)?),
            How::Numbers => return function.call(arguments, keywords),
            How::Getter => return host.call_getter(py, function, arguments, keywords),
            How::Method => return host.call_method(py, function, arguments, keywords),
            How::Partial => return host.call_partial(py, function, arguments, keywords),
            How::Value { object } => {
                if let Some(text) = host.format_by_name(py, object.bind(py), function, arguments, keywords)? {
                    return Ok(text);
                }
            }
            _ => {}
        }
        host.undivided(|| match &self.how {
            How::ForeignFunction
            | How::Reading
            | How::Generator
            | How::Numbers
            | How::Getter
            | How::Method
            | How::Partial => function.call(arguments, keywords),
            How::Value { object } => {
                let mut read = given(arguments, keywords);
                host.note_drawn_in_call(function, &read, keywords);
                read.push(object.bind(py).clone());
                let parts = host.reading_parts(&read, Depth::Text);
                let (arguments, keywords) = host.with_callbacks(py, function, arguments, keywords)?;
                let call = || function.call(&arguments, keywords.as_ref());
                let used = ResultUse::Read(Depth::Text);
                let (made, _) = host.operate_on_arguments(py, (&parts, Depth::Text), &read, used, call)?;
                host.stand_for_buffer(&made, &read);
                host.created(made)
            }
            How::Attributes { object } => {
                host.tell_attributes(py, object.bind(py), || function.call(arguments, keywords))
            }
            How::State { object } => host.call_for_state(py, object.bind(py), function, arguments, keywords),
            How::Container { object, name } => {
                host.call_container(py, object.bind(py), name.bind(py), function, arguments, keywords)
            }
            How::Builtin(effect) => host.call_builtin(py, *effect, function, arguments, keywords),
            How::Subclasses { class } => {
                host.note_subclasses(class.bind(py))?;
                let found = host.call_builtin(py, BuiltinEffect::Compare, function, arguments, keywords)?;
                host.without_former_classes(found)
            }
            How::Construct { reads_arguments } => {
                if let Some(value) = arguments.iter().next() {
                    host.note_member_wanted(function, &value);
                    host.look_at_inner_partial(py, function, &value)?;
                }
                let read = given(arguments, keywords);
                let parts = match reads_arguments {
                    true => {
                        host.note_drawn_in_call(function, &read, keywords);
                        host.reading_parts(&read, Depth::Items)
                    }
                    false => Vec::new(),
                };
                let (given, keywords) = host.with_callbacks(py, function, arguments, keywords)?;
                let make = || function.call(given, keywords.as_ref());
                let (made, event) = match reads_arguments {
                    true => {
                        let used = ResultUse::Read(Depth::Items);
                        host.operate_on_arguments(py, (&parts, Depth::Items), &read, used, make)?
                    }
                    false => (make()?, false),
                };
                host.assume_view_end(py, &made, event);
                host.require_own_variables(&made)?;
                if let Some(seen) = arguments.iter().next() {
                    // A view of what it is given: `memoryview`, `MappingProxyType`.
                    host.alias_of(&made, &seen);
                }
                if makes_container(function) {
                    return host.made(made);
                }
                host.created(made)
            }
            How::Unbound { name } => host.call_unbound(py, name.bind(py), function, arguments, keywords),
            How::Descriptor { name, effect } => {
                let call = || function.call(arguments, keywords);
                // What a class gives is the descriptor itself.
                let Some(object) = arguments.get_item(0).ok().filter(|object| !object.is_none()) else {
                    return call();
                };
                if let Some(slot) = host.member_slot(function, &object, name.bind(py))? {
                    let mode = match effect {
                        BuiltinEffect::GetAttribute => AccessMode::Read,
                        _ => AccessMode::Write,
                    };
                    host.access_member(py, slot, mode, "a slot whose descriptor another one has replaced")?;
                    return call();
                }
                let mut all = vec![object, name.bind(py).clone().into_any()];
                all.extend(arguments.get_item(1).ok().filter(|_| *effect == BuiltinEffect::SetAttribute));
                host.call_attribute(py, *effect, Through::Object, &PyTuple::new(py, all)?, call)
            }
            How::BoundAttribute { object, effect } => {
                let mut all = vec![object.bind(py).clone()];
                all.extend(arguments.iter());
                let call = || function.call(arguments, keywords);
                host.call_attribute(py, *effect, Through::Object, &PyTuple::new(py, all)?, call)
            }
            How::Renewal { object } => {
                let own = Part { object: object.bind(py).clone(), effect: ContainerEffect::WriteWhole };
                let read = host.reading_parts(&given(arguments, keywords), Depth::Items);
                let parts: Vec<Part<'_>> = [own].into_iter().chain(read).collect();
                let event = host.access_wholes(py, &parts, Depth::Items)?;
                host.note(py, Word::WriteAll, Some(object.bind(py)), None, None, event);
                let operation = OpenOperation::on_wholes_with(&parts, Depth::Items, ResultUse::Written);
                host.operating(py, operation, || function.call(arguments, keywords))
            }
            How::Foreign { object } => {
                let parts = host.access_foreign(py, function, Some(object.bind(py)), arguments, keywords)?;
                let (arguments, keywords) = host.with_callbacks(py, function, arguments, keywords)?;
                let operation = OpenOperation::on_wholes_with(&parts, Depth::Everything, ResultUse::Written);
                let entry = match host.callable_kind(function) {
                    CallableKind::BoundMethod => Entry::UnseenCode,
                    _ => Entry::BuiltinCode,
                };
                let call = || function.call(&arguments, keywords.as_ref());
                host.created(host.operating_from(py, operation, entry, call)?)
            }
        })
    }
}

impl ControlledCall {
    /// What a function calls in the end: itself, unless it is controlled.
    pub fn what_it_calls<'py>(function: &Bound<'py, PyAny>) -> Bound<'py, PyAny> {
        match function.cast::<ControlledCall>() {
            Ok(controlled) => controlled.get().function.bind(function.py()).clone(),
            Err(_) => function.clone(),
        }
    }
}

impl Host {
    pub fn controlled<'py>(
        &self,
        py: Python<'py>,
        function: &Bound<'py, PyAny>,
        how: How,
    ) -> PyResult<Bound<'py, PyAny>> {
        let call = ControlledCall { host: require_host(py)?, function: function.clone().unbind(), how };
        Ok(Bound::new(py, call)?.into_any())
    }

    /// `getattr`, `setattr`, `delattr` and their kin: `arguments` are the object, the name and perhaps a value; `call`
    /// does what is asked.
    pub fn call_attribute<'py>(
        &self,
        py: Python<'py>,
        effect: BuiltinEffect,
        through: Through,
        arguments: &Bound<'py, PyTuple>,
        call: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let named = arguments.get_item(1).ok().and_then(|name| name.cast_into::<PyString>().ok());
        let (Ok(object), Some(name)) = (arguments.get_item(0), named) else { return call() };
        let name = interned(&name)?;
        if let Some(cell) = cell_behind(&object, &name) {
            return self.use_cell(py, effect, &cell, arguments.get_item(2).ok());
        }
        match (effect, arguments.get_item(2)) {
            (BuiltinEffect::DeleteAttribute, _) if through == Through::Class => {
                self.delete_attribute(py, &object, &name)?;
                Ok(py.None().into_bound(py))
            }
            (BuiltinEffect::SetAttribute, Ok(value)) if through == Through::Class => {
                self.store_attribute(py, &value, &object, &name)?;
                Ok(py.None().into_bound(py))
            }
            (BuiltinEffect::GetAttribute, _) => self.load_through(py, &object, &name, through, call),
            (BuiltinEffect::DeleteAttribute, _) => {
                self.delete_through(py, &object, &name, || call().map(drop))?;
                Ok(py.None().into_bound(py))
            }
            (BuiltinEffect::SetAttribute, Ok(value)) => {
                self.store_through(py, &value, &object, &name, through, || call().map(drop))?;
                Ok(py.None().into_bound(py))
            }
            _ => call(),
        }
    }

    /// Advance an iterator, after this has become an event. Of a generator the end is an operation too: until then
    /// nobody else can advance it.
    pub fn advance<'py>(
        &self,
        py: Python<'py>,
        iterator: &Bound<'py, PyAny>,
        next: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let Some(kind) = GeneratorKind::of(iterator) else { return next() };
        let address = iterator.as_ptr() as usize;
        // CPython 3.11 looks for what a generator delegates to before it sees that the generator runs, and may crash.
        if kind.is_running(iterator)? || !self.state().run.advancing.insert(address) {
            return Err(PyValueError::new_err(format!("{} already executing", kind.name())));
        }
        let told = Rc::new(Cell::new(false));
        let step = OpenOperation::Step { generator: iterator.clone().unbind(), told: told.clone() };
        let result = self.operating(py, step, next);
        // Code that is instrumented has told of the end while it still ran, so that others find it running.
        let ended = match told.get() {
            true => Ok(false),
            false => self.access_container(py, iterator, ContainerEffect::WriteWhole, None),
        };
        self.state().run.advancing.remove(&address);
        ended?;
        result
    }

    /// Let an iterator take a step, by `next`: an operation on it and on what it runs over; `raises` says that a
    /// generator goes on by an exception. Returns what `next` gives, and whether it was an event.
    pub fn step_iterator<'py>(
        &self,
        py: Python<'py>,
        iterator: &Bound<'py, PyAny>,
        effect: ContainerEffect,
        raises: bool,
        next: impl FnOnce() -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<(PyResult<Bound<'py, PyAny>>, bool)> {
        let parts = [Part { object: iterator.clone(), effect }];
        if is_generator(iterator) {
            let unseen = self.state().types.origins.is_unseen_generator(iterator);
            let event = match unseen {
                true => self.access_wholes(py, &parts, Depth::Items)?,
                false => self.access_container(py, iterator, effect, None)?,
            };
            if runs_nothing(iterator, raises)? {
                return Ok((next(), event));
            }
            return Ok((self.advance(py, iterator, next), event));
        }
        let event = self.access_wholes(py, &parts, Depth::Items)?;
        let open = OpenOperation::on_wholes_with(&parts, Depth::Items, ResultUse::Kept);
        Ok((self.operating(py, open, next), event))
    }

    /// An atomic operation of code that is not instrumented: on its object, if it is a method, and on what it is given,
    /// of which it may change any container and read any attribute.
    pub fn access_foreign<'py>(
        &self,
        py: Python<'py>,
        function: &Bound<'py, PyAny>,
        object: Option<&Bound<'py, PyAny>>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Vec<Part<'py>>> {
        let part = |object: Bound<'py, PyAny>| match self.kind(&object) {
            TypeKind::Class | TypeKind::Module => Part { object, effect: ContainerEffect::ReadWhole },
            // It may look at the order of items, too.
            _ => Part { object, effect: ContainerEffect::WriteByOrder },
        };
        let own = object.map(|object| Part { object: object.clone(), effect: ContainerEffect::WriteByOrder });
        let parts: Vec<Part<'py>> = own.into_iter().chain(given(arguments, keywords).into_iter().map(part)).collect();
        let event = self.access_wholes(py, &parts, Depth::Everything)?;
        for Part { object, .. } in parts.iter().filter(|part| !part.effect.reads_only()) {
            self.note(py, Word::WriteAll, Some(object), None, None, event);
        }
        if event {
            let package = package_of(function);
            // Its draws are fixed, and one at a time is what its own C code does.
            if !matches!(package.as_str(), "random" | "_random") {
                self.assume(py, AssumptionKind::ForeignCode, &package);
            }
        }
        self.state().affect_loops();
        Ok(parts)
    }
}
