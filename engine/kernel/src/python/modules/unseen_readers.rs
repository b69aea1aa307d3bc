//! Stores to attributes that code of the standard library reads unseen.
//!
//! Modules such as `enum` are left as they are because their objects do not change. A program can change one all the
//! same: it may store to an attribute that methods of the module read (`Color.RED._value_ = 5` beside
//! `Color.RED.value`). Which names these are the code of the module's classes says. Such a store is named in the
//! report.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCode, PyFunction, PyString, PyTuple, PyType};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::python::explore::assumptions::AssumptionKind;
use crate::python::host::Host;
use crate::python::modules::left_modules::named_class;
use crate::python::types::ancestry::{told_by_type, Ancestry};
use crate::python::types::harmless_methods::is_own;
use crate::python::types::kinds::is_heap_class;

/// The names that code of one module's classes mentions.
struct Reader {
    module: String,
    names: FxHashSet<String>,
}

/// The modules whose code reads attributes of instances unseen, by the addresses of the classes whose instances they
/// are.
#[derive(Default)]
pub struct UnseenReaders {
    of_class: FxHashMap<usize, Vec<Reader>>,
}

impl UnseenReaders {
    /// Addresses of classes may be those of others from now on.
    pub fn clear(&mut self) {
        self.of_class.clear();
    }
}

impl Host {
    /// An attribute of an object is about to be stored or deleted, of a class that `learn_readers` knows.
    #[inline]
    pub fn note_unseen_readers(&self, object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<()> {
        match self.awake().is_some_and(|state| !state.types.origins.left.readers.of_class.is_empty()) {
            true => self.look_for_readers(&object.get_type(), name),
            false => Ok(()),
        }
    }

    #[cold]
    fn look_for_readers(&self, class: &Bound<'_, PyType>, name: &Bound<'_, PyString>) -> PyResult<()> {
        let name = name.to_str()?;
        let reading = {
            let state = self.state();
            let readers = state.types.origins.left.readers.of_class.get(&(class.as_ptr() as usize));
            let reading = readers.into_iter().flatten().find(|reader| reader.names.contains(name));
            reading.filter(|_| state.running() && !state.has_no_company()).map(|reader| reader.module.clone())
        };
        if let Some(module) = reading {
            self.assume(class.py(), AssumptionKind::UnseenCode, &module);
        }
        Ok(())
    }

    /// An attribute of a class is about to be stored or deleted beside other threads: bases of it that stand in for
    /// others, or are of a module that runs on stand-ins, may use it unseen.
    #[cold]
    pub fn note_users_of_class(&self, class: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<()> {
        self.state().forget_told_methods(name.to_str()?);
        if self.state().has_no_company() {
            return Ok(());
        }
        let Ok(class) = class.cast::<PyType>() else { return Ok(()) };
        for base in class.ancestry().iter() {
            let Ok(base) = base.cast_into::<PyType>() else { continue };
            let Some((module, _)) = named_class(&base) else { continue };
            if !is_own(&base) && !self.state().types.origins.left.is_described(&module) {
                continue;
            }
            let mut names = FxHashSet::default();
            add_names_in_class(&base, &mut names)?;
            let has = told_by_type(&base, intern!(class.py(), "__dict__"))?.contains(name)?;
            if has || names.contains(name.to_str()?) {
                self.assume(class.py(), AssumptionKind::UnseenCode, &module);
            }
        }
        Ok(())
    }

    /// An attribute of an object of this class is changed for the first time.
    pub fn learn_readers(&self, class: &Bound<'_, PyType>) -> PyResult<()> {
        let found = self.readers_of(class)?;
        if !found.is_empty() {
            self.state().types.origins.left.readers.of_class.insert(class.as_ptr() as usize, found);
        }
        Ok(())
    }

    fn readers_of(&self, class: &Bound<'_, PyType>) -> PyResult<Vec<Reader>> {
        let mut readers: Vec<Reader> = Vec::new();
        for base in class.ancestry().iter().chain(class.get_type().ancestry().iter()) {
            let Ok(base) = base.cast_into::<PyType>() else { continue };
            let Some((module, name)) = named_class(&base).filter(|_| is_heap_class(&base)) else { continue };
            if !self.state().types.origins.left.is_unchanging(&module, &name) {
                continue;
            }
            let module = module.split('.').next().unwrap_or_default().to_owned();
            let position = readers.iter().position(|reader| reader.module == module).unwrap_or_else(|| {
                readers.push(Reader { module, names: FxHashSet::default() });
                readers.len() - 1
            });
            add_names_in_class(&base, &mut readers[position].names)?;
        }
        readers.retain(|reader| !reader.names.is_empty());
        Ok(readers)
    }
}

fn add_names_in_class(class: &Bound<'_, PyType>, names: &mut FxHashSet<String>) -> PyResult<()> {
    let py = class.py();
    let namespace = told_by_type(class, intern!(py, "__dict__"))?;
    for value in namespace.call_method0(intern!(py, "values"))?.try_iter()? {
        let value = value?;
        // Of class methods and static methods, and of properties and what `types` and `enum` have in their place.
        let behind = ["__func__", "fget", "fset", "fdel"];
        let inner = behind.into_iter().filter_map(|name| value.getattr_opt(name).ok().flatten());
        for function in
            std::iter::once(value.clone()).chain(inner).filter(|value| value.is_instance_of::<PyFunction>())
        {
            add_names_in_code(&function.getattr(intern!(py, "__code__"))?, names)?;
        }
    }
    Ok(())
}

fn add_names_in_code(code: &Bound<'_, PyAny>, names: &mut FxHashSet<String>) -> PyResult<()> {
    let py = code.py();
    for name in code.getattr(intern!(py, "co_names"))?.cast_into::<PyTuple>()?.iter() {
        names.insert(name.extract()?);
    }
    for constant in code.getattr(intern!(py, "co_consts"))?.cast_into::<PyTuple>()?.iter() {
        if constant.is_instance_of::<PyCode>() {
            add_names_in_code(&constant, names)?;
        } else if let Ok(text) = constant.cast::<PyString>() {
            // `getattr(self, "name")`
            names.insert(text.to_str()?.to_owned());
        }
    }
    Ok(())
}
