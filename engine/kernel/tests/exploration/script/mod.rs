//! Small straight-line programs with forward jumps, as data: what the Rust tests explore.

pub mod random;

use _kernel::driver::{Counts, Driver, Summary};
use _kernel::execution::{Literal, Sides, Solver};
use _kernel::explorer::{create, ExplorerOptions};
use _kernel::limits::{Limits, Meter};
use _kernel::memory::{BufferDiscipline, MemoryModel, PrimitiveState, SequentialConsistency, StoreBuffers};
use _kernel::operation::{Access, AccessMode, Accesses, LocationId, MemoryOrder, Operation, OperationKind, ThreadId};
use _kernel::program::{explore, Answer, Arrival, Program};
use std::collections::{BTreeMap, BTreeSet};

pub mod machine;

#[derive(Clone, Copy, Debug)]
pub enum Instruction {
    /// Load a variable into the thread's register.
    Load(u32),
    Store(u32, i64),
    StoreRelease(u32, i64),
    StoreSeqCst(u32, i64),
    /// A seq_cst fence, and one that only orders stores.
    Fence,
    ReleaseFence,
    /// Store the register plus a constant.
    StoreRegister(u32, i64),
    FetchAdd(u32, i64),
    /// The register becomes 1 if the exchange took place, else 0.
    CompareExchange(u32, i64, i64),
    Lock(u32),
    Unlock(u32),
    /// The register becomes 1 if the lock was taken; if not, skip so many instructions.
    TryLockOrSkip(u32, usize),
    Spawn(usize),
    Join(usize),
    /// The register becomes one of so many values.
    Choose(u32),
    /// The register becomes 1 if the symbolic condition holds, else 0.
    Branch(u32),
    /// Skip so many instructions unless the register has the value.
    SkipUnless(i64, usize),
    /// Stop for good unless the register has the value.
    Assume(i64),
    SemaphoreAcquire,
    SemaphoreRelease,
    FlagWait,
    FlagSet,
    FlagClear,
    /// The register becomes ten times the first variable plus the second, read at once.
    LoadBoth(u32, u32),
    /// Store the first variable, plus one, to the second at once.
    Copy(u32, u32),
    /// Store a value to both variables at once.
    StoreBoth(u32, u32, i64),
    /// Operations on one cell of a container, and on the container as a whole (cells 0 and 1).
    LoadCell(u32),
    StoreCell(u32, i64),
    LoadCells,
    StoreCells(i64),
}

const VARIABLES: u32 = 100;
const LOCKS: u32 = 200;
const SEMAPHORE: LocationId = LocationId(300);
const FLAG: LocationId = LocationId(301);
/// The most variables that a script can have; the agents of store buffers are numbered by thread and variable.
const MOST_VARIABLES: u32 = 8;

/// A machine that scripts run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Machine {
    Sc,
    Tso,
    Pso,
}

impl Machine {
    pub fn name(self) -> &'static str {
        match self {
            Machine::Sc => "sc",
            Machine::Tso => "tso",
            Machine::Pso => "pso",
        }
    }

    pub fn memory(self) -> Box<dyn MemoryModel> {
        match self {
            Machine::Sc => Box::<SequentialConsistency>::default(),
            Machine::Tso => Box::new(StoreBuffers::new(BufferDiscipline::Thread)),
            Machine::Pso => Box::new(StoreBuffers::new(BufferDiscipline::Location)),
        }
    }
}

/// A store that is still in a buffer.
#[derive(Clone)]
struct Buffered {
    agent: ThreadId,
    owner: usize,
    variable: u32,
    value: i64,
}
/// The variables that are the cells of a container, and the location of the whole.
const CELLS: u32 = 50;
const WHOLE: LocationId = LocationId(302);

#[derive(Clone, Default)]
struct ThreadState {
    counter: usize,
    register: i64,
    started: bool,
}

/// Thread 0 is `main`; the others run when spawned.
#[derive(Clone)]
pub struct Script {
    pub threads: Vec<Vec<Instruction>>,
    machine: Machine,
    states: Vec<ThreadState>,
    memory: BTreeMap<u32, i64>,
    buffered: Vec<Buffered>,
    /// The values of the symbolic variables, where they are tried one by one: branches are no events then.
    pub values: Option<[i64; 2]>,
}

/// How many values each of the two symbolic variables can have, and how many conditions there are on them.
pub const DOMAIN: i64 = 3;
pub const CONDITIONS: u32 = 10;

/// Whether a condition holds of the values.
pub fn holds(condition: u32, [a, b]: [i64; 2]) -> bool {
    match condition % CONDITIONS {
        0 => a < 1,
        1 => a < 2,
        2 => a == 1,
        3 => b < 1,
        4 => b < 2,
        5 => b == 1,
        6 => a < b,
        7 => a == b,
        8 => a + b == 2,
        _ => a > 7,
    }
}

/// Tries every value.
struct SmallDomain;

impl Solver for SmallDomain {
    fn sides(&mut self, path: &[Literal], condition: u32) -> Sides {
        let values = (0..DOMAIN).flat_map(|a| (0..DOMAIN).map(move |b| [a, b]));
        let allowed: Vec<_> =
            values.filter(|v| path.iter().all(|literal| holds(literal.condition, *v) == literal.taken)).collect();
        assert!(!allowed.is_empty(), "only satisfiable paths are asked about");
        Sides {
            when_true: allowed.iter().any(|v| holds(condition, *v)),
            when_false: allowed.iter().any(|v| !holds(condition, *v)),
        }
    }
}

/// What an exploration found: counts, and the final states (registers, variables, whether it was blocked).
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    pub counts: Counts,
    pub outcomes: BTreeSet<Outcome>,
}

impl Script {
    pub fn new(threads: Vec<Vec<Instruction>>) -> Script {
        let states = vec![ThreadState::default(); threads.len()];
        Script { threads, machine: Machine::Sc, states, memory: BTreeMap::new(), buffered: Vec::new(), values: None }
    }

    pub fn machine(&self) -> Machine {
        self.machine
    }

    /// The same program on another machine.
    pub fn on(&self, machine: Machine) -> Script {
        Script { machine, ..self.clone() }
    }

    /// The agent of the buffer that a store of the thread goes through.
    fn agent(&self, thread: usize, variable: u32) -> ThreadId {
        let number = match self.machine {
            Machine::Pso => thread as u32 * MOST_VARIABLES + variable,
            Machine::Sc | Machine::Tso => thread as u32,
        };
        ThreadId(self.threads.len() as u32 + number)
    }

    /// A load of the thread: the youngest store in its own buffers, else memory.
    fn load(&self, thread: usize, variable: u32) -> i64 {
        let own = self.buffered.iter().rev().find(|store| store.owner == thread && store.variable == variable);
        own.map_or_else(|| self.value(variable), |store| store.value)
    }

    fn store(&mut self, thread: usize, variable: u32, value: i64) {
        if self.machine == Machine::Sc {
            self.memory.insert(variable, value);
        } else {
            let agent = self.agent(thread, variable);
            self.buffered.push(Buffered { agent, owner: thread, variable, value });
        }
    }

    fn oldest(&self, agent: ThreadId) -> Option<usize> {
        self.buffered.iter().position(|store| store.agent == agent)
    }

    fn value(&self, variable: u32) -> i64 {
        self.memory.get(&variable).copied().unwrap_or(0)
    }

    fn current(&self, thread: ThreadId) -> Option<Instruction> {
        self.threads[thread.index()].get(self.states[thread.index()].counter).copied()
    }

    /// None if there are more executions than a test should explore.
    pub fn explore(&self, algorithm: &str) -> Option<Found> {
        self.explore_with(algorithm, None)
    }

    /// The same with the `k` of `unfolding`.
    pub fn explore_with(&self, algorithm: &str, k: Option<usize>) -> Option<Found> {
        let mut script = self.clone();
        let options = ExplorerOptions { seed: 1, samples: 100, k, ..ExplorerOptions::default() };
        let explorer = create(algorithm, self.machine.name(), &options).expect("known").expect("supported");
        let meter = Meter::new(Limits { max_executions: Some(20_000), ..Limits::default() });
        let mut driver = Driver::new(explorer, self.machine.memory(), meter);
        driver.execution.conditions().solve_with(Box::new(SmallDomain));
        let mut outcomes = BTreeSet::new();
        let shared = std::cell::RefCell::new(Vec::new());
        script.memory.clear();
        let mut recorder = Recording { script: &mut script, finals: &shared };
        explore(&mut driver, &mut recorder, |driver, summary: &Summary| {
            let last = shared.borrow_mut().pop();
            let _ = driver;
            if summary.end == _kernel::explorer::End::Maximal {
                if let Some((registers, memory)) = last {
                    let blocked = !summary.waiting.is_empty() || summary.assumption_failed;
                    outcomes.insert((registers, memory, blocked));
                }
            }
        })
        .expect("scripts are deterministic");
        driver.meter.reached().is_none().then_some(Found { counts: driver.counts, outcomes })
    }
}

pub type Final = (Vec<i64>, Vec<(u32, i64)>);
/// The final state, and whether a thread was left waiting.
pub type Outcome = (Vec<i64>, Vec<(u32, i64)>, bool);

/// Keeps the state after the last event, which is the final one when the execution ends.
pub struct Recording<'a> {
    pub script: &'a mut Script,
    pub finals: &'a std::cell::RefCell<Vec<Final>>,
}

impl Recording<'_> {
    fn note(&self) {
        let registers = self.script.states.iter().map(|state| state.register).collect();
        let memory = self.script.memory.iter().map(|(key, value)| (*key, *value)).collect();
        let mut finals = self.finals.borrow_mut();
        finals.clear();
        finals.push((registers, memory));
    }
}

fn variable(kind: OperationKind, index: u32, detail: u32) -> Operation {
    Operation::new(kind, LocationId(VARIABLES + index), detail)
}

impl Recording<'_> {
    /// A store that is not seq_cst.
    fn stores(&self, thread: ThreadId, index: u32, order: MemoryOrder) -> Operation {
        if self.script.machine == Machine::Sc {
            return variable(OperationKind::Store, index, 0);
        }
        let agent = self.script.agent(thread.index(), index);
        Operation { order, ..variable(OperationKind::Buffer, index, agent.0) }
    }
}

impl Program for Recording<'_> {
    fn begin(&mut self) -> Vec<(LocationId, PrimitiveState)> {
        self.script.memory.clear();
        self.script.buffered.clear();
        self.script.states = vec![ThreadState::default(); self.script.threads.len()];
        let mut primitives: Vec<(LocationId, PrimitiveState)> = (0..10)
            .map(|lock| {
                let state = PrimitiveState::Mutex { owner: None, depth: 0, reentrant: false, taken: 0 };
                (LocationId(LOCKS + lock), state)
            })
            .collect();
        primitives.push((SEMAPHORE, PrimitiveState::Semaphore { value: 1, bound: None }));
        primitives.push((FLAG, PrimitiveState::Flag { set: false, waiters: Vec::new() }));
        primitives
    }

    fn advance(&mut self, thread: ThreadId, answer: Answer) -> Arrival {
        let index = thread.index();
        if self.script.states[index].started {
            let script = &mut *self.script;
            if let Some(instruction) = script.threads[index].get(script.states[index].counter).copied() {
                let state = &mut script.states[index];
                state.counter += 1;
                match instruction {
                    Instruction::TryLockOrSkip(_, skip) => {
                        state.register = i64::from(answer.reported);
                        if answer.reported == 0 {
                            state.counter += skip;
                        }
                    }
                    Instruction::Choose(_) | Instruction::Branch(_) => state.register = i64::from(answer.outcome),
                    _ => {}
                }
            }
        } else if thread != ThreadId::MAIN && !self.script.states[index].started {
            self.script.states[index].started = true;
        }
        self.script.states[index].started = true;
        loop {
            let script = &mut *self.script;
            match script.threads[index].get(script.states[index].counter).copied() {
                Some(Instruction::SkipUnless(value, skip)) => {
                    let state = &mut script.states[index];
                    state.counter += 1;
                    if state.register != value {
                        state.counter += skip;
                    }
                }
                Some(Instruction::Branch(condition)) if script.values.is_some() => {
                    let held = script.values.is_some_and(|values| holds(condition, values));
                    script.states[index].register = i64::from(held);
                    script.states[index].counter += 1;
                }
                Some(Instruction::Assume(value)) if script.states[index].register == value => {
                    script.states[index].counter += 1;
                }
                _ => break,
            }
        }
        self.note();
        let Some(instruction) = self.script.current(thread) else { return Arrival::Finished };
        use Instruction::*;
        let lock = |index: u32| LocationId(LOCKS + index);
        let none = LocationId::NONE;
        let mut alternatives = 1;
        let operation = match instruction {
            Load(index) => variable(OperationKind::Load, index, 0),
            Store(index, _) | StoreRegister(index, _) => self.stores(thread, index, MemoryOrder::Relaxed),
            StoreRelease(index, _) => self.stores(thread, index, MemoryOrder::Release),
            StoreSeqCst(index, _) => variable(OperationKind::Store, index, 0),
            Fence => Operation::new(OperationKind::Fence, none, 0),
            ReleaseFence => {
                Operation { order: MemoryOrder::Release, ..Operation::new(OperationKind::Fence, none, 0) }
            }
            FetchAdd(index, _) => variable(OperationKind::ReadModifyWrite, index, 0),
            CompareExchange(index, expected, _) => variable(OperationKind::CompareExchange, index, expected as u32),
            Lock(index) => Operation::new(OperationKind::Acquire, lock(index), 0),
            TryLockOrSkip(index, _) => Operation::new(OperationKind::TryAcquire, lock(index), 0),
            Unlock(index) => Operation::new(OperationKind::Release, lock(index), 0),
            Spawn(child) => Operation::new(OperationKind::Spawn, none, child as u32),
            Join(child) => Operation::new(OperationKind::Join, none, child as u32),
            Choose(count) => {
                alternatives = count;
                Operation::new(OperationKind::Choose, none, count)
            }
            Branch(condition) => {
                alternatives = 2;
                Operation::new(OperationKind::Branch, none, condition)
            }
            Assume(_) => Operation::new(OperationKind::Blocked, none, 0),
            SemaphoreAcquire => Operation::new(OperationKind::SemaphoreAcquire, SEMAPHORE, 1),
            SemaphoreRelease => Operation::new(OperationKind::SemaphoreRelease, SEMAPHORE, 1),
            FlagWait => Operation::new(OperationKind::FlagWait, FLAG, 0),
            FlagSet => Operation::new(OperationKind::FlagSet, FLAG, 0),
            FlagClear => Operation::new(OperationKind::FlagClear, FLAG, 0),
            LoadBoth(first, _) => variable(OperationKind::Load, first, 0),
            Copy(first, _) => variable(OperationKind::ReadModifyWrite, first, 0),
            StoreBoth(first, _, _) => variable(OperationKind::ReadModifyWrite, first, 0),
            LoadCell(cell) => variable(OperationKind::Load, CELLS + cell, 0),
            StoreCell(cell, _) => variable(OperationKind::Store, CELLS + cell, 0),
            LoadCells => Operation::new(OperationKind::Load, WHOLE, 0),
            StoreCells(_) => Operation::new(OperationKind::Store, WHOLE, 0),
            SkipUnless(..) => unreachable!("handled above"),
        };
        Arrival::Operation { operation, alternatives }
    }

    fn accesses(&self, thread: ThreadId) -> (Option<Accesses>, Option<u32>) {
        if let Some(oldest) = self.script.oldest(thread) {
            let variable = self.script.buffered[oldest].variable;
            let mut accesses = Accesses::new();
            accesses.push(Access { location: LocationId(VARIABLES + variable), mode: AccessMode::Write });
            return (Some(accesses), Some(self.script.value(variable) as u32));
        }
        if !self.script.states[thread.index()].started {
            return (None, None);
        }
        use Instruction::*;
        let Some(instruction) = self.script.current(thread) else { return (None, None) };
        let at = |index: u32, mode| Access { location: LocationId(VARIABLES + index), mode };
        let whole = |mode| Access { location: WHOLE, mode };
        use AccessMode::{IntentRead, IntentWrite, Read, Write};
        let several: Option<[Option<Access>; 2]> = match instruction {
            LoadBoth(first, second) => Some([Some(at(first, Read)), Some(at(second, Read))]),
            Copy(first, second) => Some([Some(at(first, Read)), Some(at(second, Write))]),
            StoreBoth(first, second, _) => Some([Some(at(first, Write)), Some(at(second, Write))]),
            LoadCell(cell) => Some([Some(at(CELLS + cell, Read)), Some(whole(IntentRead))]),
            StoreCell(cell, _) => Some([Some(at(CELLS + cell, Write)), Some(whole(IntentWrite))]),
            LoadCells => Some([Some(whole(Read)), None]),
            StoreCells(_) => Some([Some(whole(Write)), None]),
            _ => None,
        };
        if let Some(several) = several {
            return (Some(several.into_iter().flatten().collect()), None);
        }
        let (index, mode) = match instruction {
            Load(index) => (index, AccessMode::Read),
            Store(..) | StoreRegister(..) | StoreRelease(..) if self.script.machine != Machine::Sc => {
                return (Some(Accesses::new()), None);
            }
            Store(index, _)
            | StoreRegister(index, _)
            | StoreRelease(index, _)
            | StoreSeqCst(index, _)
            | FetchAdd(index, _) => (index, AccessMode::Write),
            CompareExchange(index, expected, _) if self.script.value(index) != expected => (index, AccessMode::Read),
            CompareExchange(index, ..) => (index, AccessMode::Write),
            _ => return (None, None),
        };
        let mut accesses = Accesses::new();
        accesses.push(Access { location: LocationId(VARIABLES + index), mode });
        (Some(accesses), Some(self.script.value(index) as u32))
    }

    fn perform(&mut self, thread: ThreadId, operation: &Operation) {
        if operation.kind == OperationKind::Flush {
            if let Some(oldest) = self.script.oldest(thread) {
                let store = self.script.buffered.remove(oldest);
                self.script.memory.insert(store.variable, store.value);
            }
            self.note();
            return;
        }
        if !self.script.states[thread.index()].started {
            return;
        }
        let Some(instruction) = self.script.current(thread) else { return };
        let script = &mut *self.script;
        let register = script.states[thread.index()].register;
        match instruction {
            Instruction::Load(index) => script.states[thread.index()].register = script.load(thread.index(), index),
            Instruction::Store(index, value) | Instruction::StoreRelease(index, value) => {
                script.store(thread.index(), index, value);
            }
            Instruction::StoreRegister(index, plus) => script.store(thread.index(), index, register + plus),
            Instruction::StoreSeqCst(index, value) => {
                script.memory.insert(index, value);
            }
            Instruction::FetchAdd(index, plus) => {
                let old = script.value(index);
                script.states[thread.index()].register = old;
                script.memory.insert(index, old + plus);
            }
            Instruction::CompareExchange(index, expected, desired) => {
                let took_place = script.value(index) == expected;
                script.states[thread.index()].register = i64::from(took_place);
                if took_place {
                    script.memory.insert(index, desired);
                }
            }
            Instruction::LoadBoth(first, second) => {
                script.states[thread.index()].register = 10 * script.value(first) + script.value(second);
            }
            Instruction::Copy(first, second) => {
                let value = script.value(first) + 1;
                script.memory.insert(second, value);
            }
            Instruction::StoreBoth(first, second, value) => {
                script.memory.insert(first, value);
                script.memory.insert(second, value);
            }
            Instruction::LoadCell(cell) => script.states[thread.index()].register = script.value(CELLS + cell),
            Instruction::StoreCell(cell, value) => {
                script.memory.insert(CELLS + cell, value);
            }
            Instruction::LoadCells => {
                script.states[thread.index()].register = 10 * script.value(CELLS) + script.value(CELLS + 1);
            }
            Instruction::StoreCells(value) => {
                for cell in 0..2 {
                    script.memory.insert(CELLS + cell, value);
                }
            }
            _ => {}
        }
    }

    fn value(&self, location: LocationId) -> Option<u32> {
        (VARIABLES..LOCKS).contains(&location.0).then(|| self.script.value(location.0 - VARIABLES) as u32)
    }
}
