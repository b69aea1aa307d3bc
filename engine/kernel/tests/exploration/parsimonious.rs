//! POP against the exhaustive oracle, on named and on random programs that block, fail, draw and nest.

use crate::amount::programs;
use crate::script::random::{random_thread, Seeded, MIXES};
use crate::script::{Instruction, Machine, Script};
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

#[test]
fn random_programs_agree_with_the_oracle() {
    let count = programs(50);
    for (name, mix) in &MIXES {
        let mut compared = 0;
        for seed in 1..=count {
            let mut random = Seeded::new(seed);
            let threads = 2 + random.below(2) as usize;
            let budget = if threads == 2 { 5 } else { 3 };
            let threads = (0..threads).map(|_| random_thread(&mut random, mix, budget)).collect();
            compared += u64::from(agrees(&program(threads), "exhaustive", &format!("{name}, seed {seed}")));
        }
        assert!(compared * 10 > count * 5, "only {compared} programs of {name} were small enough");
    }
}

/// Too large for the oracle, but not for optimal exploration, which keeps wakeup trees instead.
#[test]
fn larger_random_programs_agree_with_optimal() {
    let count = programs(25);
    for (name, mix) in &MIXES {
        let mut compared = 0;
        for seed in 1..=count {
            let mut random = Seeded::new(seed ^ 0xd134_2543);
            let threads = 3 + random.below(3) as usize;
            let budget = 18 / threads;
            let threads = (0..threads).map(|_| random_thread(&mut random, mix, budget)).collect();
            compared += u64::from(agrees(&program(threads), "optimal", &format!("{name}, seed {seed}")));
        }
        assert!(compared * 10 > count * 5, "only {compared} programs of {name} were small enough");
    }
}

/// Where stores go through buffers, the head of a schedule can be a flush, which does not conflict with its own
/// thread's loads; an exchange that it makes fail or succeed is where that matters.
#[test]
fn random_programs_agree_with_optimal_where_stores_are_buffered() {
    let count = programs(60);
    for (name, mix) in &MIXES {
        let mut compared = 0;
        for seed in 1..=count {
            let mut random = Seeded::new(seed ^ 0x5851_f42d);
            let threads = 2 + random.below(2) as usize;
            let budget = 14 / threads;
            let threads = (0..threads).map(|_| random_thread(&mut random, mix, budget)).collect();
            let script = program(threads);
            for machine in [Machine::Tso, Machine::Pso] {
                let label = format!("{name}, seed {seed}, {machine:?}");
                compared += u64::from(agrees(&script.on(machine), "optimal", &label));
            }
        }
        assert!(compared > count, "only {compared} programs of {name} were small enough");
    }
}
