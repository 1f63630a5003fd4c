#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/columns.h"
#include "base/source.h"
#include "base/table_codec.h"
#include "format/files/open_store.h"
#include "format/materialized/manifest.h"
#include "format/materialized/shard_identities.h"

namespace forebay {

/// Samples, or chunks, that were materialised from an earlier version of the original. They are
/// found by the identity of what they were made from. Not thread-safe.
class FinishedSamples {
 public:
  /// If its fields differ from `fields`, nothing can be reused, and find() finds nothing.
  static Result<FinishedSamples> open(StoreAndPath folder, const MaterializedManifest& finished,
                                      const std::vector<StoredField>& fields, const TableCodecs& codecs,
                                      std::stop_token stop);

  /// Returns the number that this sample, or chunk, has in the finished data.
  std::optional<int64_t> find(const std::optional<Hash128>& identity) const;
  /// Returns the values that the steps give; encoded pictures stay encoded. Corrupt if damaged.
  Result<Record> sample(int64_t number) const;
  Result<Columns> chunk(int64_t number) const;

 private:
  struct HashOf {
    size_t operator()(const Hash128& hash) const { return static_cast<size_t>(hash.low); }
  };
  Status read_identities_of(const StoreAndPath& folder, const MaterializedManifest& finished, const TableCodecs& codecs,
                            std::stop_token stop);
  explicit FinishedSamples(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  std::shared_ptr<const Source> source_;
  std::unordered_map<Hash128, int64_t, HashOf> numbers_;
};

}  // namespace forebay
