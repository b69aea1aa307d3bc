//! What the explorers, the memory models and the primitives do, asked without Python.
//!
//! One program, whose tests Cargo runs side by side: the few long ones would wait for each other in programs of their
//! own.

mod amount;
mod explorers;
mod frontiers;
mod litmus;
mod owned_locks;
mod parsimonious;
mod primitives;
mod relaxed_memory;
mod script;
mod searches;
mod symbolic_branches;
mod unfolding;
mod value_centric;
mod weak_memory;
