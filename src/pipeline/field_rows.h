#pragma once

#include "base/schema.h"

namespace forebay {

/// Whether rows of the field may differ in their first axis, so that a batch holds them end to end
/// as (values, offsets). They are numbers of one axis, or of several if all but the first are
/// known. Pictures and sound never are, since their axes have another meaning.
inline bool may_be_ragged(const Field& field) {
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
