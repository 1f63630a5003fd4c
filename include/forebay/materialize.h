#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "forebay/diagnosis.h"
#include "forebay/loader.h"
#include "forebay/pipeline.h"
#include "forebay/profile.h"
#include "forebay/result.h"

namespace forebay {

/// State of a run of materialize(), reported to MaterializeOptions::progress.
struct MaterializeProgress {
  int64_t samples_done = 0, samples = 0;  ///< written so far and in all by this run
  int64_t shards_done = 0, shards = 0;    ///< written so far and in all, by all runs and ranks
  uint64_t bytes = 0;                     ///< bytes written by this run
  double seconds = 0;
};

/// Options of materialize() and Materializer.
struct MaterializeOptions {
  LoaderOptions loader;
  /// The last step that runs once. Either its name (the last step of that name), or "last" (the
  /// last step that gives the same in each epoch), or "best" (the step that profile() finds best
  /// for files).
  std::string cut = "best";
  /// "arrow"; "parquet" for tables; "wds" for tar shards with pixels as PNG; "jpeg" for tar shards
  /// with pictures as JPEG, which is lossy.
  std::string format = "arrow";
  std::string compression = {};       ///< "", or for tables "lz4" or "zstd"
  std::optional<int> quality = {};    ///< for "jpeg": 1 to 100, 90 by default
  std::optional<int64_t> limit = {};  ///< for "jpeg": longest side; larger pictures are scaled down
  /// For "jpeg": keeps the coefficients of each picture and adds a restart marker after each row of
  /// blocks. The pixels, and so the results of the pipeline, stay the same.
  bool restart_markers = false;
  /// Brings finished files of an earlier version of the data up to date. Samples that have not
  /// changed are copied from them. In a bucket the new files are in a folder of their own below the
  /// old one.
  bool update = false;
  std::optional<int64_t> shards = {};  ///< by default as many as give files of about 64 MiB
  /// This run writes every world_size-th shard. The rank that ends last writes the manifest. By
  /// default rank and world size are found as in JobOptions: from variables of torchrun, Slurm
  /// or MPI, else one rank.
  std::optional<int> rank = {}, world_size = {};
  /// Options of the store that is written to; by default those of the loader.
  std::optional<std::map<std::string, std::string>> url_options = {};
  OpenChanged open = {};
  std::stop_token stop = {};
  /// Called now and then on the calling thread, for example to check for signals. May throw.
  std::function<void()> poll = {};
  /// Called after each shard, and now and then in between.
  std::function<void(const MaterializeProgress&)> progress = {};
};

/// Result of materialize().
struct Materialized {
  std::string cut;                    ///< name of the last step that ran
  int64_t samples = 0;                ///< samples in the data set
  int64_t shards = 0;                 ///< shards of the whole data set
  int64_t written = 0;                ///< samples written by this run
  int64_t reused = 0;                 ///< samples of these that were copied from existing files
  uint64_t bytes = 0;                 ///< size of all finished shards
  std::vector<uint64_t> shard_bytes;  ///< size of each finished shard
  double seconds = 0;                 ///< duration of this run
  /// Whether all shards are written; else other ranks have some.
  bool complete = false;
  Pipeline pipeline;  ///< reads the files, then runs the steps after the cut
  /// Places of the original steps in `pipeline`; SIZE_MAX for those that were materialized.
  ChangedSteps steps = {};
};

/// Returns the steps at which the pipeline can be cut: those that give the same in each epoch.
std::vector<size_t> materialize_cuts(const Pipeline& pipeline);

/// Runs the steps up to the cut once for all samples and writes the results to a local folder or to
/// s3://bucket/prefix, in files that other programs can read. materialized() reads them in place of
/// these steps: ids, order, fingerprint and values stay the same. The format "jpeg" without
/// restart_markers is the exception, since it is lossy.
///
/// The call may be stopped at any moment, and the same call then continues. Equal calls write equal
/// bytes. Several ranks may write at the same time.
///
/// Errors: those of Loader::open() and next(); InvalidArgument for a cut that does not exist, a
/// pipeline that chooses samples before the cut, and a folder that holds something else;
/// Unsupported for fields that the format cannot hold, and for other URLs; Unavailable if a write
/// fails, in which case finished shards stay; Cancelled.
Result<Materialized> materialize(const Pipeline& pipeline, const std::string& folder,
                                 const MaterializeOptions& options = {});

/// Returns a function for ProfileOptions::files. It writes files of a part of the samples as
/// materialize() does. The pipelines that profile() returns read files of all samples in a folder
/// below `folder` that has the cut's name. `how` gives format, compression, quality, limit and
/// restart_markers.
TryFiles trying_files(std::string folder = "materialized", const MaterializeOptions& how = {});

/// materialize() in parts, for schedulers that assign the shards themselves. Any number of
/// processes open the same job, and each writes the shards that it is assigned. Once all are
/// written, one of them calls end(). Options for ranks and `progress` are ignored. Used from one
/// thread at a time.
class Materializer {
 public:
  /// Finds the cut, examines some samples and records the job at the place if no other process has.
  /// Errors: those of materialize().
  static Result<std::unique_ptr<Materializer>> open(const Pipeline& pipeline, const std::string& folder,
                                                    const MaterializeOptions& options = {});
  ~Materializer();
  Materializer(const Materializer&) = delete;
  Materializer& operator=(const Materializer&) = delete;

  int64_t shards() const;
  /// Returns the shards that were not written yet when the job was opened.
  std::vector<int64_t> left() const;
  /// Returns the number of samples in these shards.
  int64_t samples(const std::vector<int64_t>& of) const;
  /// Returns the number of samples in these shards that an update copies from existing files.
  int64_t reused(const std::vector<int64_t>& of) const;
  /// Opens what write() needs. Without it the first write() does so.
  Status begin();
  /// Writes a shard. Costs next to nothing if the shard is written already.
  Status write(int64_t shard);
  /// Writes the manifest if all shards are written.
  Result<Materialized> end();

 private:
  struct Work;
  explicit Materializer(std::unique_ptr<Work> work);
  const std::unique_ptr<Work> work_;
};

}  // namespace forebay
