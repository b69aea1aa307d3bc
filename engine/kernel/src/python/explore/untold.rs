//! Operations that a recorder has not been told of.
//!
//! A schedule lists what a recorder was told of, and whoever follows it counts what the recorder is told of. An
//! operation that nobody tells of would be in neither: one that raised, a stretch of C code that goes on after a call
//! back, or one of the operations of a caller that tells of another. What other threads did before and after it could
//! not be told apart.
//!
//! Hence each operation of a thread that is recorded is remembered when it takes place, visible or not. It is forgotten
//! when the recorder is told of something; and it is told, by what it accesses, when the thread comes to another
//! operation.
//!
//! Not where stores go through buffers or reads-from is chosen: there a schedule says of each step
//! what it stores or reads from, and which operations are such steps depends on what is visible.

use pyo3::prelude::*;

use crate::operation::{Access, AccessMode, LocationId, Operation, OperationKind, ThreadId};
use crate::python::explore::recording::Word;
use crate::python::host::Host;
use crate::python::state::State;

/// An operation that has taken place: what it accessed first, and whether it was an event.
#[derive(Clone, Copy)]
pub struct Untold {
    location: LocationId,
    writes: bool,
    event: bool,
    /// Whether a data race was known when the thread came to its next operation.
    raced: bool,
}

impl State {
    /// The running thread has carried out an operation that is no event.
    #[inline]
    pub fn remember_quiet(&mut self, accesses: &[Access]) {
        if self.exploration.recording.recorder.is_some() {
            let writes =
                accesses.iter().any(|access| !matches!(access.mode, AccessMode::Read | AccessMode::IntentRead));
            let location = accesses.first().map_or(LocationId::NONE, |access| access.location);
            self.owe(Untold { location, writes, event: false, raced: false });
        }
    }

    /// The running thread has carried out an operation that is an event.
    #[inline]
    pub fn remember_event(&mut self, operation: &Operation) {
        if self.exploration.recording.recorder.is_some() {
            let writes = operation.kind != OperationKind::Load;
            self.owe(Untold { location: operation.target, writes, event: true, raced: false });
        }
    }

    fn owe(&mut self, operation: Untold) {
        let plain = !self.heap.weak.buffers_stores && !self.heap.reads.enabled;
        if plain && !self.waits.predicates.evaluating {
            let (current, raced) = (self.current, !self.exploration.races.found.is_empty());
            let untold = &mut self.thread(current).untold;
            if let Some(last) = untold.last_mut() {
                last.raced = raced;
            }
            untold.push(operation);
        }
    }
}

impl Host {
    /// Tell the recorder of what a thread has done since it was told last, but for the last operation if `tells_last`
    /// says that somebody is about to.
    pub fn tell_untold(&self, py: Python<'_>, thread: ThreadId, tells_last: bool) {
        let mut untold = std::mem::take(&mut self.state().thread(thread).untold);
        match untold.last_mut() {
            Some(_) if tells_last => drop(untold.pop()),
            Some(last) => last.raced = true,
            None => {}
        }
        for operation in untold {
            // An operation before the one that races is no last step.
            if !operation.raced || !self.knows_race() {
                self.tell_by_place(py, thread, operation);
            }
        }
    }

    fn tell_by_place(&self, py: Python<'_>, thread: ThreadId, operation: Untold) {
        let Untold { location, writes, event, .. } = operation;
        let target = {
            let state = self.state();
            match location {
                LocationId::NONE => None,
                _ => state.objects.known_as(py, state.identities.object_at(location)),
            }
        };
        let target = target.as_ref().map(|target| target.bind(py));
        let word = if writes { Word::Write } else { Word::Read };
        self.tell_of(py, thread, word.text(), target, None, None, event, 0);
    }
}
