#pragma once

#include <memory>

#include "base/source.h"
#include "base/value_places.h"
#include "pipeline/selection.h"

namespace forebay {

/// The values of a field whose places are known, as a reader of their beginnings needs them.
struct ValueHeads {
  std::shared_ptr<const Source> whole;  ///< the data set
  size_t field = 0;
  ValuePlaces places;                         ///< those of the field
  std::shared_ptr<const Selection> selected;  ///< the samples that are read
  uint64_t bytes = 0;                         ///< how many are read of each value

  /// Returns a source with the same ids, and with the beginnings of the field as its only field. It
  /// is read one by one or in chunks, as the data set is. Beginnings that lie near each other in an
  /// object are one read. The value of a sample without a place is empty.
  std::shared_ptr<const Source> open() const;
};

}  // namespace forebay
