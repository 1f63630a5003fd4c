#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "plan/rehearsal.h"
#include "stream/read_record.h"

namespace forebay {

/// A record of a stream, and its place in the log.
struct PlacedRecord {
  int64_t number = 0;  ///< of the record in the stream, which is the id of its sample
  RecordPlace place;
  friend bool operator==(const PlacedRecord&, const PlacedRecord&) = default;
};

/// The replay buffer in a checkpoint (loader/run/checkpoint.h). Every rank saves and restores the
/// same one.
struct ReplayState {
  /// Version of the data set or log that the samples came from. Another one is a StateMismatch.
  std::string source_version;
  std::map<int64_t, Rehearsal::Class> classes;  ///< the classes of the buffer, by label
  /// True if the checkpoint has ReplaySample::epoch of each sample. Only runs that replay recorded
  /// results need it.
  bool has_epochs = false;
  /// Places to read the samples again, if they came from a log. Absent for a data set, whose
  /// samples are found by their ids.
  std::optional<std::vector<PlacedRecord>> records = {};
};

}  // namespace forebay
