#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/source.h"

namespace forebay {

/// A source that copies rows out of memory (SampleSource::gather()). gather() prefetches the later
/// rows of a call while it copies the earlier ones.
class RowPrefetch {
 public:
  virtual ~RowPrefetch() = default;
  /// Called shortly before gather() of a field with the first samples of that call. Brings their
  /// values into the processor's cache, as far as that needs no waiting.
  virtual void prefetch(size_t field, std::span<const int64_t> ids) const = 0;
};

/// The source itself, if it is of that kind; otherwise null.
inline const RowPrefetch* row_prefetch(const Source& source) { return dynamic_cast<const RowPrefetch*>(&source); }

}  // namespace forebay
