#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/known_lengths.h"
#include "base/value_places.h"
#include "format/joined/joined_part.h"

namespace forebay {

/// Samples of several data sets side by side: a sample has the fields of one sample of each part.
/// Its objects are those of all parts whose fields are stored in objects: first one of each, then
/// those of parts whose samples are lists of objects. Immutable.
class JoinedSamples final : public SampleSource, public KnownLengths, public PlacedSource {
 public:
  /// `parts`: at least one, all of them SampleSources with that many rows, or with draws of their own
  /// and numbered by number_draws(). `version`: that of the same parts before they had chosen their
  /// samples, if they have: choices follow from the pipeline, and are no other data.
  JoinedSamples(std::vector<JoinedPart> parts, int64_t size, std::optional<Hash128> version = {});

  const std::vector<JoinedPart>& parts() const { return parts_; }
  /// End of the ids of samples: more than size() if parts have draws of their own.
  int64_t ids() const;
  /// The number of the part's object among those that fetch() names. Nothing if it has none, or a
  /// list of them.
  std::optional<size_t> object_of(const std::string& part) const;
  /// The stores of all parts that are read. A sample may name fewer: lists of objects may be empty.
  std::vector<Store*> stores() const;
  /// The part that gives a field.
  const JoinedPart& part_of(size_t field) const { return parts_[fields_[field].part]; }

  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return size_; }
  Hash128 version() const override { return version_; }
  uint64_t index_bytes() const override { return joined_index_bytes(parts_); }
  std::string key(int64_t id) const override { return joined_key(parts_, id); }
  std::string lasting_key(int64_t id) const override {
    return parts_.front().source->lasting_key(parts_.front().row(id));
  }
  std::optional<Identity> identity(int64_t id) const override;
  Status check_intact() const override { return check_joined_intact(parts_); }

  Fetch fetch(int64_t id) const override;
  Status load(int64_t id, Buffer fetched, Record& record) const override;
  Status load_all(int64_t id, std::span<const Buffer> fetched, Record& record) const override;
  std::shared_ptr<const SampleSource> with_fields(std::span<const std::string> names) const override;
  bool knows_lengths(size_t field) const override;
  int64_t length(size_t field, int64_t id) const override;
  ValuePlaces value_places(size_t field, std::stop_token stop) const override;
  bool gathers(size_t field) const override;
  Status gather(size_t field, std::span<const int64_t> ids, uint8_t* out) const override;

 private:
  struct PartField {
    size_t part = 0, field = 0;
  };
  const SampleSource& samples(size_t part) const { return *parts_[part].source->as_samples(); }
  std::vector<size_t> parts_as_read() const;
  size_t objects_of(size_t part, int64_t id) const;

  std::vector<JoinedPart> parts_;
  std::vector<bool> reads_;                   // of each part, whether fetch() names its object
  std::vector<const KnownLengths*> lengths_;  // of each part; null if it does not know them
  std::vector<PartField> fields_;             // of each field, where it comes from
  int64_t size_;
  Schema schema_;
  Hash128 version_;
};

/// Returns the source as joined samples, or null.
const JoinedSamples* as_joined(const Source& source);

}  // namespace forebay
