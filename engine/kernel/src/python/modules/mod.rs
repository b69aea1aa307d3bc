//! Modules and whose code they hold: which is instrumented, which is left as it is, which nobody looks into.

pub mod code_facts;
pub mod known_code;
pub mod left_modules;
pub mod module_variables;
pub mod namespaces;
pub mod origins;
pub mod rebinding;
pub mod unseen_looks;
pub mod unseen_readers;
