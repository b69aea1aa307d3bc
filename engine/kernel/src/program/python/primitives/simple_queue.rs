//! `queue.SimpleQueue`.

use std::collections::VecDeque;
use std::sync::Mutex;

use pyo3::prelude::*;

use super::{timeouts, truth, Primitive, Standing};
use crate::memory::PrimitiveState;
use crate::operation::{Operation, OperationKind};
use crate::program::python::host::Host;
use crate::program::python::recording::Word;

/// `queue.SimpleQueue`
#[pyclass(frozen, subclass, weakref, module = "_queue")]
pub struct SimpleQueue {
    primitive: Primitive,
    items: Mutex<VecDeque<Py<PyAny>>>,
}

impl SimpleQueue {
    fn pop(&self) -> Option<Py<PyAny>> {
        self.items.lock().ok()?.pop_front()
    }

    fn length(&self) -> usize {
        self.items.lock().map_or(0, |items| items.len())
    }

    fn empty_error(py: Python<'_>) -> PyErr {
        match py.import("_queue").and_then(|module| module.getattr("Empty")) {
            Ok(class) => match class.call0() {
                Ok(error) => PyErr::from_value(error),
                Err(error) => error,
            },
            Err(error) => error,
        }
    }

    fn take(slf: &Bound<'_, Self>, block: bool, timeout: Option<f64>) -> PyResult<Py<PyAny>> {
        let py = slf.py();
        let this = slf.get();
        let primitive = &this.primitive;
        match primitive.standing(py, "gets from a queue")? {
            Standing::Live => {}
            Standing::Plain => return this.pop().ok_or_else(|| SimpleQueue::empty_error(py)),
            Standing::Over => return Err(Host::aborted()),
        }
        let may_fail = !block || timeout.is_some();
        let kind = if may_fail { OperationKind::ChannelTryGet } else { OperationKind::ChannelGet };
        let host = primitive.host();
        if !may_fail {
            host.note_waiting(py, Word::Get, Some(slf.as_any()));
        }
        let (_, event) = primitive.operate(py, Operation::new(kind, primitive.location(), 0))?;
        match this.pop() {
            Some(item) => {
                host.note(py, Word::Get, Some(slf.as_any()), None, Some(item.bind(py)), event);
                Ok(item)
            }
            None => {
                if let (true, Some(seconds)) = (block, timeout) {
                    primitive.pass_time(seconds);
                }
                host.note(py, Word::Get, Some(slf.as_any()), None, None, event);
                Err(SimpleQueue::empty_error(py))
            }
        }
    }

    fn add(slf: &Bound<'_, Self>, item: Py<PyAny>) -> PyResult<()> {
        let py = slf.py();
        let this = slf.get();
        let primitive = &this.primitive;
        let event = match primitive.standing(py, "puts into a queue")? {
            Standing::Live => {
                let put = Operation::new(OperationKind::ChannelPut, primitive.location(), 0);
                primitive.operate(py, put)?.1
            }
            Standing::Plain | Standing::Over => false,
        };
        let noted = item.clone_ref(py);
        if let Ok(mut items) = this.items.lock() {
            items.push_back(item);
        }
        primitive.host().note(py, Word::Put, Some(slf.as_any()), None, Some(noted.bind(py)), event);
        Ok(())
    }

    fn look(&self, py: Python<'_>) -> PyResult<usize> {
        if matches!(self.primitive.standing_to_look(py)?, Standing::Live) {
            self.primitive.read(py)?;
            let get = Operation::new(OperationKind::ChannelTryGet, self.primitive.location(), 0);
            return Ok(self.primitive.host().state().primitive_token(&get) as usize);
        }
        Ok(self.length())
    }
}

#[pymethods]
impl SimpleQueue {
    #[new]
    fn new(py: Python<'_>) -> PyResult<SimpleQueue> {
        let primitive = Primitive::new(py, "SimpleQueue", Some(PrimitiveState::Channel { length: 0 }), 0)?;
        Ok(SimpleQueue { primitive, items: Mutex::new(VecDeque::new()) })
    }

    /// It never blocks, and looks at no time-out, whatever is given as one.
    #[pyo3(signature = (item, block = true, timeout = None))]
    fn put(
        slf: &Bound<'_, Self>,
        item: Py<PyAny>,
        #[pyo3(from_py_with = truth)] block: bool,
        timeout: Option<Py<PyAny>>,
    ) -> PyResult<()> {
        let _ = (block, timeout);
        SimpleQueue::add(slf, item)
    }

    fn put_nowait(slf: &Bound<'_, Self>, item: Py<PyAny>) -> PyResult<()> {
        SimpleQueue::add(slf, item)
    }

    #[pyo3(signature = (block = true, timeout = None))]
    fn get(
        slf: &Bound<'_, Self>,
        #[pyo3(from_py_with = truth)] block: bool,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let seconds = timeout.filter(|_| block).map(timeouts::of_queue).transpose()?;
        SimpleQueue::take(slf, block, seconds)
    }

    fn get_nowait(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        SimpleQueue::take(slf, false, None)
    }

    fn empty(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.look(py)? == 0)
    }

    fn qsize(&self, py: Python<'_>) -> PyResult<usize> {
        self.look(py)
    }

    #[classmethod]
    fn __class_getitem__(class: &Bound<'_, pyo3::types::PyType>, _item: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Ok(class.clone().into_any().unbind())
    }
}
