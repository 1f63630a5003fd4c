#include "capi/tensors.h"

#include <array>
#include <memory>
#include <utility>

namespace forebay::capi {

namespace {

constexpr int32_t kCpu = 1;
// The first version with flags. None is set, since consumers may write to the memory of batches.
constexpr DLPackVersion kDlpackVersion = {1, 0};

struct ElementType {
  uint8_t code, bits;
};

// Indexed by DType.
constexpr std::array<ElementType, kDTypeCount> kElementTypes = {{{FB_BOOL, 8},
                                                                 {FB_UINT, 8},
                                                                 {FB_INT, 8},
                                                                 {FB_UINT, 16},
                                                                 {FB_INT, 16},
                                                                 {FB_UINT, 32},
                                                                 {FB_INT, 32},
                                                                 {FB_UINT, 64},
                                                                 {FB_INT, 64},
                                                                 {FB_FLOAT, 16},
                                                                 {FB_FLOAT, 32},
                                                                 {FB_FLOAT, 64},
                                                                 {FB_BFLOAT, 16}}};

ElementType element_type(const Tensor& tensor) { return kElementTypes[static_cast<size_t>(tensor.dtype)]; }

// Address of arrays without elements: some consumers refuse a null pointer even for these.
alignas(64) uint8_t no_elements[64];

void* address_of(const Tensor& tensor) {
  return tensor.buffer.data() != nullptr ? const_cast<uint8_t*>(tensor.buffer.data()) : no_elements;
}

/// Owns everything that a DLPack tensor points to. The deleter of `managed` deletes it.
template <typename Managed>
struct ExportedTensor {
  Tensor tensor;
  std::array<int64_t, Shape::kMaxRank> shape{}, strides{};
  Managed managed{};
};

template <typename Managed>
Managed* export_tensor(Tensor tensor) {
  auto exported = std::make_unique<ExportedTensor<Managed>>();
  exported->tensor = std::move(tensor);
  const Shape& shape = exported->tensor.shape;
  int64_t stride = 1;
  for (size_t i = shape.rank(); i-- > 0;) {
    exported->shape[i] = shape[i];
    // Strides are given although the tensor is compact: before DLPack 1.2 they could be null, but
    // not all consumers accept that.
    exported->strides[i] = stride;
    stride *= shape[i];
  }
  const ElementType type = element_type(exported->tensor);
  exported->managed.dl_tensor = {.data = address_of(exported->tensor),
                                 .device = {kCpu, 0},
                                 .ndim = static_cast<int32_t>(shape.rank()),
                                 .dtype = {type.code, type.bits, 1},
                                 .shape = exported->shape.data(),
                                 .strides = exported->strides.data(),
                                 .byte_offset = 0};
  exported->managed.manager_ctx = exported.get();
  exported->managed.deleter = [](Managed* self) {
    if (self != nullptr) delete static_cast<ExportedTensor<Managed>*>(self->manager_ctx);
  };
  // `managed` is part of the object that its deleter deletes, so nothing owns it here any more.
  return &exported.release()->managed;
}

}  // namespace

fb_array view_of(const Tensor& tensor) {
  const ElementType type = element_type(tensor);
  return {.data = address_of(tensor),
          .type = type.code,
          .bits = type.bits,
          .dimensions = static_cast<int32_t>(tensor.shape.rank()),
          .reserved = 0,
          .shape = tensor.shape.begin(),
          .bytes = tensor.nbytes()};
}

DLManagedTensor* to_dlpack(Tensor tensor) { return export_tensor<DLManagedTensor>(std::move(tensor)); }

DLManagedTensorVersioned* to_dlpack_versioned(Tensor tensor) {
  DLManagedTensorVersioned* managed = export_tensor<DLManagedTensorVersioned>(std::move(tensor));
  managed->version = kDlpackVersion;
  return managed;
}

}  // namespace forebay::capi
