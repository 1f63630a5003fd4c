#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/source.h"
#include "base/table_codec.h"
#include "format/materialized/manifest.h"
#include "format/materialized/sample_shard.h"
#include "materialize/reuse_plan.h"
#include "materialize/row_feed.h"
#include "materialize/shard_plan.h"
#include "store/read_buffers.h"

namespace forebay {

/// Makes the files of shards from the results of the steps, and from reused samples. Not
/// thread-safe.
class ShardMaker {
 public:
  /// Data that the shards are made from. It outlives the maker.
  struct From {
    const MaterializedManifest& manifest;
    const ShardPlan& plan;
    const std::vector<int64_t>& chunks;  ///< first rows of chunks, and the end; empty for samples
    const Source& source;
    const TableCodecs& codecs;
    const ReusePlan& reuse;
    const FinishedSamples* finished = nullptr;  ///< null if nothing is reused
    int threads = 1;                            ///< threads that encode pictures
  };
  /// `feed` reads the samples that have to be made. `advanced` is called with the number of samples
  /// done.
  ShardMaker(From from, RowFeed& feed, std::function<void(int64_t)> advanced);

  Result<ShardFiles> make(int64_t shard);

 private:
  Result<ShardFiles> of_samples(int64_t first, int64_t end);
  Result<ShardFiles> of_chunks(int64_t first, int64_t end);
  Status add_fresh(int64_t first, int64_t end, std::vector<Record>& samples);
  Result<Columns> fresh_chunk(int64_t chunk);
  int64_t fresh_row_of_chunk(int64_t chunk) const;

  const From from_;
  RowFeed& feed_;
  const std::function<void(int64_t)> advanced_;
  std::vector<int64_t> fresh_;          ///< chunks that have to be made, in order
  std::vector<int64_t> fresh_rows_{0};  ///< rows before each of `fresh_`, and of all
  /// The next shard reuses the memory of this one's samples, columns and files.
  const BufferAllocator memory_ = [buffers = ReadBuffers::make(uint64_t{256} << 20)](size_t bytes) {
    return buffers->acquire(bytes);
  };
};

}  // namespace forebay
