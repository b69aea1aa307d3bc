//! The host of model code: runs every model thread as a greenlet of one OS thread and hands control where the driver
//! says. Control flow is inverted: a thread that comes to a visible operation asks the driver itself, and nothing is
//! switched when it may go on.
//!
//! The state is one `RefCell` that is never borrowed across a greenlet switch or a call into model code.

use std::cell::{Cell, RefCell, RefMut};
use std::rc::Rc;
use std::sync::atomic::AtomicBool;

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use rustc_hash::FxHashMap;

use super::calls::{Builtins, Origin};
use super::greenlets::{Greenlet, GreenletApi};
use super::identity::{Identities, KeyId, ObjectId};
use super::recording::Word;
use super::types::{TypeFacts, TypeKind, TypeTable};
use super::undo::Undo;
use crate::driver::{Driver, Turn};
use crate::execution::{DataRace, DataRaces};
use crate::explorer::{End, Replay};
use crate::limits::{Limits, Meter};
use crate::memory::{Effect, SequentialConsistency};
use crate::operation::{Access, AccessMode, Accesses, EventId, LocationId, Operation, OperationKind, ThreadId};
use crate::threads::Status;

pyo3::create_exception!(
    _kernel,
    Abort,
    pyo3::exceptions::PyBaseException,
    "Raised in a model thread whose execution is given up; never to be swallowed."
);

/// What the host is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Nothing of a model runs; hooks and primitives are passive. Model modules may be imported.
    Idle,
    /// A model thread runs.
    Running,
    /// A predicate of `wait_until` is evaluated: reads are collected, nothing is scheduled.
    Probing,
    /// An execution has ended; suspended threads are unwound.
    Unwinding,
}

/// Why what was explored so far does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restart {
    /// A location turned out to race.
    Visible,
    /// The model changes objects that exist before it begins: its modules must be loaded for each execution.
    ModuleState,
    /// A module variable that was taken for constant is rebound: (module, name).
    Rebound(String, String),
}

/// Something that went wrong in the running execution.
pub struct Failure {
    pub thread: ThreadId,
    pub exception: Py<PyAny>,
}

/// A model thread as the interpreter sees it.
#[derive(Default)]
pub struct PythonThread {
    pub greenlet: Option<Greenlet>,
    /// The `Thread` object.
    pub object: Option<Py<PyAny>>,
    pub target: Option<Py<PyAny>>,
    /// Virtual seconds.
    pub time: f64,
    /// Tracked objects created so far.
    pub objects: u32,
    pub predicate: Option<Py<PyAny>>,
    pub predicate_reads: Vec<Access>,
    /// What it may wait for, while a recorder listens.
    pub waiting: Option<(Word, Option<Py<PyAny>>)>,
}

pub struct State {
    pub driver: Driver,
    pub identities: Identities,
    pub types: TypeTable,
    pub phase: Phase,
    pub current: ThreadId,
    pub threads: Vec<PythonThread>,
    pub failures: Vec<Failure>,
    /// Exceptions that primitives have raised because they were misused.
    pub misuses: Vec<Py<PyAny>>,
    pub restart: Option<Restart>,
    /// What the model did that cannot be controlled.
    pub escape: Option<String>,
    /// Whether every access is an event, which it need not be until its location races.
    pub everything_visible: bool,
    /// Whether the model's modules are loaded afresh in each execution.
    pub fresh_modules: bool,
    pub stop_at_failure: bool,
    /// Whether races make locations visible; not while what was explored is searched or run again.
    pub learning: bool,
    pub spurious_wakeups: bool,
    /// How often a condition's lock had been taken when a wait of a thread last ended without a reason.
    pub spurious_at: FxHashMap<(ThreadId, LocationId), u32>,
    /// Whether the order of a dict's items was looked at, by location of its length.
    pub ordered: FxHashMap<LocationId, ()>,
    /// Instances whose `__dict__` was reached as a dict.
    pub instance_dicts: FxHashMap<ObjectId, ()>,
    /// Whether some `Event` is ever cleared, which makes waiting for it two steps.
    pub flags_are_cleared: bool,
    pub recorder: Option<Py<PyAny>>,
    /// Looks for data races, if the model asks for that.
    pub data_races: Option<DataRaces>,
    /// Whether an execution ends at its first data race.
    pub stop_at_race: bool,
    pub races_are_errors: bool,
    /// Whether the recorder has been told of the access that races.
    pub race_told: bool,
    /// The data races of the running execution.
    pub found_races: Vec<DataRace>,
    pub builtins: Builtins,
    /// Who wrote the methods of types, by type and name.
    pub method_origins: FxHashMap<(usize, usize), Origin>,
    /// Packages whose operations were taken as atomic because they are not instrumented.
    pub foreign: Vec<String>,
    /// How many operations the recorder has been told of in this execution.
    pub noted: Rc<Cell<usize>>,
    /// Whether the recorder has seen enough.
    pub halted: bool,
    /// Whether the model waits for predicates, so that writes keep what they replace.
    pub predicates_used: bool,
    /// What the visible writes of this execution replaced, by event.
    pub undo: Vec<(EventId, Undo)>,
    /// What the predicate that is being evaluated has read.
    pub probed: Vec<Access>,
    pub execution_number: u64,
    /// Objects of this execution by address, kept alive so that addresses keep their meaning.
    objects: FxHashMap<usize, ObjectId>,
    kept: Vec<Py<PyAny>>,
    /// Objects that exist before executions begin.
    permanent: FxHashMap<usize, ObjectId>,
    permanent_kept: Vec<Py<PyAny>>,
    permanent_count: u32,
    idle: Vec<Greenlet>,
    hub: Option<Greenlet>,
    ended: Option<End>,
}

/// One check's hold on an OS thread: the hooks that instrumented code calls, and the services of the runtime layer.
#[pyclass(frozen, module = "dpor._kernel")]
pub struct Host {
    state: SingleThread,
    pub greenlets: GreenletApi,
    /// Whether a recorder listens; apart from the state, so that the hot paths need no borrow to know.
    pub recording: AtomicBool,
}

struct SingleThread(RefCell<State>);

// SAFETY: the state is only reached with the interpreter's lock held, and a borrow never spans a point where the lock
// could be given up to another thread that uses the host: borrows end before calls into model code and switches.
unsafe impl Sync for SingleThread {}
// SAFETY: as above; the state owns everything in it.
unsafe impl Send for SingleThread {}

/// What an operation touches and the state token of its primary location, computed just before it is performed.
#[derive(Default)]
pub struct Touch {
    pub accesses: Option<Accesses>,
    pub before: Option<u32>,
}

impl Touch {
    pub fn of(accesses: Accesses) -> Touch {
        Touch { accesses: Some(accesses), before: None }
    }
}

pub fn access(location: LocationId, mode: AccessMode) -> Access {
    Access { location, mode }
}

impl State {
    fn new(py: Python<'_>) -> PyResult<State> {
        let driver = Driver::new(
            Box::new(Replay::new(Vec::new(), true)),
            Box::<SequentialConsistency>::default(),
            Meter::new(Limits::default()),
        );
        Ok(State {
            driver,
            identities: Identities::new(py),
            types: TypeTable::default(),
            phase: Phase::Idle,
            current: ThreadId::MAIN,
            threads: Vec::new(),
            failures: Vec::new(),
            misuses: Vec::new(),
            restart: None,
            escape: None,
            everything_visible: false,
            fresh_modules: false,
            stop_at_failure: true,
            learning: true,
            spurious_wakeups: false,
            spurious_at: FxHashMap::default(),
            ordered: FxHashMap::default(),
            instance_dicts: FxHashMap::default(),
            flags_are_cleared: false,
            recorder: None,
            data_races: None,
            stop_at_race: false,
            races_are_errors: false,
            race_told: false,
            found_races: Vec::new(),
            builtins: Builtins::new(py)?,
            method_origins: FxHashMap::default(),
            foreign: Vec::new(),
            noted: Rc::default(),
            halted: false,
            predicates_used: false,
            undo: Vec::new(),
            probed: Vec::new(),
            execution_number: 0,
            objects: FxHashMap::default(),
            kept: Vec::new(),
            permanent: FxHashMap::default(),
            permanent_kept: Vec::new(),
            permanent_count: 0,
            idle: Vec::new(),
            hub: None,
            ended: None,
        })
    }

    pub fn running(&self) -> bool {
        self.phase == Phase::Running || self.phase == Phase::Probing
    }

    pub fn thread(&mut self, thread: ThreadId) -> &mut PythonThread {
        if self.threads.len() <= thread.index() {
            self.threads.resize_with(thread.index() + 1, PythonThread::default);
        }
        &mut self.threads[thread.index()]
    }

    /// Take the next object number of the running thread (or of import time).
    pub fn next_object(&mut self, token: u32) -> ObjectId {
        if self.phase == Phase::Idle {
            self.permanent_count += 1;
            return self.identities.anonymous(token);
        }
        let creator = self.current;
        let thread = self.thread(creator);
        let number = thread.objects;
        thread.objects += 1;
        self.identities.created(creator, number, token)
    }

    /// The identity of a tracked object, given now if it has none.
    #[inline]
    pub fn object(&mut self, object: &Bound<'_, PyAny>, facts: TypeFacts) -> ObjectId {
        let address = object.as_ptr() as usize;
        if let Some(known) = self.objects.get(&address) {
            return *known;
        }
        self.register(object, facts)
    }

    #[cold]
    fn register(&mut self, object: &Bound<'_, PyAny>, facts: TypeFacts) -> ObjectId {
        let address = object.as_ptr() as usize;
        if let Some(known) = self.permanent.get(&address) {
            return *known;
        }
        if matches!(facts.kind, TypeKind::Class | TypeKind::Module) {
            // Classes and modules are who they are by name, whoever touches them first.
            let token = self.types.name_token(object);
            let id = self.identities.part(ObjectId::NAMED, KeyId(token), facts.token);
            if self.fresh_modules {
                self.remember(object, id);
            } else {
                self.permanent.insert(address, id);
                self.permanent_kept.push(object.clone().unbind());
            }
            return id;
        }
        let id = self.next_object(facts.token);
        self.remember(object, id);
        id
    }

    /// The identity of a module's namespace.
    pub fn namespace(&mut self, namespace: &Bound<'_, PyDict>) -> ObjectId {
        let address = namespace.as_ptr() as usize;
        if let Some(known) = self.objects.get(&address) {
            return *known;
        }
        let name = namespace.get_item("__name__").ok().flatten();
        let name = name.map(|name| name.to_string()).unwrap_or_default();
        let token = self.types.token(format!("module {name}"));
        let id = self.identities.part(ObjectId::NAMED, KeyId(token), token);
        self.objects.insert(address, id);
        self.kept.push(namespace.clone().into_any().unbind());
        id
    }

    fn remember(&mut self, object: &Bound<'_, PyAny>, id: ObjectId) {
        let address = object.as_ptr() as usize;
        if self.phase == Phase::Idle {
            self.permanent.insert(address, id);
            self.permanent_kept.push(object.clone().unbind());
        } else {
            self.objects.insert(address, id);
            self.kept.push(object.clone().unbind());
        }
    }

    /// Give an object that is seen for the first time as the value at `key` of `parent` an identity by that place.
    #[inline]
    pub fn adopt(&mut self, value: &Bound<'_, PyAny>, parent: ObjectId, key: KeyId) {
        let facts = self.types.facts(value);
        if !matches!(facts.kind, TypeKind::Immutable | TypeKind::Module | TypeKind::Class) {
            let address = value.as_ptr() as usize;
            if !self.objects.contains_key(&address) && !self.permanent.contains_key(&address) {
                let id = self.identities.part(parent, key, facts.token);
                self.remember(value, id);
            }
        }
    }

    /// Let `alias` (a view or iterator of `object`) stand for the object.
    pub fn alias(&mut self, alias: &Bound<'_, PyAny>, object: ObjectId) {
        self.remember(alias, object);
    }

    pub fn is_permanent(&self, object: &Bound<'_, PyAny>) -> bool {
        let address = object.as_ptr() as usize;
        !self.objects.contains_key(&address) && self.permanent.contains_key(&address)
    }

    #[inline]
    pub fn is_visible(&self, location: LocationId) -> bool {
        self.everything_visible || self.identities.is_visible(location)
    }

    /// Make a location visible from the next exploration on, which begins as soon as this execution has ended.
    #[cold]
    pub fn make_visible(&mut self, location: LocationId) {
        if !self.learning {
            return;
        }
        self.identities.make_visible(location);
        self.restart.get_or_insert(Restart::Visible);
    }

    /// Note plain accesses of the running thread, visible or not, for the detection of data races.
    #[inline]
    pub fn plain_access(&mut self, accesses: &[Access]) {
        if let Some(races) = &mut self.data_races {
            for access in accesses {
                // An operation on a cell races on the cell, not on the container that it announces itself on.
                if matches!(access.mode, AccessMode::Read | AccessMode::Write) {
                    self.found_races.extend(races.access(self.current, access.location, access.mode));
                }
            }
            if self.stop_at_race && !self.found_races.is_empty() {
                self.halted = true;
            }
        }
    }

    /// The running thread has performed an operation that orders threads.
    #[inline]
    pub fn synchronise(&mut self, operation: &Operation) {
        use OperationKind::*;
        let Some(races) = &mut self.data_races else { return };
        match operation.kind {
            Spawn => races.spawn(self.current, ThreadId(operation.detail)),
            Join => races.join(self.current, ThreadId(operation.detail)),
            Acquire | TryAcquire | Release | Wait | Wake | TimedWake | SemaphoreAcquire | SemaphoreTryAcquire
            | SemaphoreRelease | FlagSet | FlagClear | ChannelPut | ChannelGet | ChannelTryGet => {
                races.synchronise(self.current, operation.target, false);
            }
            FlagWait | FlagRead => races.synchronise(self.current, operation.target, true),
            _ => {}
        }
    }

    /// The running thread has performed an atomic operation.
    #[inline]
    pub fn synchronise_atomic(&mut self, location: LocationId, reads_only: bool) {
        if let Some(races) = &mut self.data_races {
            races.synchronise(self.current, location, reads_only);
        }
    }

    /// Note accesses that are no events.
    #[inline]
    pub fn quiet(&mut self, accesses: &[Access]) {
        for access in accesses {
            if self.driver.quiet_access(self.current, access.location, access.mode) {
                self.make_visible(access.location);
            }
        }
    }
}

thread_local! {
    /// The host installed in this OS thread; the one place from which primitives find theirs.
    static CURRENT: RefCell<Option<Py<Host>>> = const { RefCell::new(None) };
}

/// The Host installed in this OS thread, or None.
#[pyfunction]
pub fn current_host(py: Python<'_>) -> Option<Py<Host>> {
    CURRENT.with_borrow(|current| current.as_ref().map(|host| host.clone_ref(py)))
}

/// The installed host, for primitives that are being created.
pub fn require_host(py: Python<'_>) -> PyResult<Py<Host>> {
    current_host(py).ok_or_else(|| PyRuntimeError::new_err("no Host is installed in this OS thread"))
}

impl Host {
    #[inline]
    pub fn state(&self) -> RefMut<'_, State> {
        self.state.0.borrow_mut()
    }

    fn aborted() -> PyErr {
        Abort::new_err(())
    }

    /// The running thread performs a visible operation. Returns when it has been chosen and the operation has been
    /// performed on the memory model; the caller then carries out the effect on the values.
    pub fn perform(
        &self,
        py: Python<'_>,
        operation: Operation,
        alternatives: u32,
        touch: impl FnOnce(&mut State) -> Touch,
    ) -> PyResult<Effect> {
        let turn = {
            let mut state = self.state();
            match state.phase {
                Phase::Running => {}
                Phase::Probing => {
                    return Err(PyRuntimeError::new_err("a wait_until predicate may only read shared state"))
                }
                Phase::Unwinding | Phase::Idle => return Err(Self::aborted()),
            }
            if state.escape.is_some()
                || state.halted
                || matches!(state.restart, Some(Restart::ModuleState | Restart::Rebound(..)))
            {
                Turn::End(End::Cut)
            } else {
                let current = state.current;
                state.driver.arrive(current, operation, alternatives);
                if state.driver.threads.waits_for_predicates() {
                    drop(state);
                    self.evaluate_predicates(py)?;
                    state = self.state();
                }
                state.driver.next_turn()
            }
        };
        self.take_turn(py, turn)?;
        let mut state = self.state();
        let touched = touch(&mut state);
        let current = state.current;
        match state.driver.commit(current, touched.accesses, touched.before) {
            Ok(effect) => {
                state.synchronise(&operation);
                Ok(effect)
            }
            Err(_) => {
                drop(state);
                self.leave(py, End::Cut)
            }
        }
    }

    /// Give control to whoever has the turn; returns when the running thread has it again.
    #[inline]
    fn take_turn(&self, py: Python<'_>, turn: Turn) -> PyResult<()> {
        match turn {
            Turn::Run(next) => {
                let me = self.state().current;
                if next != me {
                    self.switch_to(py, next)?;
                    if self.state().phase == Phase::Unwinding {
                        return Err(Self::aborted());
                    }
                }
                Ok(())
            }
            Turn::End(end) => self.leave(py, end),
        }
    }

    /// End the execution from inside a model thread. Never returns normally: the thread is unwound.
    fn leave<T>(&self, py: Python<'_>, end: End) -> PyResult<T> {
        let hub = {
            let mut state = self.state();
            state.ended = Some(end);
            state.hub.as_ref().map(|hub| hub.clone_ref(py))
        };
        if let Some(hub) = hub {
            self.greenlets.switch(py, &hub)?;
        }
        Err(Self::aborted())
    }

    fn switch_to(&self, py: Python<'_>, thread: ThreadId) -> PyResult<()> {
        let target = {
            let mut state = self.state();
            state.current = thread;
            if state.thread(thread).greenlet.is_none() {
                if let Some(idle) = state.idle.pop() {
                    state.thread(thread).greenlet = Some(idle);
                }
            }
            state.thread(thread).greenlet.as_ref().map(|greenlet| greenlet.clone_ref(py))
        };
        let target = match target {
            Some(target) => target,
            None => {
                let host = require_host(py)?;
                let run = host.bind(py).getattr("_run_threads")?;
                let hub = self.state().hub.as_ref().map(|hub| hub.clone_ref(py));
                let hub = hub.ok_or_else(|| PyRuntimeError::new_err("no exploration is running"))?;
                let created = self.greenlets.create(py, &run, &hub)?;
                self.state().thread(thread).greenlet = Some(created.clone_ref(py));
                created
            }
        };
        self.greenlets.switch(py, &target)
    }

    /// Run the code of the thread that was just given control, to its end.
    fn run_thread(&self, py: Python<'_>) {
        let (thread, target) = {
            let mut state = self.state();
            let current = state.current;
            (current, state.thread(current).target.take())
        };
        if thread != ThreadId::MAIN && !self.start_thread(py) {
            return;
        }
        let Some(target) = target else { return };
        match target.call0(py) {
            Ok(_) => {}
            Err(error) if error.is_instance_of::<Abort>(py) => return,
            Err(error) => self.record_failure(py, thread, error),
        }
        if self.state().phase == Phase::Running {
            self.announce_end(py, thread);
        }
    }

    /// Perform the start of the current thread; false if the execution is over.
    fn start_thread(&self, py: Python<'_>) -> bool {
        let committed = {
            let mut state = self.state();
            let current = state.current;
            state.driver.commit(current, None, None)
        };
        match committed {
            Ok(_) => {
                let current = self.state().current;
                let object = self.thread_object(py, current);
                self.note(py, Word::Start, object.as_ref().map(|o| o.bind(py)), None, None, true);
                true
            }
            Err(_) => {
                let mut state = self.state();
                state.ended = Some(End::Cut);
                false
            }
        }
    }

    /// The end of a thread is visible to those who ask whether it is alive.
    fn announce_end(&self, py: Python<'_>, thread: ThreadId) {
        let location = self.thread_location(thread);
        let visible = {
            let mut state = self.state();
            let touched = [access(location, AccessMode::Write)];
            if state.is_visible(location) {
                true
            } else {
                state.quiet(&touched);
                false
            }
        };
        if visible {
            let operation = Operation::new(OperationKind::End, location, thread.0);
            let performed = self.perform(py, operation, 1, |_| {
                Touch::of([access(location, AccessMode::Write)].into_iter().collect())
            });
            if performed.is_err() {
                return;
            }
        }
        let object = self.thread_object(py, thread);
        self.note(py, Word::End, object.as_ref().map(|o| o.bind(py)), None, None, visible);
    }

    pub fn thread_object(&self, py: Python<'_>, thread: ThreadId) -> Option<Py<PyAny>> {
        self.state().thread(thread).object.as_ref().map(|object| object.clone_ref(py))
    }

    /// The location of a thread's life.
    pub fn thread_location(&self, thread: ThreadId) -> LocationId {
        let mut state = self.state();
        let object = state.identities.thread_object(thread);
        state.identities.location(object, KeyId::STATE, false)
    }

    fn record_failure(&self, py: Python<'_>, thread: ThreadId, error: PyErr) {
        let mut state = self.state();
        if state.phase == Phase::Running {
            state.failures.push(Failure { thread, exception: error.into_value(py).into_any() });
        }
    }

    /// The life of a pooled greenlet: run threads one after another.
    fn run_threads(&self, py: Python<'_>) -> PyResult<()> {
        loop {
            let thread = self.state().current;
            self.run_thread(py);
            let next = {
                let mut state = self.state();
                let own = state.thread(thread).greenlet.take();
                state.idle.extend(own);
                if state.phase == Phase::Running {
                    state.driver.threads.finish(thread);
                    let stop = state.ended.is_some()
                        || state.escape.is_some()
                        || state.halted
                        || (state.stop_at_failure && !state.failures.is_empty());
                    if stop {
                        Turn::End(End::Cut)
                    } else {
                        if state.driver.threads.waits_for_predicates() {
                            drop(state);
                            self.evaluate_predicates(py)?;
                            state = self.state();
                        }
                        state.driver.next_turn()
                    }
                } else {
                    Turn::End(End::Cut)
                }
            };
            match next {
                Turn::Run(next) => self.switch_to(py, next)?,
                Turn::End(end) => {
                    let hub = {
                        let mut state = self.state();
                        if state.phase == Phase::Running {
                            state.ended.get_or_insert(end);
                        }
                        state.hub.as_ref().map(|hub| hub.clone_ref(py))
                    };
                    match hub {
                        Some(hub) => self.greenlets.switch(py, &hub)?,
                        None => return Ok(()),
                    }
                }
            }
        }
    }

    /// Run one execution from the hub. Returns how it ended.
    pub fn run_execution(&self, py: Python<'_>, main: &Py<PyAny>, main_thread: &Py<PyAny>) -> PyResult<End> {
        let hub = self.greenlets.current(py)?;
        self.release_objects();
        {
            let mut state = self.state();
            state.hub = Some(hub);
            state.ended = None;
            state.noted.set(0);
            state.halted = false;
            state.found_races.clear();
            state.spurious_at.clear();
            state.race_told = false;
            if let Some(races) = &mut state.data_races {
                races.reset();
            }
            for thread in &mut state.threads {
                thread.time = 0.0;
                thread.objects = 0;
            }
            if state.fresh_modules {
                state.types.forget_heap_types();
                state.method_origins.clear();
            }
            state.execution_number += 1;
            state.driver.begin_execution();
            state.phase = Phase::Running;
            state.current = ThreadId::MAIN;
            let entry = state.thread(ThreadId::MAIN);
            entry.object = Some(main_thread.clone_ref(py));
            entry.target = Some(main.clone_ref(py));
        }
        let switched = self.switch_to(py, ThreadId::MAIN);
        let end = self.state().ended.unwrap_or(End::Cut);
        if self.state().driver.threads.waits_for_predicates() {
            self.note_blocked_predicates(py)?;
        }
        self.report_blocked(py)?;
        self.unwind(py)?;
        switched?;
        Ok(end)
    }

    /// Drop what the last execution left behind, without a borrow: destructors are model code.
    fn release_objects(&self) {
        let mut threads = Vec::new();
        let undo = std::mem::take(&mut self.state().undo);
        drop(undo);
        let (kept, failures, misuses) = {
            let mut state = self.state();
            state.objects.clear();
            for thread in &mut state.threads {
                threads.extend(thread.object.take());
                threads.extend(thread.target.take());
                threads.extend(thread.predicate.take());
                threads.extend(thread.waiting.take().and_then(|(_, object)| object));
            }
            let kept = std::mem::take(&mut state.kept);
            (kept, std::mem::take(&mut state.failures), std::mem::take(&mut state.misuses))
        };
        let capacity = kept.capacity();
        drop((kept, threads, failures, misuses));
        let mut state = self.state();
        if state.kept.capacity() == 0 {
            state.kept = Vec::with_capacity(capacity);
        }
    }

    /// Let every suspended thread leave its code, running its `finally` blocks.
    fn unwind(&self, py: Python<'_>) -> PyResult<()> {
        self.state().phase = Phase::Unwinding;
        let count = self.state().threads.len();
        for index in 0..count {
            let thread = ThreadId(index as u32);
            // A thread that swallows Abort is asked again, but not for ever.
            for _ in 0..100 {
                let suspended = self.state().threads[index].greenlet.as_ref().map(|g| g.clone_ref(py));
                let Some(suspended) = suspended else { break };
                self.state().current = thread;
                self.greenlets.switch(py, &suspended)?;
            }
            self.state().threads[index].greenlet = None;
        }
        self.state().phase = Phase::Idle;
        Ok(())
    }

    /// End the check because of something that cannot be controlled.
    pub fn escape_with(&self, py: Python<'_>, message: String) -> PyErr {
        let running = {
            let mut state = self.state();
            state.escape.get_or_insert(message);
            state.phase == Phase::Running
        };
        if running {
            match self.leave::<()>(py, End::Cut) {
                Ok(()) => Self::aborted(),
                Err(error) => error,
            }
        } else {
            Self::aborted()
        }
    }

    /// Give the exploration up because it rests on something that turned out false.
    pub fn restart_with(&self, py: Python<'_>, reason: Restart) -> PyErr {
        {
            let mut state = self.state();
            if state.restart.is_none() || state.restart == Some(Restart::Visible) {
                state.restart = Some(reason);
            }
        }
        match self.leave::<()>(py, End::Cut) {
            Ok(()) => Self::aborted(),
            Err(error) => error,
        }
    }
}

#[pymethods]
impl Host {
    #[new]
    fn new(py: Python<'_>) -> PyResult<Host> {
        Ok(Host {
            state: SingleThread(RefCell::new(State::new(py)?)),
            greenlets: GreenletApi::load(py)?,
            recording: AtomicBool::new(false),
        })
    }

    /// Make this the host of the calling OS thread.
    fn install(slf: &Bound<'_, Host>) {
        CURRENT.with_borrow_mut(|current| *current = Some(slf.clone().unbind()));
    }

    fn uninstall(&self) {
        CURRENT.with_borrow_mut(|current| *current = None);
    }

    fn __enter__(slf: Bound<'_, Host>) -> Bound<'_, Host> {
        Host::install(&slf);
        slf
    }

    #[pyo3(signature = (*_exception))]
    fn __exit__(&self, _exception: &Bound<'_, PyTuple>) {
        self.uninstall();
    }

    #[getter]
    fn active(&self) -> bool {
        self.state().phase != Phase::Idle
    }

    #[getter]
    fn execution(&self) -> u64 {
        self.state().execution_number
    }

    fn _run_threads(&self, py: Python<'_>) -> PyResult<()> {
        self.run_threads(py)
    }

    /// Spawn a thread. `thread` is its object, `target` its code. Returns its index.
    fn spawn(&self, py: Python<'_>, thread: Py<PyAny>, target: Py<PyAny>, daemon: bool) -> PyResult<u32> {
        let child = {
            let mut state = self.state();
            let current = state.current;
            if state.phase != Phase::Running {
                return Err(Self::aborted());
            }
            let number = state.driver.threads.get(current).spawned;
            state.driver.threads.get_mut(current).spawned += 1;
            state.identities.child(current, number)
        };
        let operation = Operation::new(OperationKind::Spawn, LocationId::NONE, child.0);
        self.perform(py, operation, 1, |_| Touch::of(Accesses::new()))?;
        {
            let mut state = self.state();
            let current = state.current;
            let (last, time) = (state.driver.threads.get(current).last, state.thread(current).time);
            state.driver.threads.add(child, last, daemon);
            let entry = state.thread(child);
            entry.object = Some(thread.clone_ref(py));
            entry.target = Some(target);
            entry.time = time;
            entry.objects = 0;
        }
        self.note(py, Word::Spawn, Some(thread.bind(py)), None, None, true);
        Ok(child.0)
    }

    /// Wait until a thread has ended; with `timed` it may give up, and says whether the thread had ended.
    fn join(&self, py: Python<'_>, index: u32, timed: bool) -> PyResult<bool> {
        if timed {
            return self.is_finished(py, index);
        }
        let object = self.thread_object(py, ThreadId(index));
        self.note_waiting(py, Word::Join, object.as_ref().map(|o| o.bind(py)));
        let operation = Operation::new(OperationKind::Join, LocationId::NONE, index);
        self.perform(py, operation, 1, |_| Touch::of(Accesses::new()))?;
        {
            let mut state = self.state();
            let time = state.thread(ThreadId(index)).time;
            let current = state.current;
            let own = state.thread(current);
            own.time = own.time.max(time);
        }
        self.note(py, Word::Join, object.as_ref().map(|o| o.bind(py)), None, None, true);
        Ok(true)
    }

    /// Whether a thread has ended.
    fn is_finished(&self, py: Python<'_>, index: u32) -> PyResult<bool> {
        let thread = ThreadId(index);
        let location = self.thread_location(thread);
        let visible = {
            let mut state = self.state();
            if state.is_visible(location) {
                true
            } else {
                // Asking about a thread that still runs is a race with its end.
                state.quiet(&[access(location, AccessMode::Read)]);
                if !state.driver.threads.is_finished(thread) {
                    state.make_visible(location);
                }
                false
            }
        };
        if visible {
            let operation = Operation::new(OperationKind::IsFinished, location, index);
            self.perform(py, operation, 1, |_| {
                Touch::of([access(location, AccessMode::Read)].into_iter().collect())
            })?;
        }
        Ok(self.state().driver.threads.is_finished(thread))
    }

    fn current_thread(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        let current = self.state().current;
        self.thread_object(py, current)
    }

    fn current_index(&self) -> u32 {
        self.state().current.0
    }

    fn thread_path(&self, index: u32) -> String {
        self.state().identities.path(ThreadId(index)).to_owned()
    }

    /// Draw one of `count` alternatives, counted from 0; every one is explored.
    fn choose(&self, py: Python<'_>, count: u32) -> PyResult<u32> {
        if count < 2 {
            return Ok(0);
        }
        let operation = Operation::new(OperationKind::Choose, LocationId::NONE, count);
        self.perform(py, operation, count, |_| Touch::of(Accesses::new()))?;
        let outcome = self.state().driver.outcome();
        let value = outcome.into_pyobject(py)?;
        self.note(py, Word::Choose, None, None, Some(value.as_any()), true);
        Ok(outcome)
    }

    /// Stop the thread for good unless the condition holds.
    fn assume(&self, py: Python<'_>, condition: bool) -> PyResult<()> {
        if condition {
            return Ok(());
        }
        self.note(py, Word::Assume, None, None, None, true);
        let turn = {
            let mut state = self.state();
            if state.phase != Phase::Running {
                return Err(Self::aborted());
            }
            let current = state.current;
            let operation = Operation::new(OperationKind::Blocked, LocationId::NONE, 0);
            state.driver.arrive(current, operation, 1);
            state.driver.threads.get_mut(current).status = Status::Stopped;
            if state.driver.threads.waits_for_predicates() {
                drop(state);
                self.evaluate_predicates(py)?;
                state = self.state();
            }
            state.driver.next_turn()
        };
        self.take_turn(py, turn)?;
        Err(Self::aborted())
    }

    /// Move the thread's virtual clock on.
    fn advance_time(&self, seconds: f64) {
        let mut state = self.state();
        let current = state.current;
        state.thread(current).time += seconds.max(0.0);
    }

    /// The thread's virtual clock, in seconds since the execution began.
    fn time(&self) -> f64 {
        let mut state = self.state();
        let current = state.current;
        state.thread(current).time
    }

    /// End the check: the model does something that cannot be controlled.
    fn escape(&self, py: Python<'_>, message: String) -> PyResult<()> {
        Err(self.escape_with(py, message))
    }

    /// A sequentially consistent fence; no visible operation under sequential consistency.
    #[pyo3(signature = (order = "seq_cst"))]
    fn fence(&self, order: &str) {
        let _ = order;
    }
}

/// The namespace of an instrumented module, if the object is one.
pub fn instrumented_namespace<'py>(module: &Bound<'py, PyAny>) -> Option<Bound<'py, PyDict>> {
    let namespace = module.getattr("__dict__").ok()?.cast_into::<PyDict>().ok()?;
    super::types::is_instrumented_namespace(&namespace).then_some(namespace)
}
