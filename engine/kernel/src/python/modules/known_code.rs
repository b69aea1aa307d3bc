//! Code whose origin was told, rather than that it follows from the namespace of the function that has it.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use rustc_hash::FxHashMap;

use crate::python::modules::origins::Origin;

/// Where a function is defined: its file, line and qualified name.
type Definition = (String, u32, String);

#[derive(Default)]
pub struct KnownCode {
    /// By address; the code is kept.
    told: FxHashMap<usize, (Origin, Py<PyAny>)>,
    /// Instrumented code by its definition, but for what is in `unsorted`: it is seldom asked for.
    defined: FxHashMap<Definition, Vec<Py<PyAny>>>,
    unsorted: Vec<Py<PyAny>>,
}

impl KnownCode {
    pub fn origin(&self, code: &Bound<'_, PyAny>) -> Option<Origin> {
        self.told.get(&(code.as_ptr() as usize)).map(|(origin, _)| *origin)
    }

    /// Note the origin of code, and of all code that is defined in it. Returns what was not known.
    pub fn note<'py>(&mut self, code: &Bound<'py, PyAny>, origin: Origin) -> PyResult<Vec<Bound<'py, PyAny>>> {
        let mut new = Vec::new();
        let mut pending = vec![code.clone()];
        while let Some(code) = pending.pop() {
            if self.origin(&code) == Some(origin) {
                continue;
            }
            let constants = code.getattr(intern!(code.py(), "co_consts"))?.cast_into::<PyTuple>()?;
            pending.extend(constants.iter().filter(|constant| constant.get_type().is(code.get_type())));
            self.told.insert(code.as_ptr() as usize, (origin, code.clone().unbind()));
            if origin == Origin::Instrumented {
                self.unsorted.push(code.clone().unbind());
            }
            new.push(code);
        }
        Ok(new)
    }

    /// Whether code does what instrumented code does: `replace` has made it, as decorators such as `types.coroutine`
    /// do.
    pub fn is_copy_of_instrumented(&mut self, code: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = code.py();
        for known in std::mem::take(&mut self.unsorted) {
            self.defined.entry(definition(known.bind(py))?).or_default().push(known);
        }
        let Some(known) = self.defined.get(&definition(code)?) else { return Ok(false) };
        for known in known {
            if does_the_same(known.bind(py), code)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn definition(code: &Bound<'_, PyAny>) -> PyResult<Definition> {
    let py = code.py();
    Ok((
        code.getattr(intern!(py, "co_filename"))?.extract()?,
        code.getattr(intern!(py, "co_firstlineno"))?.extract()?,
        code.getattr(intern!(py, "co_qualname"))?.extract()?,
    ))
}

fn does_the_same(one: &Bound<'_, PyAny>, other: &Bound<'_, PyAny>) -> PyResult<bool> {
    for part in ["co_code", "co_names", "co_consts"] {
        if !one.getattr(part)?.eq(other.getattr(part)?)? {
            return Ok(false);
        }
    }
    Ok(true)
}
