//! `dpor.Atomic`: one value with atomic operations.

use std::sync::{Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBool;
use smallvec::smallvec;

use crate::execution::Values;
use crate::operation::{AccessMode, EventId, MemoryOrder, Operation, OperationKind, NO_VALUE};
use crate::python::explore::recording::Word;
use crate::python::heap::chosen_reads::found_token;
use crate::python::heap::place::Place;
use crate::python::heap::undo::Undo;
use crate::python::heap::weak_memory::Store;
use crate::python::host::Host;
use crate::python::loops::loop_locals::same_value;
use crate::python::primitives::{Primitive, Standing};
use crate::python::state::{access, Phase, State};
use crate::python::threads::switching::Footprint;

/// Frozen, with a lock that is never contended, because that costs less than checking borrows does.
#[pyclass(frozen, module = "dpor._kernel", subclass, weakref)]
pub struct Atomic {
    primitive: Primitive,
    held: Mutex<Py<PyAny>>,
}

/// The order that a name stands for. Raises ValueError for other names.
pub fn memory_order(name: &str) -> PyResult<MemoryOrder> {
    match name {
        "relaxed" => Ok(MemoryOrder::Relaxed),
        "acquire" => Ok(MemoryOrder::Acquire),
        "release" => Ok(MemoryOrder::Release),
        "acq_rel" => Ok(MemoryOrder::AcquireRelease),
        "seq_cst" => Ok(MemoryOrder::SequentiallyConsistent),
        _ => Err(PyValueError::new_err(format!(
            "unknown memory order {name:?}: use relaxed, acquire, release, acq_rel or seq_cst"
        ))),
    }
}

/// What an operation on the value does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Load,
    Store,
    Update,
}

impl Atomic {
    /// Perform one operation's event. Returns whether it was one.
    fn announce(slf: &Bound<'_, Self>, kind: Kind, order: &str) -> PyResult<bool> {
        let py = slf.py();
        let order = memory_order(order)?;
        let this = slf.get();
        let standing = match kind {
            Kind::Load => this.primitive.standing_to_look(py)?,
            Kind::Store | Kind::Update => this.primitive.standing(py, "changes an Atomic")?,
        };
        match standing {
            Standing::Live => {}
            Standing::Plain | Standing::Over => return Ok(false),
        }
        let (host, location) = (this.primitive.host(), this.primitive.location());
        let mode = if kind == Kind::Load { AccessMode::Read } else { AccessMode::Write };
        let releases = matches!(order, MemoryOrder::Release | MemoryOrder::AcquireRelease);
        let chooses = host.state().heap.reads.enabled;
        match kind {
            // What the order means is said by the event.
            _ if chooses => {}
            Kind::Load => {}
            Kind::Store if order != MemoryOrder::SequentiallyConsistent => {
                if releases {
                    host.store_barrier();
                }
            }
            Kind::Store | Kind::Update => host.drain_if_owed(py)?,
        }
        {
            let mut state = host.state();
            if state.phase == Phase::Probing {
                state.probe(py, &[access(location, mode)])?;
                return Ok(false);
            }
            if !chooses && !state.is_visible(location) {
                state.remember_quiet(&[access(location, mode)]);
                state.check_for_races(&[access(location, mode)]);
                if kind != Kind::Update {
                    state.note_in_loops(&[access(location, mode)], EventId::NONE);
                }
                state.synchronise_atomic(location, kind == Kind::Load);
                return Ok(false);
            }
        }
        let operation_kind = match kind {
            Kind::Load => OperationKind::Load,
            Kind::Store => OperationKind::Store,
            Kind::Update => OperationKind::ReadModifyWrite,
        };
        let operation = Operation { order, ..Operation::new(operation_kind, location, 0) };
        host.perform(py, operation, 1, |state| Atomic::footprint(slf, state, mode))?;
        host.state().synchronise_atomic(location, kind == Kind::Load);
        if kind != Kind::Load {
            Atomic::keep_undo(slf, host);
        }
        Ok(true)
    }

    /// Store into the thread's store buffer, if the memory model has one and the order allows it. Returns whether it
    /// was.
    fn buffer(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>, order: &str) -> PyResult<bool> {
        let order = memory_order(order)?;
        let (host, location) = (Atomic::host(slf), slf.get().primitive.location());
        if order == MemoryOrder::SequentiallyConsistent
            || !matches!(slf.get().primitive.standing(slf.py(), "changes an Atomic")?, Standing::Live)
            || !host.is_buffered(location)
        {
            return Ok(false);
        }
        let place = Place::Atomic { atomic: slf.clone().unbind() };
        let accesses = smallvec![access(location, AccessMode::Write)];
        host.buffer_store(slf.py(), Store { location, accesses, order, place, value: value.clone().unbind() })?;
        Ok(true)
    }

    /// What a plain operation accesses, with the value before it.
    fn footprint(slf: &Bound<'_, Self>, state: &mut State, mode: AccessMode) -> Footprint {
        // Kept by loads as well: a compare-exchange that came before one would have met this value.
        let before = match state.heap.reads.enabled {
            true => state.exchange_token(&Atomic::held(slf)).unwrap_or(NO_VALUE),
            false => state.token(&Atomic::held(slf)),
        };
        let before = Some(before);
        let found = state.equality_token(&Atomic::held(slf));
        Footprint { accesses: Some(smallvec![access(slf.get().primitive.location(), mode)]), before, found }
    }

    fn host<'a>(slf: &'a Bound<'_, Self>) -> &'a Host {
        slf.get().primitive.host()
    }

    fn lock(&self) -> MutexGuard<'_, Py<PyAny>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value in memory.
    pub fn held<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyAny> {
        slf.get().lock().bind(slf.py()).clone()
    }

    fn replace(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) {
        let mut value = value.clone().unbind();
        // What was replaced is dropped without the lock, since its destructor may be model code.
        slf.get().swap(&mut value);
    }

    /// Exchange the value with another, without an operation.
    pub fn swap(&self, value: &mut Py<PyAny>) {
        std::mem::swap(&mut *self.lock(), value);
    }

    /// Keep the value that is about to be replaced, if predicates may ask for it.
    fn keep_undo(slf: &Bound<'_, Self>, host: &Host) {
        if host.keeps_undo() {
            let value = Atomic::held(slf).unbind();
            host.keep_undo(Undo::Atomic { atomic: slf.clone().unbind(), value });
        }
    }

    /// Keep the value that is about to be stored, where reads-from is chosen.
    fn keep_write(slf: &Bound<'_, Self>, event: Option<EventId>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        let (host, location) = (Atomic::host(slf), slf.get().primitive.location());
        let Some(write) = event.filter(|_| host.state().heap.reads.enabled) else { return Ok(()) };
        {
            let mut state = host.state();
            let left = state.exchange_token(value);
            state.driver.execution.set_values(write, Values { found: None, left });
        }
        let place = || Place::Atomic { atomic: slf.clone().unbind() };
        host.keep_write_of(slf.py(), event, location, place, Some(value))
    }

    /// The event that has just been performed. What the operation does next with symbolic values may be events of its
    /// own.
    fn performed(slf: &Bound<'_, Self>, event: bool) -> Option<EventId> {
        event.then(|| Atomic::host(slf).state().last_event())
    }

    fn update<'py>(
        slf: &Bound<'py, Self>,
        order: &str,
        word: Word,
        compute: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let event = Atomic::announce(slf, Kind::Update, order)?;
        let performed = Atomic::performed(slf, event);
        let old = Atomic::held(slf);
        // An update that raises has taken place all the same, and leaves what was there.
        let computed = compute(&old);
        Atomic::keep_write(slf, performed, computed.as_ref().unwrap_or(&old))?;
        let new = computed?;
        if matches!(slf.get().primitive.standing_to_look(slf.py())?, Standing::Live) {
            let silent = same_value(&old, &new)?;
            Atomic::host(slf).state().note_update_in_loops(slf.get().primitive.location(), event, silent);
        }
        Atomic::replace(slf, &new);
        Atomic::host(slf).note_left(event, &new);
        Atomic::host(slf).note(slf.py(), word, Some(slf.as_any()), None, Some(&new), event);
        Ok(old)
    }
}

/// Whether the value is of a built-in type.
pub fn is_builtin(value: &Bound<'_, PyAny>) -> bool {
    let module = value.get_type().getattr("__module__");
    module.is_ok_and(|module| module.extract::<String>().is_ok_and(|module| module == "builtins"))
}

/// Whether the atomic's value is what a compare-exchange expects: the same object, or an equal plain value.
fn matches_plain(current: &Bound<'_, PyAny>, expected: &Bound<'_, PyAny>) -> bool {
    if current.is(expected) {
        return true;
    }
    is_builtin(current) && is_builtin(expected) && current.eq(expected).unwrap_or(false)
}

/// The same where values may be symbolic: whether they are equal is a branch then.
fn matches(host: &Host, current: &Bound<'_, PyAny>, expected: &Bound<'_, PyAny>) -> PyResult<bool> {
    if !current.is(expected) && (host.is_symbolic(current) || host.is_symbolic(expected)) {
        return current.eq(expected);
    }
    Ok(matches_plain(current, expected))
}

#[pymethods]
impl Atomic {
    #[new]
    fn new(py: Python<'_>, initial: Py<PyAny>) -> PyResult<Atomic> {
        Ok(Atomic { primitive: Primitive::new(py, "Atomic", None, 0)?, held: Mutex::new(initial) })
    }

    #[pyo3(signature = (order = "seq_cst"))]
    fn load<'py>(slf: &Bound<'py, Self>, order: &str) -> PyResult<Bound<'py, PyAny>> {
        let event = Atomic::announce(slf, Kind::Load, order)?;
        let host = Atomic::host(slf);
        let forwarded = host.forwarded(slf.py(), slf.get().primitive.location());
        let value = forwarded.unwrap_or_else(|| Atomic::held(slf));
        host.note(slf.py(), Word::AtomicLoad, Some(slf.as_any()), None, Some(&value), event);
        Ok(value)
    }

    #[pyo3(signature = (value, order = "seq_cst"))]
    fn store(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>, order: &str) -> PyResult<()> {
        if Atomic::buffer(slf, value, order)? {
            return Ok(());
        }
        let event = Atomic::announce(slf, Kind::Store, order)?;
        Atomic::keep_write(slf, Atomic::performed(slf, event), value)?;
        Atomic::replace(slf, value);
        let host = Atomic::host(slf);
        host.note_left(event, value);
        host.note(slf.py(), Word::AtomicStore, Some(slf.as_any()), None, Some(value), event);
        Ok(())
    }

    #[getter]
    fn value<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        Atomic::load(slf, "seq_cst")
    }

    #[setter]
    fn set_value(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<()> {
        Atomic::store(slf, value, "seq_cst")
    }

    #[pyo3(signature = (value, order = "seq_cst"))]
    fn exchange<'py>(slf: &Bound<'py, Self>, value: Bound<'py, PyAny>, order: &str) -> PyResult<Bound<'py, PyAny>> {
        Atomic::update(slf, order, Word::Exchange, |_| Ok(value))
    }

    #[pyo3(signature = (expected, desired, order = "seq_cst"))]
    fn compare_exchange(
        slf: &Bound<'_, Self>,
        expected: &Bound<'_, PyAny>,
        desired: &Bound<'_, PyAny>,
        order: &str,
    ) -> PyResult<bool> {
        let py = slf.py();
        let order = memory_order(order)?;
        let host = Atomic::host(slf);
        let standing = slf.get().primitive.standing(py, "changes an Atomic")?;
        let mut event = false;
        let (chooses, began) = {
            let state = host.state();
            (state.heap.reads.enabled, state.driver.threads.get(state.current).events)
        };
        if !chooses {
            host.drain_if_owed(py)?;
        }
        if matches!(standing, Standing::Live) {
            let location = slf.get().primitive.location();
            // Whether symbolic values are equal is decided once the operation has its turn, as part of it.
            let undecided = host.is_symbolic(expected);
            let mode = |state: &mut State, held: &Bound<'_, PyAny>| {
                let symbolic = undecided || state.types.facts(held).symbolic;
                let writes = symbolic || matches_plain(held, expected);
                if writes {
                    AccessMode::Write
                } else {
                    AccessMode::Read
                }
            };
            let visible = {
                let mut state = host.state();
                if chooses || state.is_visible(location) {
                    true
                } else {
                    let footprint = [access(location, mode(&mut state, &Atomic::held(slf)))];
                    state.quiet(&footprint);
                    false
                }
            };
            if visible {
                let token = {
                    let mut state = host.state();
                    match state.driver.wants_values() {
                        true => state.equality_token(expected).unwrap_or(NO_VALUE),
                        false if chooses => state.exchange_token(expected).unwrap_or(NO_VALUE),
                        false => state.identities.value_token(expected),
                    }
                };
                let kind = match undecided {
                    true => OperationKind::ReadModifyWrite,
                    false => OperationKind::CompareExchange,
                };
                let operation = Operation { order, ..Operation::new(kind, location, token) };
                host.perform(py, operation, 1, |state| {
                    let held = Atomic::held(slf);
                    let accesses = [access(location, mode(state, &held))].into_iter().collect();
                    let found = state.equality_token(&held);
                    let before = match chooses {
                        true => found_token(state.exchange_token(&held), token, matches_plain(&held, expected)),
                        false => state.token(&held),
                    };
                    Footprint { accesses: Some(accesses), before: Some(before), found }
                })?;
                event = true;
            }
        }
        let performed = Atomic::performed(slf, event);
        let held = Atomic::held(slf);
        let is_symbolic = host.is_symbolic(&held) || host.is_symbolic(expected);
        if is_symbolic && event {
            host.refuse_weak_exchange(py)?;
        }
        let took_place = host.undivided_from(began, || matches(host, &held, expected))?;
        if matches!(standing, Standing::Live) {
            let location = slf.get().primitive.location();
            host.state().synchronise_atomic(location, !took_place);
        }
        if took_place {
            if event {
                Atomic::keep_undo(slf, host);
            }
            Atomic::keep_write(slf, performed, desired)?;
            Atomic::replace(slf, desired);
        } else if is_symbolic {
            // It counts as a write, of what was there.
            Atomic::keep_write(slf, performed, &held)?;
        }
        host.note_left(event, &Atomic::held(slf));
        if host.is_recording() {
            let outcome = PyBool::new(py, took_place);
            let key = (expected, desired).into_pyobject(py)?;
            host.note(
                py,
                Word::CompareExchange,
                Some(slf.as_any()),
                Some(key.as_any()),
                Some(outcome.as_any()),
                event,
            );
        }
        Ok(took_place)
    }

    #[pyo3(signature = (amount, order = "seq_cst"))]
    fn fetch_add<'py>(
        slf: &Bound<'py, Self>,
        amount: &Bound<'py, PyAny>,
        order: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        Atomic::update(slf, order, Word::FetchAdd, |old| old.add(amount))
    }

    #[pyo3(signature = (amount, order = "seq_cst"))]
    fn fetch_sub<'py>(
        slf: &Bound<'py, Self>,
        amount: &Bound<'py, PyAny>,
        order: &str,
    ) -> PyResult<Bound<'py, PyAny>> {
        Atomic::update(slf, order, Word::FetchSub, |old| old.sub(amount))
    }

    #[pyo3(signature = (bits, order = "seq_cst"))]
    fn fetch_or<'py>(slf: &Bound<'py, Self>, bits: &Bound<'py, PyAny>, order: &str) -> PyResult<Bound<'py, PyAny>> {
        Atomic::update(slf, order, Word::FetchOr, |old| old.bitor(bits))
    }

    #[pyo3(signature = (bits, order = "seq_cst"))]
    fn fetch_and<'py>(slf: &Bound<'py, Self>, bits: &Bound<'py, PyAny>, order: &str) -> PyResult<Bound<'py, PyAny>> {
        Atomic::update(slf, order, Word::FetchAnd, |old| old.bitand(bits))
    }

    fn __bool__(&self) -> PyResult<bool> {
        Err(PyTypeError::new_err("an Atomic has no truth value: load it first"))
    }
}
