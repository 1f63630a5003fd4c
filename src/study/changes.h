#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "forebay/diagnosis.h"
#include "forebay/loader.h"
#include "pipeline/description.h"
#include "study/limits.h"

namespace forebay {

/// Something to try. It may not help: that is what trying is for.
struct Change {
  std::string name;                    ///< "put .cache() behind resize"
  std::optional<size_t> cache_behind;  ///< a step
  LoaderOptions options;               ///< with the change
  bool processes = false;              ///< the user's functions run in worker processes
};

/// What could help against that limit, the likeliest first: numbers of the user's that are too small, and a cache at each place where
/// one may stand and where something was done before; worker processes for functions, where `can_use_processes`. `others`: what cannot
/// be tried, told.
std::vector<Change> changes_for(const Description& description, const LoaderOptions& options, const Limiter& limiter,
                                bool can_use_processes, std::vector<std::string>& others);

/// A description with steps put in, and where its steps stand now.
struct Changed {
  Description description;
  ChangedSteps steps;
};
/// As the user would write it.
Changed with(const Description& description, const Change& change);
/// The same over the first `samples` samples, with a cache in memory of so many bytes.
Changed with_few(const Description& description, const Change& change, int64_t samples, uint64_t cache_bytes);

}  // namespace forebay
