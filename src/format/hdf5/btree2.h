#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "format/hdf5/file_bytes.h"

namespace forebay {

/// The header of a version 2 B-tree.
struct Hdf5Tree {
  uint8_t type = 0;           ///< of its records (III.A.2 of the specification)
  uint16_t record_bytes = 0;  ///< bytes of each record
};

using Hdf5RecordVisit = std::function<Status(const Hdf5Tree&, std::span<const uint8_t> record)>;

/// Calls `visit` with every record of a version 2 B-tree, until one returns an error, which is
/// returned. Corrupt if the tree is damaged or circular.
Status walk_hdf5_tree(Hdf5Metadata& file, uint64_t address, const Hdf5RecordVisit& visit);

}  // namespace forebay
