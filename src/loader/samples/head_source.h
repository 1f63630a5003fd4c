#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/source.h"
#include "base/value_places.h"

namespace forebay {

/// The first bytes of one field of another source, which has their places (value_places()). The ids
/// are those of that source.
class HeadSource final : public SampleSource {
 public:
  HeadSource(std::shared_ptr<const Source> whole, size_t field, uint64_t bytes)
      : whole_(std::move(whole)), places_(*value_places(*whole_)), field_(field), bytes_(bytes),
        schema_({whole_->schema()[field]}) {}

  const Schema& schema() const override { return schema_; }
  int64_t size() const override { return whole_->size(); }
  Hash128 version() const override { return whole_->version(); }
  uint64_t index_bytes() const override { return whole_->index_bytes(); }
  std::string key(int64_t id) const override { return whole_->key(id); }
  Fetch fetch(int64_t id) const override { return places_.fetch_head(field_, id, bytes_); }
  Status load(int64_t /*id*/, Buffer fetched, Record& record) const override {
    record.clear();
    record.push_back(Value::of_bytes(std::move(fetched)));
    return {};
  }

 private:
  const std::shared_ptr<const Source> whole_;
  const ValuePlaces& places_;
  const size_t field_;
  const uint64_t bytes_;
  const Schema schema_;
};

}  // namespace forebay
