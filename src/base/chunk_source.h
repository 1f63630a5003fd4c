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

/// What decoding a chunk needs, known before anything of it is read.
struct ChunkCost {
  uint64_t fetched_bytes = 0;  ///< stored bytes that are read
  uint64_t decoded_bytes = 0;  ///< of the columns; a bound where it is known, else an estimate
};

/// A source whose rows are stored many together: row groups of Parquet files, record batches. A chunk is fetched and decoded
/// as a whole, once, and then gives its rows; the ids of a chunk's rows follow each other.
class ChunkSource : public Source {
 public:
  virtual int64_t chunks() const = 0;
  /// Ids of chunk u are [chunk_begin(u), chunk_begin(u + 1)); chunk_begin(chunks()) is size().
  virtual int64_t chunk_begin(int64_t chunk) const = 0;
  /// Rows of the chunk that has the fewest.
  int64_t fewest_rows() const;
  /// "train/part-3.parquet, row group 5", for messages.
  virtual std::string chunk_name(int64_t chunk) const = 0;
  virtual ChunkCost chunk_cost(int64_t chunk) const = 0;
  /// Which bytes of which object; ranges close to each other are one request. Empty for data in memory. `store` is null then.
  struct ChunkFetch {
    Store* store = nullptr;
    std::vector<ReadRequest> requests;
  };
  virtual ChunkFetch chunk_fetch(int64_t chunk) const = 0;
  /// From the bytes of chunk_fetch()'s requests, in their order, to columns of schema(). Corrupt or Unsupported name the column.
  /// Checks sizes before it takes memory: never more than `memory` allows (WorkMemory::reserve) beyond ChunkCost::decoded_bytes.
  virtual Result<Columns> decode(int64_t chunk, std::vector<Buffer> fetched, WorkMemory& memory) const = 0;
  /// What identifies the stored data of the chunk whatever else is in the data set: object, its version (ETag; or size, time of
  /// change and inode) and place in it, columns, and how nulls are treated; or the rows themselves, which takes the time of reading them in memory, once. Nothing where no version is known.
  virtual std::optional<Hash128> chunk_identity(int64_t chunk) const = 0;
  /// The rows that the source itself keeps (`filter=`): bit id % 64 of word id / 64. Null where it keeps all. The ids of the others
  /// stay theirs, so that a filter changes no id.
  virtual const std::vector<uint64_t>* kept_rows() const { return nullptr; }
  /// What NumPy calls a field of integers that are dates or times: "datetime64[us]", "timedelta64[s]". Empty for all others.
  virtual std::string time_name(size_t /*field*/) const { return {}; }
  /// Whether a field stands in the names of folders ("date=2026-01-01/"), so that all rows of a chunk have one value.
  virtual bool is_of_folder(size_t /*field*/) const { return false; }
  /// Whether a field is a mask that came with another one (null=fb.NULL_MASK), and no column of the stored data.
  virtual bool is_mask(size_t /*field*/) const { return false; }
  /// The same rows with only these fields, in this order; fewer bytes are read.
  virtual Result<std::shared_ptr<const ChunkSource>> with_fields(std::span<const std::string> names) const = 0;

  /// Of a row: its chunk's, and its place there.
  std::optional<Identity> identity(int64_t id) const final;
  const ChunkSource* as_chunks() const final { return this; }
};

/// The same source where it is one of chunks, else null.
inline std::shared_ptr<const ChunkSource> shared_as_chunks(const std::shared_ptr<const Source>& source) {
  return {source, source ? source->as_chunks() : nullptr};
}

}  // namespace forebay
