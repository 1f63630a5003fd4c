#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "forebay/result.h"
#include "format/joined/joined_part.h"

namespace forebay {

/// The treatment of samples of the first part that lack a partner in another one.
enum class Unmatched : uint8_t { kError, kDrop };

/// Which samples belong together, and which of the first part have a partner in all others.
struct JoinedRows {
  std::vector<int64_t> first;  ///< the samples of the first part that do, ascending
  /// For each other part, the partners of these, in the same order.
  std::vector<std::vector<int64_t>> others;
};

/// The value of a sample by which it is joined, as text. Called once for each sample.
using JoinValue = std::function<Result<std::string>(const JoinedPart& part, int64_t row)>;

/// Finds for each sample of the first part those of the others with the same value. The samples of
/// a part are its `rows`, ascending, if these are set. Takes 24 bytes for each sample of the largest
/// of the others.
///
/// InvalidArgument, with the first few, if a value occurs twice in another part than the first, if
/// a sample of the first part has no partner and `unmatched` is kError, or if none has one.
Result<JoinedRows> join_rows(const std::vector<JoinedPart>& parts, const JoinValue& value, Unmatched unmatched);

/// The same numbers in four or eight bytes each.
std::shared_ptr<const PackedInts> packed_rows(const std::vector<int64_t>& rows);

}  // namespace forebay
