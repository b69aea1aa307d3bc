//! Random schedules: uniform, and PCT (Burckhardt, Kothari, Musuvathi and Nagarakatte, ASPLOS'10, section 3).
//!
//! Neither proves anything: they look for bugs in models that are too large to explore.

use super::{Decision, End, Explorer, Finished, Requirements, State};
use crate::execution::Execution;
use crate::memory::MemoryModel;
use crate::operation::ThreadId;

/// A 64-bit xorshift-multiply generator (Vigna's xorshift64*), enough for drawing schedules and free of dependencies.
struct Generator(u64);

impl Generator {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() >> 11) as usize % bound.max(1)
    }
}

/// How the next thread is drawn.
enum Strategy {
    Uniform,
    /// The enabled thread of the highest priority runs; at `changes` points of an execution the running thread falls
    /// below all others.
    Pct {
        depth: usize,
        priorities: Vec<u64>,
        changes: Vec<usize>,
        longest: usize,
    },
}

pub struct Random {
    generator: Generator,
    strategy: Strategy,
    runs: u64,
    wanted: u64,
}

impl Random {
    /// Draw `wanted` executions uniformly from the seed.
    pub fn uniform(seed: u64, wanted: u64) -> Random {
        Random { generator: Generator(seed | 1), strategy: Strategy::Uniform, runs: 0, wanted }
    }

    /// Draw `wanted` executions with PCT for bugs of depth `depth`.
    pub fn pct(seed: u64, wanted: u64, depth: usize) -> Random {
        let strategy = Strategy::Pct { depth, priorities: Vec::new(), changes: Vec::new(), longest: 32 };
        Random { generator: Generator(seed | 1), strategy, runs: 0, wanted }
    }
}

impl Explorer for Random {
    fn requirements(&self) -> Requirements {
        Requirements { is_exhaustive: false, ..Requirements::OF_EVENTS }
    }

    fn begin(&mut self) -> usize {
        if let Strategy::Pct { depth, priorities, changes, longest } = &mut self.strategy {
            priorities.clear();
            changes.clear();
            for _ in 1..*depth {
                changes.push(self.generator.below(*longest));
            }
        }
        0
    }

    fn choose(&mut self, state: &State) -> Decision {
        let enabled: Vec<ThreadId> = match state.branching() {
            Some(thread) => vec![thread],
            None => state.enabled().collect(),
        };
        let thread = match &mut self.strategy {
            Strategy::Uniform => enabled[self.generator.below(enabled.len())],
            Strategy::Pct { priorities, changes, .. } => {
                for thread in &enabled {
                    while priorities.len() <= thread.index() {
                        // Above the range that change points use.
                        priorities.push(u64::from(u32::MAX) + (self.generator.next() >> 32));
                    }
                }
                let step = state.execution.len();
                if let (Some(current), true) = (state.current, changes.contains(&step)) {
                    if let Some(priority) = priorities.get_mut(current.index()) {
                        *priority = (u64::from(u32::MAX)).saturating_sub(step as u64 + 1);
                    }
                }
                enabled.iter().copied().max_by_key(|thread| priorities[thread.index()]).unwrap_or(enabled[0])
            }
        };
        let outcomes = state.outcomes(thread);
        let outcome = outcomes[self.generator.below(outcomes.len())];
        Decision::Take(state.choice(thread, outcome))
    }

    fn performed(&mut self, _execution: &Execution) {}

    fn finish(&mut self, execution: &Execution, _memory: &dyn MemoryModel, _end: End) -> Finished {
        if let Strategy::Pct { longest, .. } = &mut self.strategy {
            *longest = (*longest).max(execution.len());
        }
        self.runs += 1;
        Finished { more: self.runs < self.wanted, duplicate: false }
    }

    fn fraction(&self) -> f64 {
        self.runs as f64 / self.wanted.max(1) as f64
    }
}
