#pragma once

#include <string>
#include <string_view>

#include "forebay/result.h"
#include "pipeline/itinerary.h"

namespace forebay {

/// Far more than anybody will train, and sums with it do not overflow.
inline constexpr int64_t kMaxEpoch = int64_t{1} << 53;

/// Everything a saved state holds: where, and in what. The same on every rank; under 1 KB as JSON.
/// Positions count samples of the epoch over all ranks, steps are global batches. No field says how many ranks, threads or rows a batch
/// there were: any number may go on from it.
struct Checkpoint {
  Cursor cursor;
  std::string dataset, pipeline, seed;  ///< fingerprints
  int64_t samples = 0;                  ///< in the data set
  std::string rehearsal = {};           ///< what is kept for rehearsal, JSON; empty for pipelines without
  std::string stream = {};              ///< where a stream stands, JSON; empty for what has a number of samples

  std::string to_json() const;
  /// InvalidArgument for anything that is not such a text; nothing in it is trusted.
  static Result<Checkpoint> from_json(std::string_view text);
};

/// StateMismatch, saying which of data set, pipeline and seed differ. Not strict: only the number of samples must agree.
/// `endless`: whether it is loaded into a stream.
Status check_same(const Checkpoint& saved, const Checkpoint& running, bool endless, bool strict);

}  // namespace forebay
