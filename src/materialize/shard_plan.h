#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "forebay/result.h"

namespace forebay {

/// Assignment of rows to shards.
struct ShardPlan {
  std::vector<int64_t> begins{0};  ///< first row of each shard, and the end

  int64_t shards() const { return static_cast<int64_t>(begins.size()) - 1; }
  std::string to_json() const;
  /// Parses a text of to_json() for `rows` rows. Corrupt if it is not one.
  static Result<ShardPlan> from_json(const std::string& text, int64_t rows);
};

/// Plans the shards. `boundaries` are the rows at which a shard may begin, from 0 to the number of
/// rows; empty means any row. It plans `shards` shards, as far as the boundaries allow, or else
/// shards of about `bytes_a_shard` bytes.
ShardPlan plan_shards(int64_t rows, const std::vector<int64_t>& boundaries, double bytes_a_row,
                      std::optional<int64_t> shards, uint64_t bytes_a_shard = uint64_t{64} << 20);

}  // namespace forebay
