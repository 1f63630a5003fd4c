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
  bool in_memory = false;              ///< the cache has no tier on disk: a function before it has no version
};

/// Where the user's functions may run.
struct FunctionPlaces {
  bool can_move = false;    ///< to worker processes, where they do not run yet
  bool on_threads = false;  ///< of this process, as many as `threads=` says: more of them are more calls at once
};

/// What could help against that limit, the likeliest first: numbers of the user's that are too small, more calls of functions at once, a cache
/// at each place where one may stand and where something was done before, and worker processes for functions. `others`: what cannot be tried.
std::vector<Change> changes_for(const Description& description, const LoaderOptions& options, const Limiter& limiter,
                                const FunctionPlaces& functions, std::vector<std::string>& others);

/// Unsupported, saying what to study in its place, for a pipeline that packs: some of its samples, as trials take them, are other blocks.
Status check_studied(const Description& description, const char* study);

/// Steps, from the source on, behind which such a cache may stand and keeps something else than behind the one before.
std::vector<size_t> cache_places(const Description& description, const Json& cache_args);

/// The function without a version that keeps caches off the disk where they may stand in memory, and what to do. Empty where there is none.
std::string missing_version(const Description& description);

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
