#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pipeline/itinerary.h"

namespace forebay {

/// A part of a pipeline in a saved run: a data set, or a source that has parts itself.
struct SavedPart {
  std::string path;     ///< names of the parts that it lies in and its own, joined by "/"
  int64_t samples = 0;  ///< draws of a pass
  int64_t drawn = 0;    ///< draws that it has made, over all passes
  friend bool operator==(const SavedPart&, const SavedPart&) = default;
};

/// Changes of a plan while its run goes on: other weights, other parts, parts that grew. A plan with
/// changes answers about positions from `since` on. What it says of them follows from these changes,
/// the pipeline and the weights of draws (GivenWeights), and not from earlier changes; so their size
/// is bounded.
struct PlanChanges {
  /// A mix whose draws were arranged anew from a position on.
  struct Mix {
    int64_t from = 0;              ///< position of the mix, over all its epochs
    std::vector<int64_t> drawn;    ///< draws of each part before it
    std::vector<int64_t> weights;  ///< from there on, of kMixPeriod; empty: those of the pipeline
    friend bool operator==(const Mix&, const Mix&) = default;
  };
  /// A data set that gained samples during a pass, which ends as it began.
  struct Growth {
    int64_t pass = 0;
    int64_t samples = 0;  ///< samples that take part in that pass
    friend bool operator==(const Growth&, const Growth&) = default;
  };

  /// A data set that is drawn by other weights from a draw on. The weights are not part of it.
  struct Redrawing {
    int64_t from = 0;     ///< draw of the data set, over all its passes
    std::string version;  ///< the user's name of the weights
    std::string hash;     ///< of the weights
    friend bool operator==(const Redrawing&, const Redrawing&) = default;
  };

  Cursor since;
  std::map<std::string, Mix> mixes;          ///< by path; that of the whole pipeline is ""
  std::map<std::string, Growth> grown;       ///< data sets by path
  std::map<std::string, Redrawing> redrawn;  ///< data sets by path

  bool empty() const { return mixes.empty() && grown.empty() && redrawn.empty(); }
  friend bool operator==(const PlanChanges&, const PlanChanges&) = default;
};

/// Returns whether `a` comes before `b` in a run.
inline bool is_before(const Cursor& a, const Cursor& b) {
  return a.epoch != b.epoch ? a.epoch < b.epoch : a.position < b.position;
}

}  // namespace forebay
