#pragma once

#include <cstdint>

namespace forebay {

/// The last number that the operator `image_size` gives of a picture, behind height and width.
enum class SizeState : int64_t {
  kNotRead,  ///< its header goes on behind the bytes that were read, or is damaged
  kKnown,
  kEither,  ///< height and width may be exchanged: the bytes do not tell the orientation
};

}  // namespace forebay
