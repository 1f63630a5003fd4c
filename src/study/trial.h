#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <vector>

#include "forebay/diagnosis.h"
#include "forebay/ledger.h"
#include "forebay/loader.h"
#include "forebay/result.h"
#include "runtime/host.h"

namespace forebay {

/// What goes on around a loader that is tried.
struct TrialContext {
  std::function<void()> step = {};  ///< what its consumer does with a batch
  std::stop_token stop = {};
  std::function<void()> poll = {};  ///< called now and then on the calling thread; may throw
  HandOver hand_over = {};          ///< what a face does with a batch before its consumer has it
  double pace = 1;                  ///< see DiagnoseOptions::pace
};

struct TrialLength {
  int windows = 3;
  double window_seconds = 0.8;  ///< at least, and two batches unless they take longer than four seconds
};

/// What was seen of a loader that ran for a while.
struct Observation {
  std::vector<double> rates;           ///< samples a second, window by window
  double samples = 0, seconds = 0;     ///< of all windows
  Ledger before, after;                ///< of all windows
  CoreTime cores_before, cores_after;  ///< of all compute threads of the process
  std::vector<double> step_rates;      ///< what the consumer could take, window by window; empty without a step
};

double median_of(std::vector<double> values);

/// Pulls batches from the loader; those that were made ready before anybody asked are not looked at.
Result<Observation> observe(Loader& loader, const TrialContext& context, const TrialLength& length);
/// Until a loader of which nobody takes batches has made as many as it may: it would take cores from another one that is looked at.
Status let_rest(Loader& loader, const TrialContext& context);
/// The next batch, of which nothing is counted.
Status take_one(Loader& loader, const TrialContext& context);
/// The whole next epoch; `look` at each batch.
Status pass_an_epoch(Loader& loader, const TrialContext& context, const std::function<void(const Batch&)>& look = {});

}  // namespace forebay
