#pragma once

#include <nlohmann/json.hpp>

#include "forebay/pipeline.h"
#include "pipeline/description.h"

namespace forebay {

/// Null where the pipeline has code of its own.
inline Json description_json(const Pipeline& pipeline) {
  const Result<std::string> text = pipeline.to_json();
  return text.ok() ? Json::parse(*text) : Json();
}

}  // namespace forebay
