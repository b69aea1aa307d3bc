//! Operations that a recorder has not been told of.
//!
//! A schedule lists what a recorder was told of, and whoever follows it counts what the recorder is told of. An operation
//! that nobody tells of would be in neither: one that raised, a stretch of C code that goes on after a call back, or one of
//! the operations of a caller that tells of another. What other threads did before and after it could not be told apart.
//!
//! Hence each operation of a thread that is recorded is remembered when it takes place, visible or not. It is forgotten when
//! the recorder is told of something; and it is told, by what it touches, when the thread comes to another operation.

use pyo3::prelude::*;

use super::host::Host;
use super::recording::Word;
use super::state::State;
use crate::operation::{Access, AccessMode, LocationId, Operation, OperationKind, ThreadId};

/// An operation that has taken place: what it touched first, and whether it was an event.
#[derive(Clone, Copy)]
pub struct Untold {
    location: LocationId,
    writes: bool,
    event: bool,
}

impl State {
    /// The running thread has carried out an operation that is no event.
    #[inline]
    pub fn remember_quiet(&mut self, accesses: &[Access]) {
        if self.recorder.is_some() {
            let writes =
                accesses.iter().any(|access| !matches!(access.mode, AccessMode::Read | AccessMode::IntentRead));
            let location = accesses.first().map_or(LocationId::NONE, |access| access.location);
            self.owe(Untold { location, writes, event: false });
        }
    }

    /// The running thread has carried out an operation that is an event.
    #[inline]
    pub fn remember_event(&mut self, operation: &Operation) {
        if self.recorder.is_some() {
            let writes = operation.kind != OperationKind::Load;
            self.owe(Untold { location: operation.target, writes, event: true });
        }
    }

    fn owe(&mut self, operation: Untold) {
        if !self.evaluating {
            let current = self.current;
            self.thread(current).untold.push(operation);
        }
    }

    /// How many steps the recorder will be told of before one of the operation that the running thread comes to.
    pub fn steps_owed(&self) -> usize {
        self.threads.get(self.current.index()).map_or(0, |thread| thread.untold.len())
    }
}

impl Host {
    /// Tell the recorder of what a thread has done since it was told last, but for the last operation if `tells_last` says
    /// that somebody is about to.
    pub fn tell_untold(&self, py: Python<'_>, thread: ThreadId, tells_last: bool) {
        let mut untold = std::mem::take(&mut self.state().thread(thread).untold);
        if tells_last {
            untold.pop();
        }
        for operation in untold {
            self.tell_by_place(py, thread, operation);
        }
    }

    fn tell_by_place(&self, py: Python<'_>, thread: ThreadId, operation: Untold) {
        let Untold { location, writes, event } = operation;
        let (target, number) = {
            let mut state = self.state();
            let target = match location {
                LocationId::NONE => None,
                _ => state.objects.known_as(py, state.identities.object_at(location)),
            };
            let step = state.noted.get() as u32 + 1;
            (target, if event { state.reads.number(step) } else { 0 })
        };
        let target = target.as_ref().map(|target| target.bind(py));
        let word = if writes { Word::Write } else { Word::Read };
        self.tell_of(py, thread, word.text(), target, None, None, event, number);
    }
}
