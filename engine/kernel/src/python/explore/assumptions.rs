//! What a verdict rests on beyond what was explored: each assumption once, with the place in the user's code at which
//! it was first made.

use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFunction, PyString, PyType};

use crate::python::calls::function_code::is_compiled_function;
use crate::python::host::Host;
use crate::python::modules::module_variables::instrumented_namespace;
use crate::python::modules::namespaces::{is_first_party, is_instrumented_namespace};
use crate::python::state::{Phase, State};
use crate::python::types::ancestry::{told_by_type, Ancestry};

/// What was taken for granted. The names are those of `AssumptionKind` in `results.py`, which says what they mean.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AssumptionKind {
    ForeignCode,
    UnseenCode,
    ObjectEnd,
    ContainerOrder,
    DrawnValue,
    FixedWorld,
    UnrunGenerator,
    ChangedDefinition,
    UnrunAtExit,
    ThreadUnsafe,
    ExceptionState,
    LostException,
    KeptState,
    LateImport,
    /// Time passes by growing steps where a loop looks at a clock again and again.
    PolledClock,
    /// Time passes by sleeping and time-outs alone.
    FixedClock,
    /// Time passes between two looks at a clock as often as the option says, and by a year.
    ClockJumps,
    /// A number that depends on memory, on a seed, or on which thread came first.
    DrawnNumber,
    /// An order of items that such numbers decide.
    HashOrder,
}

impl AssumptionKind {
    const ALL: [AssumptionKind; 19] = [
        AssumptionKind::ForeignCode,
        AssumptionKind::UnseenCode,
        AssumptionKind::ObjectEnd,
        AssumptionKind::ContainerOrder,
        AssumptionKind::DrawnValue,
        AssumptionKind::FixedWorld,
        AssumptionKind::UnrunGenerator,
        AssumptionKind::ChangedDefinition,
        AssumptionKind::UnrunAtExit,
        AssumptionKind::ThreadUnsafe,
        AssumptionKind::ExceptionState,
        AssumptionKind::LostException,
        AssumptionKind::KeptState,
        AssumptionKind::LateImport,
        AssumptionKind::PolledClock,
        AssumptionKind::FixedClock,
        AssumptionKind::ClockJumps,
        AssumptionKind::DrawnNumber,
        AssumptionKind::HashOrder,
    ];

    /// Whether it is made for the same reason, and the same is left out, where turns of event loops are events: what was
    /// drawn and the order that hashes decide do not depend on whose turn comes first.
    fn leaves_turns_alone(self) -> bool {
        matches!(self, AssumptionKind::DrawnValue | AssumptionKind::HashOrder | AssumptionKind::UnrunAtExit)
    }

    pub fn name(self) -> &'static str {
        match self {
            AssumptionKind::ForeignCode => "foreign-code",
            AssumptionKind::UnseenCode => "unseen-code",
            AssumptionKind::ObjectEnd => "object-end",
            AssumptionKind::ContainerOrder => "container-order",
            AssumptionKind::DrawnValue => "drawn-value",
            AssumptionKind::FixedWorld => "fixed-world",
            AssumptionKind::UnrunGenerator => "unrun-generator",
            AssumptionKind::ChangedDefinition => "changed-definition",
            AssumptionKind::UnrunAtExit => "unrun-at-exit",
            AssumptionKind::ThreadUnsafe => "thread-unsafe",
            AssumptionKind::ExceptionState => "exception-state",
            AssumptionKind::LostException => "lost-exception",
            AssumptionKind::KeptState => "kept-state",
            AssumptionKind::LateImport => "late-import",
            AssumptionKind::PolledClock => "polled-clock",
            AssumptionKind::FixedClock => "fixed-clock",
            AssumptionKind::ClockJumps => "clock-jumps",
            AssumptionKind::DrawnNumber => "drawn-number",
            AssumptionKind::HashOrder => "hash-order",
        }
    }

    fn of_name(name: &str) -> Option<AssumptionKind> {
        AssumptionKind::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A line of the user's own code.
pub type Place = (String, u32);

struct Assumption {
    kind: AssumptionKind,
    subject: String,
    place: Option<Place>,
}

/// The assumptions of one check, in the order in which they were made.
#[derive(Default)]
pub struct Assumptions {
    made: Vec<Assumption>,
    /// How many were made before the exploration that runs.
    former: usize,
}

/// Where the user's own code stands in a call.
pub struct Caller {
    code: Py<PyAny>,
    line: Py<PyAny>,
}

impl Caller {
    /// The innermost frame of the user's own code. Looks at frames only, which runs no Python code, so that the host's
    /// state may be borrowed.
    pub fn find(py: Python<'_>) -> Option<Caller> {
        Self::search(py).unwrap_or(None)
    }

    fn search(py: Python<'_>) -> PyResult<Option<Caller>> {
        // SAFETY: returns a borrowed reference to the running frame, or null if none runs; it is taken over at once.
        let mut frame = unsafe { Bound::from_borrowed_ptr_or_opt(py, ffi::PyEval_GetFrame().cast()) };
        while let Some(current) = frame {
            let globals = current.getattr(intern!(py, "f_globals"))?;
            if globals.cast::<PyDict>().is_ok_and(|globals| is_first_party(globals)) {
                let code = current.getattr(intern!(py, "f_code"))?.unbind();
                return Ok(Some(Caller { code, line: current.getattr(intern!(py, "f_lineno"))?.unbind() }));
            }
            frame = Some(current.getattr(intern!(py, "f_back"))?).filter(|back| !back.is_none());
        }
        Ok(None)
    }

    pub fn place(&self, py: Python<'_>) -> Option<Place> {
        let file = self.code.bind(py).getattr(intern!(py, "co_filename")).ok()?.extract().ok()?;
        // A frame that is being left has no line.
        Some((file, self.line.extract(py).unwrap_or(1)))
    }
}

/// Whose code runs.
#[derive(Default)]
pub struct Maker {
    /// The name of its module.
    pub module: Option<String>,
    pub is_instrumented: bool,
    /// Whether it is imported itself, and no instrumented code has called it.
    pub is_imported: bool,
}

impl Maker {
    /// The package whose module is imported, if that is what runs.
    pub fn package_that_is_imported(&self) -> Option<String> {
        let module = self.module.as_ref().filter(|_| self.is_imported && !self.is_instrumented)?;
        module.split('.').next().map(str::to_owned)
    }
}

/// Modules whose code tells what it keeps beside its locks, like the checker's own: queues, and properties that keep
/// their value.
const TELLING: &[&str] = &["functools", "queue"];
const IMPORT_SYSTEM: &str = "importlib._bootstrap";

/// Whose code runs, by itself or by way of code that tells what it keeps.
pub fn module_that_runs(py: Python<'_>) -> Maker {
    let search = || -> PyResult<Maker> {
        // SAFETY: as in `Caller::search`.
        let mut frame =
            unsafe { Bound::from_borrowed_ptr_or_opt(py, ffi::PyEval_GetFrame().cast::<ffi::PyObject>()) };
        let mut maker = Maker::default();
        while let Some(current) = frame {
            let globals = current.getattr(intern!(py, "f_globals"))?.cast_into::<PyDict>()?;
            let name = globals.get_item(intern!(py, "__name__"))?.and_then(|name| name.extract::<String>().ok());
            let is_instrumented = is_instrumented_namespace(&globals);
            let module = name.unwrap_or_default();
            if maker.module.is_some() {
                maker.is_imported = module.starts_with(IMPORT_SYSTEM);
                if is_instrumented || maker.is_imported {
                    return Ok(maker);
                }
            } else if module.starts_with(IMPORT_SYSTEM) {
                // A module in C, of which nothing tells the name.
                return Ok(maker);
            } else if !(module.starts_with("dpor.") || TELLING.contains(&module.as_str())) {
                maker = Maker { module: Some(module), is_instrumented, is_imported: false };
                if is_instrumented {
                    return Ok(maker);
                }
            }
            frame = Some(current.getattr(intern!(py, "f_back"))?).filter(|back| !back.is_none());
        }
        Ok(maker)
    };
    search().unwrap_or_default()
}

/// Whether the innermost code that runs is the user's own, and none of the functions of these names.
pub fn runs_first_party(py: Python<'_>, apart: &[&str]) -> bool {
    let look = || -> PyResult<bool> {
        // SAFETY: as in `Caller::search`.
        let frame = unsafe { Bound::from_borrowed_ptr_or_opt(py, ffi::PyEval_GetFrame().cast::<ffi::PyObject>()) };
        let Some(frame) = frame else { return Ok(false) };
        let globals = frame.getattr(intern!(py, "f_globals"))?.cast_into::<PyDict>()?;
        let name: String = frame.getattr(intern!(py, "f_code"))?.getattr(intern!(py, "co_name"))?.extract()?;
        Ok(is_first_party(&globals) && !apart.contains(&name.as_str()))
    };
    look().unwrap_or(true)
}

/// Whether the code that runs is not that of the standard library, apart from some modules, at whose caller is looked.
pub fn calls_for_user(py: Python<'_>, passed: &[&str]) -> bool {
    let search = || -> PyResult<bool> {
        // SAFETY: as in `Caller::search`.
        let mut frame = unsafe { Bound::from_borrowed_ptr_or_opt(py, ffi::PyEval_GetFrame().cast()) };
        while let Some(current) = frame {
            let globals = current.getattr(intern!(py, "f_globals"))?.cast_into::<PyDict>()?;
            let name = globals.get_item(intern!(py, "__name__"))?.and_then(|name| name.extract::<String>().ok());
            if !name.is_some_and(|name| passed.contains(&name.as_str())) {
                return Ok(!is_instrumented_namespace(&globals) || is_first_party(&globals));
            }
            frame = Some(current.getattr(intern!(py, "f_back"))?).filter(|back| !back.is_none());
        }
        Ok(true)
    };
    search().unwrap_or(true)
}

impl Assumptions {
    pub fn knows(&self, kind: AssumptionKind, subject: &str) -> bool {
        // There are few, and most are asked for in the order in which they stand.
        self.made.iter().any(|known| known.kind == kind && known.subject == subject)
    }

    /// Keep an assumption, with the place where it is made now; `started` is where the running thread was started, for
    /// a thread that runs nothing of the user's own.
    pub fn add(&mut self, py: Python<'_>, kind: AssumptionKind, subject: &str, started: Option<&Caller>) {
        if !self.knows(kind, subject) {
            let place = match Caller::find(py) {
                Some(caller) => caller.place(py),
                None => started.and_then(|caller| caller.place(py)),
            };
            self.made.push(Assumption { kind, subject: subject.to_owned(), place });
        }
    }

    /// Forget the assumptions of a kind: what they were about is done otherwise from now on.
    pub fn forget(&mut self, kind: AssumptionKind) {
        self.former -= self.made[..self.former].iter().filter(|known| known.kind == kind).count();
        self.made.retain(|known| known.kind != kind);
    }

    /// An exploration begins.
    pub fn begin(&mut self) {
        self.former = self.made.len();
    }

    /// Whether the exploration that runs has made any that turns of event loops cannot rest on.
    pub fn has_more_than_turns_allow(&self) -> bool {
        self.made[self.former..].iter().any(|assumption| !assumption.kind.leaves_turns_alone())
    }

    /// Forget those of the exploration that runs: it does not count.
    pub fn forget_more(&mut self) {
        self.made.truncate(self.former);
    }

    fn told(&self) -> Vec<(&'static str, String, Option<String>, u32)> {
        self.made
            .iter()
            .map(|Assumption { kind, subject, place }| {
                let (file, line) = place.clone().map_or((None, 0), |(file, line)| (Some(file), line));
                (kind.name(), subject.clone(), file, line)
            })
            .collect()
    }
}

/// The package that the code of a callable belongs to: that of the function, whatever the object is that it was reached
/// through.
pub fn package_of(function: &Bound<'_, PyAny>) -> String {
    let py = function.py();
    let text = |module: Bound<'_, PyAny>| module.extract::<String>().ok();
    let named = |owner: &Bound<'_, PyAny>| owner.getattr(intern!(py, "__module__")).ok().and_then(text);
    let inner = function.getattr(intern!(py, "__func__")).unwrap_or_else(|_| function.clone());
    let module = if inner.is_instance_of::<PyFunction>() || is_compiled_function(&inner) {
        let globals =
            inner.getattr(intern!(py, "__globals__")).and_then(|globals| Ok(globals.cast_into::<PyDict>()?));
        let name = globals.and_then(|globals| globals.get_item(intern!(py, "__name__")));
        name.ok().flatten().and_then(text)
    } else if inner.is_instance_of::<PyType>() {
        let classes = inner.cast::<PyType>().map(|class| class.ancestry());
        let foreign = classes.ok().and_then(|classes| classes.iter().find(|class| !is_of_instrumented_module(class)));
        named(&foreign.unwrap_or(inner))
    } else {
        // What C made of a function keeps that function's module; it is the type that says whose code runs.
        let owner = inner.getattr(intern!(py, "__self__")).ok().filter(|owner| !owner.is_none());
        match owner {
            Some(owner) => defining_class(&owner, &inner).and_then(|class| named(&class)).or_else(|| named(&inner)),
            None => named(inner.get_type().as_any()).filter(|module| module != "builtins").or_else(|| named(&inner)),
        }
    };
    let module = module.unwrap_or_else(|| "builtins".to_owned());
    module.split('.').next().unwrap_or_default().to_owned()
}

/// What a report calls who has written a function in Python: its package, or what code that was generated for an
/// instrumented module, or for none, calls its file.
pub fn writer_of(function: &Bound<'_, PyAny>) -> String {
    let py = function.py();
    let find = || -> PyResult<Option<String>> {
        let namespace = function.getattr(intern!(py, "__globals__"))?.cast_into::<PyDict>()?;
        let file: String =
            function.getattr(intern!(py, "__code__"))?.getattr(intern!(py, "co_filename"))?.extract()?;
        let Some(name) = namespace.get_item(intern!(py, "__name__"))? else { return Ok(Some(file)) };
        // Its variables can be a copy of the module's.
        let for_module = file.starts_with('<') && names_instrumented_module(&name);
        Ok(for_module.then_some(file))
    };
    find().ok().flatten().unwrap_or_else(|| package_of(function))
}

/// Whether a class is one of a module that is instrumented.
pub fn is_of_instrumented_module(class: &Bound<'_, PyAny>) -> bool {
    told_by_type(class, intern!(class.py(), "__module__")).is_ok_and(|name| names_instrumented_module(&name))
}

/// Whether a module of this name is instrumented.
fn names_instrumented_module(name: &Bound<'_, PyAny>) -> bool {
    let py = name.py();
    let find = || -> PyResult<Bound<'_, PyAny>> { py.import("sys")?.getattr(intern!(py, "modules"))?.get_item(name) };
    find().is_ok_and(|module| instrumented_namespace(&module).is_some())
}

/// The class whose own code a bound built-in method is, of the classes of the object that it is bound to.
fn defining_class<'py>(owner: &Bound<'py, PyAny>, method: &Bound<'py, PyAny>) -> Option<Bound<'py, PyAny>> {
    let py = owner.py();
    let name = method.getattr(intern!(py, "__name__")).ok()?.cast_into::<PyString>().ok()?;
    let classes = owner.get_type().ancestry();
    classes.iter().find(|class| {
        let namespace = told_by_type(class, intern!(py, "__dict__"));
        namespace.is_ok_and(|namespace| namespace.contains(&name).unwrap_or(false))
    })
}

impl State {
    /// As tuples of kind, subject, file (None if nothing of the user's own was running) and line (0 then).
    pub fn told_assumptions(&self) -> Vec<(&'static str, String, Option<String>, u32)> {
        [self.exploration.assumptions.told(), self.types.assumptions.told()].concat()
    }

    /// The verdict rests on an assumption, made where the running thread is.
    pub fn assume(&mut self, py: Python<'_>, kind: AssumptionKind, subject: &str) {
        if matches!(self.phase, Phase::Running | Phase::Probing) {
            let current = self.current.index();
            let started = self.threads.get(current).and_then(|thread| thread.started.as_ref());
            self.exploration.assumptions.add(py, kind, subject, started);
        }
    }
}

impl Host {
    /// The verdict rests on an assumption, made where the running thread is.
    pub fn assume(&self, py: Python<'_>, kind: AssumptionKind, subject: &str) {
        self.state().assume(py, kind, subject);
    }
}

#[pymethods]
impl Host {
    /// The assumptions made so far: `assumptions`, as `explore` returns them.
    fn assumptions(&self) -> Vec<(&'static str, String, Option<String>, u32)> {
        self.state().told_assumptions()
    }

    /// The verdict rests on an assumption: `kind` is the value of an `AssumptionKind`, `subject` what it is about.
    /// Known ones cost nothing. Raises ValueError for a kind that does not exist.
    #[pyo3(name = "assume")]
    fn assume_by_name(&self, py: Python<'_>, kind: &str, subject: &str) -> PyResult<()> {
        let known = AssumptionKind::of_name(kind);
        let kind = known.ok_or_else(|| PyValueError::new_err(format!("no assumption is of kind {kind:?}")))?;
        self.assume(py, kind, subject);
        Ok(())
    }

    /// The values of all kinds of assumptions.
    #[staticmethod]
    fn assumption_kinds() -> Vec<&'static str> {
        AssumptionKind::ALL.into_iter().map(AssumptionKind::name).collect()
    }
}
