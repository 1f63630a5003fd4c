#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <vector>

#include "forebay/diagnosis.h"
#include "forebay/loader.h"
#include "forebay/result.h"

namespace forebay {

struct Observation;

/// Environment of a loader that is measured: its consumer, and the means to end the measurement.
struct TrialContext {
  std::function<void()> step = {};  ///< the consumer's work with a batch
  std::stop_token stop = {};
  std::function<void()> poll = {};  ///< called regularly on the calling thread; may throw
  HandOver hand_over = {};          ///< a language binding's work before its consumer has a batch
  double pace = 1;                  ///< see DiagnoseOptions::pace
};

/// Number and length of the windows of a trial.
struct TrialLength {
  int windows = 3;
  double window_seconds = 0.8;  ///< least length; at least two batches, unless they take over 4 seconds
};

double median_of(std::vector<double> values);

/// Measures batches from the loader. Batches that were ready beforehand are not measured.
Result<Observation> observe(Loader& loader, const TrialContext& context, const TrialLength& length);
/// Called with what was seen in a turn. Returns whether another turn may follow.
using VisitTurn = std::function<bool(const Observation& changed, const Observation& before)>;
/// Measures two loaders in turns, at most `turns`. The order alternates, so that the drift of the
/// machine and warm caches affect both alike.
Status observe_in_turns(Loader& changed, Loader& before, const TrialContext& context, const TrialLength& length,
                        int turns, const VisitTurn& visit);
/// Waits until a loader whose batches nobody takes has filled its window and works no more. Until
/// then it would take cores from another loader that is measured.
Status wait_until_idle(Loader& loader, const TrialContext& context);
/// Takes the next batch without measuring anything.
Status take_batch(Loader& loader, const TrialContext& context);
/// Takes all batches of the next epoch, and calls `visit` with each.
Status pass_epoch(Loader& loader, const TrialContext& context, const std::function<void(const Batch&)>& visit = {});

}  // namespace forebay
