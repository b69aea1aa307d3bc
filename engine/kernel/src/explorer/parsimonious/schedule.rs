//! Schedules, and the races whose reversal gives a new one: Definitions 4, 6 and 7 of the paper.
//!
//! A race e, e' in E1 . e . E2 is reversed by σ = `e' ↓ E2`: the events of E2 that e' needs, then e'. The paper's
//! threads never wait, so there "what happens before e'" says what it needs. Here e' can be an operation that had to
//! wait (an acquire, with the release of the lock between e and it), and what it waited for happens before it without
//! being needed where the race is reversed. Its *true past* is therefore collected from its direct predecessors that
//! do not happen after e: the event before it in its thread, the end of a thread that it joins, and what it conflicts
//! with. And e' is fresh if the schedules in E2 are part of its true past: by plain happens-before, the release of a
//! lock would carry in schedules that have nothing to do with the acquire, whose race would then be reversed once for
//! each of them. Where nothing blocks, the two notions are the same, since a race has no third event between its two.
//!
//! What e' accesses before e can differ from what it accessed in E (a compare-exchange that fails after e and succeeds
//! before it). What it accesses before e decides what it needs, and whom it is in the way of.

use crate::execution::{join, Event, Execution, Race};
use crate::memory::MemoryModel;
use crate::operation::{accesses_conflict, Accesses};

use super::names::Actor;

/// Where a schedule lies in the current execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    pub start: usize,
    /// The position of its head, its last event.
    pub head: usize,
    /// Whose event the head is.
    pub actor: Actor,
    /// Whose event e is that the schedule was put before; None if it is an alternative of a draw.
    pub reversed: Option<Actor>,
}

/// A race seen from where it would be reversed.
pub struct Reversal<'a> {
    execution: &'a Execution,
    race: Race,
    /// What e' accesses before e.
    accesses: Accesses,
    /// The true past of e', as a clock.
    past: Vec<u32>,
}

impl<'a> Reversal<'a> {
    /// `since` is the position from which on the true past is asked for, at most that after e.
    pub fn of(execution: &'a Execution, race: Race, since: usize, memory: &dyn MemoryModel) -> Reversal<'a> {
        let second = execution.event(race.second);
        let accesses = execution.accesses_before(race, memory);
        let mut past = vec![0; execution.clocks().width()];
        for predecessor in second.predecessors() {
            join(&mut past, execution.clocks().row(predecessor));
        }
        let mut reversal = Reversal { execution, race, accesses, past };
        let end = race.second.index().min(execution.len());
        for event in execution.events()[since..end].iter().rev() {
            let direct = !reversal.needs(event)
                && event.can_conflict(second)
                && accesses_conflict(&event.accesses, &reversal.accesses)
                && !execution.happens_before(race.first, event.id);
            if direct {
                join(&mut reversal.past, execution.clocks().row(event.id));
            }
        }
        reversal
    }

    /// Whether `event` is in the true past of e'.
    pub fn needs(&self, event: &Event) -> bool {
        self.past.get(event.thread.index()).is_some_and(|count| *count > event.index)
    }

    /// Definition 6: whether e' is fresh after e, given the schedules of the execution.
    pub fn is_fresh(&self, schedules: &[Schedule]) -> bool {
        let (first, second) = (self.race.first.index(), self.race.second.index());
        let events = self.execution.events();
        let between = schedules.iter().rev().take_while(|schedule| schedule.head > first);
        between.filter(|schedule| schedule.head < second).all(|schedule| self.needs(&events[schedule.head]))
    }

    /// σ without its head: the events of E2 in the true past of e'.
    pub fn needed(&self) -> impl Iterator<Item = &'a Event> + '_ {
        let end = self.race.second.index().min(self.execution.len());
        let after = &self.execution.events()[self.race.first.index() + 1..end];
        after.iter().filter(|event| self.needs(event))
    }

    /// e', the head of σ.
    pub fn head(&self) -> &'a Event {
        self.execution.event(self.race.second)
    }
}

/// Whether the event at a position is part of a schedule.
pub fn is_in_schedule(schedules: &[Schedule], position: usize) -> bool {
    let next = schedules.partition_point(|schedule| schedule.head < position);
    schedules.get(next).is_some_and(|schedule| schedule.start <= position)
}
