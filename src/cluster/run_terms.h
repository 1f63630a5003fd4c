#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "forebay/buffer.h"
#include "forebay/result.h"

namespace forebay {

/// Changes of the settings that a rank has made while its run goes on, and how far it is. All ranks
/// make the same changes, each before the same position, but not at the same time. A plain value.
struct RunChanges {
  struct Change {
    int64_t position = 0;  ///< of the next batch when it was made, counted over all epochs
    std::string text;      ///< the change in words, with all that ranks must have in common
  };
  bool possible = false;  ///< whether this run can have changes
  uint64_t jumps = 0;     ///< moves to other positions than the next batch's
  int64_t position = 0;   ///< of the next batch
  uint64_t dropped = 0;   ///< changes before the first of `last`
  std::deque<Change> last;

  uint64_t count() const { return dropped + last.size(); }
  /// Adds a change at the position, and drops the oldest of too many.
  void add(std::string text);
  void jump(int64_t to) {
    ++jumps;
    position = to;
  }
};

/// The settings that all ranks of a job must share. A rank with other settings would duplicate some
/// samples and skip others. A plain value.
struct RunTerms {
  struct Term {
    std::string name, value;  ///< as users know them
    std::string advice = {};  ///< remedy if the values differ; not sent
  };
  std::vector<Term> terms;
  RunChanges changes = {};

  /// Compares these settings, which are those of `rank`, with the settings of rank 0. StateMismatch
  /// names the differing terms and gives their advice, or names the change that one of the two made
  /// and the other one did not. Terms that rank 0 does not have are ignored, because it has another
  /// version.
  Status check_same(int rank, const RunTerms& leader) const;
};

/// Encodes the response of rank 0 to a rank that asks for its settings. It is empty if they are not
/// set yet.
Buffer encode_run(const std::optional<RunTerms>& terms);
/// Parses that response. Bytes that encode_run() cannot produce are Corrupt.
Result<std::optional<RunTerms>> parse_run(std::span<const uint8_t> bytes);

}  // namespace forebay
