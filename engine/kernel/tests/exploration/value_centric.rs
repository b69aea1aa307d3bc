//! Value-centric exploration against the exhaustive oracle: every local state is found, no class twice, and as many
//! classes as there are by the definition of the equivalence.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use crate::amount::programs;
use crate::script::random::Seeded;
use crate::script::{Instruction, Recording, Script};
use _kernel::driver::{Counts, Driver, Summary};
use _kernel::explorer::{create, End, ExplorerOptions};
use _kernel::limits::{Limits, Meter};
use _kernel::memory::{PrimitiveState, SequentialConsistency};
use _kernel::operation::{AccessMode, LocationId, Operation, OperationKind, ThreadId};
use _kernel::program::{explore, Answer, Arrival, Program};
use Instruction::*;

/// How many executions a test explores at most.
const MOST_EXECUTIONS: u64 = 2_500;

/// What one event did, as the definition of the equivalence asks.
type Values = (Option<u32>, Option<u32>);

/// Notes the values that each event finds and leaves.
struct Watched<'a> {
    inner: Recording<'a>,
    values: &'a RefCell<Vec<Values>>,
}

impl Program for Watched<'_> {
    fn begin(&mut self) -> Vec<(LocationId, PrimitiveState)> {
        self.values.borrow_mut().clear();
        self.inner.begin()
    }

    fn advance(&mut self, thread: ThreadId, answer: Answer) -> Arrival {
        self.inner.advance(thread, answer)
    }

    fn accesses(&self, thread: ThreadId) -> (Option<_kernel::operation::Accesses>, Option<u32>) {
        self.inner.accesses(thread)
    }

    fn perform(&mut self, thread: ThreadId, operation: &Operation) {
        let found = self.inner.value(operation.target);
        self.inner.perform(thread, operation);
        self.values.borrow_mut().push((found, self.inner.value(operation.target)));
    }

    fn value(&self, location: LocationId) -> Option<u32> {
        self.inner.value(location)
    }
}

/// One event of a class: its identity, what it is, the outcome, what it read (and from which side, if it is the
/// root's) and wrote, and the reads that causally happen before it, if it is a read.
type ClassEvent = (u32, u32, String, u32, Option<(u32, bool)>, Option<u32>, Option<BTreeSet<(u32, u32)>>);
type Class = (BTreeSet<ClassEvent>, bool);

/// The class of an execution by the definition of value-happens-before (section 3) without its third condition.
fn class_of(driver: &Driver, values: &[Values], root: u32, blocked: bool) -> Class {
    let events = driver.execution.events();
    let mut writers: BTreeMap<LocationId, usize> = BTreeMap::new();
    let mut pasts: Vec<BTreeSet<(u32, u32)>> = Vec::new();
    let mut class = BTreeSet::new();
    for (position, event) in events.iter().enumerate() {
        let mut past = BTreeSet::new();
        for predecessor in [event.program_order, event.joined] {
            if let Some(known) = pasts.get(predecessor.index()) {
                past.extend(known.iter().copied());
            }
        }
        let access = event.accesses.first().copied();
        let draws = event.operation.kind == OperationKind::Choose;
        let reads = access.filter(|a| a.mode == AccessMode::Read || event.operation.kind != OperationKind::Store);
        let writes = access.filter(|a| a.mode == AccessMode::Write);
        let (found, left) = values[position];
        let mut read = None;
        if let Some(access) = reads {
            let source = writers.get(&access.location).copied();
            if let Some(source) = source {
                past.extend(pasts[source].iter().copied());
            }
            let local = event.thread.0 == root && source.is_some_and(|s| events[s].thread.0 == root);
            read = Some((found.unwrap_or(event.before), local));
        }
        let is_read = draws || reads.is_some();
        if is_read {
            past.insert((event.thread.0, event.index));
        }
        class.insert((
            event.thread.0,
            event.index,
            format!("{:?}", event.operation),
            event.outcome,
            read,
            writes.and(left),
            is_read.then(|| past.clone()),
        ));
        if let Some(access) = writes {
            writers.insert(access.location, position);
        }
        pasts.push(past);
    }
    (class, blocked)
}

struct Explored {
    counts: Counts,
    classes: Option<u64>,
    /// The registers of all threads at the end, and whether some thread waits for ever.
    outcomes: BTreeSet<(Vec<i64>, bool)>,
    /// The classes by definition.
    defined: BTreeSet<Class>,
    refused: Option<OperationKind>,
}

/// None if there are more executions than a test should explore.
fn run(script: &Script, algorithm: &str, root: u32) -> Option<Explored> {
    let mut script = script.clone();
    let options = ExplorerOptions { root: Some(ThreadId(root)), ..ExplorerOptions::default() };
    let explorer = create(algorithm, "sc", &options).expect("known").expect("supported");
    let meter = Meter::new(Limits { max_executions: Some(MOST_EXECUTIONS), ..Limits::default() });
    let mut driver = Driver::new(explorer, Box::<SequentialConsistency>::default(), meter);
    let (finals, values) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
    let mut program = Watched { inner: Recording { script: &mut script, finals: &finals }, values: &values };
    let (mut outcomes, mut defined) = (BTreeSet::new(), BTreeSet::new());
    explore(&mut driver, &mut program, |driver, summary: &Summary| {
        if summary.end == End::Maximal {
            let blocked = !summary.waiting.is_empty() || summary.assumption_failed;
            let (registers, _) = finals.borrow_mut().pop().expect("an execution ends in a state");
            outcomes.insert((registers, blocked));
            defined.insert(class_of(driver, &values.borrow(), root, blocked));
        }
    })
    .expect("scripts are deterministic");
    let (classes, refused) = (driver.explorer().findings().classes, driver.explorer().findings().refusal);
    driver.meter.reached().is_none().then_some(Explored {
        counts: driver.counts,
        classes,
        outcomes,
        defined,
        refused,
    })
}

fn main_joining(children: usize) -> Vec<Instruction> {
    (1..=children).map(Spawn).chain((1..=children).map(Join)).collect()
}

fn program(threads: Vec<Vec<Instruction>>) -> Script {
    let mut all = vec![main_joining(threads.len())];
    all.extend(threads);
    Script::new(all)
}

/// Returns false if the program is too large for the oracle.
fn agrees_with_oracle(script: &Script, root: u32, label: &str) -> bool {
    agrees_with(script, "exhaustive", root, label)
}

/// The same for an oracle that sees every Mazurkiewicz class: those of values are unions of them.
fn agrees_with(script: &Script, oracle: &str, root: u32, label: &str) -> bool {
    let Some(oracle) = run(script, oracle, root) else { return false };
    let context = format!("{label}, root {root}: {:?}", script.threads);
    let Some(found) = run(script, "value-centric", root) else { return false };
    assert_eq!(found.refused, None, "{context}");
    assert_eq!(found.outcomes, oracle.outcomes, "outcomes, {context}");
    let explored = found.counts.executions + found.counts.blocked;
    assert_eq!(found.defined.len(), oracle.defined.len(), "classes by definition, {context}");
    assert_eq!(found.classes, Some(oracle.defined.len() as u64), "classes, {context}");
    assert_eq!(explored, oracle.defined.len() as u64, "executions, {context}");
    assert_eq!(found.counts.redundant, 0, "redundant, {context}");
    true
}

fn counts(script: &Script, root: u32) -> (u64, u64, u64) {
    let counts = run(script, "value-centric", root).expect("a small program").counts;
    (counts.executions, counts.blocked, counts.redundant)
}

#[test]
fn the_program_of_figure_1_has_one_class() {
    let script = program(vec![vec![Store(0, 1)], vec![Store(0, 2), Store(0, 1), Load(0)]]);
    assert_eq!(counts(&script, 1), (1, 0, 0));
    assert!(agrees_with_oracle(&script, 1, "figure 1"));
}

#[test]
fn the_programs_of_figure_3_have_one_maximal_class() {
    for n in 1..=6 {
        let many = program(vec![vec![Store(0, 0); n], vec![Load(0); n]]);
        assert_eq!(counts(&many, 1), (1, 0, 0), "3a, n = {n}");
        let writes = (0..n as u32).flat_map(|x| [Store(x, 0), Store(x, 0)]).collect();
        let few = program(vec![writes, (0..n as u32).map(Load).collect()]);
        assert_eq!(counts(&few, 1), (1, 0, 0), "3b, n = {n}");
    }
}

#[test]
fn the_program_of_figure_7_has_three_classes() {
    let root = vec![Store(1, 1), Store(1, 1), Store(0, 1), Load(0)];
    let leaf = vec![Store(0, 1), Load(0), Store(1, 2), Load(1)];
    let script = program(vec![root, leaf]);
    assert!(agrees_with_oracle(&script, 1, "figure 7"));
    assert_eq!(counts(&script, 1).0, 3);
}

/// The benchmark float_read of the paper: threads that write different values to one variable, and one that reads it.
#[test]
fn writers_and_one_reader_have_as_many_classes_as_values() {
    let writers = (1..=15).map(|value| vec![Store(0, value)]);
    let script = program(writers.chain([vec![Load(0)]]).collect());
    for root in [0, 1, 16] {
        assert_eq!(counts(&script, root), (16, 0, 0), "root {root}");
    }
}

#[test]
fn opposite_lock_orders_have_two_complete_classes_and_one_deadlock() {
    let script =
        program(vec![vec![Lock(0), Lock(1), Unlock(1), Unlock(0)], vec![Lock(1), Lock(0), Unlock(0), Unlock(1)]]);
    let (executions, blocked, _) = counts(&script, 1);
    assert_eq!((executions, blocked), (2, 1));
    assert!(agrees_with_oracle(&script, 1, "opposite locks"));
}

/// Mutex pairs as in mpat of the reference programs, where most orders of acquires are told apart: N! 2^N classes.
#[test]
fn nested_locks_have_as_many_classes_as_published() {
    for (n, classes) in [(2, 8), (3, 48)] {
        let single = |lock: u32| vec![Lock(lock), Unlock(lock)];
        let nested = |lock: u32| vec![Lock(3), Lock(lock), Unlock(lock), Unlock(3)];
        let script = program((0..n).flat_map(|lock| [single(lock), nested(lock)]).collect());
        assert_eq!(counts(&script, 1).0, classes, "n = {n}");
    }
}

/// The write after a read-modify-write can be observed in its place where that itself cannot be.
#[test]
fn a_write_stands_for_the_equal_one_of_a_rival_that_comes_too_early() {
    let first = vec![Store(1, 2), Store(1, 2), Store(1, 1), FetchAdd(1, 1), FetchAdd(0, 0)];
    let adds = [FetchAdd(0, 1), FetchAdd(0, 0)];
    let second = [CompareExchange(1, 0, 1), Store(1, 1)].into_iter().chain(adds);
    let script = program(vec![first, second.chain([CompareExchange(0, 1, 2), Load(0)]).collect()]);
    assert!(agrees_with_oracle(&script, 2, "equal writes"));
}

/// QPOR's figure 1 with locks: where C forbids what was observed before, almost all executions are redundant.
#[test]
fn a_counter_under_a_lock_that_chooses_locks_leads_to_nothing_redundant() {
    let section = |lock: u32| vec![Lock(lock), Unlock(lock)];
    for n in 2..=8u32 {
        let counts_up = (1..n).flat_map(|value| [Lock(0), Store(0, i64::from(value)), Unlock(0)]).collect();
        let chooses = [Lock(0), Load(0), Unlock(0)];
        let choices = (0..n).flat_map(|lock| [SkipUnless(i64::from(lock), 2), Lock(1 + lock), Unlock(1 + lock)]);
        let threads = (1..=n).map(section).chain([counts_up, chooses.into_iter().chain(choices).collect()]);
        assert_eq!(counts(&program(threads.collect()), 1), (u64::from(2 * n), 0, 0), "n = {n}");
    }
}

fn random_thread(random: &mut Seeded, length: usize, plain: bool) -> Vec<Instruction> {
    let mut code = Vec::new();
    let mut held: Vec<u32> = Vec::new();
    while code.len() < length {
        let variable = random.below(2) as u32;
        let value = random.below(2) as i64;
        match random.below(if plain { 8 } else { 18 }) {
            0..=2 => code.push(Load(variable)),
            3..=5 => code.push(Store(variable, value + 1)),
            6 => code.push(StoreRegister(variable, 1)),
            7 => code.extend([SkipUnless(value, 1), Store(variable, 2)]),
            8 => code.push(FetchAdd(variable, value)),
            9..=10 => code.push(CompareExchange(variable, value, value + 1)),
            11 => {
                let lock = random.below(2) as u32;
                if !held.contains(&lock) {
                    code.push(Lock(lock));
                    held.push(lock);
                }
            }
            12 => {
                if let Some(lock) = held.pop() {
                    code.push(Unlock(lock));
                }
            }
            13 => {
                let lock = random.below(2) as u32;
                if !held.contains(&lock) {
                    code.extend([TryLockOrSkip(lock, 2), Store(variable, 3), Unlock(lock)]);
                }
            }
            14 => code.extend([SkipUnless(value, 1), Load(variable)]),
            15 => code.push(if value == 0 { SemaphoreAcquire } else { SemaphoreRelease }),
            16 => code.push(match random.below(3) {
                0 => FlagWait,
                1 => FlagSet,
                _ => FlagClear,
            }),
            _ => code.push(if random.below(3) == 0 { Assume(value) } else { Choose(2) }),
        }
    }
    if random.below(4) > 0 {
        while let Some(lock) = held.pop() {
            code.push(Unlock(lock));
        }
    }
    code
}

#[test]
fn random_programs_of_reads_and_writes_agree_with_the_oracle() {
    let count = programs(300);
    let mut compared = 0;
    for seed in 1..=count {
        let mut random = Seeded::new(seed);
        let threads = 2 + random.below(2) as usize;
        let budget = if threads == 2 { 6 } else { 4 };
        let script = program((0..threads).map(|_| random_thread(&mut random, budget, true)).collect());
        let root = random.below(threads as u64 + 1) as u32;
        compared += u64::from(agrees_with_oracle(&script, root, &format!("seed {seed}")));
    }
    assert!(compared * 4 > count, "only {compared} of {count} programs were small enough");
}

/// Too large for every interleaving.
#[test]
fn larger_random_programs_agree_with_optimal_exploration() {
    let count = programs(75);
    let mut compared = 0;
    for seed in 1..=count {
        let mut random = Seeded::new(seed ^ 0x7777_0000);
        let threads = 3 + random.below(2) as usize;
        let length = 8 - threads;
        let plain = random.below(3) == 0;
        let threads: Vec<_> = (0..threads).map(|_| random_thread(&mut random, length, plain)).collect();
        let root = random.below(threads.len() as u64 + 1) as u32;
        compared += u64::from(agrees_with(&program(threads), "optimal", root, &format!("seed {seed}")));
    }
    assert!(compared * 3 > count, "only {compared} of {count} programs were small enough");
}

/// Where every order of critical sections matters, and some of them lead to others.
#[test]
fn random_programs_of_locks_agree_with_optimal_exploration() {
    let count = programs(60);
    let mut compared = 0;
    for seed in 1..=count {
        let mut random = Seeded::new(seed ^ 0x3333_0000);
        let threads = 3 + random.below(3) as usize;
        let section = |random: &mut Seeded| {
            let (outer, inner) = (random.below(2) as u32, 2 + random.below(2) as u32);
            match random.below(4) {
                0 => vec![Lock(outer), Unlock(outer)],
                1 => vec![Lock(inner), Load(0), SkipUnless(0, 1), Store(0, 1), Unlock(inner)],
                2 => vec![Lock(outer), Lock(inner), Unlock(inner), Unlock(outer)],
                _ => vec![Lock(outer), Load(1), StoreRegister(1, 1), Unlock(outer)],
            }
        };
        let threads: Vec<Vec<Instruction>> =
            (0..threads).map(|_| (0..1 + random.below(2)).flat_map(|_| section(&mut random)).collect()).collect();
        let root = random.below(threads.len() as u64 + 1) as u32;
        compared += u64::from(agrees_with(&program(threads), "optimal", root, &format!("seed {seed}")));
    }
    assert!(compared * 2 > count, "only {compared} of {count} programs were small enough");
}

#[test]
fn random_programs_of_everything_agree_with_the_oracle() {
    let count = programs(300);
    let mut compared = 0;
    for seed in 1..=count {
        let mut random = Seeded::new(seed ^ 0x5555_0000);
        let threads = 2 + random.below(2) as usize;
        let budget = if threads == 2 { 6 } else { 3 };
        let mut threads: Vec<_> = (0..threads).map(|_| random_thread(&mut random, budget, false)).collect();
        let root = random.below(threads.len() as u64 + 1) as u32;
        // What main does beside the others, and what it sees after them.
        let mut main: Vec<Instruction> = (1..=threads.len()).map(Spawn).collect();
        if random.below(2) == 0 {
            main.push(if random.below(2) == 0 { Load(0) } else { Store(1, 1) });
        }
        main.extend((1..=threads.len()).map(Join));
        main.extend([Load(0), SkipUnless(1, 1), Load(1)]);
        threads.insert(0, main);
        compared += u64::from(agrees_with_oracle(&Script::new(threads), root, &format!("seed {seed}")));
    }
    assert!(compared * 3 > count, "only {compared} of {count} programs were small enough");
}

/// Several locations at once, as of containers that are compared or copied. What such an operation finds and leaves at
/// all but the first is not known, so that a class can be met twice where another operation finds out.
#[test]
fn random_programs_of_operations_on_several_locations_have_the_outcomes_of_the_oracle() {
    let count = programs(200);
    let mut compared = 0;
    for seed in 1..=count {
        let mut random = Seeded::new(seed ^ 0x1111_0000);
        let threads = 2 + random.below(2) as usize;
        let length = if threads == 2 { 4 } else { 3 };
        let instruction = |random: &mut Seeded| {
            let (first, value) = (random.below(2) as u32, random.below(3) as i64);
            match random.below(6) {
                0 => LoadBoth(first, 1 - first),
                1 => Copy(first, 1 - first),
                2 => StoreBoth(0, 1, value),
                3 => FetchAdd(first, value),
                4 => Load(first),
                _ => Store(first, value),
            }
        };
        let threads: Vec<Vec<Instruction>> =
            (0..threads).map(|_| (0..length).map(|_| instruction(&mut random)).collect()).collect();
        let root = random.below(threads.len() as u64 + 1) as u32;
        let script = program(threads);
        let Some(oracle) = run(&script, "exhaustive", root) else { continue };
        let context = format!("seed {seed}, root {root}: {:?}", script.threads);
        let found = run(&script, "value-centric", root).expect("no more executions than the oracle has");
        assert_eq!(found.refused, None, "{context}");
        assert_eq!(found.outcomes, oracle.outcomes, "outcomes, {context}");
        compared += 1;
    }
    assert!(compared * 3 > count, "only {compared} of {count} programs were small enough");
}
