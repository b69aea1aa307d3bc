//! What stands for the lock, the condition and the count of a `threading.Barrier`: to come to it is one step, and to go
//! on when all have come is another. The class itself stays the library's (`dpor.runtime.barriers`).
//!
//! Each time that threads meet is a location of its own. Those who come commute, unless somebody looks at the place that
//! `wait` gives him in their order. Who goes on has read that all have come; nobody can come to that meeting later. To
//! the explorers a meeting is a queue whose tasks are those who are to come (`ChannelDone`, `ChannelJoin`).
//!
//! Which meeting a thread comes to depends on nothing that others do as long as no more threads come than the barrier
//! is for: it is the one after its last. Where another one comes the library's own code runs, which is learned.

use std::sync::{Mutex, PoisonError};

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyType};
use rustc_hash::FxHashMap;

use super::{Primitive, Standing};
use crate::memory::{Cells, Channel, PrimitiveState};
use crate::operation::{LocationId, Operation, OperationKind, ThreadId};
use crate::python::explore::learning::Restart;
use crate::python::explore::recording::Word;
use crate::python::host::Host;
use crate::python::state::State;
use crate::python::types::ancestry::found_in_class;

/// How many cells of the barrier a meeting has, as `Identities::cell` has them: itself, and the cursors of a queue.
const CELLS: u32 = 3;
const BACK: u32 = 1;
const DONE: u32 = 2;

/// What is known of barriers in a check; what turns out otherwise begins the exploration anew.
#[derive(Default)]
pub struct MeetingFacts {
    /// The class whose instances may have a `Meeting` inside, and its method `wait`.
    barriers: Option<(Py<PyType>, Py<PyAny>)>,
    /// Whether the model does with a barrier what only the library's own code can do.
    are_open: bool,
    /// Whether somebody looks at what `wait` returns.
    order_is_seen: bool,
}

/// The inside of a barrier of the running execution.
#[pyclass(frozen, module = "dpor._kernel")]
pub struct Meeting {
    primitive: Primitive,
    parties: u32,
    /// How often each thread has come.
    came: Mutex<FxHashMap<ThreadId, u32>>,
}

impl Meeting {
    /// The number of the meeting that the running thread comes to; None if more threads come than meet.
    fn next(&self, thread: ThreadId) -> Option<u32> {
        let mut came = self.came.lock().unwrap_or_else(PoisonError::into_inner);
        if came.len() as u32 == self.parties && !came.contains_key(&thread) {
            return None;
        }
        let times = came.entry(thread).or_default();
        *times += 1;
        Some(*times - 1)
    }

    /// The location of a meeting, which is ready from then on.
    fn prepare(&self, state: &mut State, number: u32) -> LocationId {
        let barrier = self.primitive.location();
        let mut cell = |part| state.identities.cell(barrier, number * CELLS + part);
        let (home, back, done) = (cell(0), cell(BACK), cell(DONE));
        if state.driver.memory.primitives().get(home).is_none() {
            let primitives = &state.waits.primitives;
            let by_cells = primitives.queues.by_cells && !primitives.queues.are_looked_at;
            let cells = by_cells.then(|| Cells { back, done, slots: Vec::new(), rooms: Vec::new() });
            let channel = Channel::of_tasks(self.parties, primitives.meetings.order_is_seen, cells);
            state.driver.memory.create(home, PrimitiveState::Channel(channel));
        }
        home
    }

    fn operate(&self, py: Python<'_>, kind: OperationKind, home: LocationId) -> PyResult<bool> {
        let target = self.primitive.host().state().driver.memory.primitives().channel_target(home, kind);
        Ok(self.primitive.operate(py, Operation::new(kind, target, home.0))?.1)
    }

    /// How many have come to a meeting.
    fn count(&self, home: LocationId) -> u32 {
        let state = self.primitive.host().state();
        state.driver.memory.primitives().channel(home).map_or(0, Channel::tasks_done)
    }
}

#[pymethods]
impl Meeting {
    /// Something uses what only the library's own code has: explore again with that. Between executions there is no
    /// need, nor where the checker looks.
    fn open(&self, py: Python<'_>) -> PyResult<()> {
        if self.primitive.host().is_asleep() {
            return Ok(());
        }
        match self.primitive.standing_to_look(py)? {
            Standing::Live => {}
            Standing::Plain => return Ok(()),
            Standing::Over => return Err(Host::aborted()),
        }
        let host = self.primitive.host();
        host.state().waits.primitives.meetings.are_open = true;
        Err(host.restart_with(py, Restart::Visible))
    }

    /// Come to the barrier `shown`, and wait until all have come. Returns how many came to this meeting before, if
    /// somebody looks at that.
    fn wait(&self, shown: &Bound<'_, PyAny>, order_is_seen: bool) -> PyResult<u32> {
        let py = shown.py();
        match self.primitive.standing(py, "waits at a barrier")? {
            Standing::Live => {}
            Standing::Plain => return Ok(0),
            Standing::Over => return Err(Host::aborted()),
        }
        let host = self.primitive.host();
        let learns = {
            let mut state = host.state();
            let meetings = &mut state.waits.primitives.meetings;
            let learns = order_is_seen && !meetings.order_is_seen;
            meetings.order_is_seen |= order_is_seen;
            learns
        };
        if learns {
            return Err(host.restart_with(py, Restart::Visible));
        }
        let current = host.state().current;
        let Some(number) = self.next(current) else {
            self.open(py)?;
            return Ok(0);
        };
        let home = self.prepare(&mut host.state(), number);
        let event = self.operate(py, OperationKind::ChannelDone, home)?;
        let place = self.count(home).saturating_sub(1);
        host.note(py, Word::Arrive, Some(shown), None, None, event);
        host.note_waiting(py, Word::Meet, Some(shown));
        let event = self.operate(py, OperationKind::ChannelJoin, home)?;
        host.note(py, Word::Meet, Some(shown), None, None, event);
        Ok(place)
    }
}

#[pymethods]
impl Host {
    /// The inside of a new barrier for so many threads; None where the library's own code is to run.
    fn meeting(&self, py: Python<'_>, parties: u32) -> PyResult<Option<Meeting>> {
        let takes = self.awake().is_some_and(|state| {
            let primitives = &state.waits.primitives;
            state.executes() && primitives.queues.are_primitives && !primitives.meetings.are_open
        });
        if !takes {
            return Ok(None);
        }
        let state = PrimitiveState::Channel(Channel::default());
        let primitive = Primitive::new(py, "Barrier", Some(state), 0)?;
        Ok(Some(Meeting { primitive, parties, came: Mutex::default() }))
    }

    /// Have the instances of a class be barriers.
    fn use_barriers(&self, class: &Bound<'_, PyType>) -> PyResult<()> {
        let wait = class.getattr(intern!(class.py(), "wait"))?.unbind();
        self.state().waits.primitives.meetings.barriers = Some((class.clone().unbind(), wait));
        Ok(())
    }

    /// A method that is about to be called, and whose result nobody looks at.
    fn method_of_statement<'py>(
        &self,
        object: &Bound<'py, PyAny>,
        name: &Bound<'py, PyString>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = object.py();
        let wait = self.awake().filter(|state| state.running()).and_then(|state| {
            let (class, wait) = state.waits.primitives.meetings.barriers.as_ref()?;
            object.get_type().is(class.bind(py)).then(|| wait.clone_ref(py))
        });
        if let Some(wait) = wait.filter(|_| name.to_str().is_ok_and(|name| name == "wait")) {
            if self.asleep(|| meets(object, wait.bind(py)))? {
                return object.getattr(intern!(py, "dpor_meet"));
            }
        }
        self.method(py, object, name)
    }
}

/// Whether a barrier is closed, and its method `wait` is still this one.
fn meets(barrier: &Bound<'_, PyAny>, wait: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = barrier.py();
    let names = barrier.getattr(intern!(py, "__dict__"))?.cast_into::<PyDict>()?;
    let is_closed =
        names.get_item(intern!(py, "dpor_meeting"))?.is_some_and(|inside| inside.is_instance_of::<Meeting>());
    let is_own = found_in_class(&barrier.get_type(), "wait").is_some_and(|found| found.is(wait));
    Ok(is_closed && is_own && !names.contains(intern!(py, "wait"))?)
}
