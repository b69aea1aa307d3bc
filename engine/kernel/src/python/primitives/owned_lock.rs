//! Locks that belong to owners: those of `flock`, which open files own (descriptors that are copies of one another have
//! one), and those of modules that are imported, which threads do.

use pyo3::prelude::*;
use pyo3::types::PyString;

use super::{Primitive, Standing};
use crate::memory::{Claim, HoldersId, Outcome, PrimitiveState};
use crate::operation::{LocationId, Operation, OperationKind};
use crate::python::explore::recording::Word;
use crate::python::host::Host;

/// The lock of one file or module in one execution.
#[pyclass(frozen, weakref, module = "dpor._kernel")]
pub struct OwnedLock {
    primitive: Primitive,
    world: Py<PyAny>,
    /// What reports call it.
    #[pyo3(get)]
    name: Py<PyString>,
}

impl OwnedLock {
    /// Perform an operation of an owner. None if there is no execution that it could be part of.
    fn operate(
        slf: &Bound<'_, Self>,
        kind: OperationKind,
        owner: &Bound<'_, PyString>,
        alone: bool,
    ) -> PyResult<Option<(Outcome, bool)>> {
        let (py, this) = (slf.py(), slf.get());
        match this.primitive.standing(py, "locks a file or a module")? {
            Standing::Live => {}
            Standing::Over if kind != OperationKind::OwnedRelease => return Err(Host::aborted()),
            Standing::Plain | Standing::Over => return Ok(None),
        }
        let owner = this.location_of(py, owner)?.0;
        let operation = Operation::new(kind, this.primitive.location(), Claim { owner, alone }.detail());
        let (effect, event) = this.primitive.operate(py, operation)?;
        Ok(Some((Outcome::of(effect), event)))
    }

    /// The location of something outside, which stands for it wherever an integer is needed.
    fn location_of(&self, py: Python<'_>, name: &Bound<'_, PyString>) -> PyResult<LocationId> {
        let host = self.primitive.host();
        let location = host.state().named_outside(self.world.bind(py), name.as_any());
        location.map_or_else(|| Err(host.uncontrolled(py, "locks a file or a module without a name".to_owned())), Ok)
    }
}

#[pymethods]
impl OwnedLock {
    /// The lock of what `world` calls `key`: the same in every execution. `name` is what reports call it.
    #[new]
    fn new(world: &Bound<'_, PyAny>, key: &Bound<'_, PyString>, name: Bound<'_, PyString>) -> PyResult<OwnedLock> {
        let py = world.py();
        let primitive = Primitive::outside(py, world, key.as_any())?;
        primitive.put(PrimitiveState::Owned { holders: HoldersId::NOBODY });
        Ok(OwnedLock { primitive, world: world.clone().unbind(), name: name.unbind() })
    }

    /// Let `owner` take the lock, `alone` or together with others that share it. Gives whether it holds the lock then;
    /// with `blocking` it waits until it does. What it held of the lock in the other way it gives up before.
    fn acquire(slf: &Bound<'_, Self>, owner: &Bound<'_, PyString>, alone: bool, blocking: bool) -> PyResult<bool> {
        let (py, host) = (slf.py(), slf.get().primitive.host());
        let (kind, word) = match blocking {
            true => (OperationKind::OwnedAcquire, Word::Acquire),
            false => (OperationKind::OwnedTryAcquire, Word::TryAcquire),
        };
        loop {
            if blocking {
                host.note_waiting(py, word, Some(slf.as_any()));
            }
            let Some((outcome, event)) = OwnedLock::operate(slf, kind, owner, alone)? else {
                return Ok(true);
            };
            match outcome {
                Outcome::Dropped => host.note(py, Word::Release, Some(slf.as_any()), None, None, event),
                Outcome::Kept => {
                    host.note(py, Word::Read, Some(slf.as_any()), None, None, event);
                    return Ok(true);
                }
                Outcome::Taken | Outcome::Refused => {
                    let taken = outcome == Outcome::Taken;
                    host.note_bool(py, word, slf.as_any(), taken, event);
                    return Ok(taken);
                }
            }
        }
    }

    /// Let `owner` give up what it holds of the lock, if anything. Gives whether there was an execution to do so in.
    fn release(slf: &Bound<'_, Self>, owner: &Bound<'_, PyString>) -> PyResult<bool> {
        let py = slf.py();
        let Some((outcome, event)) = OwnedLock::operate(slf, OperationKind::OwnedRelease, owner, false)? else {
            return Ok(false);
        };
        let word = if outcome == Outcome::Taken { Word::Release } else { Word::Read };
        slf.get().primitive.host().note(py, word, Some(slf.as_any()), None, None, event);
        Ok(true)
    }
}
