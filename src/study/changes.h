#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "forebay/diagnosis.h"
#include "forebay/loader.h"
#include "forebay/status.h"
#include "pipeline/description.h"
#include "study/limits.h"

namespace forebay {

/// Something to try. It may not help: that is what trying is for.
struct Change {
  std::string name;                    ///< "put .cache() behind resize"
  std::optional<size_t> cache_behind;  ///< a step
  LoaderOptions options;               ///< with the change
  bool processes = false;              ///< the user's functions run in worker processes
  bool filled = false;                 ///< the cache that is there has kept everything
};

/// What could help against that limit, the likeliest first: numbers of the user's that are too small, and a cache at each place where
/// one may stand and where something was done before; worker processes for functions, where `can_use_processes`. `others`: what cannot
/// be tried, told.
std::vector<Change> changes_for(const Description& description, const LoaderOptions& options, const Limiter& limiter,
                                bool can_use_processes, std::vector<std::string>& others);

/// Unsupported, saying what to study in its place, for a pipeline that packs: some of its samples, as trials take them, are other blocks.
Status check_studied(const Description& description, const char* study);

/// Steps, from the source on, behind which such a cache may stand and keeps something else than behind the one before.
std::vector<size_t> cache_places(const Description& description, const Json& cache_args);

/// A description with steps put in, and where its steps stand now.
struct Changed {
  Description description;
  ChangedSteps steps;
};
/// As the user would write it.
Changed with(const Description& description, const Change& change);
/// The same over so many samples, spread over the data set, or all, with a cache as `cache_args` say in place of what it is to have.
Changed with_few(const Description& description, const Change& change, std::optional<int64_t> samples,
                 const Json& cache_args);
/// With one cache, behind that step, and no other; `samples`: over so many, spread over the data set.
Changed with_cache(const Description& description, std::optional<size_t> behind, const Json& cache_args,
                   std::optional<int64_t> samples);
/// As it is, but for its caches: what a run is like in which they have nothing yet.
Changed without_caches(const Description& description);
/// With its cache allowed so many bytes more or less of the tier that may have most.
Changed with_cache_of(const Description& description, uint64_t bytes);

}  // namespace forebay
