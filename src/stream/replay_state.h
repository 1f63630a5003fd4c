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
  int64_t number = 0;
  RecordPlace place;
  friend bool operator==(const PlacedRecord&, const PlacedRecord&) = default;
};

/// The part of a checkpoint that has the replay buffer. It is the same on every rank.
struct ReplayState {
  std::string source;                           ///< version of the source of the samples
  std::map<int64_t, Rehearsal::Class> classes;  ///< by label
  /// Whether the epochs of the samples are saved. Only recorded results need them.
  bool has_epochs = false;
  /// The samples as records of a log, from which they are read again; nothing for a data set, whose
  /// samples are found by their ids.
  std::optional<std::vector<PlacedRecord>> records = {};
};

}  // namespace forebay
