//! System calls: operations on what is outside of the interpreter.
//!
//! The runtime layer knows what a call accesses and says it by name: a file, a directory's entry, an environment
//! variable. One call is one operation on all of these, at one moment. A call that may access anything accesses the
//! whole, which every other call announces itself on, as operations on cells do on their container.

use pyo3::prelude::*;
use pyo3::types::{PyString, PyTuple};

use crate::operation::{AccessMode, Accesses, LocationId};
use crate::python::explore::learning::Restart;
use crate::python::explore::recording::Word;
use crate::python::host::Host;
use crate::python::identities::identity::{KeyId, ObjectId};
use crate::python::state::{access, Phase, State};
use crate::python::threads::switching::Footprint;

/// What one call accesses, by name.
struct SystemCall<'a, 'py> {
    reads: &'a Bound<'py, PyTuple>,
    writes: &'a Bound<'py, PyTuple>,
    /// Directories in which one entry changes: such changes commute with one another.
    entered: &'a Bound<'py, PyTuple>,
    /// What the call changes in a way that matters only to a call that depends on it: read until one has raced with it,
    /// and written from then on.
    latent: &'a Bound<'py, PyTuple>,
    /// Whether the call may change anything.
    everything: bool,
}

impl State {
    fn outside_location(&mut self, world: ObjectId, name: &Bound<'_, PyAny>) -> Option<LocationId> {
        let key = self.identities.item(name)?;
        // Each is an object of its own, so that what races becomes visible alone.
        let object = self.identities.part(world, key, 0);
        Some(self.identities.location(object, KeyId::STATE, false))
    }

    /// The location of what the world has by a name; None for a name that is no plain value.
    pub fn named_outside(&mut self, world: &Bound<'_, PyAny>, name: &Bound<'_, PyAny>) -> Option<LocationId> {
        let facts = self.types.facts(world);
        let object = self.object(world, facts);
        self.outside_location(object, name)
    }

    fn outside_accesses(&mut self, world: ObjectId, footprint: &SystemCall<'_, '_>) -> Accesses {
        use AccessMode::{IntentRead, IntentWrite, Read, Write};
        let mut accesses = Accesses::new();
        let mut everything = footprint.everything;
        let mut writes = !footprint.writes.is_empty() || !footprint.entered.is_empty();
        let SystemCall { reads, writes: written, entered, latent, .. } = footprint;
        for (names, mode) in
            [(written, Some(Write)), (latent, None), (entered, Some(IntentWrite)), (reads, Some(Read))]
        {
            for name in names.iter() {
                let Some(location) = self.outside_location(world, &name) else {
                    everything = true;
                    continue;
                };
                let mode = mode.unwrap_or(if self.is_visible(location) { Write } else { Read });
                writes |= mode == Write;
                if !accesses.iter().any(|known| known.location == location && known.mode == Write) {
                    accesses.push(access(location, mode));
                }
            }
        }
        let whole = self.identities.location(world, KeyId::WHOLE, false);
        let mode = match (everything, writes) {
            (true, _) => Write,
            (false, true) => IntentWrite,
            (false, false) => IntentRead,
        };
        accesses.push(access(whole, mode));
        accesses
    }
}

#[pymethods]
impl Host {
    /// A system call is about to be made: one operation, which reads and changes what the names stand for, and one
    /// entry of each of `entered`; with `everything` it may change all there is. `latent` is changed once that matters
    /// to another call. `label` says what is called, for reports. Gives whether other threads may have run before it,
    /// so that it may access something else now.
    #[pyo3(signature = (world, reads, writes, entered, latent, everything, label, /))]
    #[expect(clippy::too_many_arguments)]
    fn outside<'py>(
        &self,
        py: Python<'py>,
        world: &Bound<'py, PyAny>,
        reads: &Bound<'py, PyTuple>,
        writes: &Bound<'py, PyTuple>,
        entered: &Bound<'py, PyTuple>,
        latent: &Bound<'py, PyTuple>,
        everything: bool,
        label: &Bound<'py, PyString>,
    ) -> PyResult<bool> {
        if !self.awake().is_some_and(|state| state.running()) {
            return Ok(false);
        }
        let began = self.state().driver.position();
        self.drain_if_owed(py)?;
        // What it accesses depends on what others have made of the world.
        let everything = everything || {
            let state = self.state();
            state.phase != Phase::Probing && state.driver.requirements().repeats_accesses
        };
        let footprint = SystemCall { reads, writes, entered, latent, everything };
        let changes = everything || !writes.is_empty() || !entered.is_empty() || !latent.is_empty();
        let (accesses, target) = {
            let mut state = self.state();
            let facts = state.types.facts(world);
            let object = state.object(world, facts);
            let accesses = state.outside_accesses(object, &footprint);
            if state.phase == Phase::Probing {
                state.probe(py, &accesses)?;
                return Ok(false);
            }
            let visible = accesses.iter().find(|access| state.is_visible(access.location));
            let target = match visible {
                Some(access) => Some(access.location),
                None if state.run.halted => Some(accesses[0].location),
                None => {
                    state.quiet(&accesses);
                    None
                }
            };
            (accesses, target)
        };
        let event = target.is_some();
        if let Some(target) = target {
            self.perform(py, self.whole_operation(target, changes), 1, |state| {
                let visible = state.visible_part(accesses.clone());
                Footprint { accesses: Some(visible), before: Some(0), found: None }
            })?;
        }
        if changes {
            self.state().affect_loops();
        }
        if event {
            self.require_ordered_whole(py)?;
        }
        self.note(py, Word::Call, Some(world), Some(label.as_any()), None, event);
        let moved = self.state().driver.position() != began;
        Ok(moved)
    }

    /// Whether no other thread runs, neither yet nor still.
    #[pyo3(name = "is_alone")]
    fn runs_alone(&self) -> bool {
        self.state().has_no_company()
    }

    /// A class is registered with an abstract one beside other threads: questions about classes are operations from the
    /// next exploration on, which begins as soon as this execution has ended. Never returns where such a question would
    /// be a fence, or has no value to read from.
    fn registers_classes(&self, py: Python<'_>) -> PyResult<()> {
        self.only_outside_predicates(py, "registers a class with an abstract one")?;
        let plain = {
            let state = self.state();
            !state.heap.weak.buffers_stores && !state.heap.reads.enabled
        };
        if !plain {
            return self.leave_untreated(py, "classes that are registered with abstract ones while threads run");
        }
        self.state().exploration.learning.must_begin_anew();
        Ok(())
    }

    /// Something that the exploration rested on is false, and the caller has noted what is true: explore again with
    /// that.
    fn begin_anew(&self, py: Python<'_>) -> PyResult<()> {
        Err(self.restart_with(py, Restart::Visible))
    }

    /// The model changes what exists before it begins: unless they are already, its modules are loaded for each
    /// execution.
    fn mark_module_state(&self, py: Python<'_>) -> PyResult<()> {
        let restarts = {
            let state = self.state();
            state.puts_back() && !state.exploration.settings.fresh_modules
        };
        if restarts {
            return Err(self.restart_with(py, Restart::ModuleState));
        }
        Ok(())
    }
}
