//! The execution so far: its events with happens-before, and the races in it that can be reversed.
//!
//! Happens-before orders the events of one thread, conflicting accesses, spawn before the child's first event and
//! the child's last event before its join (design: Mazurkiewicz traces over these dependencies).

mod clock;
mod data_races;
mod epochs;
mod event;
mod path_condition;
mod races;
mod step;
mod turns;

use std::rc::Rc;

pub use clock::{join, ClockTable};
pub use data_races::{DataRace, DataRaces};
pub use epochs::EpochTable;
pub use event::{Event, Values};
pub use path_condition::{Literal, Outcomes, PathConditions, PathId, Sides, Solver};
pub use step::{initials, Step};
pub use turns::{TurnFacts, Turns};

use crate::operation::{
    accesses_conflict, Access, AccessMode, Accesses, Choice, EventId, LocationId, Operation, OperationKind, ThreadId,
};

/// Two conflicting events of different threads, with no third event between them in happens-before, whose order
/// another execution can reverse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Race {
    pub first: EventId,
    pub second: EventId,
}

#[derive(Default)]
pub struct Execution {
    events: Vec<Event>,
    /// For each event, what explorers keep of it.
    steps: Vec<Rc<Step>>,
    clocks: ClockTable,
    /// For each location the events that accessed it, in order.
    histories: Vec<History>,
    /// Immediate conflicts, by their second event, not yet filtered for reversibility.
    conflicts: Vec<Race>,
    /// The races of waits for predicates, with what each wait accesses before the first event.
    waits: Vec<(Race, Accesses)>,
    /// The events from here on are new in this execution.
    fresh: usize,
    /// What threads that are blocked at the end would have done, as if these were events after the last.
    blocked: Vec<Event>,
    /// The symbolic branches among the events, each with the path condition after it.
    branches: Vec<(EventId, PathId)>,
    conditions: Rc<PathConditions>,
    /// How many of the events are flushes of store buffers.
    flushes: usize,
    /// What is known of turns of event loops.
    turns: Turns,
    /// The locks of critical sections that conflict with what is no section of the same lock.
    torn: Vec<LocationId>,
    /// Whether clocks know only the order that the program itself imposes.
    program_order_only: bool,
    /// The clocks without what is read from what, where reads-from is chosen.
    structural: Option<ClockTable>,
    scratch: Vec<u32>,
    candidates: Vec<EventId>,
}

/// The locks of the critical sections among two operations that conflict, unless both are of one lock.
fn torn_sections(first: &Operation, second: &Operation) -> impl Iterator<Item = LocationId> {
    let locks = [first, second].map(|one| (one.kind == OperationKind::Section).then_some(one.target));
    let protected = locks[0].is_some() && locks[0] == locks[1];
    locks.into_iter().flatten().filter(move |_| !protected)
}

impl Execution {
    pub fn len(&self) -> usize {
        self.events.len()
    }

    pub fn turns(&self) -> &Turns {
        &self.turns
    }

    pub fn turns_mut(&mut self) -> &mut Turns {
        &mut self.turns
    }

    /// The locks whose critical sections, as events, were seen to conflict with what is no section of the same lock.
    pub fn take_torn_sections(&mut self) -> Vec<LocationId> {
        std::mem::take(&mut self.torn)
    }

    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// An event, or the operation that a blocked thread waits to perform if `id` is beyond the last event.
    pub fn event(&self, id: EventId) -> &Event {
        match self.events.get(id.index()) {
            Some(event) => event,
            None => &self.blocked[id.index() - self.events.len()],
        }
    }

    /// What the threads that are blocked at the end wait to do.
    pub fn blocked(&self) -> &[Event] {
        &self.blocked
    }

    /// The events that accessed a location in a mode, in order.
    #[inline]
    pub fn accessing(&self, location: LocationId, mode: AccessMode) -> &[EventId] {
        self.histories.get(location.index()).map_or(&[], |history| history.of(mode))
    }

    pub fn clocks(&self) -> &ClockTable {
        &self.clocks
    }

    /// The clocks of what is ordered in every execution with the same operations on objects: by program order, by spawn
    /// and join, and by conflicting operations on objects. Where reads-from is chosen, what they
    /// read from comes before them in the execution without being ordered so.
    pub fn structural_clocks(&self) -> &ClockTable {
        self.structural.as_ref().unwrap_or(&self.clocks)
    }

    /// Keep the structural order apart from happens-before.
    pub fn separate_structure(&mut self, separate: bool) {
        self.structural = separate.then(ClockTable::default);
    }

    /// The path conditions of the check.
    pub fn conditions(&self) -> &Rc<PathConditions> {
        &self.conditions
    }

    /// Share the path conditions with what was explored before, and with what will be.
    pub fn use_conditions(&mut self, conditions: Rc<PathConditions>) {
        self.conditions = conditions;
    }

    /// The symbolic branches, in order.
    pub fn branches(&self) -> impl Iterator<Item = EventId> + '_ {
        self.branches.iter().map(|(event, _)| *event)
    }

    /// The path condition after all events.
    pub fn path(&self) -> PathId {
        self.branches.last().map_or(PathId::TRUE, |(_, path)| *path)
    }

    /// The path condition after the first `length` events.
    pub fn path_at(&self, length: usize) -> PathId {
        let count = self.branches.partition_point(|(event, _)| event.index() < length);
        self.branches[..count].last().map_or(PathId::TRUE, |(_, path)| *path)
    }

    /// The branches that happen before what follows `last`, the last event of a thread: those that every execution
    /// has in which the thread comes to the same point.
    pub fn literals_before(&self, last: EventId) -> impl Iterator<Item = Literal> + '_ {
        let past = move |event: EventId| last != EventId::NONE && event <= last && self.happens_before(event, last);
        let branches = self.branches.iter().filter(move |(event, _)| past(*event));
        branches.filter_map(|(event, _)| self.steps[event.index()].literal())
    }

    /// The side of a condition that was taken in what `last`, the last event of a thread, follows from by the code
    /// alone: in its thread, in the threads that spawned it, or in threads that were joined.
    ///
    /// Not by all that happens before it: a graph in which an event of another thread comes later must have the same
    /// events of this one.
    pub fn decided(&self, condition: u32, last: EventId) -> Option<bool> {
        let same = |literal: &Literal| literal.condition == condition;
        self.branches.iter().find_map(|(event, _)| {
            let literal = self.steps[event.index()].literal().filter(same)?;
            self.follows_by_code(*event, last).then_some(literal.taken)
        })
    }

    pub fn follows_by_code(&self, first: EventId, last: EventId) -> bool {
        let mut pending = vec![last];
        let mut seen: Vec<EventId> = Vec::new();
        while let Some(id) = pending.pop() {
            if id == EventId::NONE || id < first {
                continue;
            }
            if id == first {
                return true;
            }
            let event = &self.events[id.index()];
            if event.joined != EventId::NONE && !seen.contains(&event.joined) {
                seen.push(event.joined);
                pending.push(event.joined);
            }
            pending.push(event.program_order);
        }
        false
    }

    pub fn choices(&self) -> Vec<Choice> {
        self.events.iter().map(Event::choice).collect()
    }

    /// Whether `first` happens before `second` (or is it).
    #[inline]
    pub fn happens_before(&self, first: EventId, second: EventId) -> bool {
        let event = &self.events[first.index()];
        self.clocks.count(second, event.thread) > event.index
    }

    /// Keep the first `length` events and forget the rest; what is appended now is fresh.
    pub fn truncate(&mut self, length: usize) {
        while self.events.len() > length {
            if let Some(event) = self.events.pop() {
                self.flushes -= usize::from(event.operation.is_flush());
                for access in event.accesses.iter().rev() {
                    self.histories[access.location.index()].of_mut(access.mode).pop();
                }
            }
        }
        self.steps.truncate(length);
        self.turns.truncate(length);
        self.clocks.truncate(length);
        if let Some(structural) = &mut self.structural {
            structural.truncate(length);
        }
        self.fresh = length;
        self.conflicts.retain(|race| race.second.index() < length);
        self.waits.retain(|(race, _)| race.second.index() < length);
        self.blocked.clear();
        while self.branches.last().is_some_and(|(event, _)| event.index() >= length) {
            self.branches.pop();
        }
    }

    /// Append an event whose `id` is the current length; computes its clock and notes its immediate conflicts.
    pub fn append(&mut self, event: Event) {
        let clock = self.order(&event);
        self.order_structurally(&event);
        for access in &event.accesses {
            let index = access.location.index();
            if self.histories.len() <= index {
                self.histories.resize_with(index + 1, History::default);
            }
            self.histories[index].of_mut(access.mode).push(event.id);
        }
        self.flushes += usize::from(event.operation.is_flush());
        self.clocks.push(&clock);
        self.scratch = clock;
        let step = Step::of(&event);
        if let Some(literal) = step.literal() {
            self.branches.push((event.id, self.conditions.extend(self.path(), literal)));
        }
        self.steps.push(Rc::new(step));
        self.events.push(event);
    }

    /// Note what a thread that is blocked for ever waits to do, so that its conflicts are found as well: in another
    /// order it might not have been blocked. All events must have been appended before.
    pub fn note_blocked(&mut self, mut event: Event) {
        event.id = EventId((self.events.len() + self.blocked.len()) as u32);
        self.scratch = self.order(&event);
        self.blocked.push(event);
    }

    /// Order the events of one thread, and spawn and join, and nothing else: for an explorer whose executions stand
    /// for others in which conflicting accesses come in another order. There are no races then.
    pub fn order_by_program_only(&mut self, only: bool) {
        self.program_order_only = only;
    }

    /// Note the values that an event found and left.
    pub fn set_values(&mut self, id: EventId, values: Values) {
        if let Some(event) = self.events.get_mut(id.index()) {
            event.values = values;
        }
    }

    /// The clock of an event that comes next; notes its immediate conflicts.
    fn order(&mut self, event: &Event) -> Vec<u32> {
        let mut clock = std::mem::take(&mut self.scratch);
        clock.clear();
        clock.resize(self.clocks.width().max(event.thread.index() + 1), 0);
        for predecessor in event.predecessors() {
            join(&mut clock, self.clocks.row(predecessor));
        }
        let mut candidates = std::mem::take(&mut self.candidates);
        if !self.program_order_only {
            self.collect_candidates(event, &clock, &mut candidates);
        }
        candidates.sort_unstable_by(|a, b| b.cmp(a));
        candidates.dedup();
        // What cannot be delayed conflicts with nothing that could come earlier.
        if self.turns.are_there() {
            candidates
                .sort_by_key(|candidate| self.events[candidate.index()].operation.kind == OperationKind::Complete);
        }
        for &candidate in &candidates {
            let first = &self.events[candidate.index()];
            if first.operation.kind == OperationKind::Complete {
                join(&mut clock, self.clocks.row(candidate));
                continue;
            }
            if clock[first.thread.index()] <= first.index {
                self.torn.extend(torn_sections(&first.operation, &event.operation));
                // Who runs the program knows when a predicate held, and adds the races of waiting for it.
                if event.operation.kind != OperationKind::WaitUntil {
                    self.conflicts.push(Race { first: candidate, second: event.id });
                }
                join(&mut clock, self.clocks.row(candidate));
            }
        }
        candidates.clear();
        self.candidates = candidates;
        clock[event.thread.index()] = event.index + 1;
        clock
    }

    /// The structural clock of an event that comes next.
    fn order_structurally(&mut self, event: &Event) {
        let Some(mut structural) = self.structural.take() else { return };
        let mut clock = vec![0; structural.width().max(event.thread.index() + 1)];
        for predecessor in event.predecessors().filter(|predecessor| event.reads != Some(*predecessor)) {
            join(&mut clock, structural.row(predecessor));
        }
        // The spawn or the last event of the thread may be what the event reads from as well.
        for predecessor in [event.program_order, event.joined].into_iter().filter(|id| *id != EventId::NONE) {
            join(&mut clock, structural.row(predecessor));
        }
        let mut candidates = Vec::new();
        self.collect_candidates(event, &clock, &mut candidates);
        for candidate in candidates {
            join(&mut clock, structural.row(candidate));
        }
        clock[event.thread.index()] = event.index + 1;
        structural.push(&clock);
        self.structural = Some(structural);
    }

    /// The events that conflict with `event` and are not ordered before it by `clock`.
    fn collect_candidates(&self, event: &Event, clock: &[u32], candidates: &mut Vec<EventId>) {
        for access in &event.accesses {
            let Some(history) = self.histories.get(access.location.index()) else { continue };
            if self.flushes > 0 || event.operation.is_flush() {
                self.collect_buffered(event, *access, history, clock, candidates);
                continue;
            }
            // A write is ordered after everything that accessed the location before it.
            let last_write = history.of(AccessMode::Write).last().copied();
            for mode in AccessMode::ALL {
                if !mode.conflicts(access.mode) {
                    continue;
                }
                for &earlier in history.of(mode).iter().rev() {
                    if last_write.is_some_and(|write| earlier < write) {
                        break;
                    }
                    let other = &self.events[earlier.index()];
                    if clock[other.thread.index()] <= other.index {
                        candidates.push(earlier);
                    }
                }
            }
        }
    }

    /// The same where stores go through buffers: a flush does not conflict with the loads of its own thread, so a write
    /// need not be ordered after everything that accessed the location before it.
    fn collect_buffered(
        &self,
        event: &Event,
        access: Access,
        history: &History,
        clock: &[u32],
        candidates: &mut Vec<EventId>,
    ) {
        // What came before two conflicting writes of different owners is ordered before one of them.
        let mut writes = history.of(AccessMode::Write).iter().rev().map(|id| &self.events[id.index()]);
        let last = writes.find(|write| write.can_conflict(event));
        let bound = last.and_then(|last| writes.find(|write| write.owner() != last.owner())).map(|write| write.id);
        for mode in AccessMode::ALL {
            if !mode.conflicts(access.mode) {
                continue;
            }
            for &earlier in history.of(mode).iter().rev() {
                if bound.is_some_and(|bound| earlier < bound) {
                    break;
                }
                let other = &self.events[earlier.index()];
                if other.can_conflict(event) && clock[other.thread.index()] <= other.index {
                    candidates.push(earlier);
                }
            }
        }
    }

    /// What explorers keep of the event at a position.
    pub fn step(&self, position: usize) -> Rc<Step> {
        self.steps[position].clone()
    }

    /// A number that two executions share exactly if their happens-before graphs (and drawn values) are the same.
    pub fn fingerprint(&self) -> u128 {
        let mut sum = 0u128;
        for event in &self.events {
            let mut hash = Hasher128::new();
            hash.add(u64::from(event.thread.0) << 32 | u64::from(event.index));
            hash.add(u64::from(event.outcome) << 32 | event.operation.kind as u64);
            for (thread, count) in self.clocks.row(event.id).iter().enumerate() {
                if *count > 0 {
                    hash.add((thread as u64) << 32 | u64::from(*count));
                }
            }
            sum = sum.wrapping_add(hash.finish());
        }
        sum
    }

    /// The last event of `thread`, if it has any.
    pub fn last_of(&self, thread: ThreadId) -> Option<&Event> {
        self.events.iter().rev().find(|event| event.thread == thread)
    }

    /// Whether the thread's next operation, accessing `accesses`, would conflict with `event`.
    pub fn conflicts(&self, event: EventId, accesses: &[Access]) -> bool {
        accesses_conflict(&self.event(event).accesses, accesses)
    }
}

/// The events that accessed one location, in order, apart by mode.
#[derive(Default)]
struct History {
    by_mode: [Vec<EventId>; 4],
}

impl History {
    fn of(&self, mode: AccessMode) -> &[EventId] {
        &self.by_mode[mode as usize]
    }

    fn of_mut(&mut self, mode: AccessMode) -> &mut Vec<EventId> {
        &mut self.by_mode[mode as usize]
    }
}

/// Two independent 64-bit multiplicative hashes side by side; collisions would only make two classes count as one.
struct Hasher128 {
    low: u64,
    high: u64,
}

impl Hasher128 {
    fn new() -> Hasher128 {
        Hasher128 { low: 0x243f_6a88_85a3_08d3, high: 0x1319_8a2e_0370_7344 }
    }

    fn add(&mut self, value: u64) {
        self.low = (self.low ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        self.high = (self.high.rotate_left(17) ^ value).wrapping_mul(0xc2b2_ae3d_27d4_eb4f) ^ self.low;
    }

    fn finish(self) -> u128 {
        u128::from(self.low.wrapping_mul(0xff51_afd7_ed55_8ccd)) << 64 | u128::from(self.high)
    }
}
