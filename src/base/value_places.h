#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stop_token>
#include <utility>

#include "base/source.h"

namespace forebay {

/// Finds the places where the values of one field are stored, for readers that need only their
/// beginnings. Called with the id of a sample, it returns the read of the first `bytes` of its
/// value, or of all if it has fewer. A read without a store means that the sample has no such place, or is bad.
struct ValuePlaces {
  std::function<SampleSource::Fetch(int64_t id, uint64_t bytes)> find;
  uint64_t memory_bytes = 0;  ///< that they take beside the source

  explicit operator bool() const { return find != nullptr; }
  SampleSource::Fetch operator()(int64_t id, uint64_t bytes) const { return find(id, bytes); }
};

/// A source whose index has such places.
class PlacedSource {
 public:
  virtual ~PlacedSource() = default;
  /// The places of the values of a field, for as long as the source exists. Empty if they are not
  /// known: the values are no ranges of bytes, or have unknown sizes. May read saved indices, until
  /// it is stopped.
  virtual ValuePlaces value_places(size_t field, std::stop_token stop) const = 0;
};

/// The same of any source.
inline ValuePlaces value_places(const Source& source, size_t field, std::stop_token stop) {
  const auto* const placed = dynamic_cast<const PlacedSource*>(&source);
  return placed != nullptr ? placed->value_places(field, std::move(stop)) : ValuePlaces();
}

}  // namespace forebay
