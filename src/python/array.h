#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "forebay/tensor.h"

namespace forebay::python {

namespace nb = nanobind;

/// What an array from Python must be to be read: on the CPU, C-contiguous; writable or not.
using InputArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

/// A NumPy array over the tensor's memory, which it keeps alive. Writable: the memory belongs to whoever holds the array.
nb::object to_numpy(Tensor tensor);
/// The same of memory that cannot be written; nobody can make it writable.
nb::object to_read_only_numpy(Tensor tensor);

/// A tensor over the array's memory that does not own it. TypeError for element types that Forebay does not have.
Tensor view_of(const InputArray& array);

}  // namespace forebay::python
