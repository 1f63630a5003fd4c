#pragma once

#include <functional>
#include <span>

#include "format/hdf5/file_bytes.h"

namespace forebay {

/// What stands in the header of a B-tree of the second kind.
struct Hdf5Tree {
  uint8_t type = 0;
  uint16_t record_bytes = 0;
};

using Hdf5RecordVisit = std::function<Status(const Hdf5Tree&, std::span<const uint8_t> record)>;

/// Gives every record of a B-tree of the second kind to `visit`. Corrupt where it is damaged or leads in circles.
Status walk_hdf5_tree(Hdf5Metadata& file, uint64_t address, const Hdf5RecordVisit& visit);

}  // namespace forebay
