#include "python/array.h"

#include <array>
#include <optional>
#include <utility>

#include "python/text.h"

namespace forebay::python {

namespace {

using DlpackCode = nb::dlpack::dtype_code;

constexpr nb::dlpack::dtype make(DlpackCode code, uint8_t bits) { return {static_cast<uint8_t>(code), bits, 1}; }

// In the order of DType.
constexpr std::array<nb::dlpack::dtype, kDTypeCount> kTypes = {
    make(DlpackCode::Bool, 8),   make(DlpackCode::UInt, 8),   make(DlpackCode::Int, 8),    make(DlpackCode::UInt, 16),
    make(DlpackCode::Int, 16),   make(DlpackCode::UInt, 32),  make(DlpackCode::Int, 32),   make(DlpackCode::UInt, 64),
    make(DlpackCode::Int, 64),   make(DlpackCode::Float, 16), make(DlpackCode::Float, 32), make(DlpackCode::Float, 64),
    make(DlpackCode::Bfloat, 16)};

std::optional<DType> dtype_of(nb::dlpack::dtype type) {
  for (size_t i = 0; i < kTypes.size(); ++i) {
    if (kTypes[i] == type) return static_cast<DType>(i);
  }
  return std::nullopt;
}

// NumPy refuses arrays without an address, even empty ones.
alignas(64) uint8_t empty_array[64];

}  // namespace

template <typename Array>
static nb::object array_over(Tensor tensor) {
  std::array<size_t, Shape::kMaxRank> shape{};
  for (size_t i = 0; i < tensor.shape.rank(); ++i) shape[i] = static_cast<size_t>(tensor.shape[i]);
  // On the heap: the array outlives this call, and its capsule frees the tensor on the thread that
  // drops it last.
  auto* kept = new Tensor(std::move(tensor));
  nb::capsule owner(kept, [](void* pointer) noexcept { delete static_cast<Tensor*>(pointer); });
  // All empty arrays share this address; they have no elements to write to.
  void* data = kept->buffer.data() != nullptr ? kept->buffer.data() : empty_array;
  return Array(data, kept->shape.rank(), shape.data(), owner, nullptr, kTypes[static_cast<size_t>(kept->dtype)],
               nb::device::cpu::value)
      .cast();
}

static nb::module_ bfloat16_module() { return nb::module_::import_("forebay._bfloat16"); }

template <typename... Flags>
static nb::object numpy_of(Tensor tensor, const std::string& field) {
  if (tensor.dtype != DType::kBfloat16) return array_over<nb::ndarray<nb::numpy, Flags...>>(std::move(tensor));
  tensor.dtype = DType::kUint16;
  nb::object bits = array_over<nb::ndarray<nb::numpy, Flags...>>(std::move(tensor));
  return bfloat16_module().attr("of_bits")(bits, to_text(field));
}

nb::object to_numpy(Tensor tensor, const std::string& field) { return numpy_of(std::move(tensor), field); }
nb::object to_read_only_numpy(Tensor tensor, const std::string& field) {
  return numpy_of<nb::ro>(std::move(tensor), field);
}
nb::object to_dlpack(Tensor tensor) { return array_over<nb::ndarray<nb::array_api>>(std::move(tensor)); }

void import_numpy() {
  try {
    nb::module_::import_("numpy");
  } catch (const nb::python_error&) {
    // The first array raises it again.
  }
}

static Tensor view_of(const InputArray& array, bool bfloat16) {
  const std::optional<DType> dtype = bfloat16 ? DType::kBfloat16 : dtype_of(array.dtype());
  if (!dtype || array.ndim() > Shape::kMaxRank) {
    PyErr_SetString(PyExc_TypeError, dtype ? "an array has more than 8 dimensions"
                                           : "an array must hold bools, integers or floats of at most 64 bits");
    throw nb::python_error();
  }
  Tensor tensor;
  tensor.dtype = *dtype;
  for (size_t i = 0; i < array.ndim(); ++i) tensor.shape.push_back(static_cast<int64_t>(array.shape(i)));
  // A Buffer has no read-only form; sources never write to their input.
  auto* data = const_cast<uint8_t*>(static_cast<const uint8_t*>(array.data()));
  // Without an owner: engine threads drop buffers and must not count Python references.
  // PyDescription::keep holds the array.
  tensor.buffer = Buffer(data, array.nbytes(), nullptr);
  return tensor;
}

Input input_of(nb::handle object) {
  InputArray array;
  const bool plain = nb::try_cast(object, array);
  // The bits in a NumPy type of their own, which no DLPack array has.
  if (!plain) array = nb::cast<InputArray>(bfloat16_module().attr("bits_of")(object));
  Tensor tensor = view_of(array, !plain);
  return {std::move(array), std::move(tensor)};
}

}  // namespace forebay::python
