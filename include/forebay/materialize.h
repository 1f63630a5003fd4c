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

struct MaterializeProgress {
  int64_t samples_done = 0, samples = 0;  ///< of those this run is to write
  int64_t shards_done = 0, shards = 0;    ///< of all, those of earlier runs and other ranks included
  uint64_t bytes = 0;                     ///< written by this run
  double seconds = 0;
};

struct MaterializeOptions {
  LoaderOptions loader;
  /// Behind which step: its name (the last of that name), "last": the last one that gives the same each epoch; or "best": the one that profile() finds
  /// best in files.
  std::string cut = "best";
  /// "arrow"; "parquet" for tables; "wds": tar shards, pixels as PNG; or "jpeg": tar shards, pictures as JPEG, which loses something.
  std::string format = "arrow";
  std::string compression = {};       ///< "", or for tables "lz4" or "zstd"
  std::optional<int> quality = {};    ///< of "jpeg", 1 to 100; 90 if not given
  std::optional<int64_t> limit = {};  ///< of "jpeg": pictures are made smaller until no side is longer
  /// Of "jpeg": pictures keep their coefficients and get a restart marker behind each row of blocks. Their pixels, and so what the pipeline gives, stay the same.
  bool restart_markers = false;
  /// What is finished there may be of an earlier version of the data: what has not changed since is taken from it. In a bucket the new files lie in
  /// a folder of their own below it.
  bool update = false;
  std::optional<int64_t> shards = {};  ///< else as many as give files of about 64 MiB
  /// This run writes every world_size-th shard; whoever ends last writes the manifest. Else as LoaderOptions find them: from torchrun, Slurm or MPI
  /// variables, else one rank.
  std::optional<int> rank = {}, world_size = {};
  /// Of the store that is written to; else those of the loader.
  std::optional<std::map<std::string, std::string>> url_options = {};
  OpenChanged open = {};
  std::stop_token stop = {};
  /// Called now and then on the calling thread, where a face has to look after something; may throw.
  std::function<void()> poll = {};
  std::function<void(const MaterializeProgress&)> progress = {};  ///< after each shard, and now and then between
};

struct Materialized {
  std::string cut;                    ///< the step
  int64_t samples = 0;                ///< of the data set
  int64_t shards = 0;                 ///< of all of it
  int64_t written = 0;                ///< samples by this run
  int64_t reused = 0;                 ///< of those: taken from what was there, without running the steps
  uint64_t bytes = 0;                 ///< of all shards that are done
  std::vector<uint64_t> shard_bytes;  ///< of each of them
  double seconds = 0;                 ///< of this run
  bool complete = false;              ///< else other ranks have shards to write
  Pipeline pipeline;                  ///< that reads it, with the steps behind the cut
  ChangedSteps steps = {};            ///< where the pipeline's steps stand in it; SIZE_MAX for those that are done
};

/// The steps of which materialize() can run all up to and with one: those that give the same in each epoch.
std::vector<size_t> materialize_cuts(const Pipeline& pipeline);

/// Runs the steps before the cut once for all samples and writes what they give to a local folder or s3://bucket/prefix, in files that others read, too;
/// materialized() reads it, in place of these steps: ids, order, fingerprint and values stay the same, but for "jpeg".
/// It may be stopped at any moment; the same call goes on, and equal calls write equal bytes. Several ranks may write at once.
///
/// Errors: those of Loader::open() and next(); InvalidArgument for a cut that there is not, a pipeline that chooses samples before the cut, and a folder
/// that holds something else; Unsupported for fields that the format cannot hold, and for other URLs; Unavailable
/// where it cannot be written: what is done is kept. Cancelled.
Result<Materialized> materialize(const Pipeline& pipeline, const std::string& folder,
                                 const MaterializeOptions& options = {});

/// For ProfileOptions::files: profile() writes files of its samples as materialize() does, and answers with what reads those of all samples, which
/// would be below `folder`, in one that has the cut's name. `how`: format, compression, quality, limit and restart_markers.
TryFiles trying_files(std::string folder = "materialized", const MaterializeOptions& how = {});

/// The same in parts, for those who deal out the shards themselves: any number of processes open the same, each writes the shards that it is
/// told to, and when all are written one of them ends it. Ranks do not matter to it. From one thread at a time; `progress` is not told.
class Materializer {
 public:
  /// Finds the cut, looks at some samples and says what is to be made, where nobody has. Errors: those of materialize().
  static Result<std::unique_ptr<Materializer>> open(const Pipeline& pipeline, const std::string& folder,
                                                    const MaterializeOptions& options = {});
  ~Materializer();
  Materializer(const Materializer&) = delete;
  Materializer& operator=(const Materializer&) = delete;

  int64_t shards() const;
  /// Those that were not done when it was opened.
  std::vector<int64_t> left() const;
  /// Of these shards.
  int64_t samples(const std::vector<int64_t>& of) const;
  /// Of these: samples that are taken from what was there, where they are written.
  int64_t reused(const std::vector<int64_t>& of) const;
  /// Opens what write() needs, which the first of them does else.
  Status begin();
  /// Costs next to nothing where it is done already.
  Status write(int64_t shard);
  /// Writes the manifest if all shards are done.
  Result<Materialized> end();

 private:
  struct Work;
  explicit Materializer(std::unique_ptr<Work> work);
  const std::unique_ptr<Work> work_;
};

}  // namespace forebay
