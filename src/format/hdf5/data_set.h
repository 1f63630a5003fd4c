#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "format/hdf5/datatype.h"
#include "format/hdf5/filters.h"
#include "format/hdf5/object_header.h"

namespace forebay {

/// Maximum extent of an unlimited axis.
constexpr uint64_t kHdf5Unlimited = UINT64_MAX;

/// How many elements there are along each axis.
struct Hdf5Space {
  bool empty = false;  ///< a "null" dataspace, which has no values at all
  std::vector<uint64_t> dims;
  std::vector<uint64_t> most;  ///< maximum extents; kHdf5Unlimited if unlimited
  /// Product of the extents; kHdf5NoAddress if it exceeds 64 bits.
  uint64_t elements() const;
};

/// The place of a chunk's filtered bytes.
struct Hdf5Chunk {
  uint64_t number = 0;  ///< index in the grid of chunks, the last axis varying fastest
  uint64_t address = 0;
  uint64_t stored_bytes = 0;  ///< bytes in the file, after filtering
  uint32_t filter_mask = 0;   ///< bit i: filter i was not applied
};

/// A data set as its header and its chunk index describe it.
struct Hdf5DataSet {
  enum class Layout : uint8_t { kCompact, kContiguous, kChunked };
  std::string path;
  Hdf5Type type;
  Hdf5Space space;
  Layout layout = Layout::kContiguous;
  Buffer compact;                     ///< for kCompact: the values
  uint64_t address = kHdf5NoAddress;  ///< for kContiguous; kHdf5NoAddress: all fill value
  std::vector<uint64_t> chunk;        ///< for kChunked: its shape
  std::vector<Hdf5Filter> filters;
  std::vector<Hdf5Chunk> chunks;  ///< chunks that were written, by number
  Buffer fill;                    ///< one element; empty if it is zero

  uint64_t rows() const { return space.dims.empty() ? 0 : space.dims[0]; }
  /// Bytes of a row before filtering.
  uint64_t row_bytes() const;
  /// Bytes of a chunk before filtering.
  uint64_t chunk_bytes() const;
  /// Number of chunks along an axis.
  uint64_t grid(size_t axis) const { return (space.dims[axis] + chunk[axis] - 1) / chunk[axis]; }
  /// Null if the chunk was never written.
  const Hdf5Chunk* find_chunk(uint64_t number) const;
  /// Memory of the index of chunks.
  uint64_t index_bytes() const;
};

/// Parses a dataspace message. Corrupt if it is damaged.
Result<Hdf5Space> parse_hdf5_space(Hdf5Cursor& in);

/// Reads a data set from its object header. InvalidArgument if the object is none; Unsupported,
/// with a remedy, for external data, virtual data sets, and filters that are not implemented here.
/// Corrupt if sizes are inconsistent.
Result<Hdf5DataSet> open_hdf5_data_set(Hdf5Metadata& file, const Hdf5Header& header, std::string_view path);

/// A named value attached to an object.
struct Hdf5Attribute {
  Hdf5Type type;
  Hdf5Space space;
  Buffer values;
};
/// Finds an attribute of an object by its name. NotFound, with similar names, if there is none.
Result<Hdf5Attribute> find_hdf5_attribute(Hdf5Metadata& file, const Hdf5Header& header, std::string_view name);

}  // namespace forebay
