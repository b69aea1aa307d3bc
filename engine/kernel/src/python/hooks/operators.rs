//! Hooks for comparisons, operators and formatting: what reads its operands as wholes, and may call back.

use pyo3::basic::CompareOp;
use pyo3::exceptions::PyValueError;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyString, PyTuple};

use crate::python::calls::callback_results::used_by_adding;
use crate::python::calls::callbacks::OpenOperation;
use crate::python::explore::recording::Word;
use crate::python::footprints::container_effects::ContainerEffect;
use crate::python::footprints::insides::has_nothing_inside;
use crate::python::footprints::look::{Depth, Part};
use crate::python::footprints::whole_reads::reading_effect;
use crate::python::host::Host;

/// The operators, by their numbers in `dpor.instrument.hooks.OPERATORS`.
type Operate = unsafe extern "C" fn(*mut ffi::PyObject, *mut ffi::PyObject) -> *mut ffi::PyObject;

const MODULO: usize = 4;
const OPERATORS: [Operate; 10] = [
    ffi::PyNumber_Add,
    ffi::PyNumber_Subtract,
    ffi::PyNumber_Multiply,
    ffi::PyNumber_MatrixMultiply,
    ffi::PyNumber_Remainder,
    ffi::PyNumber_And,
    ffi::PyNumber_Or,
    ffi::PyNumber_Xor,
    ffi::PyNumber_TrueDivide,
    ffi::PyNumber_FloorDivide,
];
const POWER: usize = 10;
const UPDATES: [Operate; 10] = [
    ffi::PyNumber_InPlaceAdd,
    ffi::PyNumber_InPlaceSubtract,
    ffi::PyNumber_InPlaceMultiply,
    ffi::PyNumber_InPlaceMatrixMultiply,
    ffi::PyNumber_InPlaceRemainder,
    ffi::PyNumber_InPlaceAnd,
    ffi::PyNumber_InPlaceOr,
    ffi::PyNumber_InPlaceXor,
    ffi::PyNumber_InPlaceTrueDivide,
    ffi::PyNumber_InPlaceFloorDivide,
];
const SHIFTS: [(Operate, Operate); 2] =
    [(ffi::PyNumber_Lshift, ffi::PyNumber_InPlaceLshift), (ffi::PyNumber_Rshift, ffi::PyNumber_InPlaceRshift)];

/// Apply the operator with this number, in place if asked to.
fn apply<'py>(
    operator: usize,
    in_place: bool,
    left: &Bound<'py, PyAny>,
    right: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = left.py();
    let table = if in_place { &UPDATES } else { &OPERATORS };
    let function = match operator {
        POWER => {
            let none = py.None();
            let power = if in_place { ffi::PyNumber_InPlacePower } else { ffi::PyNumber_Power };
            // SAFETY: the operands are alive, and a new reference or NULL with an exception set comes back.
            return unsafe { Bound::from_owned_ptr_or_err(py, power(left.as_ptr(), right.as_ptr(), none.as_ptr())) };
        }
        _ => match (table.get(operator), operator.checked_sub(POWER + 1).and_then(|shift| SHIFTS.get(shift))) {
            (Some(function), _) => *function,
            (None, Some((plain, update))) => {
                if in_place {
                    *update
                } else {
                    *plain
                }
            }
            _ => return Err(PyValueError::new_err(format!("there is no operator {operator}"))),
        },
    };
    // SAFETY: as above.
    unsafe { Bound::from_owned_ptr_or_err(py, function(left.as_ptr(), right.as_ptr())) }
}

fn comparison(number: u8) -> PyResult<CompareOp> {
    CompareOp::from_raw(number.into())
        .ok_or_else(|| PyValueError::new_err(format!("there is no comparison {number}")))
}

impl Host {
    /// An operator that changes neither operand in C, in place if asked to: a class may have code for that.
    fn operate_once<'py>(
        &self,
        py: Python<'py>,
        operator: usize,
        in_place: bool,
        left: &Bound<'py, PyAny>,
        right: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if has_nothing_inside(left) && has_nothing_inside(right) {
            return apply(operator, in_place, left, right);
        }
        let formats = operator == MODULO && (left.is_instance_of::<PyString>() || left.is_instance_of::<PyBytes>());
        let depth = if formats { Depth::Text } else { Depth::Items };
        // A width is a number, whoever words a text for what.
        let has_widths = formats && left.str()?.to_str()?.contains('*');
        let concrete =
            match has_widths && right.is_exact_instance_of::<PyTuple>() && self.state().exploration.symbolic.used {
                true => Some(self.concrete(right)?),
                false => None,
            };
        let right = concrete.as_ref().unwrap_or(right);
        let parts = self.reading_parts(&[left.clone(), right.clone()], depth);
        let (result, event) = self.operate_on_wholes(py, &parts, depth, || apply(operator, in_place, left, right))?;
        self.note_reads(py, &parts, event);
        Ok(result)
    }
}

impl Host {
    /// Whether code that is not instrumented computes with an object.
    fn is_computed_unseen(&self, object: &Bound<'_, PyAny>) -> bool {
        self.awake().is_some_and(|mut state| state.types.computes && state.types.facts(object).items_by_foreign_code)
    }

    /// Update an object in place that C may keep anything of.
    fn update_unseen<'py>(
        &self,
        py: Python<'py>,
        operator: usize,
        target: &Bound<'py, PyAny>,
        operand: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let class = target.get_type().into_any();
        let given = PyTuple::new(py, [operand])?;
        let parts = self.access_foreign(py, &class, Some(target), &given, None)?;
        let open = OpenOperation::on_wholes_with(&parts, Depth::Everything, used_by_adding(self.kind(target)));
        self.operating(py, open, || apply(operator, true, target, operand))
    }
}

#[pymethods]
impl Host {
    /// `left < right` and its kin, by the number of the comparison.
    #[pyo3(signature = (number, left, right, /))]
    fn compare<'py>(
        &self,
        py: Python<'py>,
        number: u8,
        left: &Bound<'py, PyAny>,
        right: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let operator = comparison(number)?;
        if has_nothing_inside(left) && has_nothing_inside(right) {
            return left.rich_compare(right, operator);
        }
        let mut parts = self.reading_parts(&[left.clone(), right.clone()], Depth::Comparison);
        // Sets with the same items are equal, in whatever order these are.
        for part in parts.iter_mut().filter(|part| part.effect == ContainerEffect::ReadOrder) {
            part.effect = ContainerEffect::ReadWhole;
        }
        let (result, event) =
            self.operate_on_wholes(py, &parts, Depth::Comparison, || left.rich_compare(right, operator))?;
        self.note_reads(py, &parts, event);
        Ok(result)
    }

    /// A key of a display, which is about to be hashed and compared.
    #[pyo3(signature = (key, /))]
    fn hashed<'py>(&self, py: Python<'py>, key: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if !has_nothing_inside(&key) {
            self.look(py, std::slice::from_ref(&key), Depth::Comparison)?;
        }
        Ok(key)
    }

    /// `left + right` and its kin, by the number of the operator.
    #[pyo3(signature = (operator, left, right, /))]
    fn operate<'py>(
        &self,
        py: Python<'py>,
        operator: usize,
        left: &Bound<'py, PyAny>,
        right: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.operate_once(py, operator, false, left, right)
    }

    /// `target += operand` and its kin, by the number of the operator: gives what the target is bound to.
    #[pyo3(signature = (operator, target, operand, /))]
    fn inplace<'py>(
        &self,
        py: Python<'py>,
        operator: usize,
        target: &Bound<'py, PyAny>,
        operand: Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if has_nothing_inside(target) && has_nothing_inside(&operand) {
            return apply(operator, true, target, &operand);
        }
        if !self.kind(target).is_container() {
            if self.is_computed_unseen(target) {
                return self.update_unseen(py, operator, target, &operand);
            }
            if operator == MODULO {
                return self.operate_once(py, operator, true, target, &operand);
            }
            let operand = self.observe(py, operand)?;
            return apply(operator, true, target, &operand);
        }
        let parts = [
            Part { object: target.clone(), effect: ContainerEffect::WriteWhole },
            Part { object: operand.clone(), effect: reading_effect(self.kind(&operand)) },
        ];
        let event = self.access_wholes(py, &parts, Depth::Items)?;
        let result_use = used_by_adding(self.kind(target));
        let open = OpenOperation::on_wholes_with(&parts, Depth::Items, result_use);
        let updated = self.operating(py, open, || apply(operator, true, target, &operand));
        let updated = self.noted(py, updated, Word::WriteAll, target, None, event)?;
        self.note(py, Word::WriteAll, Some(target), None, Some(&operand), event);
        Ok(updated)
    }

    /// Built-in code is about to read these containers in one step, or to change all of them.
    #[pyo3(signature = (containers, *, writes))]
    fn together<'py>(&self, py: Python<'py>, containers: Vec<Bound<'py, PyAny>>, writes: bool) -> PyResult<()> {
        let effect = if writes { ContainerEffect::WriteWhole } else { ContainerEffect::ReadWhole };
        let word = if writes { Word::WriteAll } else { Word::ReadAll };
        let parts: Vec<Part<'py>> = containers.into_iter().map(|object| Part { object, effect }).collect();
        let event = self.access_wholes(py, &parts, Depth::Items)?;
        for Part { object, .. } in &parts {
            self.note(py, word, Some(object), None, Some(object), event);
        }
        Ok(())
    }

    /// The same for one container. Where it holds what an object keeps for itself, reports name `owner` in its place.
    #[pyo3(signature = (container, writes, owner = None, /))]
    fn access_whole(
        &self,
        py: Python<'_>,
        container: &Bound<'_, PyAny>,
        writes: bool,
        owner: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let effect = if writes { ContainerEffect::WriteWhole } else { ContainerEffect::ReadWhole };
        let event = self.access_container(py, container, effect, None)?;
        let word = match (owner, writes) {
            (None, true) => Word::WriteAll,
            (None, false) => Word::ReadAll,
            (Some(_), true) => Word::Write,
            (Some(_), false) => Word::Read,
        };
        let value = if owner.is_some() { None } else { Some(container) };
        self.note(py, word, owner.or(Some(container)), None, value, event);
        Ok(())
    }

    /// The text of a field of an f-string: `conversion` is the code of `s`, `r` or `a`, or -1.
    #[pyo3(signature = (value, conversion, specification, /))]
    fn format<'py>(
        &self,
        py: Python<'py>,
        value: &Bound<'py, PyAny>,
        conversion: i32,
        specification: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let text = || -> PyResult<Bound<'py, PyAny>> {
            let converted = match u8::try_from(conversion) {
                Ok(b's') => value.str()?.into_any(),
                Ok(b'r') => value.repr()?.into_any(),
                Ok(b'a') => py.import("builtins")?.call_method1(intern!(py, "ascii"), (value,))?,
                _ => value.clone(),
            };
            // SAFETY: both are alive, and a new reference or NULL with an exception set comes back.
            unsafe {
                Bound::from_owned_ptr_or_err(py, ffi::PyObject_Format(converted.as_ptr(), specification.as_ptr()))
            }
        };
        if has_nothing_inside(value) {
            return text();
        }
        let parts = self.reading_parts(std::slice::from_ref(value), Depth::Text);
        let (result, event) = self.operate_on_wholes(py, &parts, Depth::Text, text)?;
        self.note_reads(py, &parts, event);
        Ok(result)
    }
}
