//! The exploration kernel of dpor-lsp.
//!
//! `program` runs one thread up to its next visible operation; `memory` says what a visible operation does, when it
//! is enabled and what it conflicts with; `execution` holds the events so far with happens-before; `explorer` decides
//! which execution comes next; `limits` and the `driver` wrap an explorer. Only `python` knows CPython.

pub mod driver;
pub mod execution;
pub mod explorer;
pub mod limits;
pub mod memory;
pub mod operation;
pub mod program;
#[cfg(feature = "python")]
pub mod python;
pub mod threads;
