//! `queue.SimpleQueue`.

use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};

use super::channel::{ChannelObject, Order, QueueKind};
use super::{timeouts, truth};
use crate::operation::OperationKind;

/// `queue.SimpleQueue`
#[pyclass(frozen, subclass, weakref, module = "_queue")]
pub struct SimpleQueue {
    channel: ChannelObject,
}

/// The error of a queue that has no item.
pub fn empty_error(py: Python<'_>) -> PyErr {
    match py.import("_queue").and_then(|module| module.getattr("Empty")?.call0()) {
        Ok(error) => PyErr::from_value(error),
        Err(error) => error,
    }
}

impl SimpleQueue {
    fn take(slf: &Bound<'_, Self>, block: bool, timeout: Option<f64>) -> PyResult<Py<PyAny>> {
        let channel = &slf.get().channel;
        if let Some(item) = channel.get(slf.as_any(), block && timeout.is_none())? {
            return Ok(item);
        }
        if let (true, Some(seconds)) = (block, timeout) {
            channel.primitive.pass_time(seconds);
        }
        Err(empty_error(slf.py()))
    }
}

#[pymethods]
impl SimpleQueue {
    #[new]
    fn new(py: Python<'_>) -> PyResult<SimpleQueue> {
        let kind = QueueKind { capacity: 0, counts_tasks: false, order: Order::FirstFirst, taken: None };
        Ok(SimpleQueue { channel: ChannelObject::new(py, "SimpleQueue", kind)? })
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
        SimpleQueue::put_nowait(slf, item)
    }

    fn put_nowait(slf: &Bound<'_, Self>, item: Py<PyAny>) -> PyResult<()> {
        slf.get().channel.put(slf.as_any(), item, true).map(drop)
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
        Ok(self.channel.look(py, OperationKind::ChannelEmpty)? == 1)
    }

    fn qsize(&self, py: Python<'_>) -> PyResult<u32> {
        self.channel.look(py, OperationKind::ChannelSize)
    }

    #[classmethod]
    fn __class_getitem__(class: &Bound<'_, pyo3::types::PyType>, _item: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        Ok(class.clone().into_any().unbind())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.channel.traverse(&visit)
    }

    fn __clear__(&self) {
        self.channel.clear();
    }
}
