#include "capi/batch.h"

#include <cstddef>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "capi/failure.h"
#include "capi/handles.h"
#include "capi/tensors.h"
#include "forebay/result.h"

namespace forebay::capi {

namespace {

using Batches = Handles<const Batch>;

Result<std::shared_ptr<const Batch>> find_batch(const fb_batch* handle) {
  if (handle == nullptr) return invalid_argument("the batch is a null pointer: fb_next() did not give one");
  std::shared_ptr<const Batch> found = Batches::of_process().find(handle);
  if (found == nullptr)
    return invalid_argument("this is no batch: it was freed, or made in a process that this one was forked from");
  return found;
}

Result<const BatchField*> field_of(const Batch& batch, int32_t number) {
  if (number < 0 || static_cast<size_t>(number) >= batch.fields.size())
    return invalid_argument(
        fmt::format("there is no field number {}; this batch has {}, from 0", number, batch.fields.size()));
  return &batch.fields[static_cast<size_t>(number)];
}

// The codes have the order of BatchField::Kind, so a kind is converted by a cast.
static_assert(static_cast<int>(BatchField::Kind::kDense) == FB_DENSE &&
              static_cast<int>(BatchField::Kind::kTextList) == FB_TEXT_LIST);

int32_t arrays_of(const BatchField& field) {
  if (field.kind == BatchField::Kind::kDense) return 1;
  return field.string_list() ? 3 : 2;
}

Status describe_batch(const fb_batch* handle, fb_batch_info* info) {
  // The first version ended with `reserved`. Callers that were compiled with it pass no more.
  constexpr size_t kFirstVersion = offsetof(fb_batch_info, reserved) + sizeof(int32_t);
  FOREBAY_ASSIGN(const auto batch, find_batch(handle));
  const fb_batch_info filled = {.struct_size = 0,
                                .rows = batch->size(),
                                .padding = batch->padding,
                                .epoch = batch->epoch,
                                .step = batch->step,
                                // All pointers point into the batch and are valid until it is
                                // freed.
                                .ids = batch->ids.data(),
                                .positions = batch->positions.data(),
                                .fields = static_cast<int32_t>(batch->fields.size()),
                                .reserved = 0};
  return copy_struct("fb_batch_info", kFirstVersion, &filled, sizeof filled, info);
}

Status describe_field(const fb_batch* handle, int32_t number, fb_field* given) {
  constexpr size_t kFirstVersion = offsetof(fb_field, string_offsets) + sizeof(fb_array);
  FOREBAY_ASSIGN(const auto batch, find_batch(handle));
  FOREBAY_ASSIGN(const BatchField* field, field_of(*batch, number));
  fb_field filled = {};
  filled.name = field->name.c_str();
  filled.kind = static_cast<int32_t>(field->kind);
  filled.arrays = arrays_of(*field);
  filled.values = view_of(field->values);
  if (filled.arrays > 1) filled.offsets = view_of(field->offsets);
  if (filled.arrays > 2) filled.string_offsets = view_of(field->string_offsets);
  return copy_struct("fb_field", kFirstVersion, &filled, sizeof filled, given);
}

Status find_field(const fb_batch* handle, const char* name, int32_t* number) {
  if (name == nullptr || number == nullptr)
    return invalid_argument("fb_batch_find: the name, or where the number goes, is a null pointer");
  *number = -1;
  FOREBAY_ASSIGN(const auto batch, find_batch(handle));
  std::vector<std::string_view> names;
  for (const BatchField& field : batch->fields) {
    // The loop goes on after a match, because the error message lists all names.
    if (field.name == name) *number = static_cast<int32_t>(names.size());
    names.push_back(field.name);
  }
  if (*number >= 0) return {};
  return invalid_argument(fmt::format("there is no field '{}' in this batch; it has {}", name, fmt::join(names, ", ")));
}

Result<Tensor> array_of(const fb_batch* handle, int32_t number, int32_t which) {
  FOREBAY_ASSIGN(const auto batch, find_batch(handle));
  FOREBAY_ASSIGN(const BatchField* field, field_of(*batch, number));
  if (which < 0 || which >= arrays_of(*field))
    return invalid_argument(
        fmt::format("the field '{}' has no array number {}; it has {}, from 0", field->name, which, arrays_of(*field)));
  if (which == 0) return field->values;
  return which == 1 ? field->offsets : field->string_offsets;
}

template <typename Managed>
Status export_dlpack(const fb_batch* handle, int32_t number, int32_t which, Managed* (*make)(Tensor), Managed** given) {
  if (given == nullptr) return invalid_argument("where the tensor goes is a null pointer");
  *given = nullptr;
  FOREBAY_ASSIGN(Tensor tensor, array_of(handle, number, which));
  *given = make(std::move(tensor));
  return {};
}

Status free_batch(const fb_batch* handle) {
  if (handle == nullptr) return {};
  FOREBAY_ASSIGN(const auto batch, find_batch(handle));
  // DLPack tensors of the batch share ownership of its memory.
  Batches::of_process().take(handle);
  return {};
}

}  // namespace

fb_batch* new_batch_handle(Batch batch) {
  return reinterpret_cast<fb_batch*>(Batches::of_process().add(std::make_shared<const Batch>(std::move(batch))));
}

}  // namespace forebay::capi

fb_code fb_batch_describe(fb_batch* batch, fb_batch_info* info) {
  return forebay::capi::guarded([&] { return forebay::capi::describe_batch(batch, info); });
}

fb_code fb_batch_field(fb_batch* batch, int32_t number, fb_field* field) {
  return forebay::capi::guarded([&] { return forebay::capi::describe_field(batch, number, field); });
}

fb_code fb_batch_find(fb_batch* batch, const char* name, int32_t* number) {
  return forebay::capi::guarded([&] { return forebay::capi::find_field(batch, name, number); });
}

fb_code fb_batch_dlpack(fb_batch* batch, int32_t number, int32_t which, DLManagedTensor** tensor) {
  using namespace forebay::capi;
  return guarded([&] { return export_dlpack(batch, number, which, &to_dlpack, tensor); });
}

fb_code fb_batch_dlpack_versioned(fb_batch* batch, int32_t number, int32_t which, DLManagedTensorVersioned** tensor) {
  using namespace forebay::capi;
  return guarded([&] { return export_dlpack(batch, number, which, &to_dlpack_versioned, tensor); });
}

fb_code fb_batch_free(fb_batch* batch) {
  return forebay::capi::guarded([&] { return forebay::capi::free_batch(batch); });
}
