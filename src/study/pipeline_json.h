#pragma once

#include <nlohmann/json.hpp>

#include "forebay/pipeline.h"
#include "pipeline/description.h"

namespace forebay {

/// Returns null if the pipeline contains user code.
inline Json description_json(const Pipeline& pipeline) {
  const Result<std::string> text = pipeline.to_json();
  return text.ok() ? Json::parse(*text) : Json();
}

}  // namespace forebay
