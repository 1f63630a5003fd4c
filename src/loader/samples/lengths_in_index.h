#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/known_lengths.h"
#include "loader/compile/compile.h"

namespace forebay {

/// The name in the source of the field that is `name` before step `step` of the input's description.
/// Nothing if a step before makes rows of other lengths.
std::optional<std::string> name_in_source(const CompileInput& input, size_t step, std::string name);

/// The lengths of the rows of a field, as the index of the data set has them.
class LengthsInIndex {
 public:
  /// Finds those of the field as it is before step `step` of the input's description. Nothing if
  /// only the rows tell their lengths: if the index lacks them, or a step before makes other rows.
  static std::optional<LengthsInIndex> find(const CompileInput& input, size_t step, const std::string& field);

  int64_t operator()(int64_t id) const { return known_ != nullptr ? known_->length(field_, id) : same_; }

 private:
  const KnownLengths* known_ = nullptr;  // null if all rows have the length `same_`
  size_t field_ = 0;
  int64_t same_ = 0;
};

}  // namespace forebay
