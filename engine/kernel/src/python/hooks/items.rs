//! Hooks for items, truth, iteration, membership and whole-value reads.

use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{
    PyDict, PyFunction, PyInt, PyList, PyMemoryView, PySlice, PyString, PyTuple, PyWeakrefMethods, PyWeakrefReference,
};

use crate::operation::{AccessMode, LocationId, MemoryOrder};
use crate::python::calls::callables::receiver_in_c;
use crate::python::calls::callback_results::{used_by_adding, ResultUse};
use crate::python::calls::callbacks::OpenOperation;
use crate::python::calls::default_factories::factory_in_c;
use crate::python::explore::recording::Word;
use crate::python::footprints::container_effects::{item_effect, ContainerEffect};
use crate::python::footprints::containers::{has_cell, is_from_end, Container};
use crate::python::footprints::insides::{has_nothing_inside, holds_objects, referents, shows_what_it_holds};
use crate::python::footprints::look::{Depth, Part};
use crate::python::footprints::whole_reads::reading_effect;
use crate::python::heap::place::Place;
use crate::python::heap::weak_memory::Store;
use crate::python::hooks::iteration::ListSteps;
use crate::python::host::{require_host, Host};
use crate::python::identities::found_objects::References;
use crate::python::modules::origins::Origin;
use crate::python::state::access;
use crate::python::types::ancestry::found_in_class;
use crate::python::types::kinds::{referent, TypeKind, ITEMS};
use crate::python::types::native_types::is_of_value;

/// How deep in a key is looked whether code in Python compares a part of it.
const DEEPEST_KEY: usize = 16;

impl Host {
    /// The kind of an object as far as hooks care; `Immutable` outside executions.
    #[inline]
    pub fn kind(&self, object: &Bound<'_, PyAny>) -> TypeKind {
        match self.awake() {
            Some(mut state) if state.running() => state.types.facts(object).kind,
            _ => TypeKind::Immutable,
        }
    }

    /// Give the value that an item load found an identity by its place, if it has none.
    pub fn adopt_item(&self, value: &Bound<'_, PyAny>, object: &Bound<'_, PyAny>, key: &Bound<'_, PyAny>) {
        let mut state = self.state();
        let kind = state.types.facts(value).kind;
        if kind.is_tracked() {
            if key.is_instance_of::<PySlice>() {
                let facts = state.types.facts(value);
                state.object(value, facts);
            } else if let (Some(container), Some(key)) = (state.container(object), state.identities.item(key)) {
                state.adopt(value, container.object, key);
            }
        }
    }
}

impl Host {
    /// Load an item. Returns whether it was an event, and the value if the thread's own store buffers hold it.
    pub fn access_item<'py>(
        &self,
        py: Python<'py>,
        object: &Bound<'py, PyAny>,
        effect: ContainerEffect,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<(bool, Option<Bound<'py, PyAny>>)> {
        let cell = if effect == ContainerEffect::CellLoad { self.located_cell(object, key) } else { None };
        let Some((container, location)) = cell else {
            return Ok((self.access_container(py, object, effect, Some(key))?, None));
        };
        let event = match self.chooses_item(object, container, location, key) {
            true => self.access_chosen_item(py, object, container, location, effect, key)?,
            false => self.access_cell(py, object, container, effect, key)?,
        };
        // Others may have run meanwhile, and made the list longer that an index counts from the end of.
        let location = self.located_cell(object, key).map_or(location, |(_, location)| location);
        // An item that has been removed meanwhile is gone, whatever the thread has stored there.
        let forwarded = self.forwarded(py, location).filter(|_| has_cell(object, key));
        Ok((event, forwarded))
    }

    fn buffer_item(
        &self,
        py: Python<'_>,
        value: &Bound<'_, PyAny>,
        object: &Bound<'_, PyAny>,
        key: &Bound<'_, PyAny>,
        container: Container,
        location: LocationId,
    ) -> PyResult<()> {
        let accesses = [access(location, AccessMode::Write), access(container.whole, AccessMode::IntentWrite)];
        let place = Place::Item { container: object.clone().unbind(), key: key.clone().unbind() };
        let (accesses, value) = (accesses.into_iter().collect(), value.clone().unbind());
        self.buffer_store(py, Store { location, accesses, order: MemoryOrder::Relaxed, place, value })
    }
}

impl Host {
    /// Run built-in code that uses a key of a container, whose class may be written in Python.
    #[inline]
    fn operating_on_key<T>(
        &self,
        object: &Bound<'_, PyAny>,
        effect: ContainerEffect,
        key: &Bound<'_, PyAny>,
        call: impl FnOnce() -> PyResult<T>,
    ) -> PyResult<T> {
        if !self.search_may_call_back(object, key) {
            return call();
        }
        self.operating(object.py(), OpenOperation::on_container(object, effect, Some(key)), call)
    }

    /// Whether looking for the key in the container can run code in Python, in the middle of which other threads run: that
    /// of the key, or that of a key in the container, whose hash is the same.
    pub fn search_may_call_back(&self, container: &Bound<'_, PyAny>, key: &Bound<'_, PyAny>) -> bool {
        let hashes = matches!(self.kind(container), TypeKind::Dict | TypeKind::DefaultDict | TypeKind::Set);
        let has_company = || self.awake().is_some_and(|state| state.executes() && !state.is_alone());
        hashes && has_company() || self.key_may_call_back(key)
    }

    /// Whether using the key can run code in Python: its own, or that of what it is made of.
    pub fn key_may_call_back(&self, key: &Bound<'_, PyAny>) -> bool {
        self.part_may_call_back(key, 0)
    }

    fn part_may_call_back(&self, part: &Bound<'_, PyAny>, depth: usize) -> bool {
        if has_nothing_inside(part) {
            return false;
        }
        let among = |parts: Vec<Bound<'_, PyAny>>| {
            depth == DEEPEST_KEY || parts.iter().any(|part| self.part_may_call_back(part, depth + 1))
        };
        if let Ok(items) = part.cast_exact::<PyTuple>() {
            return among(items.iter().collect());
        }
        match self.kind(part) {
            TypeKind::Iterator | TypeKind::Instance => true,
            // Hashed and compared by what it holds, as far as anybody knows: a frozenset, a slice, `K[int]`.
            TypeKind::Immutable if holds_objects(part) && shows_what_it_holds(part, Depth::Comparison) => {
                match part.cast::<PyWeakrefReference>() {
                    // As its object is.
                    Ok(reference) => among(reference.upgrade().into_iter().collect()),
                    Err(_) => among(referents(part)),
                }
            }
            _ => false,
        }
    }

    /// An operation on items of an object whose class is not instrumented is one operation on the object.
    #[inline]
    pub fn access_foreign_items<'py>(
        &self,
        py: Python<'py>,
        object: &Bound<'py, PyAny>,
        given: &[&Bound<'py, PyAny>],
    ) -> PyResult<()> {
        let foreign = match self.awake() {
            Some(mut state) if state.running() => state.types.facts(object).items_by_foreign_code,
            _ => false,
        };
        if foreign {
            self.require_instrumented(object)?;
            if self.only_reads_items(object)? {
                let read: Vec<_> = std::iter::once(object).chain(given.iter().copied()).cloned().collect();
                return self.look(py, &read, Depth::Everything);
            }
            let given = PyTuple::new(py, given)?;
            let class = object.get_type().into_any();
            self.access_foreign(py, &class, Some(object), &given, None).map(drop)?;
        }
        Ok(())
    }

    /// Whether the methods for items that the class of an object has from code that is not instrumented are known to
    /// read only: those of flags, and of `typing`.
    fn only_reads_items(&self, object: &Bound<'_, PyAny>) -> PyResult<bool> {
        let class = object.get_type();
        let mut state = self.state();
        for name in ITEMS {
            let Some(method) = found_in_class(&class, name).filter(|method| !method.is_none()) else { continue };
            let origin = match method.is_instance_of::<PyFunction>() {
                true => state.types.origins.of(&method)?.origin,
                false if is_of_value(&class, &PyString::intern(class.py(), name)) => Origin::Safe,
                false => Origin::Foreign,
            };
            let reads = match origin {
                Origin::Instrumented => true,
                Origin::Safe | Origin::Reading => !matches!(*name, "__setitem__" | "__delitem__" | "__next__"),
                Origin::Library | Origin::Foreign => false,
            };
            if !reads {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The index of a list's item counted from its start; any other key as it is.
fn index_from_start<'py>(object: &Bound<'py, PyAny>, key: &Bound<'py, PyAny>) -> Bound<'py, PyAny> {
    let (Ok(list), true) = (object.cast::<PyList>(), is_from_end(key)) else { return key.clone() };
    let index = key.extract::<isize>().map(|index| index + list.len() as isize);
    match index.map(|index| index.into_pyobject(object.py())) {
        Ok(Ok(index)) => index.into_any(),
        _ => key.clone(),
    }
}

/// Whether item operations on an object go to built-in code.
pub fn has_builtin_items(kind: TypeKind) -> bool {
    kind.is_container() || kind == TypeKind::View
}

/// Whether items of an object can be stored and deleted, by built-in code. Most views only show: to store there raises,
/// and changes nothing.
fn has_builtin_stores(kind: TypeKind, object: &Bound<'_, PyAny>) -> bool {
    kind.is_container() || kind == TypeKind::View && object.is_instance_of::<PyMemoryView>()
}

impl Host {
    /// This object may have just been made, by a call of code that is not instrumented.
    pub fn created<'py>(&self, object: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.identified(object, References::OfCall)
    }

    fn identified<'py>(&self, object: Bound<'py, PyAny>, references: References) -> PyResult<Bound<'py, PyAny>> {
        if object.is_exact_instance_of::<PyInt>() || self.awake().is_none() {
            return Ok(object);
        }
        self.concrete_content(&object)?;
        let mut state = self.state();
        if !state.is_over() {
            let facts = state.types.facts(&object);
            if facts.kind.is_tracked() {
                let known = state.object(&object, facts);
                state.note_made(&object, known, references);
            } else if facts.tells_end {
                state.types.note_weak(&object);
            }
        }
        drop(state);
        Ok(object)
    }
}

#[pymethods]
impl Host {
    /// `object[key]`
    #[pyo3(signature = (object, key, /))]
    pub fn load_item<'py>(
        &self,
        py: Python<'py>,
        object: &Bound<'py, PyAny>,
        key: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let kind = self.kind(object);
        if !has_builtin_items(kind) {
            self.access_foreign_items(py, object, &[key])?;
            return object.get_item(key);
        }
        let concrete = self.concrete_key(object, key)?;
        let key = concrete.as_ref().unwrap_or(key);
        let mut effect = item_effect(kind, key, ContainerEffect::CellLoad);
        let with_factory = effect == ContainerEffect::CellDefault;
        let factory = if with_factory { factory_in_c(object) } else { None };
        if let Some(receiver) = factory.as_ref().and_then(receiver_in_c) {
            return self.use_factory_in_c(py, object, &receiver, key);
        }
        if with_factory && self.factory_in_python(object)?.is_some() {
            effect = ContainerEffect::CellLoad;
        }
        self.access_namespace(py, object, Some(key), effect)?;
        let (event, forwarded) = self.access_item(py, object, effect, key)?;
        // Another thread may have set it meanwhile.
        let factory = if with_factory { self.factory_in_python(object)? } else { None };
        if let (Some(factory), None) = (&factory, &forwarded) {
            let missing = self.operating_on_key(object, effect, key, || Ok(!object.contains(key)?))?;
            if missing {
                self.note(py, Word::Miss, Some(object), Some(key), None, event);
                let value = self.control(py, factory.clone())?.call0()?;
                self.store_item(py, &value, object, key)?;
                return Ok(value);
            }
        }
        let get = || object.get_item(key);
        let loaded = match forwarded {
            Some(value) => Ok(value),
            None => self.operating_on_key(object, effect, key, get),
        };
        let value = self.noted(py, loaded, Word::Load, object, Some(key), event)?;
        self.adopt_item(&value, object, key);
        self.note(py, Word::Load, Some(object), Some(key), Some(&value), event);
        Ok(value)
    }

    /// `object[key] = value`
    #[pyo3(signature = (value, object, key, /))]
    pub fn store_item(
        &self,
        py: Python<'_>,
        value: &Bound<'_, PyAny>,
        object: &Bound<'_, PyAny>,
        key: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        if let Some(method) = self.described_method(object, "__setitem__")? {
            return method.call1((key, value)).map(drop);
        }
        let kind = self.kind(object);
        if !has_builtin_stores(kind, object) {
            self.access_foreign_items(py, object, &[key, value])?;
            return object.set_item(key, value);
        }
        let concrete = self.concrete_key(object, key)?;
        let key = concrete.as_ref().unwrap_or(key);
        let effect = item_effect(kind, key, ContainerEffect::CellStore);
        self.access_namespace(py, object, Some(key), effect)?;
        let cell = if effect == ContainerEffect::CellStore { self.located_cell(object, key) } else { None };
        let event = match cell {
            Some((container, location)) if self.is_buffered(location) => {
                if self.finds_cell(py, object, container, key)? {
                    self.check_fresh_container(py, object)?;
                    // Which one an index from the end means is known now.
                    let key = index_from_start(object, key);
                    let location = self.located_cell(object, &key).map_or(location, |(_, location)| location);
                    return self.buffer_item(py, value, object, &key, container, location);
                }
                self.access_located(py, object, container, effect, Some(key))?
            }
            Some((container, location)) if self.chooses_item(object, container, location, key) => {
                let event = self.access_chosen_item(py, object, container, location, effect, key)?;
                let place = || Place::Item { container: object.clone().unbind(), key: key.clone().unbind() };
                self.keep_item(py, event, container.whole, location, place, value)?;
                event
            }
            Some((container, _)) if has_cell(object, key) => self.access_cell(py, object, container, effect, key)?,
            Some((container, _)) => self.access_located(py, object, container, effect, Some(key))?,
            None if effect == ContainerEffect::WriteWhole && key.is_instance_of::<PySlice>() => {
                let parts = [
                    Part { object: object.clone(), effect },
                    Part { object: value.clone(), effect: reading_effect(self.kind(value)) },
                ];
                let event = self.access_wholes(py, &parts, Depth::Items)?;
                let open = OpenOperation::on_wholes_with(&parts, Depth::Items, used_by_adding(kind));
                let stored = self.operating(py, open, || object.set_item(key, value));
                self.noted(py, stored, Word::Store, object, Some(key), event)?;
                self.note(py, Word::Store, Some(object), Some(key), Some(value), event);
                return Ok(());
            }
            None => self.access_container(py, object, effect, Some(key))?,
        };
        let stored = self.operating_on_key(object, effect, key, || object.set_item(key, value));
        self.noted(py, stored, Word::Store, object, Some(key), event)?;
        self.note(py, Word::Store, Some(object), Some(key), Some(value), event);
        Ok(())
    }

    /// `del object[key]`
    #[pyo3(signature = (object, key, /))]
    fn delete_item(&self, py: Python<'_>, object: &Bound<'_, PyAny>, key: &Bound<'_, PyAny>) -> PyResult<()> {
        if let Some(method) = self.described_method(object, "__delitem__")? {
            return method.call1((key,)).map(drop);
        }
        let kind = self.kind(object);
        if !has_builtin_stores(kind, object) {
            self.access_foreign_items(py, object, &[key])?;
            return object.del_item(key);
        }
        let concrete = self.concrete_key(object, key)?;
        let key = concrete.as_ref().unwrap_or(key);
        let effect = item_effect(kind, key, ContainerEffect::CellDelete);
        self.access_namespace(py, object, Some(key), effect)?;
        let event = self.access_container(py, object, effect, Some(key))?;
        let deleted = self.operating_on_key(object, effect, key, || object.del_item(key));
        self.noted(py, deleted, Word::Delete, object, Some(key), event)?;
        self.note(py, Word::Delete, Some(object), Some(key), None, event);
        Ok(())
    }

    /// The truth of a value in a condition.
    #[pyo3(signature = (object, /))]
    pub fn truth(&self, py: Python<'_>, object: &Bound<'_, PyAny>) -> PyResult<bool> {
        if has_nothing_inside(object) {
            return object.is_truthy();
        }
        let kind = self.kind(object);
        if kind.is_container() {
            let event = self.access_container(py, object, ContainerEffect::Length, None)?;
            let value = object.is_truthy()?;
            if self.is_recording() {
                let length = object.len().unwrap_or(0).into_pyobject(py)?;
                self.note(py, Word::Length, Some(object), None, Some(length.as_any()), event);
            }
            return Ok(value);
        }
        match kind {
            // What it shows tells whether it is empty.
            TypeKind::View => self.look(py, std::slice::from_ref(object), Depth::Items)?,
            TypeKind::Proxy => {
                if let Some(object) = referent(object) {
                    return self.truth(py, &object);
                }
            }
            _ => {}
        }
        self.access_foreign_items(py, object, &[])?;
        object.is_truthy()
    }

    /// `item in container`
    #[pyo3(signature = (item, container, /))]
    fn contains(&self, py: Python<'_>, item: &Bound<'_, PyAny>, container: &Bound<'_, PyAny>) -> PyResult<bool> {
        let kind = self.kind(container);
        let effect = match kind {
            TypeKind::Set if self.kind(item) == TypeKind::Set => ContainerEffect::CellLoad.by_items_of_key(),
            TypeKind::Dict | TypeKind::DefaultDict | TypeKind::Set => ContainerEffect::CellLoad,
            TypeKind::Iterator => ContainerEffect::WriteWhole,
            _ if has_builtin_items(kind) => ContainerEffect::ReadWhole,
            TypeKind::Immutable => {
                self.look(py, &[item.clone(), container.clone()], Depth::Comparison)?;
                return container.contains(item);
            }
            _ => {
                self.note_value_looked_for(container, item);
                self.access_foreign_items(py, container, &[item])?;
                if container.get_type().hasattr(intern!(py, "__contains__"))? {
                    return container.contains(item);
                }
                // It is compared with each item that the container gives.
                let read = [item.clone(), container.clone()];
                let parts = self.reading_parts(&read[..1], Depth::Comparison);
                let used = ResultUse::ReadAtOnce(Depth::Comparison);
                let search = || container.contains(item);
                let depth = Depth::Comparison;
                return self.operate_on_arguments(py, (&parts, depth), &read, used, search).map(|(found, _)| found);
            }
        };
        let concrete = match effect {
            ContainerEffect::CellLoad => self.concrete_key(container, item)?,
            _ => None,
        };
        let item = concrete.as_ref().unwrap_or(item);
        let search = || self.undivided(|| container.contains(item));
        let (found, event) = if effect == ContainerEffect::CellLoad {
            let event = self.access_membership(py, container, effect, item)?;
            (self.operating_on_key(container, effect, item, search)?, event)
        } else {
            let item = Part { object: item.clone(), effect: reading_effect(self.kind(item)) };
            let parts = [Part { object: container.clone(), effect }, item];
            let event = self.access_wholes(py, &parts, Depth::Comparison)?;
            let used = ResultUse::ReadAtOnce(Depth::Comparison);
            (self.operating(py, OpenOperation::on_wholes_with(&parts, Depth::Comparison, used), search)?, event)
        };
        if self.is_recording() {
            let value = pyo3::types::PyBool::new(py, found).to_owned();
            self.note(py, Word::Contains, Some(container), Some(item), Some(value.as_any()), event);
        }
        Ok(found)
    }

    /// A value that is about to be read as a whole.
    #[pyo3(signature = (object, /))]
    pub fn observe<'py>(&self, py: Python<'py>, object: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if object.is_exact_instance_of::<PyInt>() {
            return Ok(object);
        }
        self.note_drawn_order(&object);
        let kind = self.kind(&object);
        match kind {
            TypeKind::Iterator => {
                let part = Part { object: object.clone(), effect: ContainerEffect::WriteWhole };
                self.access_wholes(py, &[part], Depth::Items)?;
            }
            _ if has_builtin_items(kind) => {
                let event = self.access_container(py, &object, reading_effect(kind), None)?;
                self.note(py, Word::ReadAll, Some(&object), None, Some(&object), event);
            }
            _ => self.access_foreign_items(py, &object, &[])?,
        }
        Ok(object)
    }

    /// A value that is about to be unpacked: of an iterator, what it gives for that many names and one more (all of it
    /// if that is None), as one operation of built-in code.
    #[pyo3(signature = (object, names, /))]
    fn unpacked<'py>(
        &self,
        py: Python<'py>,
        object: Bound<'py, PyAny>,
        names: Option<usize>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let object = match self.kind(&object) {
            TypeKind::Iterator => object,
            TypeKind::Instance if object.get_type().hasattr(intern!(py, "__iter__"))? => {
                self.access_foreign_items(py, &object, &[])?;
                let iterator = self.own_iterator(&object)?;
                if self.kind(&iterator) != TypeKind::Iterator {
                    // Its steps are code in Python.
                    return Ok(iterator);
                }
                iterator
            }
            _ => return self.observe(py, object),
        };
        let taken = match names {
            // One more tells that there are too many.
            Some(names) => {
                let islice = py.import(intern!(py, "itertools"))?.getattr(intern!(py, "islice"))?;
                self.control(py, islice)?.call1((object, names + 1))?
            }
            None => object,
        };
        self.control(py, py.get_type::<PyTuple>().into_any())?.call1((taken,))
    }

    /// A value whose items are about to be merged into a display or the keywords of a call: of a mapping written in
    /// Python a dict of them, as one operation of built-in code.
    #[pyo3(signature = (object, /))]
    fn merged<'py>(&self, py: Python<'py>, object: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let mapping = self.kind(&object) == TypeKind::Instance && !object.is_instance_of::<PyDict>();
        if mapping && object.get_type().hasattr(intern!(py, "keys"))? {
            return self.control(py, py.get_type::<PyDict>().into_any())?.call1((object,));
        }
        self.observe(py, object)
    }

    /// This object has just been made by a display, a comprehension, an operator, unpacking or a call of built-in code.
    /// It gets its identity now: by who first accesses it later it would depend on the schedule.
    #[pyo3(name = "created", signature = (object, /))]
    pub fn made<'py>(&self, object: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let object = self.identified(object, References::OfHook)?;
        let Some(mut state) = self.awake() else { return Ok(object) };
        if state.in_predicate() {
            state.belongs_to_predicate(&object);
        }
        drop(state);
        Ok(object)
    }

    /// An iterator over the object whose every step is visible.
    #[pyo3(signature = (object, /))]
    pub fn iterate<'py>(&self, py: Python<'py>, object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        self.note_drawn_order(object);
        let kind = self.kind(object);
        match kind {
            TypeKind::List if object.is_exact_instance_of::<PyList>() => {
                let list = object.clone().unbind();
                let host = require_host(py)?;
                Ok(Bound::new(py, ListSteps::over(host, list))?.into_any())
            }
            TypeKind::Iterator => self.steps(object, object.clone(), ContainerEffect::Step),
            _ if has_builtin_items(kind) => {
                self.access_container(py, object, ContainerEffect::View, None)?;
                self.steps(object, object.try_iter()?.into_any(), ContainerEffect::View)
            }
            _ => {
                self.access_foreign_items(py, object, &[])?;
                let made = self.own_iterator(object)?;
                match self.kind(&made) {
                    TypeKind::Iterator => self.steps(&made, made.clone(), ContainerEffect::Step),
                    _ => Ok(made),
                }
            }
        }
    }
}
