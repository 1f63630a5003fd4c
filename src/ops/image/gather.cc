#include "ops/image/gather.h"

#include <algorithm>

namespace forebay {
namespace {

template <typename T>
void gather(const TensorPixels& from, std::span<const int64_t> rows, std::span<const int64_t> columns,
            bool channels_first, T* out) {
  const int64_t channels = from.channels();
  const auto width = static_cast<int64_t>(columns.size()), height = static_cast<int64_t>(rows.size());
  const int64_t step_x = channels_first ? 1 : channels, step_channel = channels_first ? width * height : 1;
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t y = 0; y < height; ++y) {
      const T* const row =
          from.tensor.data<T>() + std::max<int64_t>(rows[y], 0) * from.step_y() + c * from.step_channel();
      T* const to = out + y * width * step_x + c * step_channel;
      for (int64_t x = 0; x < width; ++x) {
        // -1 marks elements outside the picture.
        to[x * step_x] = rows[y] < 0 || columns[x] < 0 ? T{} : row[columns[x] * from.step_x()];
      }
    }
  }
}

}  // namespace

void fill_indices(const AxisSpec& spec, int64_t source_first, int64_t margin, std::span<int64_t> indices) {
  std::fill(indices.begin(), indices.end(), -1);
  nearest_indices(spec, indices.subspan(margin, spec.count));
  for (int64_t& index : indices.subspan(margin, spec.count)) index += source_first;
}

void gather_elements(const TensorPixels& from, std::span<const int64_t> rows, std::span<const int64_t> columns,
                     bool channels_first, uint8_t* out) {
  // Elements are only moved, so only their size matters.
  switch (dtype_size(from.tensor.dtype)) {
    case 1: return gather(from, rows, columns, channels_first, out);
    case 2: return gather(from, rows, columns, channels_first, reinterpret_cast<uint16_t*>(out));
    case 4: return gather(from, rows, columns, channels_first, reinterpret_cast<uint32_t*>(out));
    default: return gather(from, rows, columns, channels_first, reinterpret_cast<uint64_t*>(out));
  }
}

}  // namespace forebay
