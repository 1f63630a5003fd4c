#pragma once

#include "base/schema.h"

namespace forebay {

inline Shape without_first(const Shape& shape) {
  Shape row;
  for (size_t axis = 1; axis < shape.rank(); ++axis) row.push_back(shape[axis]);
  return row;
}

inline Shape with_first(int64_t first, const Shape& row) {
  Shape shape{first};
  for (const int64_t dim : row) shape.push_back(dim);
  return shape;
}

}  // namespace forebay
