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

/// Collects the types, shapes and sizes of some samples.
class SeenSamples {
 public:
  /// Adds a batch of one sample, or an empty one.
  void add(const Batch& batch);
  int64_t samples() const { return samples_; }
  uint64_t bytes() const;  ///< bytes of all samples
  /// Returns the fields, from `inferred` and from the samples: the fields of user code are known
  /// only from samples. Small fields are marked for the index.
  std::vector<StoredField> fields(const Schema& inferred) const;

 private:
  struct Seen {
    Field field;
    uint64_t bytes = 0;
    std::optional<Shape> shape = {};  ///< shape of all values, if they agree
    bool pictures = true;             ///< all values begin like picture files
  };
  static void look_at(const BatchField& field, Seen& seen);
  std::vector<Seen> seen_;
  int64_t samples_ = 0;
};

/// Assignment of rows to shards.
struct ShardPlan {
  std::vector<int64_t> begins{0};  ///< first row of each shard, and the end

  int64_t shards() const { return static_cast<int64_t>(begins.size()) - 1; }
  std::string to_json() const;
  /// Parses a text of to_json() for `rows` rows. Corrupt if it is not one.
  static Result<ShardPlan> from_json(const std::string& text, int64_t rows);
};

/// Plans the shards. `places` are the rows at which a shard may begin, from 0 to the number of
/// rows; empty means any row. It plans `shards` shards, as far as the places allow, or else shards
/// of about `bytes_a_shard` bytes.
ShardPlan plan_shards(int64_t rows, const std::vector<int64_t>& places, double bytes_a_row,
                      std::optional<int64_t> shards, uint64_t bytes_a_shard = uint64_t{64} << 20);

}  // namespace forebay
