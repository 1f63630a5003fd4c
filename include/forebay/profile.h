#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "forebay/diagnosis.h"
#include "forebay/loader.h"
#include "forebay/pipeline.h"
#include "forebay/result.h"

namespace forebay {

/// An estimated figure with its 95 % confidence interval. The bounds are missing if the trial was
/// too short to give them.
struct Estimate {
  double value = 0;
  std::optional<double> low = {}, high = {};
};

/// Weights of preparation time, occupied space and speed. Each is 0 or more, and at least one is
/// not 0.
struct ProfileWeights {
  double preparation = 0, storage = 0, throughput = 1;
};
/// Returns the weights of a name: "throughput" is speed alone, "deadline" is preparation time and
/// speed, "storage" is space and speed.
std::optional<ProfileWeights> weights_named(std::string_view name);

/// Where a strategy stores its results.
enum class StrategyTier : uint8_t { kNothing, kMemory, kDisk, kFiles };

/// Cost of one sample in CPU time and reads. predict() computes the speed on other cores or with
/// another store from it.
struct SampleCost {
  double cpu_seconds = 0;  ///< CPU time of compute threads
  /// Time between two samples that the cores do not explain, such as a lock. More cores do not
  /// shorten it.
  double other_seconds = 0;
  /// Time between two samples if limited by the store; else 0.
  double store_seconds = 0;
  double stored_bytes = 0, stored_reads = 0;  ///< read from the data set's store
};

/// One way to run the pipeline: the steps up to a cut run once and their results are stored; the
/// later steps run in each epoch.
struct Strategy {
  std::string name;  ///< "cache behind resize, on disk, zstd", "files behind resize"
  /// Number of the last step that runs once. Empty: all steps run each epoch, or parts have several.
  std::optional<size_t> behind = {};
  StrategyTier tier = StrategyTier::kNothing;
  std::string compression = {};  ///< "", "lz4" or "zstd"
  Estimate bytes = {};           ///< size of the results for all samples
  double entries = 0;            ///< number of cache entries for all samples
  /// Duration of the epoch that fills the cache, or of writing the files before the first epoch.
  Estimate preparation_seconds = {};
  Estimate rate = {};                     ///< samples a second after the preparation
  SampleCost preparing = {}, kept = {};   ///< cost during the preparation, and after it
  double fits = 1;                        ///< share of samples that fit; `rate` is for all samples
  std::optional<double> pays_after = {};  ///< epochs until the strategy pays off; empty: never
  double score = 0;                       ///< 0 to 1
  bool best_of_its_kind = false;          ///< Pareto-optimal in time, space and speed
  Pipeline pipeline = {};
  ChangedSteps steps = {};
  /// Command that writes the files, "forebay materialize PIPELINE.json …"; empty for caches.
  std::string command = {};
};

/// Files that were written for a part of the samples, to try one strategy.
struct TriedFiles {
  struct Part {
    int64_t samples = 0;
    uint64_t bytes = 0;
  };
  std::vector<Part> parts;
  double seconds = 0, cpu_seconds = 0;  ///< cost of computing and writing them, without opening
  Pipeline pipeline;                    ///< reads these files, then runs the steps after the cut
  Pipeline answer;                      ///< the same for files of all samples, at the user's place
  ChangedSteps steps;
  std::string command;   ///< writes the files that `answer` reads
  int64_t size = 0;      ///< samples in those files: the whole data set
  double room = 0;       ///< free bytes at the user's place
  bool in_store = true;  ///< whether the user's place is an object store, not a local disk
};
struct ProfileOptions;
/// Request to write files for a trial: the output of the steps up to `behind`, for `samples`
/// samples, in `folder`.
struct FilesToTry {
  const Pipeline& pipeline;
  const Loader& as_it_is;  ///< loader of the unchanged pipeline over all samples
  size_t behind = 0;
  int64_t samples = 0;
  int64_t copies = 1;  ///< how often each sample is written, as if it were a different one
  std::string folder;
  double most_samples = 0, most_bytes = 0;  ///< most that may be written, by time and by space
  const ProfileOptions& options;            ///< its `open` opens pipelines made from `pipeline`
};
using TryFiles = std::function<Result<TriedFiles>(const FilesToTry&)>;

/// A part of a pipeline over many data sets, profiled by itself.
struct PartProfile {
  PartCost cost;
  /// The best first; empty if it was not profiled. Their pipelines are those of the part by itself.
  std::vector<Strategy> strategies;
};

/// Result of profile() or predict().
struct Profile {
  int64_t samples = 0, size = 0;  ///< samples tried, and samples in the data set
  ProfileWeights weights;
  std::vector<Strategy> strategies;      ///< the best first
  const Strategy* unchanged() const;     ///< the pipeline without any cache
  std::vector<std::string> others = {};  ///< what was not tried, and why
  double seconds = 0;                    ///< duration of profile()
  int threads = 0;                       ///< compute threads of the runs
  std::vector<PartProfile> parts = {};   ///< as measured, the costliest first; empty for one data set
  std::string predicted_for = {};        ///< "16 cores"; empty if measured on this host
};

/// Options of profile().
struct ProfileOptions {
  LoaderOptions loader;
  /// Samples to try. By default 1 in 100, at least 1,000; all of them if that takes little time.
  std::optional<int64_t> samples = {};
  double pace = 1;             ///< see DiagnoseOptions::pace
  double budget_seconds = 60;  ///< after this time no further strategy is tried
  ProfileWeights weights = {};
  OpenChanged open = {};
  /// Does the same as `open`, but always as rank 0 of 1. Files are written with it.
  OpenChanged open_whole = {};
  /// Writes files for strategies that use files: trying_files() of materialize.h. If it is empty,
  /// only caches are tried.
  TryFiles files = {};
  std::stop_token stop = {};
  /// Called now and then on the calling thread, for example to check for signals. May throw.
  std::function<void()> poll = {};
  HandOver hand_over = {};
};

/// Finds out which steps should run once and which in each epoch. At each place where a `.cache()`
/// is allowed, the results for a part of the data set are stored in memory, on disk (plain, lz4 and
/// zstd) and in files; the figures are extrapolated to the whole data set. A `.cache()` that the
/// pipeline already has is left out.
///
/// Each of many data sets is profiled by itself, and may have its own cut. The speed of the whole is
/// the mean of the parts' speeds, harmonic and weighted by their shares of the samples; if time
/// allows, the whole is run with the best cuts.
///
/// Before a cache is called the best, its pipeline runs over all samples, provided that filling it
/// takes no longer than the rest of the time and ten seconds. The measures and their weighting are
/// those of PRESTO (arXiv 2202.08679): preparation time, space and throughput, each scaled to the
/// range found. Files of the trials are in a folder below the temporary one and are removed in the
/// end.
///
/// Errors: those of Loader::open() and next(); InvalidArgument for an empty data set; Unavailable
/// if no batch arrives for 30 s; Cancelled.
Result<Profile> profile(const Pipeline& pipeline, const ProfileOptions& options);
/// Another host or another store. Members without a value stay as they were measured.
struct Elsewhere {
  std::optional<int> cores = {};
  std::optional<double> latency_seconds = {}, bytes_per_second = {};  ///< of the data set's store
  /// Requests that the store serves at once.
  int requests = 64;
};
/// Predicts the strategies for another host or store and ranks them again by the same weights. The
/// time of a sample is the longer of the time on the cores, with what the cores did not explain
/// here, and the time of the store. Intervals are as wide, in proportion, as those measured here;
/// the error of the model may be larger. Error: InvalidArgument for numbers that are not above 0.
Result<Profile> predict(const Profile& profile, const Elsewhere& where);

/// Returns a table for people, the best strategy first.
std::string to_text(const Profile& profile);
/// Returns a JSON object, described in docs/reference/profile.md.
std::string to_json(const Profile& profile);

}  // namespace forebay
