#pragma once

#include <cstdint>
#include <functional>
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

/// What was materialised before the original changed: samples, or chunks, found by what they were made of. One thread.
class KeptSamples {
 public:
  /// Nothing can be taken from it where its fields are not these: then nothing is found.
  static Result<KeptSamples> open(StoreAndPath folder, const MaterializedManifest& finished,
                                  const std::vector<StoredField>& fields, const TableCodecs& codecs,
                                  std::stop_token stop);

  /// The number that this sample, or chunk, has there.
  std::optional<int64_t> find(const std::optional<Hash128>& identity) const;
  /// As the steps give it; pictures that are stored encoded as they are stored. Corrupt where it is damaged.
  Result<Record> sample(int64_t number) const;
  Result<Columns> chunk(int64_t number) const;

 private:
  struct HashOf {
    size_t operator()(const Hash128& hash) const { return static_cast<size_t>(hash.low); }
  };
  explicit KeptSamples(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  std::shared_ptr<const Source> source_;
  std::unordered_map<Hash128, int64_t, HashOf> numbers_;
};

/// Which samples, or chunks, of a data set are there already, and which are to be made: those are counted by themselves.
class Origins {
 public:
  Origins() = default;  ///< all are to be made
  /// `count`: samples or chunks; `kept`: the number there, or nothing.
  Origins(int64_t count, const std::function<std::optional<int64_t>(int64_t)>& kept);

  std::optional<int64_t> kept(int64_t number) const;
  /// Its number among those that are to be made; of one that is kept that of the next.
  int64_t rank(int64_t number) const;
  /// Those that are to be made, in order; only where some are kept.
  const std::vector<int64_t>& fresh() const { return fresh_; }
  bool any_kept() const { return !kept_.empty(); }
  /// How many of these rows are kept. `chunks`: where chunks begin, and the end; empty for samples.
  int64_t kept_rows(int64_t first, int64_t end, const std::vector<int64_t>& chunks) const;

 private:
  std::vector<int64_t> kept_;  ///< -1: none
  std::vector<int64_t> fresh_;
};

/// Those of this data set, of which some are there: its samples, or its chunks.
Origins origins_of(const Source& source, bool in_chunks, const KeptSamples& kept);

}  // namespace forebay
