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

/// Samples, or chunks, that were materialised from an earlier version of the original. They are
/// found by the identity of what they were made from. Not thread-safe.
class KeptSamples {
 public:
  /// If its fields differ from `fields`, nothing can be reused, and find() finds nothing.
  static Result<KeptSamples> open(StoreAndPath folder, const MaterializedManifest& finished,
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
  explicit KeptSamples(std::shared_ptr<const Source> source) : source_(std::move(source)) {}

  std::shared_ptr<const Source> source_;
  std::unordered_map<Hash128, int64_t, HashOf> numbers_;
};

/// Tells which samples, or chunks, of a data set can be reused from finished data, and which have
/// to be made. The latter are numbered on their own.
class Origins {
 public:
  Origins() = default;  ///< all have to be made
  /// `count` is the number of samples or chunks. `kept` returns the number in the finished data, if
  /// any.
  Origins(int64_t count, const std::function<std::optional<int64_t>(int64_t)>& kept);

  std::optional<int64_t> kept(int64_t number) const;
  /// Returns the number among those that have to be made; for a reused one, that of the next to be
  /// made.
  int64_t rank(int64_t number) const;
  /// Returns those that have to be made, in order. Empty unless some are reused.
  const std::vector<int64_t>& fresh() const { return fresh_; }
  bool any_kept() const { return !kept_.empty(); }
  /// Returns how many of these rows are reused. `chunks` are the first rows of chunks, and the end;
  /// empty for samples.
  int64_t kept_rows(int64_t first, int64_t end, const std::vector<int64_t>& chunks) const;

 private:
  std::vector<int64_t> kept_;  ///< number in the finished data; -1: none
  std::vector<int64_t> fresh_;
};

/// Compares the samples, or chunks, of a data set with the finished ones.
Origins origins_of(const Source& source, bool in_chunks, const KeptSamples& kept);

}  // namespace forebay
