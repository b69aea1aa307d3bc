//! Callables as values: what `map` and its kin call later, and what `operator.attrgetter` and its kin make.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCode, PyDict, PyString, PyTuple};

use super::builtins::interned;
use super::host::Host;
use super::state::Phase;

impl Host {
    /// The arguments of what calls functions later on that it is given now (`map`), with built-in ones made visible.
    pub fn controlled_arguments<'py>(
        &self,
        py: Python<'py>,
        function: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<(Bound<'py, PyTuple>, Option<Bound<'py, PyDict>>)> {
        if !self.state().builtins.calls_arguments(function) {
            return Ok((arguments.clone(), keywords.cloned()));
        }
        let positional: Vec<_> =
            arguments.iter().map(|argument| self.controlled_if_callable(py, argument)).collect::<PyResult<_>>()?;
        Ok((PyTuple::new(py, positional)?, keywords.cloned()))
    }

    fn controlled_if_callable<'py>(
        &self,
        py: Python<'py>,
        argument: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if argument.is_callable() {
            self.control(py, argument)
        } else {
            Ok(argument)
        }
    }

    /// What an `operator.attrgetter`, `itemgetter` or `methodcaller` does, step by step.
    pub fn call_getter<'py>(
        &self,
        py: Python<'py>,
        getter: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if arguments.len() != 1 || keywords.is_some() {
            return getter.call(arguments, keywords);
        }
        let object = arguments.get_item(0)?;
        let kind: String = getter.get_type().name()?.extract()?;
        let made: Bound<'py, PyTuple> = getter.call_method0(intern!(py, "__reduce__"))?.cast_into()?;
        let wanted: Bound<'py, PyTuple> = made.get_item(1)?.cast_into()?;
        if kind == "methodcaller" {
            return self.call_method_of(py, &object, &made.get_item(0)?, wanted);
        }
        let get = |wanted: Bound<'py, PyAny>| -> PyResult<Bound<'py, PyAny>> {
            if kind == "itemgetter" {
                return self.load_item(py, &object, &wanted);
            }
            let path: String = wanted.extract()?;
            path.split('.').try_fold(object.clone(), |object, name| {
                self.load_attribute(py, &object, &PyString::intern(py, name))
            })
        };
        if wanted.len() == 1 {
            return get(wanted.get_item(0)?);
        }
        let all: Vec<_> = wanted.iter().map(get).collect::<PyResult<_>>()?;
        Ok(PyTuple::new(py, all)?.into_any())
    }

    /// `methodcaller`: `maker` is its class, or a partial of it that holds the name and the keywords.
    fn call_method_of<'py>(
        &self,
        py: Python<'py>,
        object: &Bound<'py, PyAny>,
        maker: &Bound<'py, PyAny>,
        wanted: Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (name, rest, named) = match maker.getattr_opt(intern!(py, "keywords"))? {
            Some(named) => {
                let name = maker.getattr(intern!(py, "args"))?.get_item(0)?;
                (name, wanted, Some(named.cast_into::<PyDict>()?))
            }
            None => (wanted.get_item(0)?, wanted.get_slice(1, wanted.len()), None),
        };
        let name = interned(&name.cast_into::<PyString>()?)?;
        self.method(py, object, &name)?.call(rest, named.as_ref())
    }

    /// Before `eval` or `exec`: code that is made of text is not instrumented, so what it does would go unseen.
    pub fn refuse_code(
        &self,
        py: Python<'_>,
        function: &Bound<'_, PyAny>,
        arguments: &Bound<'_, PyTuple>,
    ) -> PyResult<()> {
        let Ok(code) = arguments.get_item(0) else { return Ok(()) };
        let text = code.is_instance_of::<PyString>() || code.is_instance_of::<PyBytes>();
        if self.state().phase == Phase::Running && (text || code.is_instance_of::<PyCode>()) {
            let name: String = function.getattr(intern!(py, "__name__"))?.extract()?;
            // It knows the line of the call.
            let report = py.import("dpor.runtime.escapes")?.getattr("report")?;
            report.call1((format!("runs code from a string with {name}"),))?;
        }
        Ok(())
    }
}
