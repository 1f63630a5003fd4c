#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "forebay/result.h"

namespace forebay {

/// What all ranks must have alike, or they would give some samples twice and others never: names as users know them, and values.
struct RunTerms {
  std::vector<std::pair<std::string, std::string>> terms;

  std::string to_json() const;
  /// Whether `rank`, whose these are, has what rank 0 has: StateMismatch, which names what differs from rank 0's to_json(); Corrupt where
  /// `json` is none.
  Status check_same(int rank, std::string_view json) const;
};

}  // namespace forebay
