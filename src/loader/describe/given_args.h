#pragma once

#include <initializer_list>
#include <utility>

#include <nlohmann/json.hpp>

#include "pipeline/json_fwd.h"

namespace forebay {

/// Returns the arguments that were given, as those of a step: null ones are left out, so that a
/// description reads like the code that made it.
inline Json given_args(std::initializer_list<std::pair<const char*, Json>> args) {
  Json result = Json::object();
  for (const auto& [name, value] : args) {
    if (!value.is_null()) result[name] = value;
  }
  return result;
}

}  // namespace forebay
