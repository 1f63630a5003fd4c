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

/// A figure, and where the true one is in 95 of 100 profiles, as far as what was seen tells; without bounds where it does not.
struct Estimate {
  double value = 0;
  std::optional<double> low = {}, high = {};
};

/// How much preparing, room and speed matter; any numbers from 0 on, of which one is not 0.
struct ProfileWeights {
  double preparation = 0, storage = 0, throughput = 1;
};
/// "throughput": speed alone; "deadline": preparing and speed; "storage": room and speed.
std::optional<ProfileWeights> weights_named(std::string_view name);

enum class StrategyTier : uint8_t { kNothing, kMemory, kDisk, kFiles };

/// What a sample costs, whoever makes it: what speed on other cores and from another store is predicted from.
struct SampleCost {
  double cpu_seconds = 0;    ///< of compute threads
  double other_seconds = 0;  ///< of the time between two samples: not the cores', and it stays on more of them
  double store_seconds = 0;  ///< where the store was what was waited for, the time between two samples; else 0
  double stored_bytes = 0, stored_reads = 0;  ///< asked of the data set's store
};

/// One way to run the pipeline: what is made once and kept, and where; the rest each epoch.
struct Strategy {
  std::string name;              ///< "cache behind resize, on disk, zstd", "files behind resize"
  std::optional<size_t> behind;  ///< a step; nothing: all of it each epoch
  StrategyTier tier = StrategyTier::kNothing;
  std::string compression = {};           ///< "", "lz4" or "zstd"
  Estimate bytes = {};                    ///< that all samples take there
  double entries = 0;                     ///< that a cache has of them
  Estimate preparation_seconds = {};      ///< of the epoch in which they are kept; of files, of writing them before it
  Estimate rate = {};                     ///< samples a second in the epochs after it
  SampleCost preparing = {}, kept = {};   ///< in that epoch, and after it
  double fits = 1;                        ///< share of the samples for which there is room; `rate` is of all
  std::optional<double> pays_after = {};  ///< epochs until it has saved what it costs; nothing where it never does
  double score = 0;                       ///< 0 to 1
  bool best_of_its_kind = false;          ///< no other is better in one of the three and as good in the others
  Pipeline pipeline = {};
  ChangedSteps steps = {};
  std::string command = {};  ///< that has to write the files before, "forebay materialize PIPELINE.json …"; else empty
};

/// Files of some samples, as one strategy has them.
struct TriedFiles {
  struct Part {
    int64_t samples = 0;
    uint64_t bytes = 0;
  };
  std::vector<Part> parts;
  double seconds = 0, cpu_seconds = 0;  ///< that making and writing all of them took, everything opened before
  Pipeline pipeline;                    ///< that reads them, with the steps behind the cut
  Pipeline answer;                      ///< the same over files of all samples, where the user would have them
  ChangedSteps steps;
  std::string command;   ///< that makes those
  int64_t size = 0;      ///< samples that they would have: all of the data set
  double room = 0;       ///< bytes that there are for them
  bool in_store = true;  ///< they would be in a store, and not on a disk of this host
};
struct ProfileOptions;
/// Which files to try: what the steps up to `behind` give of so many samples, in `folder`.
struct FilesToTry {
  const Pipeline& pipeline;
  const Loader& as_it_is;  ///< over all samples
  size_t behind = 0;
  int64_t samples = 0;
  int64_t copies = 1;  ///< that are made of each of them, as if it were another sample
  std::string folder;
  double most_samples = 0, most_bytes = 0;  ///< that may be written: for so many there is time, and room
  const ProfileOptions& options;            ///< whose `open` opens what becomes of `pipeline`
};
using TryFiles = std::function<Result<TriedFiles>(const FilesToTry&)>;

struct Profile {
  int64_t samples = 0, size = 0;  ///< tried, and of the data set
  ProfileWeights weights;
  std::vector<Strategy> strategies;      ///< the best first
  const Strategy* unchanged() const;     ///< the pipeline that keeps nothing
  std::vector<std::string> others = {};  ///< what was not tried, and why
  double seconds = 0;                    ///< what finding out took
  int threads = 0;                       ///< that it ran with
  std::string predicted_for = {};        ///< "16 cores"; empty: for this host, where it was measured
};

struct ProfileOptions {
  LoaderOptions loader;
  std::optional<int64_t> samples = {};  ///< else 1 in 100, at least 1,000, and all where they take little of the time
  double pace = 1;                      ///< as DiagnoseOptions::pace
  double budget_seconds = 60;           ///< no further strategy is tried after that
  ProfileWeights weights = {};
  OpenChanged open = {};
  /// The same, whatever rank this process is, as rank 0 of 1: what files are written with.
  OpenChanged open_whole = {};
  /// Writes files that are tried beside caches: trying_files() of materialize.h. Without it none are.
  TryFiles files = {};
  std::stop_token stop = {};
  /// Called now and then on the calling thread, where a face has to look after something; may throw.
  std::function<void()> poll = {};
  HandOver hand_over = {};
};

/// Finds out which steps are better done once and which each epoch: at each place where a `.cache()` may stand the samples are
/// kept in memory, on disk (plain, lz4 and zstd) and in files, for a part of the data set that is spread over it; what was seen is carried over to all of it.
/// The best cache is run over all samples, as it is handed over, before it is called best, if its filling fits into the time and ten seconds more. The
/// measures and their weighing are those of PRESTO (arXiv 2202.08679): preparing time, room, throughput, each scaled to the range found.
/// A `.cache()` that is there already is left out. What is kept on disk meanwhile is in a folder of its own below the temporary one, which goes with it.
///
/// Errors: those of Loader::open() and next(); InvalidArgument for an empty data set; Unavailable where no batch comes for 30 s; Cancelled.
Result<Profile> profile(const Pipeline& pipeline, const ProfileOptions& options);
/// Another host, or another store; what is not given stays as it was.
struct Elsewhere {
  std::optional<int> cores = {};
  std::optional<double> latency_seconds = {}, bytes_per_second = {};  ///< of the store that the data set is read from
  int requests = 64;                                                  ///< that it serves at once
};
/// The same strategies there, judged again by the same weights: a sample takes the longer of what the cores need for it and what the store
/// does, and what was neither here. Intervals are as wide as those measured here; the model itself may err by more.
/// InvalidArgument for numbers that are not above 0.
Result<Profile> predict(const Profile& profile, const Elsewhere& where);

/// A table for people, the best first.
std::string to_text(const Profile& profile);
/// A JSON object; docs/profile.md says what stands in it.
std::string to_json(const Profile& profile);

}  // namespace forebay
