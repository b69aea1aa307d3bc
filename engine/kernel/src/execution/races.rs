//! The races of an execution, and what reverses them.

use std::rc::Rc;

use super::{join, Event, Execution, Race, Step};
use crate::memory::MemoryModel;
use crate::operation::{Access, AccessMode, Accesses, EventId, LocationId, OperationKind, ThreadId};

impl Execution {
    /// The reversible races whose second event is new in this execution, in the order of the second event.
    pub fn fresh_races<'a>(&'a self, memory: &'a dyn MemoryModel) -> impl Iterator<Item = Race> + 'a {
        self.races_from(self.fresh, memory)
    }

    /// The reversible races whose second event is at `position` or later, in the order of the second event.
    pub fn races_from<'a>(&'a self, position: usize, memory: &'a dyn MemoryModel) -> impl Iterator<Item = Race> + 'a {
        let first = self.conflicts.partition_point(|race| race.second.index() < position);
        self.conflicts[first..].iter().filter_map(move |conflict| self.reversible(*conflict, memory))
    }

    /// All reversible races of this execution, in the order of the second event.
    ///
    /// Where the first event enables the second (a release and the acquire after it), reversing them is impossible;
    /// then the race is with the latest earlier event on that location before which the second was enabled (JACM'17,
    /// section on disabling operations).
    pub fn races<'a>(&'a self, memory: &'a dyn MemoryModel) -> impl Iterator<Item = Race> + 'a {
        self.conflicts.iter().filter_map(move |conflict| self.reversible(*conflict, memory))
    }

    fn reversible(&self, conflict: Race, memory: &dyn MemoryModel) -> Option<Race> {
        let second = self.event(conflict.second);
        let first = self.event(conflict.first);
        if second.operation.kind == OperationKind::WaitUntil {
            return Some(conflict);
        }
        if second.operation.kind == OperationKind::Turn {
            return self.reversible_turn(conflict);
        }
        if !second.operation.may_block() || memory.enabled_before(second, first) {
            return Some(conflict);
        }
        if let Some((puts, tasks)) = memory.primitives().awaited_tasks(&second.operation) {
            return self.race_of_join(conflict, puts, tasks);
        }
        let writes = self.accessing(second.operation.target, AccessMode::Write);
        for &earlier in writes[..writes.partition_point(|id| *id < conflict.first)].iter().rev() {
            let event = self.event(earlier);
            if event.thread == second.thread || self.ordered_by_program(earlier, second) {
                return None;
            }
            if memory.enabled_before(second, event) {
                return Some(Race { first: earlier, second: conflict.second });
            }
        }
        None
    }

    /// The race of a `join` of a queue that had to wait for the event that it conflicts with: with the latest put
    /// before which no task was left. `puts` is the cursor of puts, `tasks` that of tasks.
    ///
    /// Puts and tasks that are done are not ordered with each other, so that the state before a put says nothing. What
    /// counts is whether all tasks of the puts before it can be done without it: whether as many are that do not happen
    /// after it.
    fn race_of_join(&self, conflict: Race, puts: LocationId, tasks: LocationId) -> Option<Race> {
        let second = self.event(conflict.second);
        let earlier = |location, mode| {
            let events = self.accessing(location, mode);
            &events[..events.partition_point(|event| *event < second.id)]
        };
        let puts = earlier(puts, AccessMode::Write);
        let done = [AccessMode::Write, AccessMode::IntentWrite].map(|mode| earlier(tasks, mode)).concat();
        for (number, &put) in puts.iter().enumerate().rev() {
            if self.event(put).thread == second.thread || self.ordered_by_program(put, second) {
                return None;
            }
            if done.iter().filter(|task| !self.happens_before(put, **task)).count() == number {
                return Some(Race { first: put, second: conflict.second });
            }
        }
        None
    }

    /// Add the races of the last event (or last noted blocked operation), a wait for a predicate, each with what the
    /// wait accesses before the race's first event.
    pub fn add_races(&mut self, firsts: Vec<(EventId, Accesses)>) {
        let second = EventId((self.events.len() + self.blocked.len()) as u32 - 1);
        for (first, accesses) in firsts {
            self.conflicts.push(Race { first, second });
            self.waits.push((Race { first, second }, accesses));
        }
    }

    /// What the second event of a race would access just before the first.
    pub fn accesses_before(&self, race: Race, memory: &dyn MemoryModel) -> Accesses {
        let (first, second) = (self.event(race.first), self.event(race.second));
        match second.operation.kind {
            OperationKind::WaitUntil => {}
            // It accesses all that it does in any order.
            OperationKind::Section => return second.accesses.clone(),
            _ => return memory.accesses_before(second, first),
        }
        let wait = self.waits.iter().find(|(other, _)| *other == race);
        wait.map_or_else(|| second.accesses.clone(), |(_, accesses)| accesses.clone())
    }

    /// The events of other threads that wrote what `reads` accesses and that do not happen before any of `before`, the
    /// events that an operation of `thread` has to come after; the latest first.
    pub fn writers_of(&self, reads: &[Access], thread: ThreadId, before: &[EventId]) -> Vec<EventId> {
        let mut writers: Vec<EventId> = reads
            .iter()
            .filter_map(|read| Some((read, self.histories.get(read.location.index())?)))
            .flat_map(|(read, history)| {
                let modes = AccessMode::ALL.into_iter().filter(|mode| mode.conflicts(read.mode));
                modes.flat_map(|mode| history.of(mode).iter().copied())
            })
            .filter(|writer| {
                self.event(*writer).owner() != thread
                    && !before.iter().any(|last| self.happens_before(*writer, *last))
            })
            .collect();
        writers.sort_unstable_by(|a, b| b.cmp(a));
        writers.dedup();
        writers
    }

    /// The events that are new in this execution.
    pub fn fresh_events(&self) -> &[Event] {
        &self.events[self.fresh.min(self.events.len())..]
    }

    /// What the second event of a race would come after, and what it would access, if it came before the first: the
    /// vector clock of what it comes after without itself, among the events that do not happen after the first.
    pub fn history_without(&self, race: Race, memory: &dyn MemoryModel) -> (Vec<u32>, Accesses) {
        let (first, second) = (self.event(race.first), self.event(race.second));
        let accesses = self.accesses_before(race, memory);
        let mut clock = Vec::new();
        for predecessor in [second.program_order, second.joined] {
            if predecessor != EventId::NONE {
                join(&mut clock, self.clocks.row(predecessor));
            }
        }
        let remains = |event: EventId| self.clocks.count(event, first.thread) <= first.index;
        for access in &accesses {
            let Some(history) = self.histories.get(access.location.index()) else { continue };
            for mode in AccessMode::ALL.into_iter().filter(|mode| mode.conflicts(access.mode)) {
                let events = history.of(mode);
                let events = &events[..events.partition_point(|event| *event < race.second)];
                for event in events.iter().copied().filter(|event| remains(*event)) {
                    join(&mut clock, self.clocks.row(event));
                }
            }
        }
        (clock, accesses)
    }

    /// The events that conflict with `read`, after the event `since` (NONE: from the first) and before `position`.
    pub fn accessed_after(
        &self,
        read: Access,
        since: EventId,
        position: usize,
    ) -> impl Iterator<Item = EventId> + '_ {
        let history = self.histories.get(read.location.index());
        let modes = AccessMode::ALL.into_iter().filter(move |mode| mode.conflicts(read.mode));
        let first = if since == EventId::NONE { EventId(0) } else { EventId(since.0 + 1) };
        history.into_iter().flat_map(move |history| {
            modes.clone().flat_map(move |mode| {
                let events = history.of(mode);
                let from = events.partition_point(|event| *event < first);
                events[from..].iter().copied().take_while(move |event| event.index() < position)
            })
        })
    }

    /// Whether `earlier` happens before `event` even without `event`'s own accesses.
    fn ordered_by_program(&self, earlier: EventId, event: &Event) -> bool {
        event.predecessors().any(|predecessor| self.happens_before(earlier, predecessor))
    }

    /// The events after `race.first` that do not happen after it (up to `end`), then the second event of the race:
    /// `notdep(e, E) . e'` of the papers. The last step carries the accesses that it has before `race.first`.
    ///
    /// A value drawn after the second event, and what follows from it, is left out: its alternatives are explored
    /// wherever the thread draws freely, so nothing may prescribe it here.
    pub fn reversal(&self, race: Race, end: usize, memory: &dyn MemoryModel) -> Vec<Rc<Step>> {
        let first = self.event(race.first);
        let second = self.event(race.second);
        let mut drawn: Vec<EventId> = Vec::new();
        let mut steps = Vec::new();
        for event in &self.events[race.first.index() + 1..end.min(self.events.len())] {
            if event.id == race.second || self.clocks.count(event.id, first.thread) > first.index {
                continue;
            }
            let draws = || {
                self.steps[event.id.index()].draws() || drawn.iter().any(|draw| self.happens_before(*draw, event.id))
            };
            if event.id > race.second && draws() {
                drawn.push(event.id);
                continue;
            }
            steps.push(self.steps[event.id.index()].clone());
        }
        if matches!(second.operation.kind, OperationKind::Turn | OperationKind::Complete) {
            if second.id.index() >= self.events.len() {
                let before = self.timers_before(second, race.first, &steps);
                steps.extend(before);
            }
            // Without the first event its code can take another way.
            steps.push(Rc::new(Step { is_guess: true, ..Step::of(second) }));
            return steps;
        }
        let accesses = self.accesses_before(race, memory);
        steps.push(match self.steps.get(race.second.index()) {
            Some(step) if step.accesses == accesses => step.clone(),
            _ => Rc::new(Step { accesses, ..Step::of(second) }),
        });
        steps
    }
}
