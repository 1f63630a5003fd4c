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

/// The fastest of what was tried, still open. Each was looked at beside the pipeline as it is, minutes apart from the others; which of those that
/// are nearly as fast is the fastest is only seen beside each other.
class Contenders {
 public:
  struct Contender {
    std::string name;
    double rate = 0;                 ///< as it was found before, samples a second
    double bytes = 0;                ///< that it keeps for the trial
    WorkingFolder folder;            ///< with what it reads
    std::shared_ptr<Loader> loader;  ///< behind the folder, so that it ends before that goes
  };

  /// One that is not among the few fastest ends here, and so do those that are no longer, and those that would hold too many bytes together.
  void add(Contender contender);
  /// All that are nearly as fast as the fastest, in turns; of each what its rate is by that, on the scale of the rates before. Of a single one
  /// nothing. `goes_on`: asked before each round. Errors: those of next(); Cancelled.
  Result<std::map<std::string, double>> compared(const TrialContext& context,
                                                 const std::function<bool()>& goes_on = {}) const;

  /// Ends all of them, and lets go of what they keep.
  void end() { kept_.clear(); }

 private:
  std::vector<Contender> kept_;  ///< the fastest first
};

}  // namespace forebay
