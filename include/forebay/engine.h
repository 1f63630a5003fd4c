#pragma once

#include <cstdint>
#include <optional>

#include "forebay/status.h"

namespace forebay {

/// What all loaders of a process may use together.
struct EngineLimits {
  std::optional<int> threads =
      {};  ///< compute threads; else all cores that the process may use, as many as there are at the time
  std::optional<uint64_t> memory =
      {};  ///< bytes of loaders that were given no figure of their own; else a quarter of the machine's
};

/// Sets the limits of the process's engine, which its loaders share: before the first of them is opened. InvalidArgument while a loader is
/// open, and for numbers that make no sense. What is not given is found as above. From any thread.
Status engine(const EngineLimits& limits = {});

}  // namespace forebay
