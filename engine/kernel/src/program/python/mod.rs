//! CPython as the host of model code: `dpor._kernel`.

mod atomic;
mod attributes;
mod calls;
mod containers;
mod exploring;
mod greenlets;
mod host;
mod identity;
mod items;
mod primitives;
mod recording;
mod types;
mod undo;
mod waiting;

use pyo3::prelude::*;

/// The compiled part of dpor.
#[pymodule]
fn _kernel(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<host::Host>()?;
    module.add_class::<attributes::Cell>()?;
    module.add_class::<primitives::Lock>()?;
    module.add_class::<primitives::RLock>()?;
    module.add_class::<primitives::Condition>()?;
    module.add_class::<primitives::Semaphore>()?;
    module.add_class::<primitives::BoundedSemaphore>()?;
    module.add_class::<primitives::Event>()?;
    module.add_class::<primitives::SimpleQueue>()?;
    module.add_class::<atomic::Atomic>()?;
    module.add_class::<calls::ControlledCall>()?;
    module.add("Abort", module.py().get_type::<host::Abort>())?;
    module.add_function(wrap_pyfunction!(host::current_host, module)?)?;
    Ok(())
}
