#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "forebay/loader.h"
#include "forebay/pipeline.h"
#include "forebay/result.h"

namespace forebay {

/// What holds a run up.
enum class Limit : uint8_t {
  kTrainer,   ///< what uses the batches: it hardly ever waits
  kStorage,   ///< reads that take their time
  kRequests,  ///< the number given as requests=
  kMemory,    ///< the number given as memory=, or what the host has
  kCache,     ///< the pipeline's own .cache(), which has not kept yet, or cannot keep, what is asked of it
  kCompute,   ///< decoding and operators, on compute threads
  kCores,     ///< the same, but other programs or a quota of CPU time keep the threads from running
  kUserCode,  ///< functions of the user's
};
/// One word: "trainer", "storage", …
std::string_view name_of(Limit limit);

/// A limit and how it was told.
struct Limiter {
  Limit limit = Limit::kTrainer;
  double share = 0;      ///< of the time, that the consumer waited for it
  std::string sentence;  ///< with figures
};

/// Times as fast as the pipeline as it is, both run in turns: the median of the rounds, the least and the most.
struct Gain {
  double middle = 1, low = 1, high = 1;
};

/// Where a face that has code of its own stands with a pipeline that was changed.
struct ChangedSteps {
  std::vector<size_t> places;  ///< where the steps of the pipeline as it is stand now
  bool processes = false;      ///< the user's functions are to run in worker processes
};

/// Opens a loader over a changed pipeline, for faces whose pipelines have code of their own.
using OpenChanged =
    std::function<Result<std::shared_ptr<Loader>>(const Pipeline&, const LoaderOptions&, const ChangedSteps& steps)>;

/// A change that was tried.
struct Remedy {
  std::string change;  ///< "put .cache() behind resize"
  Gain gain;
  uint64_t bytes = 0;     ///< that a cache of all samples takes; 0 for other changes
  Pipeline pipeline;      ///< with the change
  LoaderOptions options;  ///< with the change
  ChangedSteps steps;
};

struct Diagnosis {
  double rate = 0, rate_low = 0, rate_high = 0;  ///< samples a second: median, least and most of the windows
  std::optional<double> trainer_rate;            ///< what the consumer could take, where it was said or measured
  Limiter first;
  std::optional<Limiter> next;      ///< what limits with the first remedy
  std::vector<Remedy> remedies;     ///< those that gain, the best first
  std::vector<std::string> others;  ///< changes that were tried and do not gain, or could not be tried, and why
  std::optional<Gain> verified;     ///< of the first remedy, where that was asked for and could be measured
  double first_batch_seconds = 0;   ///< from opening the pipeline as it is to its first batch
  double seconds = 0;               ///< what finding out took
};

/// What a face of the library does with a batch before its consumer has it: makes an object of its language of it, say, so that what is tried costs
/// what it costs its users. Called on the calling thread; may throw. Gives back how long it waited for a lock of its own.
using HandOver = std::function<std::chrono::nanoseconds(Batch)>;

struct DiagnoseOptions {
  LoaderOptions loader;
  /// What the consumer does with a batch: called after each, on the calling thread. Without one it takes them as fast as they come.
  std::function<void()> step = {};
  double budget_seconds = 50;          ///< no further change is tried after that
  uint64_t cache_bytes = 800'000'000;  ///< of samples that are kept in memory while a cache is tried
  /// Measures the first remedy's gain once more, on a loader opened for it alone and over all samples: a cache, as the pipeline would have
  /// it, is filled by a whole epoch before.
  bool verify = false;
  double pace = 1;  ///< of the usual length of each look; tests of everything but speeds have little time
  bool can_use_processes =
      false;  ///< `open` can run functions of the user's in worker processes that do not run there yet
  OpenChanged open = {};
  std::stop_token stop = {};
  /// Called now and then on the calling thread, where a face has to look after something; may throw.
  std::function<void()> poll = {};
  HandOver hand_over = {};
};

/// Runs the pipeline for some seconds, then each change that could help in turns with it: what a cache gains is
/// measured on as many samples as fit, from the second time on. The differential experiments are those of arXiv 2604.21275: a data
/// set of which one part after the other is for nothing. Nothing is written, but for what the pipeline's own caches on disk keep,
/// and that of the remedy where it is verified.
///
/// Errors: those of Loader::open() and next(); Unavailable where no batch comes for 30 s; Cancelled.
Result<Diagnosis> diagnose(const Pipeline& pipeline, const DiagnoseOptions& options);
/// Some lines for people.
std::string to_text(const Diagnosis& diagnosis);
/// A JSON object; docs/diagnosis.md says what stands in it.
std::string to_json(const Diagnosis& diagnosis);

}  // namespace forebay
