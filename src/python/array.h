#pragma once

#include <string>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "forebay/tensor.h"

namespace forebay::python {

namespace nb = nanobind;

/// What an array from Python must be to be read: on the CPU, C-contiguous; writable or not.
using InputArray = nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>;

/// A NumPy array over the tensor's memory, which it keeps alive. Writable: the memory belongs to whoever holds the array.
/// NumPy has bfloat16 with the package ml_dtypes alone: Unsupported, naming `field`, where that is not installed.
nb::object to_numpy(Tensor tensor, const std::string& field);
/// The same of memory that cannot be written; nobody can make it writable.
nb::object to_read_only_numpy(Tensor tensor, const std::string& field);
/// The same as an object that speaks DLPack and nothing else.
nb::object to_dlpack(Tensor tensor);

/// An array from Python, and the tensor over its memory, which does not own it.
struct Input {
  InputArray array;
  Tensor tensor;
};

/// Takes NumPy arrays and what speaks DLPack, and bfloat16 as `forebay._bfloat16` marks it. TypeError for element types that
/// Forebay does not have.
Input input_of(nb::handle object);

}  // namespace forebay::python
