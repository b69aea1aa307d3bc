//! Looks into objects past their methods, where code that runs unseen changes what the objects keep.
//!
//! Such are objects that are made for the tasks of one thread: their methods tell who uses them
//! (`dpor.runtime.thread_bound`), and here it is told who looks into them. And such are objects of modules that run on
//! stand-ins, as a `Future` of `concurrent.futures`: what their methods give is seen, what they keep for themselves is
//! not. Primitives of the kernel keep nothing that Python could show.

use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyFunction, PyString, PyType};

use crate::python::calls::builtins::CallableKind;
use crate::python::explore::assumptions::{calls_for_user, AssumptionKind};
use crate::python::host::{report_uncontrolled, Host};
use crate::python::modules::left_modules::LeftModules;
use crate::python::modules::module_variables::instrumented_namespace;
use crate::python::primitives::keeps_attributes;
use crate::python::threads::own_modules::OwnModule;
use crate::python::types::ancestry::{found_in_class, told_by_type, Ancestry};
use crate::python::types::harmless_methods::is_own;
use crate::python::types::kinds::{is_heap_class, module_of, tells_itself, TypeKind};
use crate::python::types::TypeFacts;

impl LeftModules {
    /// Whether a class keeps what its code changes unseen, though the code runs on stand-ins.
    pub fn keeps_unseen(&self, class: &Bound<'_, PyType>) -> bool {
        described_bases(self, class).next().is_some()
    }
}

/// The bases of a class that are of modules that run on stand-ins.
fn described_bases<'a, 'py>(
    left: &'a LeftModules,
    class: &Bound<'py, PyType>,
) -> impl Iterator<Item = Bound<'py, PyType>> + 'a
where
    'py: 'a,
{
    let bases: Vec<_> = class.ancestry().iter().filter_map(|base| base.cast_into::<PyType>().ok()).collect();
    // What stands in for a class tells of what it keeps; those of asyncio are bound to a thread.
    bases.into_iter().take_while(|base| !is_own(base)).filter(|base| {
        let module = module_of(base);
        left.is_described(&module) && module.split('.').next() != Some("asyncio")
    })
}

impl Host {
    /// A thread looks at an attribute of an object, or changes it; at all of it if no name is given.
    #[inline]
    pub fn note_look(&self, object: &Bound<'_, PyAny>, name: Option<&Bound<'_, PyString>>) -> PyResult<()> {
        let Some(facts) = self.watched_facts(object) else { return Ok(()) };
        if facts.is_uncontrolled {
            self.refuse_uncontrolled(object, name)?;
        }
        if facts.thread_bound {
            tell(object, name)?;
        }
        match facts.keeps_unseen {
            true => self.assume_unseen_part(object, name),
            false => Ok(()),
        }
    }

    /// An operation of code in C uses an object. Its methods tell what they do, if they are called.
    #[inline]
    pub fn note_native_use(&self, object: &Bound<'_, PyAny>) -> PyResult<()> {
        match self.watched_facts(object) {
            Some(facts) if facts.thread_bound => tell_native_use(object),
            Some(facts) if facts.shares_unseen => {
                self.note_sharing(object);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// An object in C of a package is used beside other threads: what it shares with others is not seen.
    #[cold]
    pub fn note_sharing(&self, object: &Bound<'_, PyAny>) {
        let mut state = self.state();
        if !state.running() || state.has_no_company() {
            return;
        }
        if let Some(package) = state.types.package_in_c(&object.get_type()) {
            state.assume(object.py(), AssumptionKind::UnseenCode, &package);
        }
    }

    /// A function in C of a package is called beside other threads: what it keeps is not seen.
    pub fn note_foreign_function(&self, function: &Bound<'_, PyAny>) {
        let module = function.getattr(intern!(function.py(), "__module__"));
        let Ok(module) = module.and_then(|module| module.extract::<String>()) else { return };
        let mut state = self.state();
        let package = module.split('.').next().unwrap_or_default();
        if state.running() && !state.has_no_company() && state.types.origins.is_foreign_package(package) {
            state.assume(function.py(), AssumptionKind::UnseenCode, package);
        }
    }

    #[inline]
    pub fn watched_facts(&self, object: &Bound<'_, PyAny>) -> Option<TypeFacts> {
        let mut state = self.awake().filter(|state| state.types.watches_looks && state.running())?;
        Some(state.types.facts(object))
    }

    /// What attributes show that nobody follows: those of a primitive of Python's own library, where that of the kernel
    /// has none to show or to make anew, and what a function is made of.
    pub fn refuse_insides(
        &self,
        py: Python<'_>,
        object: &Bound<'_, PyAny>,
        name: &Bound<'_, PyString>,
    ) -> PyResult<()> {
        let name = name.to_str()?;
        let whose = match name {
            "__getstate__" | "__init__" if keeps_attributes(object) => {
                format!("a threading.{}", object.get_type().name()?)
            }
            "__dict__" if keeps_attributes(object) || keeps_fields(object) => {
                if self.awake().is_none_or(|state| !state.running()) {
                    return Ok(());
                }
                // Beside other threads or not: it is not what it is in Python.
                let class = object.get_type();
                return report_uncontrolled(py, &format!("uses __dict__ of a {}", class.fully_qualified_name()?));
            }
            // Its cells and its defaults can be changed through them, which no call of it would tell.
            "__closure__" | "__kwdefaults__" if object.is_instance_of::<PyFunction>() && calls_for_user(py, &[]) => {
                "a function".to_owned()
            }
            "tb_frame" | "tb_lasti" | "tb_lineno" | "tb_next" => {
                // What asyncio raises again changes what its exception shows.
                let mut state = self.state();
                if state.waits.turns.are_events() {
                    state.do_without_turns();
                }
                return Ok(());
            }
            "f_lasti" | "f_lineno" | "f_locals" | "f_trace" | "f_trace_lines" | "f_trace_opcodes" => {
                if object.get_type().name()? == "frame" && !is_on_stack(object)? {
                    let mut state = self.state();
                    if state.executes() && !state.has_no_company() {
                        state.assume(py, AssumptionKind::UnseenCode, "builtins.frame");
                    }
                }
                return Ok(());
            }
            _ => return Ok(()),
        };
        if self.awake().is_none_or(|state| !state.running() || state.has_no_company()) {
            return Ok(());
        }
        report_uncontrolled(py, &format!("uses {name} of {whose} while other threads run"))
    }

    /// A thread looks at all that a module holds. Only the variables of instrumented modules are places.
    pub fn note_look_at_module(&self, py: Python<'_>, module: &Bound<'_, PyAny>) {
        let mut state = self.state();
        // The order of what threads that have ended have stored shows, too.
        if state.executes() && !state.is_alone() && instrumented_namespace(module).is_none() {
            state.assume(py, AssumptionKind::UnseenCode, "builtins.module.__dict__");
        }
    }

    /// `locals()` has given names. In the body of a class they are what the class is made of, into which the body
    /// stores where no hook is.
    pub fn note_class_namespace(&self, names: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = names.py();
        let of_class = names.contains(intern!(py, "__qualname__"))? && names.contains(intern!(py, "__module__"))?;
        let mut state = self.state();
        if of_class && state.executes() {
            state.assume(py, AssumptionKind::UnseenCode, "builtins.__build_class__");
        }
        Ok(())
    }

    /// A thread uses an attribute of an object, which may belong to threads of the interpreter.
    #[inline]
    pub fn note_uncontrolled(&self, object: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) -> PyResult<()> {
        match self.watched_facts(object) {
            Some(facts) if facts.is_uncontrolled => self.refuse_uncontrolled(object, Some(name)),
            _ => Ok(()),
        }
    }

    /// A thread uses what belongs to threads of the interpreter.
    #[cold]
    pub fn refuse_uncontrolled(&self, object: &Bound<'_, PyAny>, name: Option<&Bound<'_, PyString>>) -> PyResult<()> {
        if self.awake().is_none_or(|state| !state.running()) {
            return Ok(());
        }
        let (class, name) =
            (object.get_type().fully_qualified_name()?, name.map_or_else(String::new, |n| format!("{n} of ")));
        report_uncontrolled(object.py(), &format!("uses {name}a {class} that was made before the check began"))
    }

    /// A change that is no visible operation: of an object whose type is taken for one that never changes, or
    /// one that C code keeps of a generator and the like.
    pub fn refuse_unseen_change(&self, py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<()> {
        let constant = match self.kind(object) {
            TypeKind::Immutable => self.callable_kind(object) != CallableKind::Function,
            TypeKind::Iterator | TypeKind::Opaque | TypeKind::View => !is_heap_class(&object.get_type()),
            _ => false,
        };
        if !constant {
            return Ok(());
        }
        {
            let Some(state) = self.awake() else { return Ok(()) };
            if !state.running() || state.has_no_company() {
                return Ok(());
            }
        }
        // Stand-ins and the like tell of it themselves.
        let class = object.get_type();
        if is_own(&class) || tells_itself(&class) {
            return Ok(());
        }
        report_uncontrolled(py, &format!("changes a {} while other threads run", class.name()?))
    }

    #[cold]
    fn assume_unseen_part(&self, object: &Bound<'_, PyAny>, name: Option<&Bound<'_, PyString>>) -> PyResult<()> {
        let bases: Vec<_> = {
            let state = self.state();
            if state.has_no_company() {
                return Ok(());
            }
            described_bases(&state.types.origins.left, &object.get_type()).collect()
        };
        for base in bases {
            let private = name.is_none_or(|name| name.to_str().is_ok_and(|name| name.starts_with('_')));
            if private && name.is_none_or(|name| is_named_in(&base, name).unwrap_or(true)) {
                let module = module_of(&base);
                self.assume(object.py(), AssumptionKind::UnseenCode, module.trim_end_matches("._base"));
            }
        }
        Ok(())
    }
}

/// Whether the code of a method of a class names an attribute.
fn is_named_in(class: &Bound<'_, PyType>, name: &Bound<'_, PyString>) -> PyResult<bool> {
    let py = class.py();
    for value in told_by_type(class, intern!(py, "__dict__"))?.call_method0(intern!(py, "values"))?.try_iter()? {
        let value = value?;
        if value.is_instance_of::<PyFunction>() {
            let code = value.getattr(intern!(py, "__code__"))?;
            if code.getattr(intern!(py, "co_names"))?.contains(name)? {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Whether some attributes of an object are properties that keep their values elsewhere.
fn keeps_fields(object: &Bound<'_, PyAny>) -> bool {
    found_in_class(&object.get_type(), "__dpor_fields__").is_some()
}

/// Whether a frame is one of those that the running thread is in.
fn is_on_stack(frame: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = frame.py();
    // SAFETY: returns a borrowed reference to the running frame, or null if none runs; it is taken over at once.
    let mut next = unsafe { Bound::from_borrowed_ptr_or_opt(py, ffi::PyEval_GetFrame().cast()) };
    while let Some(current) = next {
        if current.is(frame) {
            return Ok(true);
        }
        next = Some(current.getattr(intern!(py, "f_back"))?).filter(|back| !back.is_none());
    }
    Ok(false)
}

#[cold]
fn tell_native_use(object: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = object.py();
    OwnModule::ThreadBound.get(py)?.getattr(intern!(py, "note_native_use"))?.call1((object,)).map(drop)
}

#[cold]
fn tell(object: &Bound<'_, PyAny>, name: Option<&Bound<'_, PyString>>) -> PyResult<()> {
    let py = object.py();
    let runtime = OwnModule::ThreadBound.get(py)?;
    runtime.getattr(intern!(py, "note_look"))?.call1((object, name)).map(drop)
}
