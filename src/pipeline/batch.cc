#include "forebay/batch.h"

#include <algorithm>

namespace forebay {

const BatchField* Batch::find(std::string_view name) const {
  auto found = std::find_if(fields.begin(), fields.end(), [&](const BatchField& field) { return field.name == name; });
  return found == fields.end() ? nullptr : &*found;
}

// Bytes of the axes from `axis` on.
static size_t item_bytes(const Tensor& values, size_t axis) {
  size_t bytes = dtype_size(values.dtype);
  for (size_t i = axis; i < values.shape.rank(); ++i) bytes *= static_cast<size_t>(values.shape[i]);
  return bytes;
}

std::span<const uint8_t> BatchField::row(int64_t i) const {
  const uint8_t* data = values.buffer.data();
  if (kind == Kind::kDense) {
    const int64_t rows = values.shape[0];
    const size_t bytes = rows > 0 ? values.nbytes() / static_cast<size_t>(rows) : 0;
    // Padding up to the longest row of the batch is left out: it depends on the other rows.
    const size_t own =
        lengths.empty() ? bytes : static_cast<size_t>(lengths[static_cast<size_t>(i)]) * item_bytes(values, 2);
    return {data + bytes * static_cast<size_t>(i), own};
  }
  const auto* at = offsets.data<int64_t>();
  if (string_list()) {
    const auto* bytes = string_offsets.data<int64_t>();
    return {data + bytes[at[i]], static_cast<size_t>(bytes[at[i + 1]] - bytes[at[i]])};
  }
  const size_t item = item_bytes(values, 1);
  return {data + static_cast<size_t>(at[i]) * item, static_cast<size_t>(at[i + 1] - at[i]) * item};
}

std::span<const uint8_t> BatchField::string(int64_t number) const {
  const auto* at = string_offsets.data<int64_t>() + number;
  return {values.buffer.data() + at[0], static_cast<size_t>(at[1] - at[0])};
}

}  // namespace forebay
