//! What stands for the lock, the conditions and the items of a `queue.Queue` or `queue.LifoQueue`: its operations, each
//! one step. The classes themselves stay the library's (`dpor.runtime.queues`).

use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};

use super::channel::{ChannelObject, Order, QueueKind};
use super::{timeouts, Standing};
use crate::operation::OperationKind;
use crate::python::explore::learning::Restart;
use crate::python::host::{require_host, Host};

/// The inside of a queue.
#[pyclass(frozen, module = "dpor._kernel")]
pub struct TaskQueue {
    channel: ChannelObject,
}

impl TaskQueue {
    /// The time of a wait that found nothing passes. Raises what a wait would raise that had this limit.
    fn pass_time(&self, timeout: &Bound<'_, PyAny>) -> PyResult<()> {
        let seconds = timeouts::of_wait(timeout)?;
        self.channel.primitive.pass_time(seconds);
        Ok(())
    }
}

#[pymethods]
impl TaskQueue {
    /// The inside of a new queue that takes `capacity` items (any number for 0), the last put first if `last_first`;
    /// None where the library's own code is to run.
    #[staticmethod]
    fn make(py: Python<'_>, capacity: u32, last_first: bool) -> PyResult<Option<TaskQueue>> {
        let host = require_host(py)?;
        let takes = host.get().awake().is_some_and(|state| {
            state.executes()
                && state.waits.primitives.queues.are_primitives
                && !state.waits.primitives.queues.are_open
        });
        if !takes {
            return Ok(None);
        }
        let order = if last_first { Order::LastFirst } else { Order::FirstFirst };
        let kind = QueueKind { capacity, counts_tasks: true, order, taken: None };
        Ok(Some(TaskQueue { channel: ChannelObject::new(py, "Queue", kind)? }))
    }

    /// A queue without end of which at most so many items are taken.
    #[staticmethod]
    fn of_places(py: Python<'_>, taken: u32) -> PyResult<TaskQueue> {
        let kind = QueueKind { capacity: 0, counts_tasks: false, order: Order::FirstFirst, taken: Some(taken) };
        Ok(TaskQueue { channel: ChannelObject::new(py, "SimpleQueue", kind)? })
    }

    /// Something uses what only the library's own code has: explore again with that. Between executions there is no
    /// need.
    fn open(&self, py: Python<'_>) -> PyResult<()> {
        match self.channel.primitive.standing_to_look(py)? {
            Standing::Live => {}
            Standing::Plain => return Ok(()),
            Standing::Over => return Err(Host::aborted()),
        }
        let host = self.channel.primitive.host();
        host.state().waits.primitives.queues.are_open = true;
        Err(host.restart_with(py, Restart::Visible))
    }

    /// Put an item into the queue `shown`: within `timeout` seconds, or after any time for None, if `block`. Returns
    /// whether there was room.
    fn put(
        &self,
        shown: &Bound<'_, PyAny>,
        item: Py<PyAny>,
        block: bool,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        if self.channel.put(shown, item, block && timeout.is_none())? {
            return Ok(true);
        }
        if let (true, Some(timeout)) = (block, timeout) {
            self.pass_time(timeout)?;
        }
        Ok(false)
    }

    /// Take an item in the same way. Returns it in a tuple, which is empty if there is none.
    fn get<'py>(
        &self,
        shown: &Bound<'py, PyAny>,
        block: bool,
        timeout: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Vec<Py<PyAny>>> {
        if let Some(item) = self.channel.get(shown, block && timeout.is_none())? {
            return Ok(vec![item]);
        }
        if let (true, Some(timeout)) = (block, timeout) {
            self.pass_time(timeout)?;
        }
        Ok(Vec::new())
    }

    #[getter]
    fn last_first(&self) -> bool {
        self.channel.takes_last_first()
    }

    /// Whether it takes so many items and no more.
    #[getter]
    fn bounded(&self) -> bool {
        self.channel.is_bounded()
    }

    fn task_done(&self, shown: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.channel.task_done(shown)
    }

    fn join(&self, shown: &Bound<'_, PyAny>) -> PyResult<()> {
        self.channel.join(shown)
    }

    fn qsize(&self, py: Python<'_>) -> PyResult<u32> {
        self.channel.look(py, OperationKind::ChannelSize)
    }

    fn empty(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.channel.look(py, OperationKind::ChannelEmpty)? == 1)
    }

    fn full(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(self.channel.look(py, OperationKind::ChannelFull)? == 1)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.channel.traverse(&visit)
    }

    fn __clear__(&self) {
        self.channel.clear();
    }
}
