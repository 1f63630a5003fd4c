#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "base/clock.h"
#include "forebay/diagnosis.h"
#include "forebay/loader.h"
#include "forebay/result.h"
#include "study/changed.h"
#include "study/trial.h"

namespace forebay {

using OpenLoader = std::shared_ptr<Loader>;

/// The trials of one study: opens loaders over changes of its pipeline, and measures its time. The
/// options outlive it. Used by one thread.
class Trials {
 public:
  /// `options`: ProfileOptions or DiagnoseOptions. `step`: the consumer's work with a batch. The time
  /// begins here.
  template <typename Options>
  explicit Trials(const Options& options, std::function<void()> step = {})
      : context_{std::move(step), options.stop, options.poll, options.hand_over, options.pace}, open_(options.open),
        options_(options.loader) {
    // If the user limited the epochs, a loader would end in the middle of a window.
    options_.epochs.reset();
  }

  const TrialContext& context() const { return context_; }
  /// The options of the unchanged pipeline.
  const LoaderOptions& options() const { return options_; }

  /// Opens a loader. The steps of `changed` lead there from the pipeline of the user. Parts that
  /// follow each other are mixed: the first windows would show the first part alone.
  Result<OpenLoader> open(const Changed& changed, const LoaderOptions& with) const;
  Result<OpenLoader> open(const Changed& changed) const { return open(changed, options_); }

  /// Bytes of memory that caches may take together.
  uint64_t memory_room() const;
  /// Seconds since the study began.
  double seconds() const { return static_cast<double>(monotonic_ns() - begun_ns_) * 1e-9; }

 private:
  const TrialContext context_;
  const OpenChanged& open_;
  LoaderOptions options_;
  const int64_t begun_ns_ = monotonic_ns();
};

/// Returns the number of samples of a data set of which `items` of an epoch are made: filters leave
/// samples out, and a packed block has several. `whole`: a prepared loader over all samples, each
/// of which comes once an epoch, of the pipeline `of`. One with a `.take()` has the items that it
/// takes, however many samples there are.
int64_t samples_behind(const Loader& whole, const Description& of, int64_t items);

}  // namespace forebay
