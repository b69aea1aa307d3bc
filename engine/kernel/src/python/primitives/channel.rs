//! What the queues of the standard library have in common: the kernel's channel, and the items in it.
//!
//! The items are kept here and not in a Python object, because each operation is one step that nobody sees the middle
//! of.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use pyo3::prelude::*;
use pyo3::{PyTraverseError, PyVisit};

use super::{Primitive, Standing};
use crate::memory::{items_in, Cells, Channel, Effect, PrimitiveState, MOST_ITEMS};
use crate::operation::{LocationId, Operation, OperationKind};
use crate::python::explore::learning::Restart;
use crate::python::explore::recording::Word;
use crate::python::host::Host;
use crate::python::state::{Phase, State};

/// How many cells a row gets at a time.
const STRIDE: usize = 16;

/// The numbers of the cells of a queue, as `Identities::cell` has them.
const BACK: u32 = 0;
const DONE: u32 = 1;
const FIRST_SLOT: u32 = 2;

/// In which order items are taken.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    FirstFirst,
    LastFirst,
}

/// What a queue does.
#[derive(Clone, Copy)]
pub struct QueueKind {
    /// How many items it takes; 0 for any number.
    pub capacity: u32,
    pub counts_tasks: bool,
    pub order: Order,
    /// How many items are taken at most, if that is known.
    pub taken: Option<u32>,
}

pub type Items = Arc<Mutex<VecDeque<Py<PyAny>>>>;

/// What is known of queues in a check; what turns out otherwise begins the exploration anew.
#[derive(Default)]
pub struct QueueFacts {
    /// Whether the explorer takes a queue that is more than one location.
    pub by_cells: bool,
    /// Whether the queues of `queue` are primitives for the explorer.
    pub are_primitives: bool,
    /// Whether a predicate looks at a queue, so that its state has to be one number.
    pub are_looked_at: bool,
    /// Whether a thread tells of a task that another one has got.
    pub hand_on_tasks: bool,
    /// Whether the model uses the insides of a queue, which only the library's own code has.
    pub are_open: bool,
}

impl State {
    /// A new state for a queue whose location is known.
    pub fn channel_state(&mut self, location: LocationId, kind: QueueKind) -> PrimitiveState {
        let facts = &self.waits.primitives.queues;
        let by_cells = facts.by_cells && !facts.are_looked_at && kind.order == Order::FirstFirst;
        let cells = by_cells.then(|| Cells {
            back: self.identities.cell(location, BACK),
            done: self.identities.cell(location, DONE),
            slots: Vec::new(),
            rooms: Vec::new(),
        });
        let hands_on = self.waits.primitives.queues.hand_on_tasks;
        let channel = Channel::new(kind.capacity, kind.counts_tasks, hands_on, cells);
        PrimitiveState::Channel(channel.taken_at_most(kind.taken))
    }

    /// Have so many cells that each thread can come to an operation on the queue before it is asked for more.
    fn provide_cells(&mut self, location: LocationId) {
        let threads = self.threads.len();
        let identities = &mut self.identities;
        let Some(channel) = self.driver.memory.primitives_mut().channel_mut(location) else { return };
        let (slots, rooms) = (channel.puts() as usize + threads + 2, channel.gets() as usize + threads + 2);
        let bounded = channel.is_bounded();
        let Some(cells) = channel.cells_mut() else { return };
        for (row, needed, first) in [
            (&mut cells.slots, slots, FIRST_SLOT),
            (&mut cells.rooms, if bounded { rooms } else { 0 }, FIRST_SLOT + 1),
        ] {
            if row.len() < needed {
                let numbers = row.len()..needed + STRIDE;
                row.extend(numbers.map(|number| identities.cell(location, first + 2 * number as u32)));
            }
        }
    }
}

pub fn drain(items: &Items) -> Vec<Py<PyAny>> {
    items.lock().map(|mut items| std::mem::take(&mut *items)).unwrap_or_default().into()
}

/// A queue of the running execution.
pub struct ChannelObject {
    pub primitive: Primitive,
    items: Items,
    kind: QueueKind,
}

impl ChannelObject {
    pub fn new(py: Python<'_>, class: &str, kind: QueueKind) -> PyResult<ChannelObject> {
        let items = Items::default();
        let primitive = Primitive::of_channel(py, class, kind, &items)?;
        Ok(ChannelObject { primitive, items, kind })
    }

    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        // Who holds the lock is in the middle of an operation that no collection can interrupt.
        let Ok(items) = self.items.try_lock() else { return Ok(()) };
        items.iter().try_for_each(|item| visit.call(item))
    }

    pub fn clear(&self) {
        let items = self.items.try_lock().map(|mut items| std::mem::take(&mut *items));
        drop(items);
    }

    fn push(&self, item: Py<PyAny>) {
        if let Ok(mut items) = self.items.lock() {
            items.push_back(item);
        }
    }

    pub fn pop(&self) -> Option<Py<PyAny>> {
        let mut items = self.items.lock().ok()?;
        match self.kind.order {
            Order::FirstFirst => items.pop_front(),
            Order::LastFirst => items.pop_back(),
        }
    }

    pub fn is_bounded(&self) -> bool {
        self.kind.capacity > 0
    }

    pub fn takes_last_first(&self) -> bool {
        self.kind.order == Order::LastFirst
    }

    fn is_full(&self, length: u32) -> bool {
        self.kind.capacity > 0 && length >= self.kind.capacity
    }

    pub fn length(&self) -> usize {
        self.items.lock().map_or(0, |items| items.len())
    }

    /// Perform an operation on the channel. Returns the effect and whether it was an event.
    fn operate(&self, py: Python<'_>, kind: OperationKind) -> PyResult<(Effect, bool)> {
        let home = self.primitive.location();
        let target = {
            let mut state = self.primitive.host().state();
            state.provide_cells(home);
            state.driver.memory.primitives().channel_target(home, kind)
        };
        self.primitive.operate(py, Operation::new(kind, target, home.0))
    }

    /// Put an item, and wait for room if `waits`. Returns whether there was room. Reports name the queue `shown`.
    pub fn put(&self, shown: &Bound<'_, PyAny>, item: Py<PyAny>, waits: bool) -> PyResult<bool> {
        use OperationKind::*;
        let py = shown.py();
        match self.primitive.standing(py, "puts into a queue")? {
            Standing::Live => {}
            Standing::Plain if !self.is_full(self.length() as u32) => {
                self.push(item);
                return Ok(true);
            }
            Standing::Plain => return Ok(false),
            Standing::Over => return Err(Host::aborted()),
        }
        let kind = match (self.kind.capacity, waits) {
            (0, _) => ChannelPut,
            (_, true) => ChannelPutWithin,
            (_, false) => ChannelTryPut,
        };
        let host = self.primitive.host();
        if kind == ChannelPutWithin {
            host.note_waiting(py, Word::Put, Some(shown));
        }
        let holds_most = {
            let state = host.state();
            state.driver.memory.primitives().channel(self.primitive.location()).is_some_and(Channel::holds_most)
        };
        if holds_most {
            return Err(host.uncontrolled(py, format!("puts more than {MOST_ITEMS} items into a queue")));
        }
        let (effect, event) = self.operate(py, kind)?;
        if effect != Effect::Done(1) {
            host.note(py, Word::TryPut, Some(shown), None, None, event);
            return Ok(false);
        }
        let noted = item.clone_ref(py);
        self.push(item);
        host.note(py, Word::Put, Some(shown), None, Some(noted.bind(py)), event);
        Ok(true)
    }

    /// Take an item, and wait for one if `waits`. Returns None if there is none.
    pub fn get(&self, shown: &Bound<'_, PyAny>, waits: bool) -> PyResult<Option<Py<PyAny>>> {
        let py = shown.py();
        match self.primitive.standing(py, "gets from a queue")? {
            Standing::Live => {}
            Standing::Plain => return Ok(self.pop()),
            Standing::Over => return Err(Host::aborted()),
        }
        let host = self.primitive.host();
        if waits {
            host.note_waiting(py, Word::Get, Some(shown));
        }
        let kind = if waits { OperationKind::ChannelGet } else { OperationKind::ChannelTryGet };
        let (_, event) = self.operate(py, kind)?;
        let item = self.pop();
        match &item {
            Some(item) => host.note(py, Word::Get, Some(shown), None, Some(item.bind(py)), event),
            None => host.note(py, Word::TryGet, Some(shown), None, None, event),
        }
        Ok(item)
    }

    /// What `kind` (`ChannelSize`, `ChannelEmpty` or `ChannelFull`) tells of the queue.
    pub fn look(&self, py: Python<'_>, kind: OperationKind) -> PyResult<u32> {
        let tell = |length: u32| match kind {
            OperationKind::ChannelEmpty => u32::from(length == 0),
            OperationKind::ChannelFull => u32::from(self.is_full(length)),
            _ => length,
        };
        match self.primitive.standing_to_look(py)? {
            Standing::Live => {}
            Standing::Plain | Standing::Over => return Ok(tell(self.length() as u32)),
        }
        let host = self.primitive.host();
        let home = self.primitive.location();
        let (by_cells, predicate) = {
            let state = host.state();
            let predicate = state.phase == Phase::Probing || state.threads[state.current.index()].looks;
            (state.driver.memory.primitives().channel(home).is_some_and(Channel::has_cells), predicate)
        };
        if by_cells && !predicate {
            return match self.operate(py, kind)?.0 {
                Effect::Done(answer) => Ok(answer),
                Effect::Buffered | Effect::Misused(_) => Ok(0),
            };
        }
        if by_cells {
            let mut state = host.state();
            state.waits.primitives.queues.are_looked_at = true;
            state.exploration.learning.must_begin_anew();
            return Ok(tell(self.length() as u32));
        }
        self.primitive.read(py)?;
        let size = Operation::new(OperationKind::ChannelSize, home, home.0);
        let token = host.state().primitive_token(&size);
        Ok(tell(items_in(token)))
    }

    /// A task is done. Returns false if all were done already.
    pub fn task_done(&self, shown: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = shown.py();
        match self.primitive.standing(py, "tells a queue that a task is done")? {
            Standing::Live => {}
            Standing::Plain | Standing::Over => return Ok(true),
        }
        let host = self.primitive.host();
        let hands_on = {
            let state = host.state();
            let channel = state.driver.memory.primitives().channel(self.primitive.location());
            channel.is_some_and(|channel| channel.has_cells() && channel.would_hand_on(state.current))
        };
        if hands_on {
            host.state().waits.primitives.queues.hand_on_tasks = true;
            return Err(host.restart_with(py, Restart::Visible));
        }
        let (effect, event) = self.operate(py, OperationKind::ChannelDone)?;
        host.note(py, Word::TaskDone, Some(shown), None, None, event);
        Ok(effect == Effect::Done(1))
    }

    /// Wait until all tasks are done.
    pub fn join(&self, shown: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = shown.py();
        match self.primitive.standing(py, "waits for the tasks of a queue")? {
            Standing::Live => {}
            Standing::Plain => return Ok(()),
            Standing::Over => return Err(Host::aborted()),
        }
        let host = self.primitive.host();
        host.note_waiting(py, Word::JoinTasks, Some(shown));
        let (_, event) = self.operate(py, OperationKind::ChannelJoin)?;
        host.note(py, Word::JoinTasks, Some(shown), None, None, event);
        Ok(())
    }
}
