#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/source.h"

namespace forebay {

/// Where the values of one field are stored, for readers to which their beginnings suffice. Called
/// with the id of a sample, it returns the read of the first `bytes` of its value, or of all if it
/// has fewer. A read without a store means that the sample has no such place, or is bad.
using ValuePlaces = std::function<SampleSource::Fetch(int64_t id, uint64_t bytes)>;

/// A source whose index has such places.
class PlacedSource {
 public:
  virtual ~PlacedSource() = default;
  /// The places of the values of a field, for as long as the source exists. Empty if they are not
  /// known: the values are no ranges of bytes, or have unknown sizes. May read saved indices.
  virtual ValuePlaces value_places(size_t field) const = 0;
};

/// The same of any source.
inline ValuePlaces value_places(const Source& source, size_t field) {
  const auto* const placed = dynamic_cast<const PlacedSource*>(&source);
  return placed != nullptr ? placed->value_places(field) : nullptr;
}

}  // namespace forebay
