//! Iterators that tell of every step, which code in Python runs over in place of the interpreter's own.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString};

use crate::python::calls::callbacks::OpenOperation;
use crate::python::explore::recording::Word;
use crate::python::footprints::container_effects::ContainerEffect;
use crate::python::host::{require_host, Host};

impl Host {
    /// What an object gives code in Python to run over.
    pub fn own_iterator<'py>(&self, object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        // Built-in code that runs such code has no part in it.
        self.operating(object.py(), OpenOperation::Suspended, || Ok(object.try_iter()?.into_any()))
    }

    /// An iterator that tells of every step of `inner`, which runs over `source` or is it.
    pub fn steps<'py>(
        &self,
        source: &Bound<'py, PyAny>,
        inner: Bound<'py, PyAny>,
        effect: ContainerEffect,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = source.py();
        let steps = Steps { host: require_host(py)?, inner: inner.unbind(), source: source.clone().unbind(), effect };
        Ok(Bound::new(py, steps)?.into_any())
    }
}

/// Iterates over a list by index, as CPython does; every step reads one cell.
#[pyclass(module = "dpor._kernel")]
pub struct ListSteps {
    host: Py<Host>,
    list: Option<Py<PyAny>>,
    position: usize,
}

impl ListSteps {
    /// An iterator over a list that has not begun.
    pub fn over(host: Py<Host>, list: Py<PyAny>) -> ListSteps {
        ListSteps { host, list: Some(list), position: 0 }
    }
}

#[pymethods]
impl ListSteps {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = slf.py();
        let (host, list, position) = {
            let this = slf.borrow();
            let Some(list) = &this.list else { return Ok(None) };
            (this.host.clone_ref(py), list.bind(py).clone(), this.position)
        };
        let key = position.into_pyobject(py)?;
        let (event, forwarded) = host.get().access_item(py, &list, ContainerEffect::CellLoad, key.as_any())?;
        let list = list.cast_into::<PyList>()?;
        if position >= list.len() {
            slf.borrow_mut().list = None;
            host.get().note_end_of_iteration(py, list.as_any(), event);
            return Ok(None);
        }
        let value = match forwarded {
            Some(value) => value,
            None => list.get_item(position)?,
        };
        slf.borrow_mut().position = position + 1;
        host.get().adopt_item(&value, list.as_any(), key.as_any());
        host.get().note(py, Word::Iterate, Some(list.as_any()), Some(key.as_any()), Some(&value), event);
        Ok(Some(value))
    }

    /// What a generator that delegates to it looks for besides, and no iterator of a list has.
    fn __getattr__<'py>(&self, name: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
        PyList::empty(name.py()).try_iter()?.getattr(name)
    }
}

/// Iterates over anything else; every step reads the source (or advances it, if it is an iterator itself).
#[pyclass(module = "dpor._kernel")]
pub struct Steps {
    host: Py<Host>,
    #[pyo3(get)]
    inner: Py<PyAny>,
    source: Py<PyAny>,
    effect: ContainerEffect,
}

#[pymethods]
impl Steps {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }

    fn __next__<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = slf.py();
        let (host, inner, source, effect) = {
            let this = slf.borrow();
            (this.host.clone_ref(py), this.inner.bind(py).clone(), this.source.bind(py).clone(), this.effect)
        };
        let host = host.get();
        let next = || host.uncounted_in_c(py, 1, || inner.call_method0(intern!(py, "__next__")));
        let (next, event) = match effect {
            ContainerEffect::Step => host.step_iterator(py, &source, effect, false, next)?,
            _ => {
                let event = host.access_container(py, &source, effect, None)?;
                (host.operating(py, OpenOperation::on_container(&source, effect, None), next), event)
            }
        };
        match next {
            Ok(value) => {
                host.note(py, Word::Iterate, Some(&source), None, Some(&value), event);
                Ok(Some(value))
            }
            Err(error) => {
                host.note_end_of_iteration(py, &source, event);
                // With the value that `yield from` has then.
                Err(error)
            }
        }
    }

    /// What a generator that delegates to it looks for besides: `send` and `throw`, of which the iterator says whether
    /// it has them.
    fn __getattr__<'py>(&self, name: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
        self.inner.bind(name.py()).getattr(name)
    }
}
