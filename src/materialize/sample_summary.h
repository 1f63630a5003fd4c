#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/schema.h"
#include "forebay/batch.h"
#include "format/materialized/manifest.h"

namespace forebay {

/// Collects the types, shapes and sizes of some samples.
class SampleSummary {
 public:
  /// Adds a batch of one sample, or an empty one.
  void add(const Batch& batch);
  int64_t samples() const { return samples_; }
  uint64_t bytes() const;  ///< bytes of all samples
  /// Returns the fields, from `inferred` and from the samples: the fields of user code are known
  /// only from samples. Small fields are marked for the index.
  std::vector<StoredField> fields(const Schema& inferred) const;

 private:
  struct FieldSummary {
    Field field;
    uint64_t bytes = 0;
    std::optional<Shape> shape = {};  ///< shape of all values, if they agree
    bool pictures = true;             ///< all values begin like picture files
  };
  static void add_value(const BatchField& field, FieldSummary& summary);
  StoredField stored_field(const FieldSummary& summary, const Schema& inferred) const;
  std::vector<FieldSummary> fields_;
  int64_t samples_ = 0;
};

}  // namespace forebay
