#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "forebay/result.h"

namespace forebay {

/// The part of one partition in a decision. It covers the records after the previous decision up to
/// and including offset `last`: `taken` of them are in the decision, and the others were dropped.
struct DecisionPart {
  size_t partition = 0;
  std::string last;
  int64_t taken = 0;
  int64_t dropped = 0;
  friend bool operator==(const DecisionPart&, const DecisionPart&) = default;
};

/// The next records of a stream, by partition. One rank makes each decision once. The order of its
/// records follows from the decision alone (merge_order()).
struct Decision {
  int64_t first = 0;  ///< number of its first record
  /// One part for each partition with taken or dropped records, in increasing order of partitions.
  std::vector<DecisionPart> parts;
  /// If there are no parts: count of numbers whose records had not arrived when training needed
  /// them.
  int64_t missing = 0;
  /// The end of the log, as an offset for each partition, if this is the first decision of a run
  /// that began there. Empty in all other decisions.
  std::vector<std::string> after = {};

  /// Count of its record numbers, including missing ones.
  int64_t size() const;
  /// The number of the first record after it.
  int64_t end() const { return first + size(); }
  /// The part of that partition; null if it has none.
  const DecisionPart* part(size_t partition) const;
  friend bool operator==(const Decision&, const Decision&) = default;

  /// JSON, one line, tens of bytes a part: {"first": 128, "parts": [[0, "17-3", 64], [2, "17-9",
  /// 64, 5]]}, or {"first": 256, "missing": 64}. The first may have "after": ["17-1", "", "17-2"].
  std::string to_json() const;
  /// InvalidArgument if the text is no decision, or names a partition that is not below
  /// `partitions`.
  static Result<Decision> from_json(std::string_view text, size_t partitions);
};

/// A place in a stream: everything that a checkpoint needs of the stream. It is the same on every
/// rank.
struct StreamPlace {
  int64_t number = 0;  ///< of the next record
  /// For each partition, the offset of the last record before `decision`; empty if there was none.
  std::vector<std::string> after;
  std::vector<int64_t> dropped;  ///< of each partition: records dropped before `decision`
  /// The decision that contains the next record, unless the next record is its first.
  std::optional<Decision> decision = {};
  /// `decision` is a sample: dropped records lie between those taken, not before them.
  bool sampled = false;
  /// The run began where the log ended, and `after` is that end even if it is empty. True only if
  /// `number` is 0.
  bool began_at_log_end = false;
  /// The first number after the decisions that the place covers, including `decision`.
  int64_t decided() const { return decision ? decision->end() : number; }
  friend bool operator==(const StreamPlace&, const StreamPlace&) = default;
};

/// The part of a checkpoint that says where a stream stands: a place, and the names of the
/// partitions that the place has by index.
struct StreamState {
  std::vector<std::string> partitions;
  StreamPlace place;

  /// The place in a stream of these partitions. StateMismatch if they are others.
  Result<StreamPlace> place_in(const std::vector<std::string>& others) const;

  /// A JSON object. Its size grows only with the number of partitions.
  nlohmann::ordered_json to_json() const;
  /// Checks every field of an untrusted value, whose nesting is limited. InvalidArgument if it is
  /// no place in a stream.
  static Result<StreamState> from_json(const nlohmann::ordered_json& json);
};

}  // namespace forebay
