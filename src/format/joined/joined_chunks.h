#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/chunk_source.h"
#include "base/value_places.h"
#include "format/joined/joined_part.h"

namespace forebay {

/// Rows of a ChunkSource with further fields from data sets whose values are in memory. Its chunks
/// are those of that source, the first part; decoding adds the values of the others. Immutable.
class JoinedChunks final : public ChunkSource, public PlacedSource {
 public:
  /// `parts`: the first is a ChunkSource without a filter and without `rows`; the others are
  /// SampleSources that fetch nothing. `kept`: the rows that have a partner in each part, as in
  /// kept_rows(); null if all have. `version`: as for JoinedSamples.
  JoinedChunks(std::vector<JoinedPart> parts, std::shared_ptr<const std::vector<uint64_t>> kept,
               std::optional<Hash128> version = {});

  const std::vector<JoinedPart>& parts() const { return parts_; }

  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return first_->size(); }
  Hash128 version() const override { return version_; }
  uint64_t index_bytes() const override { return joined_index_bytes(parts_); }
  std::string key(int64_t id) const override { return first_->key(id); }
  std::string lasting_key(int64_t id) const override { return first_->lasting_key(id); }
  Status check_intact() const override { return check_joined_intact(parts_); }

  int64_t chunks() const override { return first_->chunks(); }
  int64_t chunk_begin(int64_t chunk) const override { return first_->chunk_begin(chunk); }
  std::string chunk_name(int64_t chunk) const override { return first_->chunk_name(chunk); }
  ChunkCost chunk_cost(int64_t chunk) const override;
  ChunkFetch chunk_fetch(int64_t chunk) const override;
  Result<Columns> decode(int64_t chunk, std::vector<Buffer> fetched, WorkMemory& memory) const override;
  std::optional<Hash128> chunk_identity(int64_t chunk) const override;
  const std::vector<uint64_t>* kept_rows() const override { return kept_.get(); }
  std::string time_name(size_t field) const override;
  bool is_of_folder(size_t field) const override;
  bool is_mask(size_t field) const override;
  Result<std::shared_ptr<const ChunkSource>> with_fields(std::span<const std::string> names) const override;
  ValuePlaces value_places(size_t field, std::stop_token stop) const override {
    return field < first_fields_ ? forebay::value_places(*first_, field, std::move(stop)) : ValuePlaces();
  }

 private:
  /// A field, and where it comes from.
  struct Origin {
    size_t part = 0, field = 0;
  };
  bool is_kept(int64_t id) const;
  void set_fields(std::vector<Origin> origins);
  bool reads_first() const { return first_fields_ > 0; }
  std::vector<int64_t> kept_of(int64_t chunk) const;
  Status add_part(size_t part, int64_t chunk, std::vector<size_t> fields, WorkMemory& memory, Columns& columns) const;

  std::vector<JoinedPart> parts_;
  std::shared_ptr<const ChunkSource> first_;  // with the fields that are in the schema
  size_t first_fields_ = 0;                   // the first fields of the schema come from `first_`
  std::vector<Origin> others_;                // the rest of them
  std::shared_ptr<const std::vector<uint64_t>> kept_;
  Schema schema_;
  Hash128 version_;
};

}  // namespace forebay
