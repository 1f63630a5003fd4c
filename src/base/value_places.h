#pragma once

#include <cstddef>
#include <cstdint>

#include "base/source.h"

namespace forebay {

/// A source whose index has the places of stored values, so that a reader can do with the
/// beginnings of them.
class ValuePlaces {
 public:
  virtual ~ValuePlaces() = default;
  /// True if the value of a field is a range of bytes, of known size, in each sample.
  virtual bool has_places(size_t field) const = 0;
  /// Returns the read of the first bytes of such a value, at most `bytes`.
  virtual SampleSource::Fetch fetch_head(size_t field, int64_t id, uint64_t bytes) const = 0;
};

/// The source itself, if it is of that kind; otherwise null.
inline const ValuePlaces* value_places(const Source& source) { return dynamic_cast<const ValuePlaces*>(&source); }

}  // namespace forebay
