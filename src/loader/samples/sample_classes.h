#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/schema.h"
#include "forebay/batch.h"
#include "forebay/result.h"

namespace forebay {

/// The class that a rehearsal knows samples by whose field is that text. Never negative, and so never the class of damaged ones.
int64_t class_of_text(std::string_view text);
/// Of samples whose field cannot be read: one that no others have.
constexpr int64_t kClassOfDamaged = INT64_MIN;

/// The class of each sample of a selection, by its number there, where the values of a field had to be read for it. Four bytes a sample and eight a class.
class SampleClasses {
 public:
  /// About what it takes, as far as that is known before.
  static uint64_t expected_bytes(int64_t samples) { return static_cast<uint64_t>(samples) * sizeof(uint32_t); }
  explicit SampleClasses(int64_t samples) : numbers_(static_cast<size_t>(samples)) {}

  /// Whether values of such a field can tell classes: single whole numbers, and texts.
  static bool can_be_of(const Field& field);
  /// A batch with that field alone, whose positions are numbers in the selection.
  Status add(const Batch& batch);
  /// No more batches come.
  void finish() {
    number_of_ = {};
    classes_.shrink_to_fit();
  }
  /// Of a finished one.
  uint64_t bytes() const { return numbers_.capacity() * sizeof(uint32_t) + classes_.capacity() * sizeof(int64_t); }
  int64_t of(int64_t index) const { return classes_[numbers_[static_cast<size_t>(index)]]; }

 private:
  void set(int64_t index, int64_t label);

  std::vector<int64_t> classes_ = {kClassOfDamaged};
  std::unordered_map<int64_t, uint32_t> number_of_;  // in `classes_`; empty once all are known
  std::vector<uint32_t> numbers_;                    // of each sample; 0 for those that no batch had
};

}  // namespace forebay
