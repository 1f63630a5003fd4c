#pragma once

#include <string>
#include <utility>

#include "base/schema.h"

namespace forebay {

inline Field field_of(std::string name, FieldKind kind, DType dtype = DType::kUint8, Shape shape = {}) {
  Field field;
  field.name = std::move(name);
  field.kind = kind;
  field.dtype = dtype;
  field.shape = shape;
  return field;
}

}  // namespace forebay
