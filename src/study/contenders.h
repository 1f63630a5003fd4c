#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "forebay/loader.h"
#include "study/trial.h"
#include "study/working_folder.h"

namespace forebay {

/// The fastest strategies of a profile, with their loaders still open. Each was measured in turns
/// with the unchanged pipeline, minutes apart from the others, so only a direct comparison shows
/// which of nearly equal ones is the fastest. It owns the loaders. Not thread-safe.
class Contenders {
 public:
  struct Contender {
    std::string name;
    double rate = 0;                 ///< samples per second, as measured before
    double bytes = 0;                ///< bytes of its cache in the trial
    WorkingFolder folder;            ///< holds the files that it reads
    std::shared_ptr<Loader> loader;  ///< declared after `folder`, so that it is destroyed first
  };

  /// Adds one. Contenders that are no longer among the fastest are closed, and so are those beyond
  /// the limit of bytes that all may hold together.
  void add(Contender contender);
  /// Runs all that are nearly as fast as the fastest in turns. Returns the rate of each by this
  /// comparison, on the scale of the earlier rates; empty for fewer than two. `goes_on` is called
  /// before each round, and ends the comparison by returning false. Errors: those of next();
  /// Cancelled.
  Result<std::map<std::string, double>> compare(const TrialContext& context,
                                                const std::function<bool()>& goes_on = {}) const;

  /// Closes all of them, and releases their caches.
  void clear() { contenders_.clear(); }

 private:
  std::vector<Contender> contenders_;  ///< the fastest first
};

}  // namespace forebay
