#pragma once

#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/mutex.h"
#include "base/stoppable_cond_var.h"
#include "loader/samples/chosen_samples.h"

namespace forebay {

/// Results of the passes over a data set that loaders with equal pipelines and seeds make before
/// their first batch (LoaderOptions::passes). The first loader makes them for all, which get the
/// same samples and the same bad samples. Any thread may call any function.
class PassResults {
 public:
  /// Bad samples of a choice whose errors are kept. The errors of all further ones are equal, since
  /// no log of errors has them.
  static constexpr size_t kMaxTexts = 10'000;

  /// Waits until no other loader makes its passes. The result is the turn of this loader, which ends
  /// with it. Cancelled if `stop` was requested.
  Result<std::shared_ptr<void>> take_turn(const std::stop_token& stop);

  using Choose = std::function<Result<ChosenSamples>(const PassCallbacks&)>;
  /// Returns the choice of a loader's `number`-th branch over a source of that version. If no loader
  /// has made it yet, makes it with `choose`, which gets `callbacks`.
  Result<ChosenSamples> choose(size_t number, const Hash128& source, const PassCallbacks& callbacks,
                               const Choose& choose);

 private:
  void end_turn();

  struct Choice {
    void note(const RowError& error);

    ChosenSamples samples;
    std::vector<RowError> bad;  ///< without payloads
  };
  Mutex mutex_;
  StoppableCondVar turn_ended_;
  bool taken_ FOREBAY_GUARDED_BY(mutex_) = false;
  std::map<std::pair<size_t, std::string>, Choice> choices_ FOREBAY_GUARDED_BY(mutex_);
};

}  // namespace forebay
