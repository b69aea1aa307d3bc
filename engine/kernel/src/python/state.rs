//! What the host knows while it explores: the driver, the threads, what is visible, what went wrong.

use pyo3::prelude::*;
use smallvec::SmallVec;

use crate::driver::Driver;
use crate::explorer::Replay;
use crate::limits::{Limits, Meter};
use crate::memory::SequentialConsistency;
use crate::operation::{Access, AccessMode, EventId, LocationId, ThreadId, ANY_VALUE};
use crate::python::calls::callbacks::OpenOperations;
use crate::python::calls::entered_code::Entry;
use crate::python::explore::assumptions::Caller;
use crate::python::explore::recording::Word;
use crate::python::explore::untold::Untold;
use crate::python::explore::Exploration;
use crate::python::footprints::contents::Contents;
use crate::python::heap::Heap;
use crate::python::identities::identity::Identities;
use crate::python::identities::objects::Objects;
use crate::python::kept::lasting::Lasting;
use crate::python::loops::Loops;
use crate::python::modules::code_facts::CodeFacts;
use crate::python::threads::greenlets::{Greenlet, GreenletPool};
use crate::python::threads::run::Run;
use crate::python::threads::Waits;
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

/// What a host knows, each part in the hands of its owner.
pub struct State {
    pub driver: Driver,
    pub phase: Phase,
    pub current: ThreadId,
    pub threads: Vec<PythonThread>,
    pub greenlets: GreenletPool,
    pub run: Run,
    pub exploration: Exploration,
    pub waits: Waits,
    pub heap: Heap,
    // What is known of the model's objects and code.
    pub identities: Identities,
    pub objects: Objects,
    pub types: TypeTable,
    pub code: CodeFacts,
    pub contents: Contents,
    pub lasting: Lasting,
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
            phase: Phase::Idle,
            current: ThreadId::MAIN,
            threads: Vec::new(),
            greenlets: GreenletPool::default(),
            run: Run::default(),
            exploration: Exploration::default(),
            waits: Waits::default(),
            heap: Heap::default(),
            identities: Identities::new(py),
            objects: Objects::default(),
            types: TypeTable::default(),
            code: CodeFacts::new(py)?,
            contents: Contents::default(),
            lasting: Lasting::default(),
        })
    }

    /// The state token of an atomic's value.
    pub fn token(&mut self, value: &Bound<'_, PyAny>) -> u32 {
        if self.exploration.symbolic.used && self.types.facts(value).symbolic {
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
        self.exploration.refusals.any()
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
        !self.is_over() && (self.exploration.settings.everything_visible || self.identities.is_visible(location))
    }

    /// Make a location visible from the next exploration on, which begins as soon as this execution has ended.
    #[cold]
    pub fn make_visible(&mut self, location: LocationId) {
        if self.exploration.learning.is_on() {
            self.identities.make_visible(location);
            self.exploration.learning.learned();
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
        if self.collect_for_turn(accesses) {
            return;
        }
        for access in accesses {
            if self.driver.quiet_access(self.current, access.location, access.mode) {
                self.make_visible(access.location);
            }
        }
    }
}
