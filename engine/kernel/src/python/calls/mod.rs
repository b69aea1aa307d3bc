//! Hooks for calls: what built-in code that instrumented code calls does to shared objects.
//!
//! A call of an instrumented function needs nothing. A call of built-in code is one atomic operation, as in CPython:
//! it reads or writes the containers that it is given. A call of a method that is Python code but not instrumented is
//! taken as one atomic operation on its object, and the result names that assumption.

pub mod builtin_calls;
pub mod builtins;
pub mod callables;
pub mod callback_results;
pub mod callbacks;
pub mod called_objects;
pub mod constructors;
pub mod container_methods;
pub mod controlled_call;
pub mod copied_calls;
pub mod default_factories;
pub mod entered_code;
pub mod function_code;
pub mod nested_calls;
pub mod object_state;
pub mod properties;
pub mod results_in_c;
pub mod special_methods;
pub mod stand_in_functions;

use pyo3::exceptions::PyBaseException;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyFunction, PyList, PySet, PyString, PySuper, PyType};

use crate::python::calls::builtins::{
    attribute_effect, c_function_effect, gives_container, BuiltinEffect, CallableKind,
};
use crate::python::calls::controlled_call::{ControlledCall, How};
use crate::python::calls::object_state::gives_state;
use crate::python::calls::stand_in_functions::{function_behind, stands_in};
use crate::python::explore::assumptions::{writer_of, AssumptionKind};
use crate::python::host::Host;
use crate::python::modules::origins::Origin;
use crate::python::primitives::atomic::Atomic;
use crate::python::primitives::{is_own_class, Lock, RLock};
use crate::python::types::ancestry::{found_in_class, holder_of, told_by_type, Ancestry};
use crate::python::types::harmless_methods::{holder_of_harmful, is_harmless_method};
use crate::python::types::kinds::{module_of, qualified_name, referent, TypeKind};
use crate::python::types::native_types::is_of_value;

impl Host {
    /// The receiver of a module-level method (`random.random`) is who it is by its place in the module.
    fn adopt_receiver(&self, function: &Bound<'_, PyAny>, module: &Bound<'_, PyAny>, name: &Bound<'_, PyString>) {
        let has_none = matches!(self.callable_kind(function), CallableKind::Function | CallableKind::StandIn);
        if has_none || function.is_instance_of::<PyType>() || stands_in(function) {
            return;
        }
        if let Ok(receiver) = function.getattr(intern!(function.py(), "__self__")) {
            let Some(mut state) = self.awake() else { return };
            if state.running() && !receiver.is(module) {
                let facts = state.types.facts(module);
                let parent = state.object(module, facts);
                let key = state.identities.name(name);
                state.adopt(&receiver, parent, key);
            }
        }
    }

    pub fn callable_kind(&self, callable: &Bound<'_, PyAny>) -> CallableKind {
        self.state().code.builtins.kind_of(callable)
    }

    /// What to call for Python code that is instrumented: a package of the standard library that hands what it is given
    /// to C gets numbers where it was given symbolic values.
    fn with_numbers<'py>(&self, py: Python<'py>, function: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match self.needs_numbers(&function)? {
            true => self.controlled(py, &function, How::Numbers),
            false => Ok(function),
        }
    }

    /// What to call for code that runs unseen and reads what it is given.
    fn reading<'py>(&self, py: Python<'py>, function: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        match self.needs_numbers(&function)? {
            true => self.controlled(py, &function, How::Numbers),
            false => self.controlled(py, &function, How::Reading),
        }
    }

    /// What to call for a built-in function or method, or Python code that is not instrumented.
    pub fn control<'py>(&self, py: Python<'py>, function: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if self.awake().is_none() {
            return Ok(function);
        }
        let callable = self.callable_kind(&function);
        if callable == CallableKind::Function {
            let written = self.origin(&function)?;
            self.note_unseen_call(&function, written.origin)?;
            return match written.origin {
                Origin::Instrumented if written.makes_generators => self.controlled(py, &function, How::Generator),
                Origin::Instrumented | Origin::Safe => self.with_numbers(py, function),
                Origin::Reading => self.reading(py, function),
                Origin::Library | Origin::Foreign => {
                    self.assume(py, AssumptionKind::UnseenCode, &writer_of(&function));
                    self.controlled(py, &function, How::ForeignFunction)
                }
            };
        }
        if callable == CallableKind::StandIn || function.is_instance_of::<ControlledCall>() {
            return Ok(function);
        }
        if let Some(behind) = function_behind(&function) {
            return self.control(py, behind);
        }
        if callable == CallableKind::BoundMethod {
            let inner = function.getattr(intern!(py, "__func__"))?;
            if !inner.is_instance_of::<PyFunction>() {
                return self.controlled(py, &function, How::Method);
            }
            let object = function.getattr(intern!(py, "__self__"))?;
            let written = self.origin(&inner)?;
            if matches!(written.origin, Origin::Library | Origin::Foreign) {
                self.assume(py, AssumptionKind::UnseenCode, &writer_of(&inner));
            }
            self.note_unseen_call(&inner, written.origin)?;
            if matches!(written.origin, Origin::Safe | Origin::Reading) && makes_anew_by(&inner)? {
                self.watch_left_class(&object)?;
            }
            return match written.origin {
                Origin::Instrumented if written.makes_generators => self.controlled(py, &function, How::Generator),
                Origin::Instrumented | Origin::Safe => self.with_numbers(py, function),
                Origin::Reading => self.reading(py, function),
                Origin::Library | Origin::Foreign if self.kind(&object) == TypeKind::Class => {
                    self.controlled(py, &function, How::ForeignFunction)
                }
                Origin::Library | Origin::Foreign => {
                    self.controlled(py, &function, How::Foreign { object: object.unbind() })
                }
            };
        }
        let is_slot = matches!(callable, CallableKind::UnboundMethod | CallableKind::MethodWrapper);
        if is_slot && makes_nothing(&function)? {
            return Ok(function);
        }
        if callable == CallableKind::UnboundMethod {
            let name = function.getattr(intern!(py, "__name__"))?.cast_into::<PyString>()?;
            return self.controlled(py, &function, How::Unbound { name: name.unbind() });
        }
        if callable == CallableKind::StaticMethod {
            return self.control(py, function.getattr(intern!(py, "__func__"))?);
        }
        if callable == CallableKind::Getter {
            return self.controlled(py, &function, How::Getter);
        }
        if callable == CallableKind::Partial {
            return self.controlled(py, &function, How::Partial);
        }
        let effect = self.state().code.builtins.effect_of(&function);
        if let Some(effect) = effect {
            return match effect {
                BuiltinEffect::Compute if !self.state().types.computes => self.symbolic_builtin(function),
                BuiltinEffect::Nothing => self.symbolic_builtin(function),
                BuiltinEffect::Number | BuiltinEffect::Compute => {
                    let number = self.symbolic_builtin(function)?;
                    self.controlled(py, &number, How::Builtin(BuiltinEffect::Read))
                }
                BuiltinEffect::Class => {
                    let class = self.symbolic_builtin(function)?;
                    self.controlled(py, &class, How::Builtin(BuiltinEffect::Class))
                }
                effect => self.controlled(py, &function, How::Builtin(effect)),
            };
        }
        if let Ok(class) = function.cast::<PyType>() {
            self.want_class(class)?;
            let module = told_by_type(class, intern!(py, "__module__"))?;
            if module.extract::<String>().is_ok_and(|module| module == "dpor._kernel") || is_own_class(class) {
                return Ok(function);
            }
            let reads_arguments = self.state().types.reads_when_made(class)?;
            return self.controlled(py, &function, How::Construct { reads_arguments });
        }
        if function.is_instance_of::<PyCFunction>() || callable == CallableKind::MethodWrapper {
            let object = function.getattr(intern!(py, "__self__"))?;
            if is_primitive(&object) {
                return Ok(function);
            }
            let facts = self.state().types.facts(&object);
            let kind = facts.kind;
            if facts.is_uncontrolled {
                let name = function.getattr(intern!(py, "__name__"))?.cast_into::<PyString>()?;
                self.refuse_uncontrolled(&object, Some(&name))?;
            }
            if facts.is_primitive && kind == TypeKind::Instance && is_of_primitive(&function, &object)? {
                return Ok(function);
            }
            if callable == CallableKind::MethodWrapper && object.is_callable() && names_call(&function)? {
                if is_own_call(&object, &function)? {
                    return self.control(py, object);
                }
                // The object's class has another one, which has called this one.
                if let Ok(class) = object.cast::<PyType>() {
                    self.want_class(class)?;
                    let reads_arguments = self.state().types.reads_when_made(class)?;
                    return self.controlled(py, &function, How::Construct { reads_arguments });
                }
            }
            let called = function.getattr(intern!(py, "__name__"))?.cast_into::<PyString>()?;
            let name = called.to_str()?;
            if let Some(effect) = attribute_effect(name) {
                return self.controlled(py, &function, How::BoundAttribute { object: object.unbind(), effect });
            }
            if shows_attributes(name, kind) {
                return self.controlled(py, &function, How::Attributes { object: object.unbind() });
            }
            if kind.has_content() {
                let object = object.unbind();
                return self.controlled(py, &function, How::Container { object, name: called.unbind() });
            }
            if kind == TypeKind::Instance {
                if is_of_value(&object.get_type(), &called) {
                    return self.controlled(py, &function, How::Value { object: object.unbind() });
                }
                // A C method of an instance changes what C keeps of it.
                if !name.starts_with("__") {
                    return self.controlled(py, &function, How::Foreign { object: object.unbind() });
                }
                if gives_state(name) {
                    return self.controlled(py, &function, How::State { object: object.unbind() });
                }
                if name == "__init__" && object.is_instance_of::<PyBaseException>() {
                    return self.controlled(py, &function, How::Renewal { object: object.unbind() });
                }
                if !of_object(&object, name)? {
                    return self.controlled(py, &function, How::Foreign { object: object.unbind() });
                }
                // Its text shows the names of its class.
                let is_text = matches!(name, "__format__" | "__repr__" | "__str__");
                return match is_text || self.calls_unseen(&object, name)? {
                    true => self.controlled(py, &function, How::Value { object: object.unbind() }),
                    false => Ok(function),
                };
            }
            if kind == TypeKind::Immutable && makes_anew(name) && !of_object(&object, name)? {
                self.refuse_unseen_change(py, &object)?;
            }
            if let Some(effect) = descriptor_effect(&object, name) {
                let name = object.getattr(intern!(py, "__name__"))?.cast_into::<PyString>()?;
                return self.controlled(py, &function, How::Descriptor { name: name.unbind(), effect });
            }
            if kind == TypeKind::Immutable && name == "pack_into" {
                return self.controlled(py, &function, How::Builtin(BuiltinEffect::Write));
            }
            if kind == TypeKind::Immutable && (!is_harmless_method(&object, name) || gives_container(name)) {
                return self.controlled(py, &function, How::Value { object: object.unbind() });
            }
            if kind == TypeKind::Class {
                self.require_harmless_class_method(&function, &object)?;
                let how = match name {
                    "__subclasses__" => How::Subclasses { class: object.unbind() },
                    _ => How::Builtin(BuiltinEffect::Compare),
                };
                return self.controlled(py, &function, how);
            }
            if kind == TypeKind::Module && holder_of(&object.get_type(), &called).is_some() {
                return self.call_of_module(py, object, name, function);
            }
            if kind == TypeKind::Immutable && object.is_none() || kind == TypeKind::Module {
                self.note_memory_told(&object, name);
                self.note_foreign_function(&function);
                return self.controlled(py, &function, How::Builtin(c_function_effect(&object, name)));
            }
        }
        self.control_object(py, function)
    }

    /// Whether a method of `object` calls another one whose code is not instrumented.
    fn calls_unseen(&self, instance: &Bound<'_, PyAny>, name: &str) -> PyResult<bool> {
        let called: &[&str] = match name {
            "__str__" => &["__repr__"],
            "__format__" => &["__str__", "__repr__"],
            "__ne__" => &["__eq__"],
            _ => return Ok(false),
        };
        for name in called {
            let Some(found) = instance.get_type().getattr_opt(*name)? else { continue };
            let seen = match found.is_instance_of::<PyFunction>() {
                true => self.origin(&found)?.origin == Origin::Instrumented,
                false => of_object(instance, name)?,
            };
            if !seen {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What to call for a method that all modules have.
    fn call_of_module<'py>(
        &self,
        py: Python<'py>,
        module: Bound<'py, PyAny>,
        name: &str,
        method: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match name {
            "__format__" | "__repr__" | "__str__" => {
                self.controlled(py, &method, How::Value { object: module.unbind() })
            }
            "__eq__" | "__ge__" | "__gt__" | "__hash__" | "__init_subclass__" | "__le__" | "__lt__" | "__ne__"
            | "__new__" | "__sizeof__" | "__subclasshook__" => {
                self.controlled(py, &method, How::Builtin(BuiltinEffect::Compare))
            }
            _ => {
                if !self.state().has_no_company() {
                    self.assume(py, AssumptionKind::UnseenCode, "builtins.module");
                }
                self.controlled(py, &method, How::Foreign { object: module.unbind() })
            }
        }
    }

    /// A method in C is called on a class. What it changes of the class, other threads and executions would find.
    fn require_harmless_class_method(&self, method: &Bound<'_, PyAny>, class: &Bound<'_, PyAny>) -> PyResult<()> {
        let py = method.py();
        let (Ok(class), true) = (class.cast::<PyType>(), self.state().running()) else { return Ok(()) };
        let name = method.getattr(intern!(py, "__name__"))?.cast_into::<PyString>()?;
        let Some(holder) = holder_of_harmful(class, &name)? else { return Ok(()) };
        let (module, class) = (module_of(&holder), qualified_name(&holder));
        if !self.state().types.origins.is_standard(&module) {
            self.assume(py, AssumptionKind::UnseenCode, &writer_of(method));
            return Ok(());
        }
        let what = format!("calls a function in C that may change its class ({module}.{class}.{name})");
        Err(self.uncontrolled(py, what))
    }
}

#[pymethods]
impl Host {
    /// The callee of `object.name(...)`.
    #[pyo3(signature = (object, name, /))]
    pub fn method<'py>(
        &self,
        py: Python<'py>,
        object: &Bound<'py, PyAny>,
        name: &Bound<'py, PyString>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if is_primitive(object) {
            self.refuse_insides(py, object, name)?;
            return object.getattr(name);
        }
        let kind = self.kind(object);
        match kind {
            TypeKind::Instance => {
                let function = self.load_attribute(py, object, name)?;
                self.control(py, function)
            }
            TypeKind::Proxy => match referent(object) {
                Some(object) => self.method(py, &object, name),
                None => object.getattr(name),
            },
            TypeKind::Immutable => {
                let function = self.load_attribute(py, object, name)?;
                let callable = self.callable_kind(&function);
                if callable == CallableKind::MethodWrapper && self.callable_kind(object) == CallableKind::Function {
                    if let Some(effect) = attribute_effect(name.to_str()?) {
                        let object = object.clone().unbind();
                        return self.controlled(py, &function, How::BoundAttribute { object, effect });
                    }
                }
                // While modules are imported every kind passes for immutable, but what is made then must be known.
                let made = object.is_exact_instance_of::<PySuper>() || function.is_instance_of::<PyType>();
                let written = matches!(callable, CallableKind::Function | CallableKind::BoundMethod);
                if made || written || !is_harmless_method(object, name.to_str()?) || gives_container(name.to_str()?) {
                    return self.control(py, function);
                }
                Ok(function)
            }
            TypeKind::Module => {
                let function = self.load_attribute(py, object, name)?;
                self.adopt_receiver(&function, object, name);
                self.control(py, function)
            }
            TypeKind::Class => {
                let function = self.load_attribute(py, object, name)?;
                if let Some(effect) = attribute_effect(name.to_str()?) {
                    let callable = self.callable_kind(&function);
                    if !matches!(callable, CallableKind::Function | CallableKind::BoundMethod) {
                        return self.controlled(py, &function, How::Builtin(effect));
                    }
                }
                if self.callable_kind(&function) == CallableKind::UnboundMethod {
                    return self.controlled(py, &function, How::Unbound { name: name.clone().unbind() });
                }
                self.control(py, function)
            }
            _ => {
                let is_attribute = !has_only_methods(object) && self.find_attribute(object, name).is_some();
                let function = match is_attribute {
                    true => self.load_attribute(py, object, name)?,
                    false => object.getattr(name)?,
                };
                self.control(py, function)
            }
        }
    }

    /// The callee of `function(...)`.
    #[pyo3(signature = (function, /))]
    fn callee<'py>(&self, py: Python<'py>, function: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if self.awake().is_none() {
            return Ok(function);
        }
        self.control(py, function)
    }
}

/// Whether an object is of the commonest containers, which can be given no attributes.
fn has_only_methods(object: &Bound<'_, PyAny>) -> bool {
    object.is_exact_instance_of::<PyList>()
        || object.is_exact_instance_of::<PyDict>()
        || object.is_exact_instance_of::<PySet>()
}

/// Whether a method in C tells which attributes its object has. That of instances which gives their state is known by
/// itself.
fn shows_attributes(method: &str, kind: TypeKind) -> bool {
    method == "__dir__" && kind != TypeKind::Instance
        || method == "__getstate__" && matches!(kind, TypeKind::Immutable | TypeKind::Class | TypeKind::Module)
}

/// What a call of a method of a descriptor in C, `K.slot.__get__(k)`, does to the attribute that it stands for.
fn descriptor_effect(descriptor: &Bound<'_, PyAny>, method: &str) -> Option<BuiltinEffect> {
    let class = descriptor.get_type().name().ok()?;
    if !matches!(class.to_str().ok()?, "member_descriptor" | "getset_descriptor") {
        return None;
    }
    match method {
        "__get__" => Some(BuiltinEffect::GetAttribute),
        "__set__" => Some(BuiltinEffect::SetAttribute),
        "__delete__" => Some(BuiltinEffect::DeleteAttribute),
        _ => None,
    }
}

fn names_call(function: &Bound<'_, PyAny>) -> PyResult<bool> {
    function.getattr(intern!(function.py(), "__name__"))?.eq("__call__")
}

/// Whether to call `object` is to call this bound `__call__` in C.
fn is_own_call(object: &Bound<'_, PyAny>, method: &Bound<'_, PyAny>) -> PyResult<bool> {
    let owner = intern!(object.py(), "__objclass__");
    let Some(found) = found_in_class(&object.get_type(), "__call__") else { return Ok(false) };
    Ok(found.getattr_opt(owner)?.is_some_and(|class| method.getattr(owner).is_ok_and(|own| own.is(&class))))
}

/// Whether a method gives an object what it is made of, though it may be known to others since long.
fn makes_anew(name: &str) -> bool {
    matches!(name, "__init__" | "__setstate__")
}

/// The same of a function in Python.
fn makes_anew_by(function: &Bound<'_, PyAny>) -> PyResult<bool> {
    let name = function.getattr(intern!(function.py(), "__name__"))?.cast_into::<PyString>()?;
    Ok(makes_anew(name.to_str()?))
}

/// Whether a method with a special name is that of `object`, which tells of nothing but the instance's class and
/// address.
fn of_object(instance: &Bound<'_, PyAny>, name: &str) -> PyResult<bool> {
    // It shows what the exception was made of.
    if name == "__format__" && instance.is_instance_of::<PyBaseException>() {
        return Ok(false);
    }
    let object = instance.py().get_type::<PyAny>();
    let found = instance.get_type().getattr_opt(name)?;
    let own = object.getattr_opt(name)?;
    Ok(matches!((found, own), (Some(found), Some(own)) if found.is(&own) || is_method_of_class(&found)))
}

/// `__init_subclass__` and the like, which are bound to the class.
fn is_method_of_class(method: &Bound<'_, PyAny>) -> bool {
    method.getattr(intern!(method.py(), "__self__")).is_ok_and(|owner| owner.is_instance_of::<PyType>())
}

/// Whether a method in C of an object, whose class derives from a primitive, is the primitive's.
fn is_of_primitive(method: &Bound<'_, PyAny>, object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let name = method.getattr(intern!(method.py(), "__name__"))?.cast_into::<PyString>()?;
    let holders = object.get_type().ancestry();
    let mut holders = holders.iter().filter_map(|base| base.cast_into::<PyType>().ok()).filter(is_own_class);
    Ok(holders.any(|base| {
        told_by_type(&base, intern!(base.py(), "__dict__")).and_then(|names| names.contains(&name)).unwrap_or(false)
    }))
}

/// Whether an object is one of the kernel's own, which tell of their operations themselves: the commonest of them that
/// have no attributes but those of their class.
#[inline]
fn is_primitive(object: &Bound<'_, PyAny>) -> bool {
    object.is_exact_instance_of::<Atomic>()
        || object.is_exact_instance_of::<Lock>()
        || object.is_exact_instance_of::<RLock>()
}

/// Whether a slot is `object.__init__`, which accesses nothing.
fn makes_nothing(slot: &Bound<'_, PyAny>) -> PyResult<bool> {
    let py = slot.py();
    let is_constructor = slot.getattr(intern!(py, "__name__"))?.eq(intern!(py, "__init__"))?;
    let owner = slot.getattr_opt(intern!(py, "__objclass__"))?;
    Ok(is_constructor && owner.is_some_and(|owner| owner.is(py.get_type::<PyAny>())))
}
