//! A model that behaves differently when the same choices are made again: where it does, and in which words that is
//! told.

use pyo3::prelude::*;

use crate::operation::{Operation, OperationKind};
use crate::python::explore::assumptions::Caller;
use crate::python::state::State;

/// Step, path of the thread, what it was about to do before and what now, file (None if unknown) and line.
pub type Difference = (usize, String, &'static str, &'static str, Option<String>, u32);

impl State {
    /// If the running thread has just come to something else than before: keep the line where it is.
    #[cold]
    pub fn note_difference(&mut self, py: Python<'_>) {
        if self.driver.fault().is_some_and(|fault| fault.thread == self.current) {
            self.run.difference = Caller::find(py).and_then(|caller| caller.place(py));
        }
    }

    pub fn told_difference(&self) -> Option<Difference> {
        let fault = self.driver.fault()?;
        let path = self.identities.path(fault.thread).to_owned();
        let (file, line) = self.run.difference.clone().map_or((None, 0), |(file, line)| (Some(file), line));
        Some((fault.step, path, about_to(fault.expected), about_to(fault.found), file, line))
    }
}

/// What a thread that is at an operation is about to do; without one it has come to its end.
fn about_to(operation: Option<Operation>) -> &'static str {
    use OperationKind::*;
    let Some(operation) = operation else { return "end" };
    match operation.kind {
        Start => "begin",
        Spawn => "start a thread",
        Join => "wait for the end of a thread",
        End => "end",
        IsFinished => "ask whether a thread has ended",
        Load => "read",
        Store => "write",
        CompareExchange => "compare and exchange a value",
        ReadModifyWrite => "read and write at once",
        CellStore => "store an item",
        CellDelete => "remove an item",
        CellDefault => "store an item unless there is one",
        CellUpdate => "store or remove an item",
        CellAppend => "append an item",
        Acquire => "take a lock",
        TryAcquire => "try to take a lock",
        Release => "release a lock",
        Wait => "wait on a condition",
        Wake | TimedWake => "go on after a wait on a condition",
        Notify => "notify a condition",
        SemaphoreAcquire => "enter a semaphore",
        SemaphoreTryAcquire => "try to enter a semaphore",
        SemaphoreRelease => "leave a semaphore",
        OwnedAcquire => "lock a file or a module",
        OwnedTryAcquire => "try to lock a file or a module",
        OwnedRelease => "unlock a file or a module",
        FlagWait => "wait for an event",
        FlagSet => "set an event",
        FlagClear => "clear an event",
        FlagRead => "ask whether an event is set",
        ChannelPut => "put an item into a queue",
        ChannelGet => "take an item from a queue",
        ChannelPutWithin => "put an item into a bounded queue",
        ChannelTryPut => "try to put an item into a queue",
        ChannelTryGet => "try to take an item from a queue",
        ChannelEmpty => "ask whether a queue is empty",
        ChannelFull => "ask whether a queue is full",
        ChannelSize => "ask how long a queue is",
        ChannelDone => "tell a queue that a task is done",
        ChannelJoin => "wait until the tasks of a queue are done",
        Settle => "end a future",
        Watch => "wait for several futures",
        Choose => "draw a value",
        Branch => "decide about a symbolic value",
        WaitUntil => "wait until a condition holds",
        Blocked => "stop at a failed assumption",
        Fence => "perform a fence",
        Buffer => "write into its store buffer",
        Flush => "let a store reach memory",
        Complete => "end what somebody waits for",
        Section => "run a critical section",
        Turn => "take a turn of the event loop",
    }
}
