#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/schema.h"
#include "forebay/batch.h"
#include "forebay/result.h"
#include "format/materialized/manifest.h"

namespace forebay {

/// What some samples look like.
class SeenSamples {
 public:
  /// Batches of one sample each, or of none.
  void add(const Batch& batch);
  int64_t samples() const { return samples_; }
  uint64_t bytes() const;  ///< all together
  /// Their fields: what `inferred` knows of them, and what was seen: user code makes what nobody knows before. Small ones are in the index.
  std::vector<StoredField> fields(const Schema& inferred) const;

 private:
  struct Seen {
    Field field;
    uint64_t bytes = 0;
    std::optional<Shape> shape = {};  ///< of all, where it is the same
    bool pictures = true;             ///< all values begin as files of pictures do
  };
  static void look_at(const BatchField& field, Seen& seen);
  std::vector<Seen> seen_;
  int64_t samples_ = 0;
};

/// Which rows are in which shard.
struct ShardPlan {
  std::vector<int64_t> begins{0};  ///< of each shard, and the end

  int64_t shards() const { return static_cast<int64_t>(begins.size()) - 1; }
  std::string to_json() const;
  /// Of a text that to_json() made, for so many rows; Corrupt otherwise.
  static Result<ShardPlan> from_json(const std::string& text, int64_t rows);
};

/// `places`: where a shard may begin, from 0 to the number of rows; empty for anywhere. `shards`: so many, as far as the places allow; else about
/// `bytes_a_shard` each.
ShardPlan plan_shards(int64_t rows, const std::vector<int64_t>& places, double bytes_a_row,
                      std::optional<int64_t> shards, uint64_t bytes_a_shard = uint64_t{64} << 20);

}  // namespace forebay
