//! Litmus tests as text (`x:=1 rlx; r1=y acq || ...`), run as programs whose loads read from the write that the
//! explorer names.

pub mod brute_force;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use _kernel::driver::{Counts, Driver, Summary};
use _kernel::execution::{Literal, Sides, Solver};
use _kernel::explorer::{create, End, Explorer, ExplorerOptions};
use _kernel::limits::{Limits, Meter};
use _kernel::memory::{MemoryModel, PrimitiveState, Relaxed, SequentialConsistency};
use _kernel::operation::{
    Access, AccessMode, Accesses, EventId, LocationId, MemoryOrder, Operation, OperationKind, ThreadId,
};
use _kernel::program::{explore, Answer, Arrival, Program};

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Constant(i64),
    Register(String, i64),
}

#[derive(Clone, Debug, PartialEq)]
pub enum Statement {
    Store(String, Value, MemoryOrder),
    Load(String, String, MemoryOrder),
    /// The register gets the old value, to which the constant is added.
    FetchAdd(String, String, i64, MemoryOrder),
    Exchange(String, String, i64, MemoryOrder),
    CompareExchange(String, String, i64, i64, MemoryOrder),
    Fence(MemoryOrder),
    Local(String, i64),
    /// Some register has to have a value, else the thread stops for good.
    Assume(Vec<(String, i64)>),
    If(Vec<(String, i64)>, Vec<Statement>),
    /// The register gets a number below the constant.
    Choose(String, i64),
    /// The register becomes 1 if the symbolic condition holds, else 0.
    Branch(String, u32),
    Spawn(usize),
    Join(usize),
}

fn order(text: &str) -> MemoryOrder {
    match text.trim() {
        "rlx" => MemoryOrder::Relaxed,
        "acq" => MemoryOrder::Acquire,
        "rel" => MemoryOrder::Release,
        "ar" => MemoryOrder::AcquireRelease,
        "sc" => MemoryOrder::SequentiallyConsistent,
        other => panic!("no memory order: {other:?}"),
    }
}

fn value(text: &str) -> Value {
    match text.parse() {
        Ok(number) => Value::Constant(number),
        Err(_) => {
            let (register, plus) = text.split_once('+').unwrap_or((text, "0"));
            Value::Register(register.to_owned(), plus.parse().expect("a number"))
        }
    }
}

fn condition(text: &str) -> Vec<(String, i64)> {
    let equation = |one: &str| {
        let (register, value) = one.split_once("==").expect("an equation");
        (register.trim().to_owned(), value.trim().parse().expect("a number"))
    };
    text.split(" or ").map(equation).collect()
}

/// The statements of one thread.
pub fn statements(text: &str) -> Vec<Statement> {
    let mut found = Vec::new();
    let mut rest = text.trim();
    while !rest.is_empty() {
        if let Some(inner) = rest.strip_prefix("if(") {
            let (test, after) = inner.split_once("){").expect("a block");
            let (body, after) = after.split_once('}').expect("the end of the block");
            found.push(Statement::If(condition(test), statements(body)));
            rest = after.trim_start_matches([' ', ';']);
            continue;
        }
        let (one, after) = rest.split_once(';').unwrap_or((rest, ""));
        found.push(statement(one.trim()));
        rest = after.trim();
    }
    found
}

fn statement(text: &str) -> Statement {
    if let Some(inner) = text.strip_prefix("assume(") {
        return Statement::Assume(condition(inner.trim_end_matches(')')));
    }
    if let Some(fence) = text.strip_prefix("F ") {
        return Statement::Fence(order(fence));
    }
    if let Some((variable, rest)) = text.split_once(":=") {
        let (written, how) = rest.split_once(' ').expect("a memory order");
        return Statement::Store(variable.to_owned(), value(written), order(how));
    }
    let (register, rest) = text.split_once('=').expect("an assignment");
    let register = register.trim().to_owned();
    if let Ok(constant) = rest.trim().parse() {
        return Statement::Local(register, constant);
    }
    if let Some((call, rest)) = rest.split_once('(') {
        let (arguments, how) = rest.split_once(')').expect("arguments");
        let parts: Vec<&str> = arguments.split(',').collect();
        let numbers: Vec<i64> = parts[1..].iter().map(|part| part.parse().expect("a number")).collect();
        let (variable, how) = (parts[0].to_owned(), order(how));
        return match call {
            "FAI" => Statement::FetchAdd(register, variable, numbers[0], how),
            "XCHG" => Statement::Exchange(register, variable, numbers[0], how),
            _ => Statement::CompareExchange(register, variable, numbers[0], numbers[1], how),
        };
    }
    let (variable, how) = rest.split_once(' ').expect("a memory order");
    Statement::Load(register, variable.to_owned(), order(how))
}

/// One row of the table.
#[derive(Debug)]
pub struct Row {
    pub name: String,
    pub threads: Vec<Vec<Statement>>,
    pub registers: Vec<String>,
    pub memory_model: String,
    pub executions: u64,
    pub reads_from_classes: u64,
    pub outcomes: BTreeSet<Vec<i64>>,
}

fn fields(line: &str) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut quoted = false;
    for character in line.chars() {
        match character {
            '"' => quoted = !quoted,
            ',' if !quoted => found.push(String::new()),
            other => found.last_mut().expect("a field").push(other),
        }
    }
    found
}

/// All rows of the table that the Python tests use as well.
pub fn rows() -> Vec<Row> {
    let text = include_str!("../../../../../tests/litmus/data/litmus.csv");
    let row = |line: &str| {
        let fields = fields(line);
        let program = fields[1].split('[').next().expect("a program").to_owned();
        let threads: Vec<Vec<Statement>> = program.split("||").map(statements).collect();
        let outcome = |text: &str| text.split('/').map(|value| value.parse().expect("a value")).collect();
        Row {
            name: fields[0].clone(),
            threads,
            registers: fields[2].split(',').map(str::to_owned).collect(),
            memory_model: fields[3].clone(),
            executions: fields[4].parse().expect("a count"),
            reads_from_classes: fields[5].parse().expect("a count"),
            outcomes: fields[7].split_whitespace().map(outcome).collect(),
        }
    };
    text.lines().skip(1).filter(|line| !line.is_empty()).map(row).collect()
}

#[derive(Clone, Default)]
struct Running {
    /// What is left to do, the next last.
    rest: Vec<Statement>,
    started: bool,
    /// What has just been performed, if its answer sets a register.
    drawing: Option<Statement>,
}

/// A litmus test as a program: thread 0 spawns and joins the others, then loads the variables that are asked for.
pub struct Litmus {
    threads: Vec<Vec<Statement>>,
    variables: Vec<String>,
    running: Vec<Running>,
    registers: BTreeMap<String, i64>,
    memory: BTreeMap<String, i64>,
    written: BTreeMap<u32, i64>,
    event: EventId,
    reads: Option<EventId>,
}

/// How many values each of the two symbolic variables can have, and how many conditions there are on them.
pub const DOMAIN: i64 = 3;
pub const CONDITIONS: u32 = 6;

/// Whether a condition holds of the values.
pub fn holds(condition: u32, [a, b]: [i64; 2]) -> bool {
    match condition {
        0 => a < 1,
        1 => a < 2,
        2 => b == 1,
        3 => a < b,
        4 => a == b,
        _ => a >= 0,
    }
}

/// Whether all of the conditions can be as they were taken.
pub fn are_satisfiable(literals: &[(u32, bool)]) -> bool {
    let mut values = (0..DOMAIN).flat_map(|a| (0..DOMAIN).map(move |b| [a, b]));
    values.any(|values| literals.iter().all(|(condition, taken)| holds(*condition, values) == *taken))
}

struct SmallDomain;

impl Solver for SmallDomain {
    fn sides(&mut self, path: &[Literal], condition: u32) -> Sides {
        let mut literals: Vec<(u32, bool)> = path.iter().map(|literal| (literal.condition, literal.taken)).collect();
        assert!(are_satisfiable(&literals), "only satisfiable paths are asked about");
        let mut can_be = |taken| {
            literals.push((condition, taken));
            let answer = are_satisfiable(&literals);
            literals.pop();
            answer
        };
        Sides { when_true: can_be(true), when_false: can_be(false) }
    }
}

fn variables_of(statements: &[Statement], found: &mut BTreeSet<String>) {
    for statement in statements {
        match statement {
            Statement::Store(variable, ..) => drop(found.insert(variable.clone())),
            Statement::Load(_, variable, _)
            | Statement::FetchAdd(_, variable, ..)
            | Statement::Exchange(_, variable, ..)
            | Statement::CompareExchange(_, variable, ..) => drop(found.insert(variable.clone())),
            Statement::If(_, body) => variables_of(body, found),
            _ => {}
        }
    }
}

impl Litmus {
    pub fn new(threads: &[Vec<Statement>], finals: &[String]) -> Litmus {
        let mut variables = BTreeSet::new();
        threads.iter().for_each(|thread| variables_of(thread, &mut variables));
        let mut main: Vec<Statement> = (1..=threads.len()).map(Statement::Spawn).collect();
        main.extend((1..=threads.len()).map(Statement::Join));
        let asked = finals.iter().filter(|name| variables.contains(*name));
        main.extend(asked.map(|name| Statement::Load(name.clone(), name.clone(), MemoryOrder::Relaxed)));
        let mut all = vec![main];
        all.extend(threads.to_vec());
        Litmus {
            running: vec![Running::default(); all.len()],
            threads: all,
            variables: variables.into_iter().collect(),
            registers: BTreeMap::new(),
            memory: BTreeMap::new(),
            written: BTreeMap::new(),
            event: EventId(0),
            reads: None,
        }
    }

    fn location(&self, variable: &str) -> LocationId {
        let position = self.variables.iter().position(|one| one == variable).expect("a variable");
        LocationId(position as u32)
    }

    fn found(&self, variable: &str) -> i64 {
        match self.reads {
            Some(EventId::NONE) => 0,
            Some(write) => self.written[&write.0],
            None => self.memory.get(variable).copied().unwrap_or(0),
        }
    }

    fn holds(&self, condition: &[(String, i64)]) -> bool {
        condition.iter().any(|(register, value)| self.registers.get(register).copied().unwrap_or(0) == *value)
    }

    fn write(&mut self, variable: &str, value: i64) {
        self.memory.insert(variable.to_owned(), value);
        self.written.insert(self.event.0, value);
    }

    fn outcome(&self, registers: &[String]) -> Vec<i64> {
        registers.iter().map(|register| self.registers.get(register).copied().unwrap_or(0)).collect()
    }
}

impl Program for Litmus {
    fn begin(&mut self) -> Vec<(LocationId, PrimitiveState)> {
        self.registers.clear();
        self.memory.clear();
        self.written.clear();
        for (running, code) in self.running.iter_mut().zip(&self.threads) {
            *running = Running { rest: code.iter().rev().cloned().collect(), ..Running::default() };
        }
        self.running[0].started = true;
        Vec::new()
    }

    fn advance(&mut self, thread: ThreadId, answer: Answer) -> Arrival {
        let index = thread.index();
        if let Some(Statement::Choose(register, _) | Statement::Branch(register, _)) = &self.running[index].drawing {
            self.registers.insert(register.clone(), i64::from(answer.outcome));
        }
        self.running[index].drawing = None;
        self.running[index].started = true;
        loop {
            let Some(next) = self.running[index].rest.last().cloned() else { return Arrival::Finished };
            match next {
                Statement::Local(register, value) => {
                    self.registers.insert(register, value);
                    self.running[index].rest.pop();
                }
                Statement::If(condition, body) => {
                    self.running[index].rest.pop();
                    if self.holds(&condition) {
                        self.running[index].rest.extend(body.into_iter().rev());
                    }
                }
                Statement::Assume(condition) if self.holds(&condition) => {
                    self.running[index].rest.pop();
                }
                other => {
                    let relaxed = |kind, variable: &str, order| Operation {
                        order,
                        ..Operation::new(kind, self.location(variable), 0)
                    };
                    let none = LocationId::NONE;
                    let operation = match &other {
                        Statement::Store(variable, _, order) => relaxed(OperationKind::Store, variable, *order),
                        Statement::Load(_, variable, order) => relaxed(OperationKind::Load, variable, *order),
                        Statement::FetchAdd(_, variable, _, order) | Statement::Exchange(_, variable, _, order) => {
                            relaxed(OperationKind::ReadModifyWrite, variable, *order)
                        }
                        Statement::CompareExchange(_, variable, expected, _, order) => {
                            let operation = relaxed(OperationKind::CompareExchange, variable, *order);
                            Operation { detail: *expected as u32, ..operation }
                        }
                        Statement::Fence(order) => {
                            Operation { order: *order, ..Operation::new(OperationKind::Fence, none, 0) }
                        }
                        Statement::Spawn(child) => Operation::new(OperationKind::Spawn, none, *child as u32),
                        Statement::Join(child) => Operation::new(OperationKind::Join, none, *child as u32),
                        Statement::Choose(_, count) => Operation::new(OperationKind::Choose, none, *count as u32),
                        Statement::Branch(_, condition) => Operation::new(OperationKind::Branch, none, *condition),
                        _ => Operation::new(OperationKind::Blocked, none, 0),
                    };
                    let alternatives = match &other {
                        Statement::Choose(_, count) => *count as u32,
                        Statement::Branch(..) => 2,
                        _ => 1,
                    };
                    return Arrival::Operation { operation, alternatives };
                }
            }
        }
    }

    fn begin_event(&mut self, _thread: ThreadId, event: EventId, reads: Option<EventId>) {
        self.event = event;
        self.reads = reads;
    }

    fn value(&self, location: LocationId) -> Option<u32> {
        let variable = self.variables.get(location.index())?;
        Some(self.memory.get(variable).copied().unwrap_or(0) as u32)
    }

    fn accesses(&self, thread: ThreadId) -> (Option<Accesses>, Option<u32>) {
        let running = &self.running[thread.index()];
        if !running.started {
            return (None, None);
        }
        let (variable, mode) = match running.rest.last() {
            Some(Statement::Load(_, variable, _)) => (variable, AccessMode::Read),
            Some(Statement::CompareExchange(_, variable, expected, ..)) if self.found(variable) != *expected => {
                (variable, AccessMode::Read)
            }
            Some(
                Statement::Store(variable, ..)
                | Statement::FetchAdd(_, variable, ..)
                | Statement::Exchange(_, variable, ..)
                | Statement::CompareExchange(_, variable, ..),
            ) => (variable, AccessMode::Write),
            _ => return (None, None),
        };
        let mut accesses = Accesses::new();
        accesses.push(Access { location: self.location(variable), mode });
        (Some(accesses), Some(self.found(variable) as u32))
    }

    fn perform(&mut self, thread: ThreadId, _operation: &Operation) {
        if !self.running[thread.index()].started {
            return;
        }
        let Some(next) = self.running[thread.index()].rest.pop() else { return };
        match next {
            Statement::Store(variable, value, _) => {
                let value = match value {
                    Value::Constant(value) => value,
                    Value::Register(register, plus) => self.registers.get(&register).copied().unwrap_or(0) + plus,
                };
                self.write(&variable, value);
            }
            Statement::Load(register, variable, _) => drop(self.registers.insert(register, self.found(&variable))),
            Statement::FetchAdd(register, variable, plus, _) => {
                let old = self.found(&variable);
                self.registers.insert(register, old);
                self.write(&variable, old + plus);
            }
            Statement::Exchange(register, variable, value, _) => {
                let old = self.found(&variable);
                self.registers.insert(register, old);
                self.write(&variable, value);
            }
            Statement::CompareExchange(register, variable, expected, desired, _) => {
                let old = self.found(&variable);
                self.registers.insert(register, old);
                if old == expected {
                    self.write(&variable, desired);
                }
            }
            Statement::Choose(..) | Statement::Branch(..) => self.running[thread.index()].drawing = Some(next),
            _ => {}
        }
    }
}

/// What an exploration found.
#[derive(Debug)]
pub struct Found {
    pub counts: Counts,
    /// The values of the registers after each complete execution.
    pub outcomes: BTreeSet<Vec<i64>>,
}

/// Explore a litmus test; None if it takes more executions than a test should.
pub fn explore_litmus(
    threads: &[Vec<Statement>],
    registers: &[String],
    algorithm: &str,
    memory_model: &str,
) -> Option<Found> {
    let options = ExplorerOptions { seed: 1, samples: 100, ..ExplorerOptions::default() };
    let memory: Box<dyn MemoryModel> = match memory_model {
        "sc" => Box::<SequentialConsistency>::default(),
        _ => Box::<Relaxed>::default(),
    };
    explore_with(
        threads,
        registers,
        create(algorithm, memory_model, &options).expect("known").expect("supported"),
        memory,
    )
}

/// The same by classes of reads-from.
pub fn explore_classes(
    threads: &[Vec<Statement>],
    registers: &[String],
    algorithm: &str,
    memory_model: &str,
) -> Option<Found> {
    let options = ExplorerOptions { reads_from: true, ..ExplorerOptions::default() };
    let explorer = create(algorithm, memory_model, &options).expect("known").expect("supported");
    explore_with(threads, registers, explorer, Box::<Relaxed>::default())
}

fn explore_with(
    threads: &[Vec<Statement>],
    registers: &[String],
    explorer: Box<dyn Explorer>,
    memory: Box<dyn MemoryModel>,
) -> Option<Found> {
    let meter = Meter::new(Limits { max_executions: Some(50_000), ..Limits::default() });
    let mut driver = Driver::new(explorer, memory, meter);
    driver.execution.conditions().solve_with(Box::new(SmallDomain));
    let mut litmus = Litmus::new(threads, registers);
    let outcomes = RefCell::new(BTreeSet::new());
    let last = Rc::new(RefCell::new(Vec::new()));
    let mut watched = Watched { litmus: &mut litmus, registers, last: last.clone() };
    explore(&mut driver, &mut watched, |_, summary: &Summary| {
        if summary.end == End::Maximal && summary.waiting.is_empty() && !summary.assumption_failed {
            outcomes.borrow_mut().insert(last.borrow().clone());
        }
    })
    .expect("litmus tests are deterministic");
    driver.meter.reached().is_none().then(|| Found { counts: driver.counts, outcomes: outcomes.into_inner() })
}

/// Keeps the registers as they are after the last event.
struct Watched<'a> {
    litmus: &'a mut Litmus,
    registers: &'a [String],
    last: Rc<RefCell<Vec<i64>>>,
}

impl Program for Watched<'_> {
    fn begin(&mut self) -> Vec<(LocationId, PrimitiveState)> {
        self.litmus.begin()
    }

    fn advance(&mut self, thread: ThreadId, answer: Answer) -> Arrival {
        let arrival = self.litmus.advance(thread, answer);
        *self.last.borrow_mut() = self.litmus.outcome(self.registers);
        arrival
    }

    fn begin_event(&mut self, thread: ThreadId, event: EventId, reads: Option<EventId>) {
        self.litmus.begin_event(thread, event, reads);
    }

    fn value(&self, location: LocationId) -> Option<u32> {
        self.litmus.value(location)
    }

    fn accesses(&self, thread: ThreadId) -> (Option<Accesses>, Option<u32>) {
        self.litmus.accesses(thread)
    }

    fn perform(&mut self, thread: ThreadId, operation: &Operation) {
        self.litmus.perform(thread, operation);
    }
}
