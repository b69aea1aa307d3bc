//! CPython as the host of model code: `dpor._kernel`.

mod calls;
mod explore;
mod footprints;
mod heap;
mod hooks;
mod host;
mod identities;
mod kept;
mod loops;
mod modules;
mod primitives;
mod state;
mod threads;
mod types;

use pyo3::prelude::*;

/// The compiled part of dpor.
#[pymodule]
fn _kernel(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<host::Host>()?;
    module.add_class::<explore::failures::Failed>()?;
    module.add_class::<explore::outcome::Explored>()?;
    module.add_class::<explore::outcome::Outcome>()?;
    module.add_class::<hooks::variables::Cell>()?;
    // Under a name of its own: the class is called what CPython calls it.
    module.add("Lock", module.py().get_type::<primitives::Lock>())?;
    module.add_class::<primitives::RLock>()?;
    module.add_class::<primitives::Condition>()?;
    module.add_class::<primitives::Semaphore>()?;
    module.add_class::<primitives::BoundedSemaphore>()?;
    module.add_class::<primitives::Event>()?;
    primitives::name_as_classes_in_python(module.py())?;
    module.add_class::<primitives::SimpleQueue>()?;
    module.add_class::<primitives::TaskQueue>()?;
    module.add_class::<primitives::Meeting>()?;
    module.add_class::<primitives::Completion>()?;
    module.add_class::<primitives::Watch>()?;
    module.add_class::<primitives::OwnedLock>()?;
    module.add_class::<primitives::atomic::Atomic>()?;
    module.add_class::<calls::controlled_call::ControlledCall>()?;
    module.add_class::<calls::callbacks::Callback>()?;
    module.add("Abort", module.py().get_type::<host::Abort>())?;
    module.add_function(wrap_pyfunction!(host::current_host, module)?)?;
    module.add_function(wrap_pyfunction!(host::active_host, module)?)?;
    module.add_function(wrap_pyfunction!(calls::stand_in_functions::stand_in_function, module)?)?;
    module.add_function(wrap_pyfunction!(calls::stand_in_functions::told_function_behind, module)?)?;
    Ok(())
}
