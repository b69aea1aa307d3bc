//! What a turn of an event loop accesses besides what hooks see: what the stand-ins of asyncio tell of.

use pyo3::prelude::*;

use crate::operation::{AccessMode, EventId, LocationId, ThreadId};
use crate::python::host::Host;
use crate::python::identities::identity::{KeyId, ObjectId};
use crate::python::state::{access, State};
use crate::python::threads::turns::Timer;

/// What timers have in common.
#[derive(Clone, Copy)]
pub enum OfTime {
    /// The clock of the loop.
    Clock,
    /// The order in which timers are made that keep one.
    Order,
    /// Whether there is a loop for which they can be over.
    Running,
}

impl State {
    pub fn location_of_life(&mut self, thread: ThreadId) -> LocationId {
        let object = self.identities.thread_object(thread);
        self.identities.location(object, KeyId::STATE, false)
    }

    pub fn location_of_time(&mut self, of: OfTime) -> LocationId {
        let main = self.identities.thread_object(ThreadId::MAIN);
        self.identities.location(main, KeyId::index(of as usize), false)
    }

    /// Who names objects of a type by using them first depends on the others who do.
    pub fn touch_naming(&mut self, token: u32) {
        let main = self.identities.thread_object(ThreadId::MAIN);
        let names =
            self.identities.location(main, KeyId::index(OfTime::Running as usize + 1 + token as usize), false);
        self.touch(names, AccessMode::Write);
    }

    pub fn touch(&mut self, location: LocationId, mode: AccessMode) {
        self.waits.turns.accesses.insert(access(location, mode));
    }

    /// What is ready is seen, or changed.
    pub fn touch_ready(&mut self, mode: AccessMode) {
        let ready = self.location_of_life(ThreadId::MAIN);
        self.touch(ready, mode);
        for group in self.waits.turns.complete.clone() {
            self.touch(group, AccessMode::Read);
        }
    }

    pub fn location_of_group(&mut self, group: ObjectId) -> LocationId {
        self.identities.location(group, KeyId::index(0), false)
    }
}

#[pymethods]
impl Host {
    /// The running turn makes a timer. Returns its number. One that keeps an order with others is over after those in
    /// `after`, by their numbers; None for one that may be over whatever the others do.
    fn make_timer(&self, after: Option<Vec<u32>>) -> u32 {
        let mut guard = self.state();
        let state = &mut *guard;
        let actor = state.actor();
        if !state.waits.turns.are_events {
            state.waits.turns.are_events = true;
            state.waits.turns.were_events = true;
            state.driver.execution.turns_mut().begin();
        }
        let number = state.driver.threads.get(actor).spawned;
        state.driver.threads.get_mut(actor).spawned += 1;
        let timer = state.identities.child(actor, number);
        let location = state.location_of_life(timer);
        state.touch(location, AccessMode::Write);
        if after.is_some() {
            // Its time is that of the clock now, and it is the last of those that keep an order.
            let clock = state.location_of_time(OfTime::Clock);
            state.touch(clock, AccessMode::Read);
            let order = state.location_of_time(OfTime::Order);
            state.touch(order, AccessMode::Write);
        }
        let after: Vec<ThreadId> = after.unwrap_or_default().into_iter().map(ThreadId).collect();
        state.driver.execution.turns_mut().note_made(timer, after.clone());
        state.waits.turns.made.push(Timer { agent: timer, after, has_waited: false, since: None });
        timer.0
    }

    /// The running turn decides whether, or when, a timer is over.
    fn touch_timer(&self, timer: u32) {
        let mut state = self.state();
        let location = state.location_of_life(ThreadId(timer));
        state.touch(location, AccessMode::Write);
        let event = EventId(state.driver.position() as u32);
        state.waits.turns.ended.entry(ThreadId(timer)).or_insert(event);
    }

    /// The running turn asks whether a timer will ever be over.
    fn see_timer(&self, timer: u32) {
        let mut state = self.state();
        let location = state.location_of_life(ThreadId(timer));
        state.touch(location, AccessMode::Read);
    }

    /// A number for an object of asyncio that the running turn makes.
    fn turn_object(&self) -> u32 {
        let mut state = self.state();
        let token = state.types.token("an object of asyncio".to_owned());
        state.next_object(token).0
    }

    /// The running turn reads or changes an object of asyncio, by its number.
    fn touch_object(&self, number: u32, changes: bool) {
        let mut state = self.state();
        let location = state.identities.location(ObjectId(number), KeyId::STATE, false);
        state.touch(location, if changes { AccessMode::Write } else { AccessMode::Read });
    }

    /// The running turn ends one of those for whom an object stands that somebody waits for, by its number; `completes`
    /// says that it is the last.
    fn end_in_group(&self, number: u32, completes: bool) {
        let mut state = self.state();
        let location = state.location_of_group(ObjectId(number));
        state.touch(location, AccessMode::IntentWrite);
        state.waits.turns.ends.push(ObjectId(number));
        if completes {
            state.waits.turns.completing.push(ObjectId(number));
        }
    }

    /// The running turn looks at the clock.
    fn touch_clock(&self) {
        let mut state = self.state();
        let clock = state.location_of_time(OfTime::Clock);
        state.touch(clock, AccessMode::Read);
    }

    /// The running turn changes whom somebody waits for, or learns how they have ended.
    fn touch_group(&self, number: u32) {
        let mut state = self.state();
        let location = state.location_of_group(ObjectId(number));
        state.touch(location, AccessMode::Write);
    }

    /// The running turn makes something ready, or sees whether something is.
    #[pyo3(name = "touch_ready")]
    fn ready_touched(&self, adds: bool) {
        let mut state = self.state();
        state.touch_ready(if adds { AccessMode::Write } else { AccessMode::Read });
        state.waits.turns.facts.makes_ready |= adds;
    }
}
