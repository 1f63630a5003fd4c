#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/read_request.h"
#include "base/work_memory.h"
#include "format/hdf5/data_set.h"

namespace forebay {

/// Stored bytes at an address, as the file has them.
using Hdf5Stored = std::function<Result<Buffer>(uint64_t address, uint64_t bytes)>;

/// What becomes of each element of some rows: `item_bytes` at `out`, rows end to end.
struct Hdf5Extract {
  uint64_t item_bytes = 0;
  /// Of elements end to end; empty: as they are.
  std::function<void(const uint8_t* elements, uint64_t count, uint8_t* out)> convert = {};
  uint8_t* out = nullptr;
};

/// Addresses and lengths of what is stored of rows [first, first + count), ascending; nothing of what was never written.
std::vector<ByteRange> hdf5_stored_ranges(const Hdf5DataSet& data, uint64_t first, uint64_t count);

/// Reads rows [first, first + count) once and extracts all that is wished from them. Elements that were never written are the fill value.
Status read_hdf5_rows(const Hdf5DataSet& data, uint64_t first, uint64_t count, const Hdf5Stored& stored,
                      std::span<const Hdf5Extract> extracts, Hdf5Filtering& filtering, WorkMemory& memory);

}  // namespace forebay
