#pragma once

#include <string>

namespace forebay {

/// A mistake in a pipeline, and how to correct it.
struct Problem {
  std::string op;       ///< "3: random_crop"
  std::string message;  ///< "the field 'image' is still encoded"
  std::string remedy;   ///< "put .decode_image() before it"
};

}  // namespace forebay
