//! POP against the exhaustive oracle, on named and on random programs that block, fail, draw and nest.

mod script;

use script::{Instruction, Script};
use Instruction::*;

fn main_joining(children: usize) -> Vec<Instruction> {
    (1..=children).map(Spawn).chain((1..=children).map(Join)).collect()
}

fn program(threads: Vec<Vec<Instruction>>) -> Script {
    let mut all = vec![main_joining(threads.len())];
    all.extend(threads);
    Script::new(all)
}

/// Explore with `parsimonious` and compare with `oracle`. Returns false if the program is too large for the oracle.
fn agrees(script: &Script, oracle: &str, label: &str) -> bool {
    let Some(expected) = script.explore(oracle) else { return false };
    let context = format!("{label}: {:?}", script.threads);
    let Some(found) = script.explore("parsimonious") else { panic!("more than {oracle}, {context}") };
    assert_eq!(found.counts.redundant, 0, "redundant, {context}");
    assert_eq!(found.outcomes, expected.outcomes, "outcomes, {context}");
    assert_eq!(found.counts.executions, expected.counts.executions, "classes, {context}");
    assert_eq!(found.counts.blocked, expected.counts.blocked, "blocked classes, {context}");
    true
}

/// A small deterministic generator (xorshift), so that a failing seed can be run again.
struct Seeded(u64);

impl Seeded {
    fn new(seed: u64) -> Seeded {
        let mut random = Seeded(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        random.below(2);
        random
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// What the instructions of a random program are drawn from, each as often as its weight says.
struct Mix {
    variables: u64,
    locks: u64,
    values: u64,
    reads: u64,
    writes: u64,
    updates: u64,
    exchanges: u64,
    nesting: u64,
    tries: u64,
    semaphores: u64,
    flags: u64,
    branches: u64,
    draws: u64,
    assumptions: u64,
}

const NOTHING: Mix = Mix {
    variables: 2,
    locks: 2,
    values: 2,
    reads: 0,
    writes: 0,
    updates: 0,
    exchanges: 0,
    nesting: 0,
    tries: 0,
    semaphores: 0,
    flags: 0,
    branches: 0,
    draws: 0,
    assumptions: 0,
};

const MIXES: [(&str, Mix); 7] = [
    (
        "everything",
        Mix {
            reads: 3,
            writes: 2,
            updates: 2,
            exchanges: 2,
            nesting: 2,
            tries: 1,
            semaphores: 1,
            flags: 1,
            branches: 1,
            draws: 1,
            assumptions: 1,
            ..NOTHING
        },
    ),
    ("plain", Mix { variables: 3, reads: 5, writes: 4, updates: 1, branches: 1, ..NOTHING }),
    ("nested locks", Mix { locks: 3, nesting: 6, reads: 1, writes: 1, tries: 1, ..NOTHING }),
    ("exchanges", Mix { values: 3, exchanges: 6, reads: 1, writes: 1, branches: 1, ..NOTHING }),
    ("waiting", Mix { semaphores: 4, flags: 4, reads: 1, writes: 1, tries: 1, nesting: 1, ..NOTHING }),
    ("draws", Mix { draws: 2, branches: 3, reads: 3, writes: 3, assumptions: 1, ..NOTHING }),
    ("readers", Mix { variables: 3, reads: 8, writes: 2, branches: 2, ..NOTHING }),
];

fn random_thread(random: &mut Seeded, mix: &Mix, length: usize) -> Vec<Instruction> {
    let mut code = Vec::new();
    let mut held: Vec<u32> = Vec::new();
    let weights = [
        mix.reads,
        mix.writes,
        mix.updates,
        mix.exchanges,
        mix.nesting,
        mix.nesting,
        mix.tries,
        mix.semaphores,
        mix.flags,
        mix.branches,
        mix.draws,
        mix.assumptions,
    ];
    while code.len() < length {
        let variable = random.below(mix.variables) as u32;
        let value = random.below(mix.values) as i64;
        let lock = random.below(mix.locks) as u32;
        let mut drawn = random.below(weights.iter().sum());
        let kind = weights.iter().position(|weight| {
            let here = drawn < *weight;
            drawn = drawn.saturating_sub(*weight);
            here
        });
        match kind.expect("some weight is drawn") {
            0 => code.push(Load(variable)),
            1 => code.push(Store(variable, value + 1)),
            2 => code.push(if value == 0 { StoreRegister(variable, 1) } else { FetchAdd(variable, 1) }),
            3 => code.push(CompareExchange(variable, value, (value + 1) % mix.values as i64)),
            4 if !held.contains(&lock) => {
                code.push(Lock(lock));
                held.push(lock);
            }
            5 => code.extend(held.pop().map(Unlock)),
            6 if !held.contains(&lock) => code.extend([TryLockOrSkip(lock, 2), Store(variable, 3), Unlock(lock)]),
            7 => code.push(if random.below(2) == 0 { SemaphoreAcquire } else { SemaphoreRelease }),
            8 => code.push([FlagWait, FlagSet, FlagClear][random.below(3) as usize]),
            9 => code.extend([SkipUnless(value, 1), Store(variable, 4)]),
            10 => code.push(Choose(2)),
            11 => code.push(Assume(value)),
            _ => {}
        }
    }
    if random.below(4) > 0 {
        while let Some(lock) = held.pop() {
            code.push(Unlock(lock));
        }
    }
    code
}

fn classes(threads: Vec<Vec<Instruction>>) -> (u64, u64, u64) {
    let script = program(threads);
    assert!(agrees(&script, "optimal", "a named program"));
    let counts = script.explore("parsimonious").expect("a small program").counts;
    (counts.executions, counts.blocked, counts.redundant)
}

#[test]
fn compatible_read_schedules_are_combined_once() {
    // Each reader sees the write or does not.
    assert_eq!(classes(vec![vec![Store(0, 1)], vec![Load(0)], vec![Load(0)], vec![Load(0)]]), (8, 0, 0));
    assert_eq!(classes(vec![vec![Load(0)], vec![Load(0)], vec![Store(0, 1)], vec![Load(0)]]), (8, 0, 0));
}

#[test]
fn reads_behind_schedules_of_other_locations_are_combined_once() {
    // The program of the paper's Figure 1.
    let p = vec![Store(0, 1), Store(1, 1), Store(2, 1)];
    let q = vec![Store(3, 1), Load(1), Load(0)];
    let r = vec![Load(1)];
    let s = vec![Load(2), Load(0)];
    let script = program(vec![p, q, r, s]);
    assert!(agrees(&script, "optimal", "Figure 1"));
}

#[test]
fn nested_locks_have_as_many_classes_as_brute_force_counts() {
    // `ssbsimple`, on which the published implementation explores 8.
    let a = vec![Lock(0), Store(0, 1), Unlock(0), Lock(2), Unlock(2)];
    let b = vec![Lock(0), Load(0), SkipUnless(1, 2), Lock(1), Unlock(1), Unlock(0)];
    let c = vec![Lock(1), Lock(2), Unlock(2), Unlock(1)];
    assert_eq!(classes(vec![c, b, a]), (6, 0, 0));
}

#[test]
fn exchanges_that_always_fail_are_reads() {
    assert_eq!(classes(vec![vec![CompareExchange(0, 5, 6)]; 3]), (1, 0, 0));
}

#[test]
fn an_exchange_that_fails_after_another_is_reversed_as_the_write_that_it_would_be() {
    assert_eq!(classes(vec![vec![CompareExchange(0, 0, 1)]; 3]), (3, 0, 0));
    let rotating = |from: i64| vec![CompareExchange(0, from, (from + 1) % 3)];
    assert_eq!(classes(vec![rotating(0), rotating(1), rotating(2), rotating(0)]).2, 0);
}

#[test]
fn a_draw_that_a_race_does_not_depend_on_does_not_multiply_its_reversals() {
    assert_eq!(classes(vec![vec![Load(0)], vec![Choose(3)], vec![Store(0, 1)]]), (6, 0, 0));
    assert_eq!(classes(vec![vec![Store(0, 1)], vec![Choose(2), SkipUnless(1, 1), Load(0)]]), (3, 0, 0));
}

fn programs() -> u64 {
    std::env::var("DPOR_PROGRAMS").ok().and_then(|text| text.parse().ok()).unwrap_or(150)
}

#[test]
fn random_programs_agree_with_the_oracle() {
    for (name, mix) in &MIXES {
        let mut compared = 0;
        for seed in 1..=programs() {
            let mut random = Seeded::new(seed);
            let threads = 2 + random.below(2) as usize;
            let budget = if threads == 2 { 5 } else { 3 };
            let threads = (0..threads).map(|_| random_thread(&mut random, mix, budget)).collect();
            compared += u64::from(agrees(&program(threads), "exhaustive", &format!("{name}, seed {seed}")));
        }
        assert!(compared * 10 > programs() * 5, "only {compared} programs of {name} were small enough");
    }
}

/// Too large for the oracle, but not for optimal exploration, which keeps wakeup trees instead.
#[test]
fn larger_random_programs_agree_with_optimal() {
    for (name, mix) in &MIXES {
        let mut compared = 0;
        for seed in 1..=programs() {
            let mut random = Seeded::new(seed ^ 0xd134_2543);
            let threads = 3 + random.below(3) as usize;
            let budget = 18 / threads;
            let threads = (0..threads).map(|_| random_thread(&mut random, mix, budget)).collect();
            compared += u64::from(agrees(&program(threads), "optimal", &format!("{name}, seed {seed}")));
        }
        assert!(compared * 10 > programs() * 5, "only {compared} programs of {name} were small enough");
    }
}
