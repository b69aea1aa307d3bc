//! Callables as values: what `map` and its kin call later, and what `operator.attrgetter` and its kin make.

use std::sync::atomic::Ordering;

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyCFunction, PyCode, PyDict, PyModule, PyString, PyTuple, PyType};

use crate::python::calls::builtins::{interned, CallableKind};
use crate::python::explore::assumptions::{module_that_runs, runs_first_party, Maker};
use crate::python::footprints::look::Depth;
use crate::python::hooks::named_reads::Step;
use crate::python::host::{report_uncontrolled, Host};
use crate::python::state::Phase;
use crate::python::types::ancestry::Ancestry;

/// What a method in C is bound to: a call of it is an operation on that, whoever calls it. None for a function of a
/// module or class, and for anything else.
pub fn receiver_in_c<'py>(callable: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let in_c = callable.is_instance_of::<PyCFunction>()
        || callable.get_type().name().is_ok_and(|name| name == "method-wrapper");
    let receiver = if in_c { callable.getattr(intern!(callable.py(), "__self__")).ok()? } else { return None };
    let is_place = receiver.is_none() || receiver.is_instance_of::<PyModule>() || receiver.is_instance_of::<PyType>();
    (!is_place).then_some(receiver)
}

impl Host {
    /// What an `operator.attrgetter`, `itemgetter` or `methodcaller` does: in one step, unless code in Python runs for
    /// it.
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
        let way = |wanted: Bound<'py, PyAny>| -> PyResult<Vec<Step<'py>>> {
            if kind == "itemgetter" {
                return Ok(vec![Step::Item(wanted)]);
            }
            let path: String = wanted.extract()?;
            Ok(path.split('.').map(|name| Step::Attribute(PyString::intern(py, name))).collect())
        };
        let ways: Vec<_> = wanted.iter().map(way).collect::<PyResult<_>>()?;
        let several = ways.len() > 1 || ways.iter().any(|way| way.len() > 1);
        if several && self.read_at_once(py, &object, ways)? {
            return getter.call1((object,));
        }
        if wanted.len() == 1 {
            return get(wanted.get_item(0)?);
        }
        let all: Vec<_> = wanted.iter().map(get).collect::<PyResult<_>>()?;
        Ok(PyTuple::new(py, all)?.into_any())
    }

    /// What a bound method does: it calls its function, with its object before the arguments of the call.
    pub fn call_method<'py>(
        &self,
        py: Python<'py>,
        method: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let function = self.control(py, method.getattr(intern!(py, "__func__"))?)?;
        let object = method.getattr(intern!(py, "__self__"))?;
        let all: Vec<_> = std::iter::once(object).chain(arguments.iter()).collect();
        function.call(PyTuple::new(py, all)?, keywords)
    }

    /// What a `functools.partial` does: it calls its function, with its arguments before those of the call.
    pub fn call_partial<'py>(
        &self,
        py: Python<'py>,
        partial: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let kept: Bound<'py, PyTuple> = partial.getattr(intern!(py, "args"))?.cast_into()?;
        let has_gaps =
            kept.iter().any(|argument| argument.get_type().name().is_ok_and(|name| name == "_PlaceholderType"));
        let function = partial.getattr(intern!(py, "func"))?;
        let controlled = self.control(py, function)?;
        if has_gaps {
            return partial.call(arguments, keywords);
        }
        // Not by `getattr`: it is known by its place, whoever comes to it first.
        let kept_names = self.load_attribute(py, partial, intern!(py, "keywords"))?;
        let kept_names = self.observe(py, kept_names)?;
        let named: Bound<'py, PyDict> = kept_names.cast_into::<PyDict>()?.copy()?;
        if let Some(keywords) = keywords {
            named.update(keywords.as_mapping())?;
        }
        let all: Vec<_> = kept.iter().chain(arguments.iter()).collect();
        controlled.call(PyTuple::new(py, all)?, Some(&named))
    }

    /// A class is about to be called with this for the first argument: `functools.partial` of another one takes over
    /// what that one holds.
    pub fn look_at_inner_partial<'py>(
        &self,
        py: Python<'py>,
        class: &Bound<'py, PyAny>,
        inner: &Bound<'py, PyAny>,
    ) -> PyResult<()> {
        let is_partial = |class: &Bound<'py, PyAny>| {
            let known = self.state().code.builtins.kind_of_class(class);
            known == Some(CallableKind::Partial)
        };
        let derives = |class: &Bound<'py, PyType>| class.ancestry().iter().any(|base| is_partial(&base));
        match class.cast::<PyType>().is_ok_and(derives) && derives(&inner.get_type()) {
            true => self.look(py, std::slice::from_ref(inner), Depth::Everything),
            false => Ok(()),
        }
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

    /// What `eval` is called with where its text is made code whose operations are seen.
    pub fn seen_expression<'py>(
        &self,
        py: Python<'py>,
        function: &Bound<'py, PyAny>,
        arguments: &Bound<'py, PyTuple>,
        keywords: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let texts = {
            let state = self.state();
            state.code.texts.as_ref().filter(|_| state.phase == Phase::Running).map(|texts| texts.clone_ref(py))
        };
        let (Some(texts), Ok(text)) = (texts, arguments.get_item(0)) else { return Ok(None) };
        if !is_text(&text) || !function.getattr(intern!(py, "__name__"))?.eq("eval")? {
            return Ok(None);
        }
        let given = |index: usize, name: &Bound<'py, PyString>| -> PyResult<Option<Bound<'py, PyAny>>> {
            match (arguments.get_item(index), keywords) {
                (Ok(value), _) => Ok(Some(value)),
                (Err(_), Some(keywords)) => keywords.get_item(name),
                (Err(_), None) => Ok(None),
            }
        };
        let variables = given(1, intern!(py, "globals"))?;
        let local = given(2, intern!(py, "locals"))?;
        let code = self.asleep(|| texts.bind(py).call1((text, variables, local)))?;
        if code.is_none() {
            return Ok(None);
        }
        let rest = arguments.get_slice(1, arguments.len());
        Ok(Some(PyTuple::new(py, std::iter::once(code).chain(rest.iter()).collect::<Vec<_>>())?))
    }

    /// Whether a package that is looked into runs code from text, which makes functions of what it is given. The library
    /// does it for whoever calls it.
    pub fn runs_text_of_package(&self, py: Python<'_>, arguments: &Bound<'_, PyTuple>) -> PyResult<bool> {
        let Ok(code) = arguments.get_item(0) else { return Ok(false) };
        if self.importing.load(Ordering::Relaxed) || !(is_text(&code) || code.is_instance_of::<PyCode>()) {
            return Ok(false);
        }
        let Maker { module: Some(module), is_instrumented: true, .. } = module_that_runs(py) else {
            return Ok(false);
        };
        if runs_first_party(py, &[]) {
            return Ok(false);
        }
        let state = self.state();
        Ok(state.phase == Phase::Running && !state.types.origins.is_standard(&module))
    }

    /// Before `eval` or `exec`: code that is made of text is not instrumented, so what it does would go unseen. While
    /// the model's modules are imported there is nobody who could see it; what it defines is known to be not
    /// instrumented.
    pub fn refuse_code(
        &self,
        py: Python<'_>,
        function: &Bound<'_, PyAny>,
        arguments: &Bound<'_, PyTuple>,
    ) -> PyResult<()> {
        if self.importing.load(Ordering::Relaxed) {
            return Ok(());
        }
        let Ok(code) = arguments.get_item(0) else { return Ok(()) };
        if self.state().phase == Phase::Running && (is_text(&code) || code.is_instance_of::<PyCode>()) {
            let name: String = function.getattr(intern!(py, "__name__"))?.extract()?;
            report_uncontrolled(py, &format!("runs code from a string with {name}"))?;
        }
        Ok(())
    }
}

fn is_text(code: &Bound<'_, PyAny>) -> bool {
    code.is_instance_of::<PyString>() || code.is_instance_of::<PyBytes>()
}
