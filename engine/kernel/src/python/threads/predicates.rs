//! What a predicate of `wait_until` is: code that only reads, whose reads together are one.

use pyo3::prelude::*;
use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::explorer::End;
use crate::operation::{Access, AccessMode, Accesses, LocationId, Operation, OperationKind};
use crate::python::explore::assumptions::{Caller, Place};
use crate::python::explore::refusals::Refusal;
use crate::python::host::Host;
use crate::python::identities::identity::{KeyId, ObjectId};
use crate::python::state::{Phase, State};
use crate::python::threads::switching::Footprint;

/// What is known of predicates, and of the one that is being evaluated.
#[derive(Default)]
pub struct Predicates {
    /// Whether the model waits for predicates, so that writes keep what they replace.
    pub used: bool,
    /// Locations that predicates read together with others.
    joint_reads: FxHashSet<LocationId>,
    /// Where waits look: the predicates that look at several things, by name.
    pub joint: FxHashSet<String>,
    /// Whether a predicate is being evaluated on behalf of a thread that waits for it.
    pub evaluating: bool,
    /// What predicates have made for themselves while they run.
    pub own_objects: FxHashSet<ObjectId>,
    /// What the predicate that is being evaluated has read.
    pub probed: Vec<Access>,
}

impl State {
    /// Note what a predicate accesses. It may write nothing that other threads use.
    pub fn probe(&mut self, py: Python<'_>, accesses: &[Access]) -> PyResult<()> {
        let writes = |access: &Access| matches!(access.mode, AccessMode::Write | AccessMode::IntentWrite);
        let shared = accesses.iter().filter(|access| !self.is_predicates_own(access.location)).copied();
        let shared: Accesses = shared.collect();
        if shared.iter().any(|access| writes(access) && self.is_visible(access.location)) {
            return Err(self.forbid(py, "writes"));
        }
        self.waits.predicates.probed.extend(shared);
        Ok(())
    }
}

impl State {
    /// Note that a predicate reads several locations. Writes to such locations do not commute from then on: of two that
    /// are independent by themselves, one can make true what the other has made false, so that only in one of their
    /// orders there is a moment at which the predicate holds.
    pub fn join_reads(&mut self, reads: &[Access]) {
        let several = reads.iter().any(|read| read.location != reads[0].location);
        if several {
            self.join(reads);
        }
    }

    pub fn join(&mut self, reads: &[Access]) {
        for read in reads {
            if !self.is_visible(read.location) {
                self.make_visible(read.location);
            }
            if self.waits.predicates.joint_reads.insert(read.location) {
                self.exploration.learning.learned();
            }
        }
    }

    /// What a predicate read, and the writes that are ordered with those to what it read: if it read one of several
    /// locations only, they can have decided that it does not read the others.
    pub fn with_joint_writes(&mut self, reads: &[Access]) -> Vec<Access> {
        let mut all = reads.to_vec();
        if reads.iter().any(|read| self.waits.predicates.joint_reads.contains(&read.location)) {
            all.push(Access { location: self.joint_location(), mode: AccessMode::Read });
        }
        all
    }

    pub fn joint_location(&mut self) -> LocationId {
        self.identities.location(ObjectId::JOINT, KeyId::STATE, false)
    }

    /// Add to what an event accesses the location that all writes to jointly read locations share, and that of all
    /// writes inside of what races.
    pub fn order_joint_writes(&mut self, operation: &Operation, footprint: &mut Footprint) {
        if self.waits.predicates.joint_reads.is_empty() && self.contents.nesting.is_empty() {
            return;
        }
        let current = self.current;
        let mut accesses =
            footprint.accesses.take().unwrap_or_else(|| self.driver.memory.accesses(current, operation));
        let writes = |access: &Access| matches!(access.mode, AccessMode::Write | AccessMode::IntentWrite);
        // Whether a compare-exchange writes can change with its place.
        let may_write = operation.kind == OperationKind::CompareExchange;
        let written = accesses.iter().filter(|access| may_write || writes(access)).map(|access| access.location);
        let written: SmallVec<[LocationId; 2]> = written.collect();
        if written.iter().any(|location| self.waits.predicates.joint_reads.contains(location)) {
            accesses.push(Access { location: self.joint_location(), mode: AccessMode::Write });
        }
        for owner in written.iter().flat_map(|location| self.contents.nesting.owners(*location)) {
            // Writes inside of one object commute with one another.
            let location = self.identities.location(*owner, KeyId::NESTED, false);
            let announced = Access { location, mode: AccessMode::IntentWrite };
            if !accesses.contains(&announced) {
                accesses.push(announced);
            }
        }
        footprint.accesses = Some(accesses);
    }
}

/// What a predicate did that it may not do, in words, and where.
pub struct Forbidden {
    what: String,
    place: Option<Place>,
}

impl Forbidden {
    /// What, file (None if nothing of the user's own was running) and line (0 then).
    pub fn told(&self) -> (String, Option<String>, u32) {
        let (file, line) = self.place.clone().map_or((None, 0), |(file, line)| (Some(file), line));
        (self.what.clone(), file, line)
    }
}

/// Whether a predicate may perform such an operation where it is a loop that looks; what it accesses says whether it
/// reads. Some reads come with a fence of their own.
pub fn reads_in_predicates(kind: OperationKind) -> bool {
    matches!(kind, OperationKind::Load | OperationKind::Branch | OperationKind::Fence)
}

/// An operation in words, of which a predicate is the subject.
pub fn what_it_does(kind: OperationKind) -> &'static str {
    use OperationKind::*;
    match kind {
        Spawn => "starts a thread",
        Join | IsFinished => "asks whether a thread has ended",
        Choose => "draws a value with dpor.choose",
        Fence => "performs a fence",
        Store | CompareExchange | ReadModifyWrite | CellStore | CellDelete | CellDefault | CellUpdate
        | CellAppend => "writes",
        _ => "does more than read",
    }
}

impl State {
    /// Whether the code that runs is a predicate of `wait_until`.
    pub fn in_predicate(&self) -> bool {
        match self.phase {
            Phase::Probing => true,
            Phase::Running => self.threads.get(self.current.index()).is_some_and(|thread| thread.looks),
            Phase::Idle | Phase::Unwinding | Phase::Releasing => false,
        }
    }

    /// The object was made by the predicate that runs, for itself.
    pub fn belongs_to_predicate(&mut self, object: &Bound<'_, PyAny>) {
        if let Some(made) = self.objects.made(object) {
            self.waits.predicates.own_objects.insert(made);
        }
    }

    /// Whether a location is of something that a predicate has made for itself.
    #[inline]
    pub fn is_predicates_own(&self, location: LocationId) -> bool {
        !self.waits.predicates.own_objects.is_empty()
            && self.waits.predicates.own_objects.contains(&self.identities.info(location).object)
    }

    /// The predicate that runs does what it may not do: the check is given up, whatever the predicate makes of the
    /// error that this returns.
    pub fn forbid(&mut self, py: Python<'_>, what: &str) -> PyErr {
        if !self.exploration.refusals.forbids() {
            let place = Caller::find(py).and_then(|caller| caller.place(py));
            self.exploration.refusals.add(Refusal::Forbidden(Forbidden { what: what.to_owned(), place }));
        }
        Host::aborted()
    }
}

impl Host {
    /// Give the check up if the code that runs is a predicate: `what` it does is no read.
    #[inline]
    pub fn only_outside_predicates(&self, py: Python<'_>, what: &str) -> PyResult<()> {
        if !self.state().in_predicate() {
            return Ok(());
        }
        self.forbidden(py, what)
    }

    #[cold]
    pub fn forbidden<T>(&self, py: Python<'_>, what: &str) -> PyResult<T> {
        let (error, running) = {
            let mut state = self.state();
            (state.forbid(py, what), state.phase == Phase::Running)
        };
        match running {
            true => self.leave(py, End::Cut),
            // Whoever evaluates it ends the execution.
            false => Err(error),
        }
    }
}
