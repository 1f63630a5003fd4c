#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "forebay/buffer.h"
#include "forebay/result.h"

namespace forebay {

/// The settings that all ranks of a job must share. A rank with other settings would duplicate some samples
/// and skip others. A value.
struct RunTerms {
  struct Term {
    std::string name, value;  ///< as users know them
    std::string advice = {};  ///< what to do where it differs; not sent
  };
  std::vector<Term> terms;

  /// Compares the settings of `rank`, which these are, with those of rank 0: StateMismatch that names what
  /// differs and, where a term has advice, what to do. Names that rank 0 does not have are left out: it is
  /// of another version.
  Status check_same(int rank, const RunTerms& leader) const;
};

/// The response of rank 0 to a rank that asks for its settings: nothing where they are not set yet.
Buffer encode_run(const std::optional<RunTerms>& terms);
/// Corrupt for what encode_run() does not make.
Result<std::optional<RunTerms>> parse_run(std::span<const uint8_t> bytes);

}  // namespace forebay
