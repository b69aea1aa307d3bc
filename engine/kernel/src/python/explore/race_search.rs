//! Data races, if the model asks for them: what of the running execution the detector is told, and what it finds.

use crate::execution::{DataRace, DataRaces};
use crate::operation::{Access, AccessMode, LocationId, Operation, OperationKind, ThreadId};
use crate::python::state::State;

/// The search for data races.
#[derive(Default)]
pub struct RaceSearch {
    /// None if nobody looks for them.
    pub detector: Option<DataRaces>,
    /// Whether an execution ends at its first one.
    pub ends_execution: bool,
    pub are_errors: bool,
    /// Whether the recorder has been told of the access that races.
    pub told: bool,
    /// Those of the running execution.
    pub found: Vec<DataRace>,
}

impl RaceSearch {
    /// Another execution begins.
    pub fn begin(&mut self) {
        self.found.clear();
        self.told = false;
        if let Some(detector) = &mut self.detector {
            detector.reset();
        }
    }
}

impl State {
    /// Note plain accesses of the running thread, visible or not, for the detection of data races.
    #[inline]
    pub fn plain_access(&mut self, accesses: &[Access]) {
        if self.is_over() {
            return;
        }
        if let Some(races) = &mut self.exploration.races.detector {
            for access in accesses {
                // An operation on a cell races on the cell, not on the container that it announces itself on.
                if matches!(access.mode, AccessMode::Read | AccessMode::Write) {
                    self.exploration.races.found.extend(races.access(self.current, access.location, access.mode));
                }
            }
            if self.exploration.races.ends_execution && !self.exploration.races.found.is_empty() {
                self.run.halted = true;
            }
        }
    }

    /// The running thread has performed an operation that orders threads.
    #[inline]
    pub fn synchronise(&mut self, operation: &Operation) {
        use OperationKind::*;
        if self.exploration.races.detector.is_some() && self.heap.reads.enabled {
            self.synchronise_by_reads(operation);
        }
        let Some(races) = &mut self.exploration.races.detector else { return };
        match operation.kind {
            Spawn => races.spawn(self.current, ThreadId(operation.detail)),
            Join => races.join(self.current, ThreadId(operation.detail)),
            Acquire | TryAcquire | Release | Wait | Wake | TimedWake | SemaphoreAcquire | SemaphoreTryAcquire
            | SemaphoreRelease | OwnedAcquire | OwnedTryAcquire | OwnedRelease | FlagSet | FlagClear => {
                races.synchronise(self.current, operation.target, false);
            }
            FlagWait | FlagRead => races.synchronise(self.current, operation.target, true),
            // Its methods are sections of one lock.
            kind if kind.is_of_channel() => races.synchronise(self.current, LocationId(operation.detail), false),
            _ => {}
        }
    }

    /// The running thread has performed an atomic operation.
    #[inline]
    pub fn synchronise_atomic(&mut self, location: LocationId, reads_only: bool) {
        if self.heap.reads.enabled {
            // The event has done so, by its order.
            return;
        }
        if let Some(races) = &mut self.exploration.races.detector {
            races.synchronise(self.current, location, reads_only);
        }
    }
}
