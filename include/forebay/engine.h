#pragma once

#include <cstdint>
#include <optional>

#include "forebay/status.h"

namespace forebay {

/// Limits for all loaders of a process together.
struct EngineLimits {
  /// Compute threads. By default as many as the process may use cores; the number follows changes.
  std::optional<int> threads = {};
  /// Bytes for loaders without a memory limit of their own. By default a quarter of the machine's.
  std::optional<uint64_t> memory = {};
};

/// Sets the limits of the engine, which all loaders of the process share. Call it before the first
/// loader is opened or after all are closed, from any thread. Limits that are not given get their
/// defaults. Error: InvalidArgument while a loader is open, and for numbers out of range.
Status engine(const EngineLimits& limits = {});

}  // namespace forebay
