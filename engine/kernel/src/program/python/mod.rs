//! CPython as the host of model code: `dpor._kernel`.

mod ancestry;
mod assumptions;
mod atomic;
mod attributes;
mod behind_iterators;
mod builtin_calls;
mod builtins;
mod callables;
mod callback_results;
mod callbacks;
mod calls;
mod cells;
mod chosen_items;
mod chosen_reads;
mod class_flags;
mod clocks;
mod constructors;
mod container_effects;
mod containers;
mod content;
mod controlled_call;
mod copied_calls;
mod deadline_loops;
mod difference;
mod entered_code;
mod enumerations;
mod exploring;
mod fixed_containers;
mod found_state;
mod greenlets;
mod harmless_methods;
mod host;
mod identity;
mod insides;
mod instance_dicts;
mod items;
mod iteration;
mod known_code;
mod lasting;
mod left_modules;
mod loop_locals;
mod loops;
mod made_functions;
mod module_variables;
mod named_reads;
mod native_types;
mod object_state;
mod objects;
mod operators;
mod origins;
mod outside;
mod place;
mod plan;
mod primitives;
mod properties;
mod raising;
mod rebinding;
mod recording;
mod restorable;
mod services;
mod set_order;
mod shown_names;
mod slots;
mod special_methods;
mod stand_in_classes;
mod state;
mod subclasses;
mod switching;
mod symbolic;
mod types;
mod undo;
mod unseen_looks;
mod unseen_readers;
mod untold;
mod variables;
mod waiting;
mod weak_memory;
mod whole_reads;

use pyo3::prelude::*;

/// The compiled part of dpor.
#[pymodule]
fn _kernel(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<host::Host>()?;
    module.add_class::<variables::Cell>()?;
    // Under a name of its own: the class is called what CPython calls it.
    module.add("Lock", module.py().get_type::<primitives::Lock>())?;
    module.add_class::<primitives::RLock>()?;
    module.add_class::<primitives::Condition>()?;
    module.add_class::<primitives::Semaphore>()?;
    module.add_class::<primitives::BoundedSemaphore>()?;
    module.add_class::<primitives::Event>()?;
    module.add_class::<primitives::SimpleQueue>()?;
    module.add_class::<primitives::TaskQueue>()?;
    module.add_class::<primitives::Completion>()?;
    module.add_class::<primitives::Watch>()?;
    module.add_class::<primitives::OwnedLock>()?;
    module.add_class::<atomic::Atomic>()?;
    module.add_class::<controlled_call::ControlledCall>()?;
    module.add_class::<callbacks::Callback>()?;
    module.add_class::<origins::Marker>()?;
    module.add("Abort", module.py().get_type::<host::Abort>())?;
    module.add_function(wrap_pyfunction!(host::current_host, module)?)?;
    module.add_function(wrap_pyfunction!(host::active_host, module)?)?;
    Ok(())
}
