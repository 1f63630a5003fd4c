#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "forebay/result.h"

namespace forebay {

/// What a decision has of one partition: of the records behind the last decision, up to that of offset `last`, `taken`; the others were dropped.
struct DecisionPart {
  size_t partition = 0;
  std::string last;
  int64_t taken = 0;
  int64_t dropped = 0;
  friend bool operator==(const DecisionPart&, const DecisionPart&) = default;
};

/// The next records of a stream, decided once, by one rank: which of each partition. Their order follows (merge_order()).
struct Decision {
  int64_t first = 0;  ///< how many records of the stream are before it
  std::vector<DecisionPart>
      parts;            ///< of different partitions, the smallest first; those that give nothing are missing
  int64_t missing = 0;  ///< without parts: so many numbers for which no record had come when training needed them
  /// Of each partition, the offset that the run begins behind: with the first parts of a run that began where the log ended. Else empty.
  std::vector<std::string> after = {};

  int64_t size() const;
  /// Its part of that partition; null where it has none.
  const DecisionPart* part(size_t partition) const;
  friend bool operator==(const Decision&, const Decision&) = default;

  /// JSON, one line, tens of bytes a part: {"first": 128, "parts": [[0, "17-3", 64], [2, "17-9", 64, 5]]},
  /// or {"first": 256, "missing": 64}. The first may have "after": ["17-1", "", "17-2"].
  std::string to_json() const;
  /// InvalidArgument for what is none, or names partitions that are not below `partitions`.
  static Result<Decision> from_json(std::string_view text, size_t partitions);

  /// The same as binary fields of a message, for the other ranks.
  void put(ByteWriter& out) const;
  static Result<Decision> take(ByteReader& in, size_t partitions);
};

/// Where a stream stands: all that a checkpoint needs of it. The same on every rank.
struct StreamPlace {
  int64_t number = 0;  ///< records behind it
  std::vector<std::string>
      after;  ///< of each partition, the offset of the last record before `decision`; empty: there was none
  std::vector<int64_t> dropped;  ///< of each partition, all in all
  /// The decision that the next record is in, where some of its records are behind.
  std::optional<Decision> decision = {};
  bool sampled = false;  ///< what `decision` dropped was left out by a sample, and did not stand before the rest
  /// With the number 0, of a run that began where the log ended: `after` is that end, also where it is empty.
  bool begun = false;
  friend bool operator==(const StreamPlace&, const StreamPlace&) = default;

  /// A JSON object; grows with the number of partitions alone.
  std::string to_json(const std::vector<std::string>& partitions) const;
  /// InvalidArgument for what is none, StateMismatch where it is of other partitions.
  static Result<StreamPlace> from_json(std::string_view text, const std::vector<std::string>& partitions);
};

}  // namespace forebay
