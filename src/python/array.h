#pragma once

#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "forebay/tensor.h"

namespace forebay::python {

namespace nb = nanobind;

/// Arrays that Python may pass: on the CPU, C-contiguous, writable or not.
using InputArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

/// Returns a NumPy array over the tensor's memory, which the array keeps alive. The array is
/// writable and owns the memory. NumPy supports bfloat16 only through the package ml_dtypes;
/// without it a bfloat16 tensor gives Unsupported, naming `field`.
nb::object to_numpy(Tensor tensor, const std::string& field);
/// The same for memory that cannot be written. The array cannot be made writable.
nb::object to_read_only_numpy(Tensor tensor, const std::string& field);
/// The same as an object that supports DLPack and nothing else.
nb::object to_dlpack(Tensor tensor);

/// Imports NumPy, unless it is imported. If that fails, the first array raises the error.
void import_numpy();

/// An array from Python and a tensor over its memory. The tensor does not own the memory.
struct Input {
  InputArray array;
  Tensor tensor;
};

/// Accepts NumPy arrays, objects that support DLPack, and bfloat16 as marked by
/// `forebay._bfloat16`. Raises TypeError for element types that Forebay does not have.
Input input_of(nb::handle object);

}  // namespace forebay::python
