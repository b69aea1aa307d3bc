//! Model threads, which are greenlets of one thread of the system, and what the runtime layer asks for them.

pub mod clocks;
pub mod greenlets;
pub mod outside;
pub mod own_modules;
pub mod predicates;
pub mod run;
pub mod services;
pub mod switching;
pub mod waiting;
