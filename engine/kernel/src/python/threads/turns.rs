//! Turns of an event loop as events of an exploration: what is explored of asyncio where no thread, and nothing else that
//! is an event by itself, takes part. See `execution/turns.rs` for what orders them.
//!
//! The loop (`dpor.runtime.turns`) decides as ever who may go next and asks here who does. What runs until it asks again is
//! one event. All accesses that hooks see, and those that the stand-ins of asyncio tell of, are collected for it. Whatever
//! this does not treat ends it: the exploration begins anew, in which the loop's decisions are drawn.

use pyo3::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::driver::Turn;
use crate::execution::TurnFacts;
use crate::explorer::End;
use crate::operation::{Access, AccessMode, Accesses, EventId, LocationId, Operation, OperationKind, ThreadId};
use crate::python::explore::learning::Restart;
use crate::python::host::Host;
use crate::python::identities::identity::ObjectId;
use crate::python::state::{Phase, State};
use crate::python::threads::suspended::Suspended;
use crate::python::threads::turn_accesses::OfTime;

/// A timer that is not over yet.
#[derive(Clone)]
pub struct Timer {
    pub agent: ThreadId,
    /// Timers that end before it is over: they were made before it, for an earlier time.
    pub after: Vec<ThreadId>,
    /// Whether there was a decision before which the loop had not got round often enough.
    pub has_waited: bool,
    /// The turn of the loop that it had to wait for, once it has come; NONE for none.
    pub since: Option<EventId>,
}

/// The timers and turns of the running execution, and whether there are to be any.
#[derive(Default)]
pub struct LoopTurns {
    /// Whether turns may be events in this exploration.
    are_allowed: bool,
    /// Whether they were in some execution of it.
    pub were_events: bool,
    /// Whether a timer was made in this execution, from which on they are.
    pub are_events: bool,
    /// Whose turn it is.
    actor: Option<ThreadId>,
    /// Made by the turn that is under way, and not known to the driver yet.
    pub made: Vec<Timer>,
    /// The timers that are known to the driver and not over yet.
    timers: Vec<Timer>,
    /// What has ended timers: their own turns, or others' that have cancelled them.
    pub ended: FxHashMap<ThreadId, EventId>,
    pub accesses: FxHashSet<Access>,
    pub facts: TurnFacts,
    /// The groups that the turn under way ends some of.
    pub ends: Vec<ObjectId>,
    /// The groups that it completes.
    pub completing: Vec<ObjectId>,
    /// Where those tell of their ends that are complete since the loop's last turn.
    pub complete: Vec<LocationId>,
    /// The decisions so far, as the loop would draw them.
    drawn: Vec<u32>,
    /// Nothing is ready and no timer is left.
    is_stuck: bool,
    pub suspended: Suspended,
}

impl LoopTurns {
    /// Begin an exploration.
    pub fn begin(&mut self, are_allowed: bool) {
        *self = LoopTurns { are_allowed, ..LoopTurns::default() };
    }

    /// Begin an execution.
    pub fn begin_execution(&mut self) {
        let (are_allowed, were_events) = (self.are_allowed, self.were_events);
        *self = LoopTurns { are_allowed, were_events, ..LoopTurns::default() };
    }

    /// Whether what happens now is part of a turn that is an event.
    #[inline]
    pub fn are_events(&self) -> bool {
        self.are_events
    }

    /// Whether turns may be events in this exploration.
    #[inline]
    pub fn are_allowed(&self) -> bool {
        self.are_allowed
    }

    /// Whether an execution of this exploration has had turns that are events.
    pub fn were_events(&self) -> bool {
        self.were_events
    }

    pub fn is_stuck(&self) -> bool {
        self.is_stuck
    }

    /// The decisions of the execution, as the loop would draw them.
    pub fn drawn(&self) -> &[u32] {
        &self.drawn
    }
}

impl State {
    /// Who acts, as far as it matters who has made and changed what: a timer of a loop whose turn is an event, or the
    /// running thread.
    #[inline]
    pub fn actor(&self) -> ThreadId {
        self.waits.turns.actor.unwrap_or(self.current)
    }

    /// Collect the accesses of the turn that is under way; false if there is none.
    #[inline]
    pub fn collect_for_turn(&mut self, accesses: &[Access]) -> bool {
        if !self.waits.turns.are_events {
            return false;
        }
        // What an event of the last execution accesses is known.
        if !self.driver.repeats_next() {
            self.waits.turns.accesses.extend(accesses.iter().copied());
        }
        true
    }

    /// Turns are no events of this exploration: an operation has to be one by itself, or what is done is not seen as an
    /// access. False if some have been: it has to begin anew.
    pub fn do_without_turns(&mut self) -> bool {
        if !self.waits.turns.are_allowed {
            return true;
        }
        if self.waits.turns.were_events {
            self.exploration.learning.begin_anew_whatever_else(Restart::Turns);
            return false;
        }
        self.waits.turns.are_allowed = false;
        true
    }

    /// What the last turn has completed makes ready who waits for it. Returns how the execution ends if it does.
    fn complete_groups(&mut self) -> Option<End> {
        for group in std::mem::take(&mut self.waits.turns.completing) {
            let location = self.location_of_group(group);
            let agent = self.identities.agent(ThreadId::MAIN, location);
            self.driver.threads.force(agent, Operation::new(OperationKind::Complete, location, 0));
            match self.driver.next_turn() {
                Turn::Run(next) if next == agent => {}
                Turn::End(end) => return Some(end),
                _ => return Some(End::Cut),
            }
            self.touch_ready(AccessMode::Write);
            let accesses = self.waits.turns.accesses.drain().collect();
            let fresh = !self.driver.repeats_next();
            let could_go_on = self.driver.execution.could_go_on();
            if self.driver.commit(agent, Some(accesses), Some(0)).is_err() {
                return Some(End::Cut);
            }
            if fresh {
                self.driver.execution.turns_mut().note(TurnFacts { could_go_on, makes_ready: true });
            }
            self.driver.threads.end_forced();
            self.waits.turns.complete.push(location);
        }
        None
    }

    /// Ends of a group commute only where each is all that its turn does to what is ready: otherwise it can be told which
    /// was the last, as the completion follows that one.
    fn order_ends(&mut self, ends: &[ObjectId]) {
        let ready = self.location_of_life(ThreadId::MAIN);
        let is_seen = self.waits.turns.accesses.iter().any(|access| access.location == ready);
        if ends.len() > 1 || is_seen {
            for group in ends {
                let location = self.location_of_group(*group);
                self.touch(location, AccessMode::Write);
            }
        }
    }

    /// The turn that is under way has ended: it becomes an event, and the timers that it made are known from now on.
    fn end_turn(&mut self) -> bool {
        let ended = self.waits.turns.actor;
        if let Some(actor) = ended {
            let fresh = !self.driver.repeats_next();
            let ends = std::mem::take(&mut self.waits.turns.ends);
            self.order_ends(&ends);
            let accesses: Accesses = self.waits.turns.accesses.drain().collect();
            if self.driver.commit(actor, Some(accesses), Some(0)).is_err() {
                return false;
            }
            let facts = std::mem::take(&mut self.waits.turns.facts);
            if fresh {
                self.driver.execution.turns_mut().note(facts);
                if !ends.is_empty() {
                    let ready = self.location_of_life(ThreadId::MAIN);
                    self.driver.execution.note_ends(ready);
                }
            }
            if actor != ThreadId::MAIN {
                self.driver.threads.finish(actor);
            }
        }
        self.waits.turns.accesses.clear();
        let last = ended.map_or(EventId::NONE, |actor| self.driver.threads.get(actor).last);
        for timer in std::mem::take(&mut self.waits.turns.made) {
            let operation = Operation::new(OperationKind::Turn, self.location_of_life(timer.agent), 0);
            self.driver.threads.add(timer.agent, last, true);
            self.driver.arrive(timer.agent, operation, 1);
            self.waits.turns.timers.push(timer);
        }
        true
    }

    /// The loop may let one of `candidates` be over, or go on if it could; `early` are the timers for which it has not got
    /// round often enough. Returns whose turn it is.
    fn decide_turn(&mut self, candidates: &[ThreadId], early: &[ThreadId], could_go_on: bool) -> Turn {
        let ready = self.location_of_life(ThreadId::MAIN);
        let position = self.driver.position();
        self.driver.arrive(ThreadId::MAIN, Operation::new(OperationKind::Turn, ready, 0), 1);
        self.driver.threads.get_mut(ThreadId::MAIN).predicate_holds = could_go_on;
        let last_turn = self.driver.threads.get(ThreadId::MAIN).last;
        let turns = &mut self.waits.turns;
        for timer in &mut turns.timers {
            let is_possible = candidates.contains(&timer.agent);
            if early.contains(&timer.agent) {
                timer.has_waited = true;
            } else {
                timer.since.get_or_insert(if timer.has_waited { last_turn } else { EventId::NONE });
            }
            if is_possible {
                let before = timer.after.iter().filter_map(|other| turns.ended.get(other).copied());
                let enablers = timer.since.into_iter().chain(before).filter(|event| *event != EventId::NONE);
                self.driver.execution.turns_mut().note_possible(timer.agent, position, enablers.collect());
            }
            self.driver.threads.get_mut(timer.agent).predicate_holds = is_possible;
        }
        self.driver.next_turn()
    }

    /// `main` has ended, and the loop with it.
    pub fn end_last_turn(&mut self) {
        if !self.waits.turns.are_events {
            return;
        }
        for timer in self.waits.turns.timers.clone() {
            let location = self.location_of_life(timer.agent);
            self.touch(location, AccessMode::Write);
        }
        let running = self.location_of_time(OfTime::Running);
        self.touch(running, AccessMode::Write);
        self.end_turn();
        for timer in &self.waits.turns.timers {
            self.driver.threads.get_mut(timer.agent).predicate_holds = false;
        }
        self.waits.turns.are_events = false;
        self.waits.turns.actor = None;
    }
}

#[pymethods]
impl Host {
    /// Whether turns of a loop are events once it has a timer.
    fn may_take_turns(&self) -> bool {
        let state = self.state();
        state.phase == Phase::Running && state.waits.turns.are_allowed
    }

    /// Whether the running code is part of a turn that is an event.
    fn takes_turns(&self) -> bool {
        let state = self.state();
        state.phase == Phase::Running && state.waits.turns.are_events
    }

    /// The loop has come to where it decides: one of the `timers`, by their numbers, can be over, or it goes on with what
    /// is ready, if it could. For those in `early` it has not got round often enough. Returns the position of who goes
    /// next among these, the loop itself first.
    fn next_turn(&self, py: Python<'_>, timers: Vec<u32>, early: Vec<u32>, could_go_on: bool) -> PyResult<u32> {
        let [candidates, early] = [timers, early].map(|timers| timers.into_iter().map(ThreadId).collect::<Vec<_>>());
        let turn = {
            let mut state = self.state();
            if state.phase != Phase::Running {
                return Err(Self::aborted());
            }
            let begins_anew = state.exploration.learning.restart().is_some_and(|restart| restart != Restart::Visible);
            if state.given_up() || begins_anew || !state.end_turn() {
                drop(state);
                return self.leave(py, End::Cut);
            }
            if let Some(end) = state.complete_groups() {
                drop(state);
                return self.leave(py, end);
            }
            state.decide_turn(&candidates, &early, could_go_on)
        };
        match turn {
            Turn::Run(actor) => {
                let mut guard = self.state();
                let state = &mut *guard;
                let turns = &mut state.waits.turns;
                turns.actor = Some(actor);
                turns.timers.retain(|timer| timer.agent != actor);
                turns.facts = TurnFacts { could_go_on, ..TurnFacts::default() };
                if actor == ThreadId::MAIN {
                    state.touch_ready(AccessMode::Write);
                    state.waits.turns.complete.clear();
                } else {
                    let own = state.location_of_life(actor);
                    state.touch(own, AccessMode::Write);
                    let event = EventId(state.driver.position() as u32);
                    state.waits.turns.ended.entry(actor).or_insert(event);
                    // It moves the clock on to its time, if that is later: in any order the same.
                    let clock = state.location_of_time(OfTime::Clock);
                    state.touch(clock, AccessMode::IntentWrite);
                    // What is not over when the last loop has ended never is.
                    let running = state.location_of_time(OfTime::Running);
                    state.touch(running, AccessMode::Read);
                }
                let position = candidates.iter().position(|timer| *timer == actor);
                let drawn = position.map_or(0, |position| position as u32 + u32::from(could_go_on));
                if candidates.len() + usize::from(could_go_on) > 1 {
                    state.waits.turns.drawn.push(drawn);
                }
                Ok(drawn)
            }
            Turn::Flush(_) => self.leave(py, End::Cut),
            Turn::End(end) => self.leave(py, end),
        }
    }

    /// The loop has nothing ready, and no timer.
    fn turns_are_stuck(&self, py: Python<'_>) -> PyResult<()> {
        self.state().waits.turns.is_stuck = true;
        self.leave(py, End::Cut)
    }

    /// The running code does what no access tells: turns are no events of this exploration. If some have been, this
    /// execution ends with the turn. Not here: the interpreter's own code does not expect to fail wherever this is called.
    fn leave_turns(&self) {
        self.state().do_without_turns();
    }
}
