#include "python/array.h"

#include <array>
#include <optional>

namespace forebay::python {

namespace {

using DlpackCode = nb::dlpack::dtype_code;

constexpr nb::dlpack::dtype make(DlpackCode code, uint8_t bits) { return {static_cast<uint8_t>(code), bits, 1}; }

// In the order of DType.
constexpr std::array<nb::dlpack::dtype, 12> kTypes = {
    make(DlpackCode::Bool, 8), make(DlpackCode::UInt, 8),   make(DlpackCode::Int, 8),    make(DlpackCode::UInt, 16),
    make(DlpackCode::Int, 16), make(DlpackCode::UInt, 32),  make(DlpackCode::Int, 32),   make(DlpackCode::UInt, 64),
    make(DlpackCode::Int, 64), make(DlpackCode::Float, 16), make(DlpackCode::Float, 32), make(DlpackCode::Float, 64)};
static_assert(static_cast<size_t>(DType::kFloat64) + 1 == kTypes.size());

std::optional<DType> dtype_of(nb::dlpack::dtype type) {
  for (size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i] == type) return static_cast<DType>(i);
  }
  return std::nullopt;
}

// NumPy refuses arrays without an address, even empty ones.
alignas(64) uint8_t empty_array[64];

}  // namespace

template <typename... Flags>
static nb::object numpy_of(Tensor tensor) {
  std::array<size_t, Shape::kMaxRank> shape{};
  for (size_t i = 0; i < tensor.shape.rank(); ++i) shape[i] = static_cast<size_t>(tensor.shape[i]);
  // On the heap: the array outlives this call, and its capsule frees it on whatever thread lets go last.
  auto* kept = new Tensor(std::move(tensor));
  nb::capsule owner(kept, [](void* pointer) noexcept { delete static_cast<Tensor*>(pointer); });
  // Shared by all empty arrays, which have no elements to write to.
  void* data = kept->buffer.data() != nullptr ? kept->buffer.data() : empty_array;
  nb::ndarray<nb::numpy, Flags...> array(data, kept->shape.rank(), shape.data(), owner, nullptr,
                                         kTypes[static_cast<size_t>(kept->dtype)], nb::device::cpu::value);
  return array.cast();
}

nb::object to_numpy(Tensor tensor) { return numpy_of(std::move(tensor)); }
nb::object to_read_only_numpy(Tensor tensor) { return numpy_of<nb::ro>(std::move(tensor)); }

Tensor view_of(const InputArray& array) {
  const std::optional<DType> dtype = dtype_of(array.dtype());
  if (!dtype || array.ndim() > Shape::kMaxRank) {
    PyErr_SetString(PyExc_TypeError, dtype ? "an array has more than 8 dimensions"
                                           : "an array must hold bools, integers or floats of at most 64 bits");
    throw nb::python_error();
  }
  Tensor tensor;
  tensor.dtype = *dtype;
  for (size_t i = 0; i < array.ndim(); ++i) tensor.shape.push_back(static_cast<int64_t>(array.shape(i)));
  // A Buffer has no read-only form; sources do not write to what they are given.
  auto* data = const_cast<uint8_t*>(static_cast<const uint8_t*>(array.data()));
  // No owner: engine threads let go of buffers, and must not count references of Python's. PyDescription::keep holds the array.
  tensor.buffer = Buffer(data, array.nbytes(), nullptr);
  return tensor;
}

}  // namespace forebay::python
