#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "forebay/buffer.h"
#include "forebay/result.h"

namespace forebay {

/// The settings that all ranks of a job must share. A rank with other settings would duplicate some
/// samples and skip others. A plain value.
struct RunTerms {
  struct Term {
    std::string name, value;  ///< as users know them
    std::string advice = {};  ///< remedy if the values differ; not sent
  };
  std::vector<Term> terms;

  /// Compares these settings, which are those of `rank`, with the settings of rank 0. StateMismatch
  /// names the differing terms and gives their advice. Terms that rank 0 does not have are ignored,
  /// because it has another version.
  Status check_same(int rank, const RunTerms& leader) const;
};

/// Encodes the response of rank 0 to a rank that asks for its settings. It is empty if they are not
/// set yet.
Buffer encode_run(const std::optional<RunTerms>& terms);
/// Parses that response. Bytes that encode_run() cannot produce are Corrupt.
Result<std::optional<RunTerms>> parse_run(std::span<const uint8_t> bytes);

}  // namespace forebay
