//! Where a load gets its value if it has a reads-from choice (graph exploration under TSO, PSO and RC11, and
//! of reads-from classes).
//!
//! The value of every store is kept, and what was there before the first. Before an operation reads, the place is made
//! to hold what the chosen write left, so that the interpreter finds it in its usual way: through descriptors, defaults
//! of classes, exceptions for what is missing. What no other thread can race with has no events, and keeps its value on
//! the interpreter's heap alone: of such a place every thread sees the last store in the order of the execution.
//!
//! A schedule names a write by the step that performed it, since events are numbered by what a check knew of races.

use pyo3::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::operation::{
    Accesses, EventId, LocationId, MemoryOrder, Operation, OperationKind, ThreadId, ANY_VALUE, NO_VALUE,
};
use crate::python::explore::recording::Word;
use crate::python::heap::place::Place;
use crate::python::host::Host;
use crate::python::primitives::atomic::is_builtin;
use crate::python::state::{Phase, State};
use crate::python::threads::switching::Footprint;

/// A place that has been stored to in this execution.
struct Kept {
    place: Place,
    /// What it held before the first store; None if it was not there.
    initial: Option<Py<PyAny>>,
    /// The write whose value it holds now.
    holds: EventId,
}

/// A store of this execution.
struct Write {
    location: LocationId,
    value: Option<Py<PyAny>>,
    /// Which of the recorded steps it is, counted from 1; 0 if nobody records.
    step: u32,
}

/// What the interpreter's heap cannot tell: the values of all stores of the running execution.
#[derive(Default)]
pub struct ChosenReads {
    /// Whether reads-from is chosen.
    pub enabled: bool,
    /// Whether operations on what one thread uses are fences, as locks are under TSO and PSO.
    pub objects_are_fences: bool,
    /// Whether a compare-exchange that fails orders less than one that writes, as under RC11.
    pub failing_orders_less: bool,
    places: FxHashMap<LocationId, Kept>,
    writes: FxHashMap<EventId, Write>,
    by_step: FxHashMap<u32, EventId>,
    /// The items that were stored to, by container.
    items: FxHashMap<LocationId, Vec<LocationId>>,
    /// The lists and dicts of which items were read or stored to.
    pub containers: FxHashSet<LocationId>,
    /// Items whose container was changed since in another way.
    outdated: Vec<LocationId>,
    /// The write that the next recorded step stands for, and what the one of the running thread read from: the
    /// number of its step and 1, or 1 for the initial value.
    unnumbered: Option<EventId>,
    source: u32,
    /// The write that the running operation reads from, if it has been chosen.
    read_from: Option<EventId>,
    /// Threads with a store that their later loads need not wait for.
    unfenced: Vec<ThreadId>,
}

impl ChosenReads {
    /// Under which model reads-from is chosen; None where loads read what is there, or what a schedule
    /// says.
    pub fn new(enabled: bool, model: Option<&str>) -> ChosenReads {
        ChosenReads {
            enabled,
            objects_are_fences: matches!(model, Some("tso" | "pso")),
            failing_orders_less: model == Some("rc11"),
            ..ChosenReads::default()
        }
    }

    /// Forget the last execution. What is returned is to be dropped without a borrow of the state.
    pub fn take_all(&mut self) -> impl Sized {
        let empty = ChosenReads {
            enabled: self.enabled,
            objects_are_fences: self.objects_are_fences,
            failing_orders_less: self.failing_orders_less,
            ..ChosenReads::default()
        };
        std::mem::replace(self, empty)
    }

    /// Whether somebody has stored to the location in this execution.
    pub fn is_stored(&self, location: LocationId) -> bool {
        self.places.contains_key(&location)
    }

    /// The location, and those of the items of the container that it stands for, as far as somebody has stored to them.
    pub fn stored_within(&self, location: LocationId) -> Vec<LocationId> {
        let own = self.is_stored(location).then_some(location);
        own.into_iter().chain(self.items.get(&location).into_iter().flatten().copied()).collect()
    }

    /// A step is recorded: give the write that it is its number, and tell what it read from.
    pub fn number(&mut self, step: u32) -> u32 {
        if let Some(write) = self.unnumbered.take() {
            if let Some(kept) = self.writes.get_mut(&write) {
                kept.step = step;
                self.by_step.insert(step, write);
            }
        }
        std::mem::take(&mut self.source)
    }

    /// What to change so that the location holds what the write left: None if it does already.
    fn change(&mut self, py: Python<'_>, location: LocationId, write: EventId) -> Option<(Place, Option<Py<PyAny>>)> {
        let kept = self.places.get_mut(&location).filter(|kept| kept.holds != write)?;
        kept.holds = write;
        let value = match self.writes.get(&write) {
            Some(write) => &write.value,
            None => &kept.initial,
        };
        Some((kept.place.clone_ref(py), value.as_ref().map(|value| value.clone_ref(py))))
    }
}

impl State {
    /// Whether accesses to the location are events that read from, or are, writes to choose from.
    #[inline]
    pub fn chooses(&self, location: LocationId) -> bool {
        self.heap.reads.enabled && self.phase == Phase::Running && self.is_visible(location)
    }

    /// Whether writes are named by an explorer, and not by a schedule.
    pub fn explores_reads(&self) -> bool {
        self.heap.reads.enabled && self.driver.memory.chooses_reads()
    }

    /// What the schedule that is followed says of the running thread's next step.
    fn followed_number(&self) -> u32 {
        let rest = self
            .heap
            .weak
            .followed
            .as_ref()
            .and_then(|steps| steps.get(self.exploration.recording.steps.get()..))
            .unwrap_or_default();
        rest.iter().find(|step| step.thread == self.current && !step.is_flush).map_or(0, |step| step.number)
    }

    /// The write that the operation whose turn it is reads from; None if it reads what is there. Notes its number.
    fn chosen_source(&mut self, operation: &Operation) -> Option<(LocationId, EventId)> {
        use OperationKind::*;
        self.heap.reads.source = 0;
        if !matches!(operation.kind, Load | ReadModifyWrite | CompareExchange) {
            return None;
        }
        if self.explores_reads() {
            let write = self.driver.reads()?;
            let step = self.heap.reads.writes.get(&write).map_or(0, |write| write.step);
            self.heap.reads.source = step + 1;
            return Some((operation.target, write));
        }
        let number = self.followed_number();
        self.heap.reads.source = number;
        match number {
            0 => None,
            1 => Some((operation.target, EventId::NONE)),
            number => {
                let write = *self.heap.reads.by_step.get(&(number - 1))?;
                Some((self.heap.reads.writes.get(&write)?.location, write))
            }
        }
    }

    /// The operation has taken place: whether the thread has stores that its loads need not wait for.
    pub fn note_fencing(&mut self, operation: &Operation) {
        use OperationKind::*;
        if !self.heap.reads.objects_are_fences {
            return;
        }
        let current = self.current;
        let relaxed = self.driver.memory.is_relaxed(operation);
        let is_weak = operation.order != MemoryOrder::SequentiallyConsistent;
        match operation.kind {
            Load if relaxed => {}
            CompareExchange if !self.last_exchange_took_place() => {}
            Store if relaxed && is_weak => {
                if !self.heap.reads.unfenced.contains(&current) {
                    self.heap.reads.unfenced.push(current);
                }
            }
            Fence if is_weak => {}
            _ => self.heap.reads.unfenced.retain(|thread| *thread != current),
        }
    }

    /// The event that has just been performed.
    pub fn last_event(&self) -> EventId {
        EventId((self.driver.position() as u32).saturating_sub(1))
    }

    fn last_exchange_took_place(&self) -> bool {
        let event = self.driver.execution.event(self.last_event());
        event.before == event.operation.detail || event.before == ANY_VALUE
    }

    /// The running thread has performed an operation that orders threads by what it reads from, for the detection of
    /// data races.
    pub fn synchronise_by_reads(&mut self, operation: &Operation) {
        use OperationKind::*;
        let event = self.last_event();
        let writes = match operation.kind {
            Store | ReadModifyWrite => true,
            CompareExchange => self.last_exchange_took_place(),
            _ => false,
        };
        let reads = matches!(operation.kind, Load | ReadModifyWrite | CompareExchange);
        let (thread, order, source) = (self.current, operation.order, self.heap.reads.read_from);
        let Some(races) = &mut self.exploration.races.detector else { return };
        if operation.kind == Fence {
            races.fence(thread, order);
        }
        if let (true, Some(source)) = (reads, source) {
            races.read_from(thread, source, order);
        }
        if writes {
            races.write(thread, event, source.filter(|_| reads), order);
        }
    }

    /// A token that two values share if a compare-exchange takes them for the same; None if that cannot be told.
    /// Whether a symbolic value is the same as another is a branch.
    pub fn exchange_token(&mut self, value: &Bound<'_, PyAny>) -> Option<u32> {
        const OBJECTS: u32 = 1 << 31;
        if self.exploration.symbolic.used && self.types.facts(value).symbolic {
            return Some(ANY_VALUE);
        }
        match self.identities.value_token(value) {
            0 if is_builtin(value) => None,
            0 => self.objects.made(value).map(|object| OBJECTS + object.0),
            token => Some(token),
        }
    }

    /// Note that something happened to the container that loads and stores of single items do not expect.
    pub fn outdate_items(&mut self, container: LocationId, item: Option<LocationId>) {
        let items = self.heap.reads.items.get(&container).map_or(&[][..], Vec::as_slice);
        let outdated = items.iter().copied().filter(|one| item.is_none_or(|item| item == *one));
        self.heap.reads.outdated.extend(outdated);
    }

    pub fn is_outdated(&self, item: LocationId) -> bool {
        self.heap.reads.outdated.contains(&item)
    }
}

impl Host {
    /// Before an operation reads: let its place hold what the chosen write left.
    pub fn settle(&self, py: Python<'_>, operation: &Operation) -> PyResult<()> {
        let chosen = {
            let mut state = self.state();
            let chosen = state.chosen_source(operation);
            state.heap.reads.read_from = chosen.map(|(_, write)| write);
            chosen
        };
        match chosen {
            Some((location, write)) => self.settle_at(py, location, write),
            None => Ok(()),
        }
    }

    /// The same for a load that has found its value in one of two places, where a schedule is followed: if it was in
    /// `default`, or nobody has stored it, there was nothing in `own`.
    pub fn settle_default(&self, py: Python<'_>, own: LocationId, default: LocationId) -> PyResult<()> {
        let (is_initial, is_default) = {
            let state = self.state();
            let number = state.heap.reads.source;
            let write = number.checked_sub(1).and_then(|step| state.heap.reads.by_step.get(&step));
            let found = write.and_then(|write| state.heap.reads.writes.get(write)).map(|write| write.location);
            (number == 1, found == Some(default))
        };
        if is_initial || is_default {
            self.settle_at(py, own, EventId::NONE)?;
        }
        if is_initial {
            self.settle_at(py, default, EventId::NONE)?;
        }
        Ok(())
    }

    fn settle_at(&self, py: Python<'_>, location: LocationId, write: EventId) -> PyResult<()> {
        let change = self.state().heap.reads.change(py, location, write);
        if let Some((place, value)) = change {
            drop(place.exchange(py, value)?);
        }
        Ok(())
    }

    /// The last event stores a value (None: removes it) to a place that still holds what was there.
    pub fn keep_write(
        &self,
        py: Python<'_>,
        event: bool,
        location: LocationId,
        place: impl FnOnce() -> Place,
        value: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let write = event.then(|| self.state().last_event());
        self.keep_write_of(py, write, location, place, value)
    }

    /// The same for an event that need not be the last.
    pub fn keep_write_of(
        &self,
        py: Python<'_>,
        event: Option<EventId>,
        location: LocationId,
        place: impl FnOnce() -> Place,
        value: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (wanted, known) = {
            let state = self.state();
            let wanted = state.heap.reads.enabled && state.phase == Phase::Running;
            (wanted, state.heap.reads.places.contains_key(&location))
        };
        let Some(write) = event.filter(|_| wanted) else { return Ok(()) };
        if !known {
            let place = place();
            let initial = place.now(py)?;
            let mut state = self.state();
            state.heap.reads.places.insert(location, Kept { place, initial, holds: EventId::NONE });
        }
        let mut state = self.state();
        let value = value.map(|value| value.clone().unbind());
        let former = state.heap.reads.writes.insert(write, Write { location, value, step: 0 });
        if let Some(kept) = state.heap.reads.places.get_mut(&location) {
            kept.holds = write;
        }
        state.heap.reads.unnumbered = Some(write);
        drop(state);
        drop(former);
        Ok(())
    }

    /// The same for an item of a container.
    pub fn keep_item(
        &self,
        py: Python<'_>,
        event: bool,
        container: LocationId,
        location: LocationId,
        place: impl FnOnce() -> Place,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.keep_write(py, event, location, place, Some(value))?;
        let mut state = self.state();
        if state.heap.reads.places.contains_key(&location) {
            let items = state.heap.reads.items.entry(container).or_default();
            if !items.contains(&location) {
                items.push(location);
            }
        }
        Ok(())
    }

    /// Before the container is taken as a whole (or one item of it removed): read what was stored to its items, so that
    /// it holds that.
    pub fn gather_items(&self, py: Python<'_>, container: LocationId, item: Option<LocationId>) -> PyResult<()> {
        let explores = self.state().explores_reads();
        if !explores {
            while let Some(location) = self.followed_item() {
                self.gather(py, location)?;
            }
            return Ok(());
        }
        let locations = self.state().heap.reads.items.get(&container).cloned().unwrap_or_default();
        for location in locations {
            let wanted = item.is_none_or(|item| item == location) && !self.state().is_outdated(location);
            if wanted {
                self.gather(py, location)?;
            }
        }
        Ok(())
    }

    fn followed_item(&self) -> Option<LocationId> {
        let state = self.state();
        let write = state.heap.reads.by_step.get(&state.followed_number().checked_sub(1)?)?;
        Some(state.heap.reads.writes.get(write)?.location)
    }

    pub fn gather(&self, py: Python<'_>, location: LocationId) -> PyResult<()> {
        let operation = Operation { order: MemoryOrder::Relaxed, ..Operation::new(OperationKind::Load, location, 0) };
        self.perform(py, operation, 1, |_| Footprint::of(Accesses::new()))?;
        let place = self.state().heap.reads.places.get(&location).map(|kept| kept.place.clone_ref(py));
        if let Some(place) = place.filter(|_| self.is_recording()) {
            let value = place.now(py)?;
            let (target, key) = place.names(py);
            let (key, value) = (key.as_ref().map(|key| key.bind(py)), value.as_ref().map(|value| value.bind(py)));
            self.note(py, Word::Load, Some(target.bind(py)), key, value, true);
        }
        Ok(())
    }

    /// Before an operation on what one thread uses, which is no event: it is a fence where the thread has stores that
    /// its later loads need not wait for.
    pub fn fence_if_owed(&self, py: Python<'_>) -> PyResult<()> {
        let owed = {
            let state = self.state();
            let current = state.current;
            state.phase == Phase::Running && state.explores_reads() && state.heap.reads.unfenced.contains(&current)
        };
        if !owed {
            return Ok(());
        }
        let operation = Operation::new(OperationKind::Fence, LocationId::NONE, 0);
        self.perform(py, operation, 1, |_| Footprint::of(Accesses::new())).map(drop)
    }
}

/// What a compare-exchange finds, as its state token: the expected one if and only if it takes place.
pub fn found_token(token: Option<u32>, expected: u32, takes_place: bool) -> u32 {
    match token {
        _ if takes_place => expected,
        Some(token) if token != expected => token,
        _ => NO_VALUE - 1,
    }
}
