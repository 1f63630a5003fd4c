#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "forebay/diagnosis.h"
#include "forebay/loader.h"
#include "forebay/status.h"
#include "pipeline/description.h"
#include "study/changed.h"
#include "study/limits.h"
#include "study/part_pipelines.h"

namespace forebay {

/// A change to try. It may turn out not to help.
struct Change {
  std::string name;                    ///< such as "put .cache() behind resize"
  std::optional<size_t> cache_behind;  ///< step after which a cache is put, numbered over the tree
  LoaderOptions options;               ///< options with the change
  bool processes = false;              ///< the user's functions run in worker processes
  bool filled = false;                 ///< the change is to fill the existing cache
  bool in_memory = false;              ///< no disk tier: a function before the cache has no version
};

/// Places where the user's functions may run.
struct FunctionPlaces {
  bool can_move = false;    ///< can be moved to worker processes
  bool on_threads = false;  ///< run on threads of this process, as many calls at once as `threads=`
};

/// Returns the changes that may relieve a limit, the likeliest first: user settings that are too
/// small, more concurrent calls of functions, worker processes for functions, and a cache at each
/// place that admits one and that follows some work. `others` receives advice that cannot be tried.
/// `parts` are the costs of the parts, if there are several: those that take so little time that no
/// cache in them could gain are left out.
std::vector<Change> changes_for(const Description& description, const LoaderOptions& options, const Limiter& limiter,
                                const FunctionPlaces& functions, std::vector<std::string>& others,
                                const std::vector<PartCost>& parts = {});

/// Returns whether any pipeline of the tree has a `.cache()`.
bool has_cache(const Description& description);

/// Returns whether a part has a cache whose entries come again in each epoch.
bool keeps(const PartPipeline& part);

/// Returns the numbers of the steps, including sources, after which a cache with these arguments may
/// stand and holds something else than after the step before, which comes again in each epoch. Steps
/// without `wanted` are left out.
std::vector<size_t> cache_places(const Description& description, const Json& cache_args,
                                 const std::function<bool(size_t)>& wanted = {});

/// Names the parts of zips whose draws leave no place for a cache, and says what to do. Empty if
/// there are none.
std::string drawn_anew(const Description& description);

/// Names a function without a version that limits caches to memory, and says what to do. Empty if
/// there is none.
std::string missing_version(const Description& description);

/// Applies a change as the user would write it.
Changed with(const Description& description, const Change& change);
/// Applies a change over `samples` samples, spread over the data set, or over all. A cache gets
/// `cache_args` in place of its own arguments. Each sample comes once an epoch.
Changed with_subset(const Description& description, const Change& change, std::optional<int64_t> samples,
                    const Json& cache_args);
/// Applies a change to a tree. Caches that the change is about get `cache_args`, and the sources
/// with these numbers are replaced by the steps.
Changed with_sources(const Description& description, const Change& change, const Json& cache_args,
                     const std::map<size_t, std::vector<OpSpec>>& sources);
/// Returns the description with a cache after step `behind` and no other cache. `samples` limits it
/// to that many samples, spread over the data set.
Changed with_cache(const Description& description, std::optional<size_t> behind, const Json& cache_args,
                   std::optional<int64_t> samples);
/// Returns the description without its caches. It runs like an epoch with empty caches.
Changed without_caches(const Description& description);
/// Returns the description without draws and repetitions, so that each sample comes once an epoch.
/// Draws in a part of a zip stay: they say what is joined.
Changed without_draws(const Description& description);
/// Returns the description with a budget of `bytes` for the larger tier of its cache.
Changed with_cache_of(const Description& description, uint64_t bytes);

}  // namespace forebay
