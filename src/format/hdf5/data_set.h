#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "format/hdf5/datatype.h"
#include "format/hdf5/filters.h"
#include "format/hdf5/object_header.h"

namespace forebay {

/// What an axis may grow to where nothing bounds it.
constexpr uint64_t kHdf5NoEnd = UINT64_MAX;

/// How many elements there are along each axis.
struct Hdf5Space {
  bool empty = false;  ///< "null": there is nothing, not even one value
  std::vector<uint64_t> dims;
  std::vector<uint64_t> most;  ///< to which they may grow; kHdf5NoEnd where nothing bounds that
  /// Their product; kHdf5Nowhere where that is beyond 64 bits.
  uint64_t elements() const;
};

/// Where a chunk lies: raw, as its filters left it.
struct Hdf5Chunk {
  uint64_t number = 0;  ///< in the grid of chunks, the last axis fastest
  uint64_t address = 0;
  uint64_t stored_bytes = 0;
  uint32_t skipped = 0;  ///< filters that it did not go through
};

/// A data set, as its header and the index of its chunks say it.
struct Hdf5DataSet {
  enum class Layout : uint8_t { kCompact, kContiguous, kChunked };
  std::string path;
  Hdf5Type type;
  Hdf5Space space;
  Layout layout = Layout::kContiguous;
  Buffer compact;                   ///< of kCompact: the values
  uint64_t address = kHdf5Nowhere;  ///< of kContiguous; nowhere: all is the fill value
  std::vector<uint64_t> chunk;      ///< of kChunked: its shape
  std::vector<Hdf5Filter> filters;
  std::vector<Hdf5Chunk> chunks;  ///< those that were written, by number
  Buffer fill;                    ///< an element; empty: zeros

  uint64_t rows() const { return space.dims.empty() ? 0 : space.dims[0]; }
  /// Bytes of a row, as stored without filters.
  uint64_t row_bytes() const;
  uint64_t chunk_bytes() const;
  /// How many chunks there are along an axis.
  uint64_t grid(size_t axis) const { return (space.dims[axis] + chunk[axis] - 1) / chunk[axis]; }
  /// Null where it was never written.
  const Hdf5Chunk* find_chunk(uint64_t number) const;
  uint64_t index_bytes() const;
};

Result<Hdf5Space> parse_hdf5_space(Hdf5Cursor& in);

/// From an object's header. Unsupported, with the way out, for data in other files, for virtual data sets, and for filters that
/// are not read here; Corrupt where sizes make no sense.
Result<Hdf5DataSet> open_hdf5_data_set(Hdf5Metadata& file, const Hdf5Header& header, std::string_view path);

/// An attribute: a value beside an object.
struct Hdf5Attribute {
  Hdf5Type type;
  Hdf5Space space;
  Buffer values;
};
Result<Hdf5Attribute> find_hdf5_attribute(Hdf5Metadata& file, const Hdf5Header& header, std::string_view name);

}  // namespace forebay
