//! Random programs: threads of instructions that are drawn with different weights.

use super::Instruction::{self, *};

/// A small deterministic generator (xorshift), so that a failing seed can be run again.
pub struct Seeded(u64);

impl Seeded {
    pub fn new(seed: u64) -> Seeded {
        let mut random = Seeded::salted(seed, 0x9e37_79b9_7f4a_7c15);
        random.below(2);
        random
    }

    /// Other draws for the same seed.
    pub fn salted(seed: u64, salt: u64) -> Seeded {
        Seeded(seed.wrapping_mul(salt) | 1)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    /// One of these.
    pub fn of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(choices.len() as u64) as usize]
    }
}

/// What the instructions of a random program are drawn from, each as often as its weight says.
pub struct Mix {
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

pub const MIXES: [(&str, Mix); 7] = [
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

pub fn random_thread(random: &mut Seeded, mix: &Mix, length: usize) -> Vec<Instruction> {
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
