#pragma once

#include <functional>
#include <span>
#include <vector>

#include "base/read_request.h"
#include "base/work_memory.h"
#include "format/hdf5/data_set.h"

namespace forebay {

/// Returns stored bytes at an address, without undoing filters.
using Hdf5Stored = std::function<Result<Buffer>(uint64_t address, uint64_t bytes)>;

/// What to extract from each element: `item_bytes` bytes are written to `out`, row after row.
struct Hdf5Extract {
  uint64_t item_bytes = 0;
  /// Converts adjacent elements; if empty, they are copied.
  std::function<void(const uint8_t* elements, uint64_t count, uint8_t* out)> convert = {};
  uint8_t* out = nullptr;
};

/// Addresses and lengths of the stored bytes of rows [first, first + count), ascending, without
/// data that was never written.
std::vector<ByteRange> hdf5_stored_ranges(const Hdf5DataSet& data, uint64_t first, uint64_t count);

/// Reads rows [first, first + count) once and performs all extracts on them. Elements that were
/// never written have the fill value.
Status read_hdf5_rows(const Hdf5DataSet& data, uint64_t first, uint64_t count, const Hdf5Stored& stored,
                      std::span<const Hdf5Extract> extracts, Hdf5Filtering& filtering, WorkMemory& memory);

}  // namespace forebay
