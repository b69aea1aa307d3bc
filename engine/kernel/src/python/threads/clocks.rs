//! The clocks of threads. Each moves on by the sleeps and time-outs of its own thread (and in `deadline_loops.rs`), and
//! is never behind what happened before: an event that conflicts with an earlier one of another thread begins when that
//! one was over, at the earliest.
//!
//! What happened before is the same in all executions of a class, so that a clock shows the same in them. Where classes
//! are coarser, as those of values and of reads-from are, it is not: there only spawning and joining, and under models
//! whose loads have a reads-from choice also primitives, hand on the time.
//!
//! Accesses that are no events need no stamps: those that conflict are ordered by events in between, which have some.

use rustc_hash::FxHashMap;

use crate::operation::{AccessMode, EventId, LocationId, Operation, OperationKind, ThreadId};
use crate::python::state::State;

/// What a clock jumps by, in seconds: a year, which is longer than anything that ends after a time.
const JUMP: f64 = 365.0 * 24.0 * 3600.0;

/// When the events on each location took place, by how they accessed it: the latest of each kind.
#[derive(Default)]
pub struct Clocks {
    stamps: FxHashMap<LocationId, [f64; AccessMode::ALL.len()]>,
    /// Whether time has passed in the execution: before that, all clocks show the same.
    has_passed: bool,
    /// The threads for which it has.
    sleepers: Vec<ThreadId>,
    /// How often time may pass for each thread between two looks at a clock, and how often it has.
    pub most_jumps: u32,
    jumps: FxHashMap<ThreadId, u32>,
}

impl Clocks {
    pub fn begin_execution(&mut self) {
        self.stamps.clear();
        self.has_passed = false;
        self.sleepers.clear();
        self.jumps.clear();
    }
}

/// Whether an operation orders threads under every memory model.
fn is_of_primitive(kind: OperationKind) -> bool {
    use OperationKind::*;
    kind.is_of_channel()
        || matches!(
            kind,
            Acquire
                | TryAcquire
                | Release
                | Wait
                | Wake
                | TimedWake
                | Notify
                | SemaphoreAcquire
                | SemaphoreTryAcquire
                | SemaphoreRelease
                | OwnedAcquire
                | OwnedTryAcquire
                | OwnedRelease
                | FlagSet
                | FlagClear
                | FlagWait
                | FlagRead
        )
}

impl State {
    /// Whether time has passed in this execution.
    pub fn time_has_passed(&self) -> bool {
        self.waits.clocks.has_passed
    }

    /// Let time pass for the running thread.
    pub fn pass_time(&mut self, seconds: f64) {
        let current = self.current;
        self.thread(current).time += seconds.max(0.0);
        self.waits.clocks.has_passed = true;
        if !self.waits.clocks.sleepers.contains(&current) {
            self.waits.clocks.sleepers.push(current);
        }
    }

    /// Whether time may pass for the running thread before it looks at a clock.
    pub fn clock_may_jump(&self) -> bool {
        self.waits.clocks.jumps.get(&self.current).copied().unwrap_or(0) < self.waits.clocks.most_jumps
    }

    /// Let so much time pass for the running thread that whatever ends after a time has ended.
    pub fn jump_clock(&mut self) {
        *self.waits.clocks.jumps.entry(self.current).or_default() += 1;
        self.pass_time(JUMP);
    }

    /// Whether a clock that the running thread looks at would show what its explorer does not tell apart.
    pub fn clock_is_blurred(&self) -> bool {
        self.driver.wants_values() && self.waits.clocks.sleepers.iter().any(|thread| *thread != self.current)
    }

    /// The last event, an operation of the running thread, took place.
    #[inline]
    pub fn note_event_in_clocks(&mut self, operation: &Operation) {
        if self.waits.clocks.has_passed {
            self.hand_on_time(operation);
        }
    }

    #[cold]
    fn hand_on_time(&mut self, operation: &Operation) {
        let orders = !self.driver.wants_values()
            && operation.kind != OperationKind::Flush
            && (!self.heap.reads.enabled || is_of_primitive(operation.kind));
        if !orders {
            return;
        }
        let id = EventId((self.driver.position() as u32).saturating_sub(1));
        let accesses = self.driver.execution.event(id).accesses.clone();
        let current = self.current;
        let mut now = self.thread(current).time;
        for access in &accesses {
            let Some(stamps) = self.waits.clocks.stamps.get(&access.location) else { continue };
            let before = AccessMode::ALL.into_iter().zip(stamps).filter(|(mode, _)| mode.conflicts(access.mode));
            now = before.fold(now, |now, (_, stamp)| now.max(*stamp));
        }
        self.thread(current).time = now;
        for access in &accesses {
            let stamp = &mut self.waits.clocks.stamps.entry(access.location).or_default()[access.mode as usize];
            *stamp = stamp.max(now);
        }
    }
}
