#pragma once

#include <nlohmann/json_fwd.hpp>

namespace forebay {

/// Arguments of steps: JSON whose objects keep the order of their keys. This header is for
/// declarations; code that uses a value includes <nlohmann/json.hpp>, which takes a second to
/// compile.
using Json = nlohmann::ordered_json;

}  // namespace forebay
