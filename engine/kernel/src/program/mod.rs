//! Programs: what runs the code of one thread up to its next visible operation.
//!
//! A program knows no schedule, no memory and no other thread. There are two kinds of host: CPython, whose threads
//! are greenlets that call the driver from inside (`python`), and programs that can be advanced from outside,
//! which implement `Program` and are run by `explore`.

use crate::driver::{Driver, Nondeterminism, Summary, Turn};
use crate::execution::Values;
use crate::memory::{Effect, PrimitiveState};
use crate::operation::{Accesses, EventId, LocationId, Operation, OperationKind, ThreadId};
use crate::threads::{PendingFootprint, Status};

/// What a thread does next.
pub enum Arrival {
    /// It is about to perform this operation, which has so many alternative outcomes.
    Operation {
        operation: Operation,
        alternatives: u32,
    },
    Finished,
}

/// What the thread learns from the operation that it has just performed.
#[derive(Clone, Copy, Debug, Default)]
pub struct Answer {
    /// What the memory model reports, such as whether a lock was taken.
    pub reported: u32,
    /// The alternative that it drew.
    pub outcome: u32,
}

/// A program whose threads can be advanced from outside.
pub trait Program {
    /// Begin a new execution; returns the primitives that exist from the start.
    fn begin(&mut self) -> Vec<(LocationId, PrimitiveState)>;

    /// Run `thread` from where it is (`answer` tells what its last operation gave) to its next visible operation.
    fn advance(&mut self, thread: ThreadId, answer: Answer) -> Arrival;

    /// What the pending operation of the thread accesses in the present state, asked just before it is performed.
    fn accesses(&self, thread: ThreadId) -> (Option<Accesses>, Option<u32>);

    /// The thread is about to perform its pending operation as the given event. If `reads` is known it gets the value
    /// of that write (`EventId::NONE`: the initial one) and not what memory holds. Asked before `accesses`.
    fn begin_event(&mut self, _thread: ThreadId, _event: EventId, _reads: Option<EventId>) {}

    /// Carry out the operation's effect on the values. A flush is performed by the agent of its buffer.
    fn perform(&mut self, thread: ThreadId, operation: &Operation);

    /// A token of the value that a data location holds, the same for equal values; None for a location of another sort.
    fn value(&self, location: LocationId) -> Option<u32>;
}

/// Explore all executions of `program`; `seen` is called after each.
pub fn explore(
    driver: &mut Driver,
    program: &mut dyn Program,
    mut seen: impl FnMut(&Driver, &Summary),
) -> Result<(), Nondeterminism> {
    loop {
        driver.begin_execution();
        for (location, state) in program.begin() {
            driver.memory.create(location, state);
        }
        let mut running = Some((ThreadId::MAIN, Answer::default()));
        let end = loop {
            if let Some((thread, answer)) = running.take() {
                match program.advance(thread, answer) {
                    Arrival::Operation { operation, alternatives } => {
                        driver.arrive(thread, operation, alternatives);
                        if driver.wants_values() {
                            let accesses = program.accesses(thread).0.unwrap_or_default();
                            driver.note_footprint(
                                thread,
                                PendingFootprint { accesses, found: program.value(operation.target) },
                            );
                        }
                        if operation.kind == OperationKind::Blocked {
                            driver.threads.get_mut(thread).status = Status::Stopped;
                        }
                    }
                    Arrival::Finished => driver.threads.finish(thread),
                }
            }
            match driver.next_turn() {
                Turn::End(end) => break end,
                Turn::Flush(agent) => {
                    let operation = driver.threads.get(agent).pending;
                    let (accesses, before) = program.accesses(agent);
                    driver.commit(agent, accesses, before)?;
                    program.perform(agent, &operation);
                }
                Turn::Run(thread) => {
                    let operation = driver.threads.get(thread).pending;
                    program.begin_event(thread, EventId(driver.position() as u32), driver.reads());
                    let (accesses, before) = program.accesses(thread);
                    let found = program.value(operation.target);
                    let effect = driver.commit(thread, accesses, before)?;
                    if operation.kind == OperationKind::Spawn {
                        let last = driver.threads.get(thread).last;
                        driver.threads.add(ThreadId(operation.detail), last, false);
                    }
                    program.perform(thread, &operation);
                    let wanted = driver.wants_values() || driver.memory.is_relaxed(&operation);
                    if let (true, Some(_)) = (wanted, found) {
                        driver.note_values(Values { found, left: program.value(operation.target) });
                    }
                    let reported = match effect {
                        Effect::Done(value) => value,
                        Effect::Buffered | Effect::Misused(_) => 0,
                    };
                    running = Some((thread, Answer { reported, outcome: driver.outcome() }));
                }
            }
        };
        let summary = driver.end_execution(end);
        if let Some(fault) = driver.fault() {
            return Err(fault);
        }
        seen(driver, &summary);
        if !summary.more {
            return Ok(());
        }
    }
}
