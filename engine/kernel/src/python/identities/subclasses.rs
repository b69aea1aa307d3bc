//! Which classes an execution has made, where a program asks a class for its subclasses.
//!
//! A class lists its subclasses in the order in which they were made, for as long as they exist: until the garbage
//! collector comes, and for as long as somebody holds them, such as the checker what a counterexample has accessed. So
//! those of executions before end when an execution begins, or are left out of what the program is shown. Not all that
//! makes classes is seen (`type(...)` may be called by code in C): that several threads may have made some is an
//! assumption.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyAnyMethods, PyList, PyType, PyWeakrefReference};
use rustc_hash::FxHashMap;

use crate::python::explore::assumptions::AssumptionKind;
use crate::python::host::Host;

use crate::python::types::kinds::{module_of, qualified_name};

/// Classes by address. They may have ended, and others have their addresses.
#[derive(Default)]
struct Classes(FxHashMap<usize, Py<PyWeakrefReference>>);

impl Classes {
    fn insert(&mut self, class: &Bound<'_, PyAny>, known: Py<PyWeakrefReference>) {
        self.0.insert(class.as_ptr() as usize, known);
    }

    fn contains(&self, class: &Bound<'_, PyAny>) -> bool {
        let known = self.0.get(&(class.as_ptr() as usize));
        known.and_then(|known| known.bind(class.py()).upgrade()).is_some_and(|known| known.is(class))
    }
}

/// A class that was asked.
struct Asked {
    class: Py<PyWeakrefReference>,
    /// Whether `lasting` has its subclasses.
    settled: bool,
}

#[derive(Default)]
pub struct Subclasses {
    /// By name: an execution may make a class of its own and ask that.
    asked: FxHashMap<String, Asked>,
    /// What they listed before any execution made a class.
    lasting: Classes,
    /// What else they listed when the running execution began.
    former: Classes,
}

impl Subclasses {
    /// Whether a class was asked that none of this name was before.
    fn note(&mut self, name: String, class: Py<PyWeakrefReference>) -> bool {
        let settled = self.asked.get(&name).map(|asked| asked.settled);
        self.asked.insert(name, Asked { class, settled: settled.unwrap_or(false) });
        settled.is_none()
    }

    /// Whether the running execution has made a class that was listed.
    fn is_made(&self, class: &Bound<'_, PyAny>) -> bool {
        !self.lasting.contains(class) && !self.former.contains(class)
    }
}

/// What a class lists, whatever its metaclass makes of it.
fn listed<'py>(class: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
    let py = class.py();
    Ok(py.get_type::<PyType>().call_method1(intern!(py, "__subclasses__"), (class,))?.cast_into()?)
}

impl Host {
    /// The program is about to ask a class for its subclasses.
    pub fn note_subclasses(&self, class: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = class.py();
        let Ok(class) = class.cast::<PyType>() else { return Ok(()) };
        let name = format!("{}.{}", module_of(class), qualified_name(class));
        let asked = PyWeakrefReference::new(class)?.unbind();
        let listed = self.asleep(|| listed(class))?;
        let mut state = self.state();
        if !state.executes() {
            return Ok(());
        }
        let news = state.lasting.subclasses.note(name, asked);
        if news && state.exploration.learning.is_on() {
            state.exploration.learning.learned();
            return Ok(());
        }
        let made = || listed.iter().filter(|class| state.lasting.subclasses.is_made(class)).count();
        if !state.has_no_company() || !state.is_alone() && made() > 1 {
            state.assume(py, AssumptionKind::UnseenCode, "builtins.type.__subclasses__");
        }
        Ok(())
    }

    /// What a class has listed without the classes of executions before.
    pub fn without_former_classes<'py>(&self, found: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let Ok(listed) = found.cast::<PyList>() else { return Ok(found) };
        let shown: Vec<_> = {
            let state = self.state();
            let former = &state.lasting.subclasses.former;
            listed.iter().filter(|class| !former.contains(class)).collect()
        };
        Ok(PyList::new(found.py(), shown)?.into_any())
    }

    /// Before an execution: the classes of those before it end, if this one can tell.
    pub fn end_former_classes(&self, py: Python<'_>) -> PyResult<()> {
        let (asked, known): (Vec<_>, _) = {
            let mut state = self.state();
            let subclasses = &mut state.lasting.subclasses;
            if subclasses.asked.is_empty() {
                return Ok(());
            }
            let asked = subclasses
                .asked
                .values_mut()
                .map(|asked| (asked.class.clone_ref(py), std::mem::replace(&mut asked.settled, true)));
            // What is known of a class keeps it.
            (asked.collect(), state.objects.forget_classes(py))
        };
        drop(known);
        self.forget_definitions();
        // What lasts may hold one until it is put back, and then nobody does.
        self.restore(py, || Ok(()))?;
        self.restore(py, || py.import(intern!(py, "gc"))?.call_method0(intern!(py, "collect")).map(drop))?;
        let mut former = Classes::default();
        for (class, settled) in asked {
            let Some(class) = class.bind(py).upgrade() else { continue };
            for class in self.asleep(|| listed(&class))? {
                let known = PyWeakrefReference::new(&class)?.unbind();
                let lasting = &mut self.state().lasting.subclasses.lasting;
                if !settled {
                    lasting.insert(&class, known);
                } else if !lasting.contains(&class) {
                    former.insert(&class, known);
                }
            }
        }
        self.state().lasting.subclasses.former = former;
        Ok(())
    }
}
