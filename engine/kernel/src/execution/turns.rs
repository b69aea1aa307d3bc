//! Turns of event loops as events, and which of them can change places.
//!
//! A turn is what the loop runs between two of its decisions: the callback of a timer, or everything that is ready. It is
//! one event with all accesses made in it (compare Event-DPOR: Abdulla, Atig, Bønneland, Das, Jonsson, Lång and Sagonas,
//! "Tailoring Stateless Model Checking for Event-Driven Multi-Threaded Programs", ATVA 2023, whose handlers are split into
//! their accesses). Each timer is an agent with one event, and `main` runs what is ready.
//!
//! What the loop has ready is a location (`READY`): who schedules a callback writes it, who makes a timer reads it (a timer
//! cannot be over before what is ready by then), and the loop's turn writes it. That is all that orders callbacks, but for
//! one thing. Those who wait for several (`gather`, a task group, `wait`) are woken by the last one, whichever this is. Ends
//! access a location of the group in a mode in which they do not conflict with each other (unless their turns also see or
//! change what is ready, or end several groups: then it can be told which was the last), and the *completion* of the group is
//! an event of its own, after all of them, which writes `READY`. It cannot be delayed: nothing comes between the last end and
//! it. So what conflicts with it can only come earlier by coming before one of the ends, as which it is treated: it
//! reads the location of a group that is complete, and so races with the ends. And an end that sleeps, or is planned, stands
//! for the completion that it may be followed by: such a step is not independent of what accesses `READY`.

use std::rc::Rc;

use super::{Event, Execution, Race, Step};
use crate::memory::Awaited;
use crate::operation::{Access, AccessMode, EventId, LocationId, ThreadId};

/// What is known of a turn besides what it accesses.
#[derive(Clone, Copy, Default, Debug)]
pub struct TurnFacts {
    /// Whether the loop could have gone on with what was ready just before it.
    pub could_go_on: bool,
    /// Whether it made something ready.
    pub makes_ready: bool,
}

/// When a timer can be over.
#[derive(Clone, Default)]
struct Possible {
    /// Timers that end before it is over.
    after: Vec<ThreadId>,
    /// The decision, by the number of events before it, at which it could last.
    last: Option<u32>,
    /// The events before which it could not.
    enablers: Awaited,
}

#[derive(Default)]
pub struct Turns {
    facts: Vec<TurnFacts>,
    /// By agent.
    possible: Vec<Possible>,
}

impl Turns {
    /// An execution begins.
    pub fn begin(&mut self) {
        self.possible.clear();
    }

    /// Whether the events of the execution are turns.
    pub fn are_there(&self) -> bool {
        !self.facts.is_empty()
    }

    /// Forget the events from `length` on.
    pub fn truncate(&mut self, length: usize) {
        self.facts.truncate(length);
    }

    /// Note what the last event, a turn, was.
    pub fn note(&mut self, facts: TurnFacts) {
        self.facts.push(facts);
    }

    /// Note that a timer is made, which is over after others have ended.
    pub fn note_made(&mut self, agent: ThreadId, after: Vec<ThreadId>) {
        if self.possible.len() <= agent.index() {
            self.possible.resize(agent.index() + 1, Possible::default());
        }
        self.possible[agent.index()] = Possible { after, ..Possible::default() };
    }

    /// Note that a timer can be over at the decision after `position` events, and could not before `enablers`, a turn of the
    /// loop and the ends of timers that are over before.
    pub fn note_possible(&mut self, agent: ThreadId, position: usize, enablers: Awaited) {
        if let Some(possible) = self.possible.get_mut(agent.index()) {
            possible.last = Some(position as u32);
            possible.enablers = enablers;
        }
    }

    /// The timers that end before this one is over.
    fn before(&self, agent: ThreadId) -> &[ThreadId] {
        self.possible.get(agent.index()).map_or(&[], |possible| &possible.after)
    }

    /// The decision at which the timer could be over last.
    fn last_possible(&self, agent: ThreadId) -> Option<u32> {
        self.possible.get(agent.index()).and_then(|possible| possible.last)
    }

    /// The events before which the timer could not be over.
    pub fn enablers(&self, agent: ThreadId) -> &[EventId] {
        self.possible.get(agent.index()).map_or(&[], |possible| &possible.enablers)
    }
}

impl Execution {
    /// The last event, a turn, ends some of those that a group waits for; `ready` is the location of what is ready.
    pub fn note_ends(&mut self, ready: LocationId) {
        if let Some(step) = self.steps.last_mut() {
            let mut ending = Step::clone(step);
            ending.accesses.push(Access { location: ready, mode: AccessMode::IntentWrite });
            *step = Rc::new(ending);
        }
    }

    /// Whether the loop may have something ready after the last event.
    pub fn could_go_on(&self) -> bool {
        let (Some(last), Some(facts)) = (self.events.last(), self.turns.facts.last()) else { return true };
        last.thread == ThreadId::MAIN || facts.could_go_on || facts.makes_ready
    }

    /// The race to reverse for an immediate conflict whose second event is a turn; None if that one cannot come earlier.
    pub(super) fn reversible_turn(&self, conflict: Race) -> Option<Race> {
        let (first, second) = (self.event(conflict.first), self.event(conflict.second));
        if second.id.index() >= self.events.len() {
            return self.before_its_end(conflict);
        }
        if second.thread == ThreadId::MAIN {
            return self.could_go_on_without(first, second).then_some(conflict);
        }
        Some(conflict)
    }

    /// The race of a timer that is never over, because it was cancelled or the loop has ended: with what came last of what
    /// ended it, or may be it, while it could be over.
    fn before_its_end(&self, conflict: Race) -> Option<Race> {
        let timer = self.event(conflict.second);
        if timer.thread == ThreadId::MAIN {
            return None;
        }
        let writes = self.accessing(timer.operation.target, AccessMode::Write);
        let after_its_making =
            |write: &&EventId| timer.program_order == EventId::NONE || **write > timer.program_order;
        match self.turns.last_possible(timer.thread) {
            Some(last) => {
                let first = writes.iter().rev().filter(after_its_making).find(|write| write.0 <= last)?;
                Some(Race { first: *first, ..conflict })
            }
            // What ended it may be delayed until it can be over, unless that was the loop's own turn. Those that it has to
            // wait for may be over before.
            None => {
                let first = *writes.iter().find(after_its_making)?;
                let may_wait =
                    self.event(first).thread != ThreadId::MAIN || !self.turns.before(timer.thread).is_empty();
                may_wait.then_some(Race { first, ..conflict })
            }
        }
    }

    /// The steps, each a guess, of the timers that are over before `timer`, a blocked one, if it is over before `position`,
    /// and that have not ended by then.
    pub(super) fn timers_before(&self, timer: &Event, position: EventId, planned: &[Rc<Step>]) -> Vec<Rc<Step>> {
        let mut steps = Vec::new();
        for &agent in self.turns.before(timer.thread) {
            let Some(other) = self.blocked.iter().find(|event| event.thread == agent) else {
                // It is over in this execution: before the position, or planned, or not to be had before.
                continue;
            };
            let is_ended = self.accessing(other.operation.target, AccessMode::Write).iter().any(|write| {
                *write < position && (other.program_order == EventId::NONE || *write > other.program_order)
            });
            if !is_ended && !planned.iter().any(|step| step.thread == agent) {
                steps.push(Rc::new(Step { is_guess: true, ..Step::of(other) }));
            }
        }
        steps
    }

    /// Whether the loop's turn `second` is possible without `first` and what happens after it.
    fn could_go_on_without(&self, first: &Event, second: &Event) -> bool {
        let is_lost = |event: EventId| self.happens_before(first.id, event);
        let since = if second.program_order == EventId::NONE { 0 } else { second.program_order.index() + 1 };
        // Right before the first event, or right after the loop's last turn if that is later.
        if self.turns.facts[since.max(first.id.index())].could_go_on {
            return true;
        }
        (since..second.id.index())
            .map(|index| EventId(index as u32))
            .filter(|event| !is_lost(*event))
            .any(|event| self.turns.facts[event.index()].makes_ready)
    }
}
