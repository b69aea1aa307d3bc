//! Model threads, which are greenlets of one thread of the system, and what the runtime layer asks for them.

use clocks::Clocks;
use predicates::Predicates;
use sections::Sections;
use turns::LoopTurns;

use crate::python::loops::spins::Spins;
use crate::python::primitives::PrimitiveFacts;

pub mod clocks;
pub mod greenlets;
pub mod outside;
pub mod own_modules;
pub mod predicates;
pub mod run;
pub mod sections;
pub mod services;
pub mod suspended;
pub mod switching;
pub mod turn_accesses;
pub mod turns;
pub mod waiting;

/// What threads wait for, and what is known of it.
#[derive(Default)]
pub struct Waits {
    pub primitives: PrimitiveFacts,
    pub predicates: Predicates,
    pub spins: Spins,
    pub clocks: Clocks,
    pub turns: LoopTurns,
    pub sections: Sections,
}
