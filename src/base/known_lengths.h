#pragma once

#include <cstddef>
#include <cstdint>

#include "base/source.h"

namespace forebay {

/// A source whose index has the lengths of rows, so that nobody has to read the rows to measure
/// them.
class KnownLengths {
 public:
  virtual ~KnownLengths() = default;
  /// Whether the index has the lengths of the rows of a field.
  virtual bool knows_lengths(size_t field) const = 0;
  /// The elements of sample `id` along the first axis of such a field.
  virtual int64_t length(size_t field, int64_t id) const = 0;
};

/// The source itself, if it is of that kind; otherwise null.
inline const KnownLengths* known_lengths(const Source& source) { return dynamic_cast<const KnownLengths*>(&source); }

}  // namespace forebay
