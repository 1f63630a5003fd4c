#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/columns.h"
#include "base/source.h"
#include "base/work_memory.h"

namespace forebay {

/// Cost of a chunk, known before any of it is read.
struct ChunkCost {
  uint64_t fetched_bytes = 0;  ///< stored bytes that are read
  /// Bytes of the columns: an upper bound if one is known, otherwise an estimate.
  uint64_t decoded_bytes = 0;
};

/// A source that stores many rows together: row groups of Parquet files, record batches. A chunk is
/// fetched and decoded once, as a whole, and then gives its rows. The rows of a chunk have
/// consecutive ids.
class ChunkSource : public Source {
 public:
  virtual int64_t chunks() const = 0;
  /// The name of the file without its folders, and the place in it: "part-3.parquet row 17".
  std::string lasting_key(int64_t id) const override;
  /// The ids of chunk c are [chunk_begin(c), chunk_begin(c + 1)); chunk_begin(chunks()) is size().
  virtual int64_t chunk_begin(int64_t chunk) const = 0;
  /// Number of rows of the smallest chunk.
  int64_t fewest_rows() const;
  /// "train/part-3.parquet, row group 5", for messages.
  virtual std::string chunk_name(int64_t chunk) const = 0;
  virtual ChunkCost chunk_cost(int64_t chunk) const = 0;
  /// Objects and byte ranges to read. Nearby ranges are merged into one request. For data in memory
  /// `store` is null and `requests` is empty.
  struct ChunkFetch {
    Store* store = nullptr;
    std::vector<ReadRequest> requests;
  };
  virtual ChunkFetch chunk_fetch(int64_t chunk) const = 0;
  /// Decodes the bytes of chunk_fetch()'s requests, given in their order, to columns of schema().
  /// Corrupt and Unsupported name the column. Sizes are checked before memory is taken: the call
  /// never uses more than ChunkCost::decoded_bytes plus what `memory` allows (WorkMemory::reserve).
  virtual Result<Columns> decode(int64_t chunk, std::vector<Buffer> fetched, WorkMemory& memory) const = 0;
  /// Identifies the stored data of the chunk, independently of the rest of the data set. It is made
  /// of the object, its version (ETag; or size, time of change and inode), the place in it, the
  /// columns and the treatment of nulls. For data in memory it may be made of the rows themselves,
  /// which are then read once to hash them. Empty if the version is unknown.
  virtual std::optional<Hash128> chunk_identity(int64_t chunk) const = 0;
  /// Rows that pass the filter of the source (`filter=`): bit id % 64 of word id / 64. Null if
  /// there is no filter. Ids count all rows, so a filter changes no id.
  virtual const std::vector<uint64_t>* kept_rows() const { return nullptr; }
  /// NumPy's name for the type of an integer field that holds dates or times: "datetime64[us]",
  /// "timedelta64[s]". Empty for all other fields.
  virtual std::string time_name(size_t /*field*/) const { return {}; }
  /// Whether the value of a field comes from a folder's name ("date=2026-01-01/"), so that all rows
  /// of a chunk have the same value.
  virtual bool is_of_folder(size_t /*field*/) const { return false; }
  /// Whether a field is a mask that was added for another field (null=fb.NULL_MASK) and is not a
  /// column of the stored data.
  virtual bool is_mask(size_t /*field*/) const { return false; }
  /// The same rows with only these fields, in this order. Reads fewer bytes.
  virtual Result<std::shared_ptr<const ChunkSource>> with_fields(std::span<const std::string> names) const = 0;

  /// Made of the identity of the row's chunk and the row's place in it.
  std::optional<Identity> identity(int64_t id) const final;
  const ChunkSource* as_chunks() const final { return this; }
};

/// The same source if it is a ChunkSource, otherwise null.
inline std::shared_ptr<const ChunkSource> shared_as_chunks(const std::shared_ptr<const Source>& source) {
  return {source, source ? source->as_chunks() : nullptr};
}

}  // namespace forebay
