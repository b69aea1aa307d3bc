//! How synchronisation primitives are shown: as CPython's are, with a read of what they show.

use std::sync::atomic::Ordering;

use pyo3::intern;
use pyo3::prelude::*;

use super::condition::Condition;
use super::locks::{lock_core, LockCore};
use super::{Primitive, Standing};
use crate::memory::PrimitiveState;
use crate::operation::EventId;
use crate::python::state::State;
use crate::python::threads::own_modules::OwnModule;

/// `<threading.Event at 0x...: set>`. A class that derives from the primitive is shown by its own name.
pub fn named(object: &Bound<'_, PyAny>, status: &str) -> PyResult<String> {
    let class = object.get_type();
    let name = class.fully_qualified_name()?;
    Ok(format!("<{name} at {:#x}: {status}>", object.as_ptr() as usize))
}

/// A semaphore's value, by a visible read.
pub fn value(py: Python<'_>, semaphore: &Primitive) -> PyResult<i64> {
    if !matches!(semaphore.standing_to_look(py)?, Standing::Live) {
        return Ok(semaphore.plain.load(Ordering::Relaxed));
    }
    semaphore.read(py)?;
    let state = semaphore.host().state();
    Ok(match state.driver.memory.primitives().get(semaphore.location()) {
        Some(PrimitiveState::Semaphore { value, .. }) => i64::from(*value),
        _ => 0,
    })
}

/// `<locked _thread.lock object at 0x...>`; of an RLock also who holds it, and how often.
pub fn lock(object: &Bound<'_, PyAny>, core: &LockCore) -> PyResult<String> {
    let py = object.py();
    let locked = core.locked(py)?;
    let word = if locked { "locked" } else { "unlocked" };
    let address = object.as_ptr() as usize;
    if !core.reentrant {
        return Ok(format!("<{word} _thread.lock object at {address:#x}>"));
    }
    let (owner, count) = match core.primitive.standing_to_look(py)? {
        Standing::Live => held(py, &core.primitive)?,
        Standing::Plain | Standing::Over => (0, 0),
    };
    Ok(format!("<{word} _thread.RLock object owner={owner} count={count} at {address:#x}>"))
}

/// The identifier of the thread that holds an RLock, and how often it does.
fn held(py: Python<'_>, lock: &Primitive) -> PyResult<(u64, u32)> {
    let host = lock.host();
    let (owner, count) = {
        let state = &mut *host.state();
        show_waits(state);
        match state.driver.memory.primitives().get(lock.location()) {
            Some(PrimitiveState::Mutex { owner: Some(owner), depth, .. }) => (*owner, *depth),
            _ => return Ok((0, 0)),
        }
    };
    let ident = OwnModule::Thread.get(py)?.getattr(intern!(py, "ident_of"))?;
    Ok((ident.call1((host.thread_object(py, owner),))?.extract()?, count))
}

/// From now on it is an operation to take an RLock again, and to notify.
fn show_waits(state: &mut State) {
    if !state.has_no_company() && !std::mem::replace(&mut state.contents.shown.waits, true) {
        state.exploration.learning.must_begin_anew();
    }
}

/// `<Condition(<unlocked _thread.RLock object ...>, 0)>`, with the number of threads that wait to be notified.
pub fn condition(condition: &Bound<'_, Condition>) -> PyResult<String> {
    let shown = Condition::lock(condition)?.repr()?;
    Ok(format!("<Condition({shown}, {})>", waiting(condition)?))
}

/// How many threads wait for a condition to be notified.
pub fn waiting(condition: &Bound<'_, Condition>) -> PyResult<usize> {
    let py = condition.py();
    let lock = Condition::lock(condition)?;
    let primitive = &condition.get().primitive;
    if !matches!(primitive.standing_to_look(py)?, Standing::Live) {
        return Ok(0);
    }
    // Who begins to wait operates on the lock.
    primitive.read_with(py, lock_core(&lock).map(|core| &core.primitive))?;
    let (waiting, known) = {
        let state = &mut *primitive.host().state();
        show_waits(state);
        let primitives = state.driver.memory.primitives();
        let waiting = match primitives.get(primitive.location()) {
            Some(PrimitiveState::Condition { waiters }) => {
                waiters.iter().filter(|waiter| waiter.woken_by == EventId::NONE).count()
            }
            _ => 0,
        };
        (waiting, !primitives.has_timed_waiter(primitive.location()) || state.has_no_company())
    };
    if !known {
        let what = "shows how many threads wait for a Condition, some of them for a limited time";
        return Err(primitive.host().uncontrolled(py, what.to_owned()));
    }
    Ok(waiting)
}
