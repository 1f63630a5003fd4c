#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/schema.h"
#include "forebay/batch.h"
#include "forebay/result.h"

namespace forebay {

/// Class of samples whose field is that text. Never negative, so never kClassOfDamaged.
int64_t class_of_text(std::string_view text);
/// Class of samples whose field cannot be read. No other sample has it.
constexpr int64_t kClassOfDamaged = INT64_MIN;

/// Classes of the samples of a selection, by index, if field values had to be read for them. Takes
/// four bytes per sample and eight per class.
class SampleClasses {
 public:
  /// Estimate of bytes() before the classes are known.
  static uint64_t expected_bytes(int64_t samples) { return static_cast<uint64_t>(samples) * sizeof(uint32_t); }
  explicit SampleClasses(int64_t samples) : numbers_(static_cast<size_t>(samples)) {}

  /// Whether a field can determine classes: single integers, and texts.
  static bool can_be_of(const Field& field);
  /// Adds a batch that has only that field. Its positions are indices in the selection.
  Status add(const Batch& batch);
  /// Call it after the last batch.
  void finish() {
    known_ = {};
    classes_.shrink_to_fit();
  }
  /// Bytes in memory, after finish().
  uint64_t bytes() const { return numbers_.capacity() * sizeof(uint32_t) + classes_.capacity() * sizeof(int64_t); }
  int64_t of(int64_t index) const { return classes_[numbers_[static_cast<size_t>(index)]]; }
  /// Number of the sample's class, from 1 on, in the order in which classes first come. 0: damaged.
  uint32_t number_of(int64_t index) const { return numbers_[static_cast<size_t>(index)]; }

 private:
  void set(int64_t index, int64_t label);

  std::vector<int64_t> classes_ = {kClassOfDamaged};
  std::unordered_map<int64_t, uint32_t> known_;  // index in `classes_`; empty after finish()
  std::vector<uint32_t> numbers_;                // of each sample; 0 if no batch had it
};

}  // namespace forebay
