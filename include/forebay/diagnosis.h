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

/// Resource that limits the speed of a run.
enum class Limit : uint8_t {
  kTrainer,   ///< the consumer of the batches; it hardly ever waits
  kStorage,   ///< reads from storage
  kRequests,  ///< the number that the user gave as requests=
  kMemory,    ///< the number that the user gave as memory=, or the host's memory
  kCache,     ///< the pipeline's own .cache(): not filled yet, or too small
  kCompute,   ///< decoding and operators, on compute threads
  kCores,     ///< CPU time: other programs or a quota keep the compute threads from running
  kUserCode,  ///< functions of the user
};
/// Returns the limit as one word: "trainer", "storage", …
std::string_view name_of(Limit limit);

/// A limit and the evidence for it.
struct Limiter {
  Limit limit = Limit::kTrainer;
  double share = 0;      ///< share of the time that the consumer waited for it
  std::string sentence;  ///< explanation with figures
};

/// What a part of a pipeline over many data sets costs. A part is run by itself, with the steps
/// behind it.
struct PartCost {
  std::string name;         ///< "web", or "web/en" for a part of a part
  double sample_share = 0;  ///< share of the samples in the first 65,536 of an epoch
  /// Samples a second of the part by itself. Empty if it was not measured; `others` says why.
  std::optional<double> rate = {};
  /// Share of the time: sample_share / rate, over the sum of all parts that were measured.
  double time_share = 0;
};

/// Speed of a changed pipeline divided by that of the unchanged one. Both run in turns; the values
/// are the median, the least and the most of the rounds.
struct Gain {
  double middle = 1, low = 1, high = 1;
};

/// Relates the steps of a changed pipeline to those of the original. A language binding needs it to
/// attach the user's functions to the right steps.
struct ChangedSteps {
  std::vector<size_t> places;  ///< index in the changed pipeline of each original step
  bool processes = false;      ///< whether the user's functions are to run in worker processes
};

/// Opens a loader over a changed pipeline. Language bindings provide it for pipelines that contain
/// functions of that language.
using OpenChanged =
    std::function<Result<std::shared_ptr<Loader>>(const Pipeline&, const LoaderOptions&, const ChangedSteps& steps)>;

/// A change that was tried.
struct Remedy {
  std::string change;  ///< "put .cache() behind resize"
  Gain gain;
  uint64_t bytes = 0;     ///< size of a cache of all samples; 0 for other changes
  Pipeline pipeline;      ///< pipeline with the change
  LoaderOptions options;  ///< options with the change
  ChangedSteps steps;
};

/// Result of diagnose().
struct Diagnosis {
  /// Samples a second of the unchanged pipeline: median, least and most of the windows.
  double rate = 0, rate_low = 0, rate_high = 0;
  std::optional<double> trainer_rate;  ///< samples a second that the consumer can take, if known
  Limiter first;
  /// Those of a pipeline over many data sets, the costliest first. Empty for others, and if the
  /// consumer is the limit. Parts that follow each other are measured as if they were mixed.
  std::vector<PartCost> parts = {};
  std::optional<Limiter> next;      ///< limit once the first remedy is applied
  std::vector<Remedy> remedies;     ///< changes that gain, the best first
  std::vector<std::string> others;  ///< other changes: why they do not gain or were not tried
  std::optional<Gain> verified;     ///< second measurement of the first remedy, if there is one
  double first_batch_seconds = 0;   ///< from opening the unchanged pipeline to its first batch
  double seconds = 0;               ///< duration of the diagnosis
};

/// Passes a batch through a language binding, as it would be before the user has it, so that each
/// trial costs what the user pays. Runs on the calling thread and may throw. Returns how long it
/// waited for the lock of the language.
using HandOver = std::function<std::chrono::nanoseconds(Batch)>;

/// Options of diagnose().
struct DiagnoseOptions {
  LoaderOptions loader;
  /// The consumer's work on a batch, called after each batch on the calling thread. Without it
  /// batches are taken as fast as they come.
  std::function<void()> step = {};
  double budget_seconds = 50;          ///< after this time no further change is tried
  uint64_t cache_bytes = 800'000'000;  ///< bytes of samples in memory while a cache is tried
  /// Measures the gain of the first remedy again, with a loader of its own over all samples. A
  /// cache is filled by a whole epoch first, as in normal use.
  bool verify = false;
  double pace = 1;  ///< factor on the length of each measurement; below 1 only in tests
  /// Whether `open` can move the user's functions to worker processes.
  bool can_use_processes = false;
  OpenChanged open = {};
  std::stop_token stop = {};
  /// Called now and then on the calling thread, for example to check for signals. May throw.
  std::function<void()> poll = {};
  HandOver hand_over = {};
};

/// Finds what limits a pipeline and which changes make it faster. Runs the pipeline for some
/// seconds, then runs each promising change in turns with it. The gain of a cache is measured on as
/// many samples as fit, from their second epoch on. The method, in which one part of the work after
/// the other becomes free, is that of arXiv 2604.21275. Nothing is written except by caches on
/// disk: those of the pipeline, trial caches in a temporary folder, and that of the remedy if it is
/// verified.
///
/// Errors: those of Loader::open() and next(); Unavailable if no batch arrives for 30 s; Cancelled.
Result<Diagnosis> diagnose(const Pipeline& pipeline, const DiagnoseOptions& options);
/// Returns some lines for people.
std::string to_text(const Diagnosis& diagnosis);
/// Returns a JSON object, described in docs/reference/diagnosis.md.
std::string to_json(const Diagnosis& diagnosis);

}  // namespace forebay
