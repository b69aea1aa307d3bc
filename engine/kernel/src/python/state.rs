//! What the host knows while it explores: the driver, the threads, what is visible, what went wrong.

use std::cell::Cell;
use std::rc::Rc;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::driver::Driver;
use crate::execution::{DataRace, DataRaces};
use crate::explorer::{End, Replay};
use crate::limits::{Limits, Meter};
use crate::memory::SequentialConsistency;
use crate::operation::{Access, AccessMode, EventId, LocationId, Operation, OperationKind, ThreadId, ANY_VALUE};
use crate::python::calls::builtins::Builtins;
use crate::python::calls::callbacks::OpenOperations;
use crate::python::calls::entered_code::{EnteredCode, Entry};
use crate::python::explore::assumptions::{Assumptions, Caller, Place};
use crate::python::explore::recording::Word;
use crate::python::explore::symbolic::{EarlyBranch, SolverError};
use crate::python::explore::untold::Untold;
use crate::python::footprints::fixed_containers::ContainerFacts;
use crate::python::heap::chosen_reads::ChosenReads;
use crate::python::heap::undo::Undo;
use crate::python::heap::weak_memory::WeakMemory;
use crate::python::hooks::instance_dicts::InstanceDicts;
use crate::python::identities::identity::{Identities, ObjectId};
use crate::python::identities::objects::Objects;
use crate::python::kept::lasting::Lasting;
use crate::python::loops::Loops;
use crate::python::primitives::{Imported, PoolFacts, QueueFacts};
use crate::python::threads::clocks::Clocks;
use crate::python::threads::greenlets::Greenlet;
use crate::python::threads::waiting::Forbidden;
use crate::python::types::TypeTable;

/// What the host is doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Phase {
    /// Nothing of a model runs; hooks and primitives are passive. Model modules may be imported.
    Idle,
    /// A model thread runs.
    Running,
    /// A predicate of `wait_until` is evaluated: reads are collected, nothing is scheduled.
    Probing,
    /// An execution has ended; suspended threads are unwound. What code of the model does then is no event, but what it
    /// changes is put back all the same.
    Unwinding,
    /// What an execution has made is let go. Its destructors are code of the model, too.
    Releasing,
}

/// Why what was explored so far does not count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restart {
    /// A location turned out to race.
    Visible,
    /// The model changes objects that exist before it begins: its modules must be loaded for each execution.
    ModuleState,
    /// Variables of modules that were taken for constant are rebound: those that `State::rebinding` names.
    Rebound,
    /// Code of the standard library has run that was not instrumented yet.
    Library,
    /// Objects compute in C of which nothing is known: operators with a literal operand read them, too.
    Operands,
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
    /// Where in the user's own code it was started.
    pub started: Option<Caller>,
    /// Virtual seconds.
    pub time: f64,
    pub predicate: Option<Py<PyAny>>,
    pub predicate_reads: Vec<Access>,
    /// The operations of built-in code that it is in and that may call back.
    pub open: OpenOperations,
    /// From where code in Python that it runs next is entered.
    pub entry: Entry,
    /// What a recorder has not been told of.
    pub untold: SmallVec<[Untold; 2]>,
    /// Whether it runs a predicate of `wait_until`, as a loop that looks.
    pub looks: bool,
    /// How many calls of built-in code it is in that are one operation.
    pub builtin_calls: u32,
    /// How many events it had before the outermost of them.
    pub operation_began: u32,
    /// The loops that it is in.
    pub loops: Loops,
    /// What it may wait for, while a recorder listens.
    pub waiting: Option<(Word, Option<Py<PyAny>>)>,
}

pub struct State {
    pub driver: Driver,
    pub identities: Identities,
    pub types: TypeTable,
    pub entered: EnteredCode,
    pub phase: Phase,
    pub current: ThreadId,
    pub threads: Vec<PythonThread>,
    pub failures: Vec<Failure>,
    /// Exceptions that primitives have raised because they were misused.
    pub misuses: Vec<Py<PyAny>>,
    pub restart: Option<Restart>,
    /// The executions that made locations visible in this exploration: paths of threads and outcomes.
    pub learned: Vec<Vec<(String, u32)>>,
    /// What the model did that cannot be controlled.
    pub uncontrolled: Option<String>,
    /// What a predicate did that it may not do.
    pub forbidden: Option<Forbidden>,
    /// Where the model did something else than before when the same choices were made again.
    pub difference: Option<Place>,
    /// What the model does that the algorithm cannot treat.
    pub untreated: Option<&'static str>,
    /// The coded error with which the symbolic layer gave the check up.
    pub refusal: Option<Py<PyAny>>,
    pub early_branches: Vec<EarlyBranch>,
    /// What decides symbolic branches: the session of the check's symbolic values.
    pub solver: Option<Py<PyAny>>,
    /// Whether the model has symbolic values.
    pub symbolic: bool,
    /// What the solver raised.
    pub solver_error: SolverError,
    /// Whether every access is an event, which it need not be until its location races.
    pub everything_visible: bool,
    /// Whether every location counts as one that threads race for.
    pub everything_races: bool,
    /// Whether the model's modules are loaded afresh in each execution.
    pub fresh_modules: bool,
    pub stop_at_failure: bool,
    /// Whether races make locations visible; not while what was explored is searched or run again.
    pub learning: bool,
    pub spurious_wakeups: bool,
    /// How often a condition's lock had been taken when a wait of a thread last ended without a reason.
    pub spurious_at: FxHashMap<(ThreadId, LocationId), u32>,
    pub clocks: Clocks,
    pub containers: ContainerFacts,
    pub instance_dicts: InstanceDicts,
    /// Whether some `Event` is ever cleared, which makes waiting for it two steps.
    pub flags_are_cleared: bool,
    pub queues: QueueFacts,
    pub pools: PoolFacts,
    /// Whether the text of an RLock or a Condition is read beside other threads, which tells how often the lock is held
    /// and how many wait.
    pub waits_are_shown: bool,
    /// Whether a thread looks at what raising stores in an exception, while there are others or after them.
    pub raised_is_shown: bool,
    /// Whether a function or class gets another name beside other threads, so that texts depend on it.
    pub names_change: bool,
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
    /// What has modules of the standard library instrumented.
    pub library: Option<Py<PyAny>>,
    /// What stands for classes of primitives in programs, by class.
    pub stand_in_classes: Option<Py<PyDict>>,
    /// How many runs through loops have begun.
    pub loop_tokens: u64,
    /// What makes code of expressions that are evaluated from text.
    pub texts: Option<Py<PyAny>>,
    pub lasting: Lasting,
    /// Primitives that modules have made.
    pub imported: Vec<Imported>,
    /// Generators that threads are advancing, by address.
    pub advancing: FxHashSet<usize>,
    /// What the verdict rests on beyond what is explored.
    pub assumptions: Assumptions,
    /// How many operations the recorder has been told of in this execution.
    pub noted: Rc<Cell<usize>>,
    /// Whether the recorder has seen enough.
    pub halted: bool,
    /// Module variables whose stores from outside of the module are visible: (module, name).
    pub rebound: FxHashSet<(String, String)>,
    /// Whether the modules tell of operators that have a literal operand, too.
    pub sees_operands: bool,
    /// Those that the running execution has found: (module, name).
    pub rebinding: Vec<(String, String)>,
    /// Locations that predicates read together with others.
    pub joint_reads: FxHashSet<LocationId>,
    /// Where waits look: the predicates that look at several things, by name.
    pub joint_predicates: FxHashSet<String>,
    /// Whether a predicate is being evaluated on behalf of a thread that waits for it.
    pub evaluating: bool,
    /// Locations inside of objects that race, which operations on the whole of these read in some of their places only.
    pub nested_reads: FxHashMap<LocationId, SmallVec<[ObjectId; 1]>>,
    /// These objects.
    pub nesting: FxHashSet<ObjectId>,
    /// Whether the model waits for predicates, so that writes keep what they replace.
    pub predicates_used: bool,
    /// The values of stores that are still in store buffers.
    pub weak: WeakMemory,
    /// The values of all stores, where reads-from is chosen.
    pub reads: ChosenReads,
    /// Where reads-from is chosen: lists and dicts whose items are not such places.
    pub keeps_order: FxHashSet<LocationId>,
    /// What the visible writes of this execution replaced, by event.
    pub undo: Vec<(EventId, Undo)>,
    /// While a predicate is evaluated as of a former moment: the event before which that is.
    pub as_of: Option<EventId>,
    /// Events of this execution that wrote what was there already.
    pub silent_writes: Vec<EventId>,
    /// Whether `wait_until` is a loop that looks in the execution that is run again.
    pub waits_by_spinning: bool,
    /// Whether a thread waits after an iteration that only looked, rather than stopping for good.
    pub spins_wait: bool,
    /// What predicates have made for themselves while they run.
    pub own_objects: FxHashSet<ObjectId>,
    /// What the predicate that is being evaluated has read.
    pub probed: Vec<Access>,
    pub execution_number: u64,
    pub objects: Objects,
    /// Greenlets whose thread has ended, ready to run another.
    pub idle: Vec<Greenlet>,
    /// Whether the host is done with its model.
    pub closing: bool,
    /// The greenlet that explores; it has control between executions.
    pub hub: Option<Greenlet>,
    /// How the running execution has ended, once it has.
    pub ended: Option<End>,
}

/// Equality tokens of objects are from here up; those of values are below.
const EQUALITY_OF_OBJECTS: u32 = 1 << 31;

pub fn access(location: LocationId, mode: AccessMode) -> Access {
    Access { location, mode }
}

impl State {
    pub fn new(py: Python<'_>) -> PyResult<State> {
        let driver = Driver::new(
            Box::new(Replay::new(Vec::new(), true)),
            Box::<SequentialConsistency>::default(),
            Meter::new(Limits::default()),
        );
        Ok(State {
            driver,
            identities: Identities::new(py),
            types: TypeTable::default(),
            entered: EnteredCode::default(),
            phase: Phase::Idle,
            current: ThreadId::MAIN,
            threads: Vec::new(),
            failures: Vec::new(),
            misuses: Vec::new(),
            restart: None,
            learned: Vec::new(),
            uncontrolled: None,
            forbidden: None,
            difference: None,
            refusal: None,
            early_branches: Vec::new(),
            solver: None,
            untreated: None,
            symbolic: false,
            solver_error: SolverError::default(),
            everything_visible: false,
            everything_races: false,
            fresh_modules: false,
            stop_at_failure: true,
            learning: true,
            spurious_wakeups: false,
            spurious_at: FxHashMap::default(),
            clocks: Clocks::default(),
            containers: ContainerFacts::default(),
            instance_dicts: InstanceDicts::default(),
            flags_are_cleared: false,
            queues: QueueFacts::default(),
            pools: PoolFacts::default(),
            waits_are_shown: false,
            raised_is_shown: false,
            names_change: false,
            recorder: None,
            data_races: None,
            stop_at_race: false,
            races_are_errors: false,
            race_told: false,
            found_races: Vec::new(),
            builtins: Builtins::new(py)?,
            library: None,
            stand_in_classes: None,
            loop_tokens: 0,
            texts: None,
            lasting: Lasting::default(),
            imported: Vec::new(),
            advancing: FxHashSet::default(),
            assumptions: Assumptions::default(),
            noted: Rc::default(),
            halted: false,
            rebound: FxHashSet::default(),
            sees_operands: false,
            rebinding: Vec::new(),
            joint_reads: FxHashSet::default(),
            joint_predicates: FxHashSet::default(),
            evaluating: false,
            nested_reads: FxHashMap::default(),
            nesting: FxHashSet::default(),
            predicates_used: false,
            weak: WeakMemory::default(),
            reads: ChosenReads::default(),
            keeps_order: FxHashSet::default(),
            undo: Vec::new(),
            as_of: None,
            silent_writes: Vec::new(),
            spins_wait: false,
            waits_by_spinning: false,
            own_objects: FxHashSet::default(),
            probed: Vec::new(),
            execution_number: 0,
            objects: Objects::default(),
            idle: Vec::new(),
            closing: false,
            hub: None,
            ended: None,
        })
    }

    /// The state token of an atomic's value.
    pub fn token(&mut self, value: &Bound<'_, PyAny>) -> u32 {
        if self.symbolic && self.types.facts(value).symbolic {
            return ANY_VALUE;
        }
        self.identities.value_token(value)
    }

    /// A token that two values share if no program can tell them apart, but by comparing the identities of what
    /// compares by value; None for a value that has none, which equals nothing. Objects that controlled code made are
    /// told by who they are.
    pub fn equality_token(&mut self, value: &Bound<'_, PyAny>) -> Option<u32> {
        if !self.driver.wants_values() {
            return None;
        }
        if let Some(token) = self.identities.equality_token(value) {
            return Some(token);
        }
        let object = self.objects.made(value)?;
        Some(EQUALITY_OF_OBJECTS + object.0)
    }

    /// Whether code of the model runs, so that hooks look at what it does.
    pub fn running(&self) -> bool {
        self.phase != Phase::Idle
    }

    /// Whether what the running code does is part of an execution.
    pub fn executes(&self) -> bool {
        matches!(self.phase, Phase::Running | Phase::Probing)
    }

    /// Whether the running code is what is left of an execution that has ended.
    #[inline]
    pub fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Unwinding | Phase::Releasing)
    }

    /// Whether what the running code changes is put back before the next execution.
    pub fn puts_back(&self) -> bool {
        self.phase == Phase::Running || self.is_over()
    }

    /// Whether the check cannot go on, whatever the execution still does.
    pub fn given_up(&self) -> bool {
        self.uncontrolled.is_some() || self.untreated.is_some() || self.forbidden.is_some()
    }

    #[inline]
    pub fn thread(&mut self, thread: ThreadId) -> &mut PythonThread {
        if self.threads.len() <= thread.index() {
            self.threads.resize_with(thread.index() + 1, PythonThread::default);
        }
        &mut self.threads[thread.index()]
    }

    #[inline]
    pub fn is_visible(&self, location: LocationId) -> bool {
        !self.is_over() && (self.everything_visible || self.identities.is_visible(location))
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
        if self.is_over() {
            return;
        }
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
        if self.data_races.is_some() && self.reads.enabled {
            self.synchronise_by_reads(operation);
        }
        let Some(races) = &mut self.data_races else { return };
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
        if self.reads.enabled {
            // The event has done so, by its order.
            return;
        }
        if let Some(races) = &mut self.data_races {
            races.synchronise(self.current, location, reads_only);
        }
    }

    /// Note accesses that are no events.
    #[inline]
    pub fn quiet(&mut self, accesses: &[Access]) {
        if self.is_over() {
            return;
        }
        self.remember_quiet(accesses);
        self.quiet_part(accesses);
    }

    /// Note accesses of an operation of which others are an event.
    pub fn quiet_part(&mut self, accesses: &[Access]) {
        self.check_for_races(accesses);
        self.note_in_loops(accesses, EventId::NONE);
    }

    /// Make the locations visible whose accesses, which are no events, race.
    #[inline]
    pub fn check_for_races(&mut self, accesses: &[Access]) {
        for access in accesses {
            if self.driver.quiet_access(self.current, access.location, access.mode) {
                self.make_visible(access.location);
            }
        }
    }
}
