#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "forebay/result.h"

namespace forebay {

/// The part of one partition in a decision: `taken` of its records between the decision before and
/// offset `last`, which is included; the others were dropped.
struct DecisionPart {
  size_t partition = 0;
  std::string last;
  int64_t taken = 0;
  int64_t dropped = 0;
  friend bool operator==(const DecisionPart&, const DecisionPart&) = default;
};

/// The next records of a stream, by partition. One rank makes each decision, once; the order of its
/// records follows from the decision (merge_order()).
struct Decision {
  int64_t first = 0;  ///< number of its first record
  std::vector<DecisionPart>
      parts;            ///< of different partitions, the smallest first; those that give nothing are missing
  int64_t missing = 0;  ///< without parts: so many numbers for which no record had come when training needed them
  /// The first decision of a run that began where the log ended has that end: an offset for each
  /// partition. Empty in all others.
  std::vector<std::string> after = {};

  /// Record numbers in it, missing ones included.
  int64_t size() const;
  /// The number of the first record after it.
  int64_t end() const { return first + size(); }
  /// The part of that partition; null where it has none.
  const DecisionPart* part(size_t partition) const;
  friend bool operator==(const Decision&, const Decision&) = default;

  /// JSON, one line, tens of bytes a part: {"first": 128, "parts": [[0, "17-3", 64], [2, "17-9",
  /// 64, 5]]}, or {"first": 256, "missing": 64}. The first may have "after": ["17-1", "", "17-2"].
  std::string to_json() const;
  /// InvalidArgument for what is none, or names partitions that are not below `partitions`.
  static Result<Decision> from_json(std::string_view text, size_t partitions);

  /// The same as binary fields of a message, for the other ranks.
  void put(ByteWriter& out) const;
  static Result<Decision> take(ByteReader& in, size_t partitions);
};

/// A place in a stream: all that a checkpoint needs of the stream. It is the same on every rank.
struct StreamPlace {
  int64_t number = 0;  ///< of the next record
  std::vector<std::string>
      after;  ///< of each partition, the offset of the last record before `decision`; empty: there was none
  std::vector<int64_t> dropped;  ///< of each partition, all in all
  /// The decision that the next record is in, unless the next record is its first.
  std::optional<Decision> decision = {};
  bool sampled = false;  ///< `decision` is a sample: dropped records lie between those taken, and not before them
  /// The run began where the log ended, and `after` is that end, also where it is empty. Only with
  /// the number 0.
  bool begun = false;
  /// The first number that is in no decision that the place names.
  int64_t decided() const { return decision ? decision->end() : number; }
  friend bool operator==(const StreamPlace&, const StreamPlace&) = default;

  /// A JSON object; grows with the number of partitions alone.
  std::string to_json(const std::vector<std::string>& partitions) const;
  /// InvalidArgument for what is none, StateMismatch where it is of other partitions.
  static Result<StreamPlace> from_json(std::string_view text, const std::vector<std::string>& partitions);
};

}  // namespace forebay
