#pragma once

#include <initializer_list>
#include <utility>

#include "pipeline/description.h"

namespace forebay {

/// Arguments as a description has them. Those that say nothing (null) are left out, so that it reads like what was typed.
inline Json said_args(std::initializer_list<std::pair<const char*, Json>> args) {
  Json result = Json::object();
  for (const auto& [name, value] : args) {
    if (!value.is_null()) result[name] = value;
  }
  return result;
}

}  // namespace forebay
