#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/result.h"
#include "loader/samples/plan_changes.h"
#include "pipeline/itinerary.h"
#include "stream/decision.h"
#include "stream/replay_state.h"

namespace forebay {

/// Content of a saved state: a place in the run, and fingerprints of what is run. All ranks save
/// the same state. As JSON it is under 1 KB, and without a replay buffer under 256 bytes and 40
/// bytes and the path for each part, 40 bytes for each part of a mix that changed, and 80 bytes and
/// the version for each data set whose weights were set. To these come, for each stream, its path,
/// and the name and at most two offsets of each partition. Only to_json() and from_json() know its
/// text.
///
/// Positions count samples of the epoch over all ranks, and steps count global batches. No field
/// depends on the number of ranks or threads or on the batch size, so a loader may resume with any.
struct Checkpoint {
  Cursor cursor;
  std::string dataset, pipeline, seed;      ///< fingerprints
  int64_t samples = 0;                      ///< number of samples of the data set
  std::vector<SavedPart> parts = {};        ///< of a pipeline that has parts
  std::optional<PlanChanges> changes = {};  ///< nothing if the plan of such a pipeline never changes
  std::optional<ReplayState> replay = {};
  /// Streams by the path of the part; that of a pipeline without parts is at "".
  std::map<std::string, StreamState> streams = {};

  /// StateMismatch if the state has no stream at that path.
  Result<StreamState> stream_at(const std::string& path) const;

  std::string to_json() const;
  /// Parses a state from an untrusted text. InvalidArgument if it is not one; Unsupported for
  /// another format.
  static Result<Checkpoint> from_json(std::string_view text);
};

/// StateMismatch, naming which of data set, pipeline and seed differ, and which parts. If not
/// `strict`, only the number of samples must agree. `endless` says whether the state is loaded into
/// a stream.
Status check_same(const Checkpoint& saved, const Checkpoint& running, bool endless, bool strict);

}  // namespace forebay
