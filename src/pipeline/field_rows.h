#pragma once

#include "base/schema.h"

namespace forebay {

/// Whether rows of the field may differ in their first axis and lie end to end in a batch, as (values, offsets): numbers of one
/// axis, and of more where the others are known. Pictures and sound never do: their axes mean something else.
inline bool lies_end_to_end(const Field& field) {
  if (field.kind != FieldKind::kTensor || field.shape.fully_known()) return false;
  if (field.shape.rank() == 1) return true;
  if (field.image || field.sound != SoundForm::kNone || field.shape[0] != Shape::kUnknown) return false;
  for (size_t i = 1; i < field.shape.rank(); ++i) {
    if (field.shape[i] <= 0) return false;
  }
  return true;
}

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
