#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "forebay/batch.h"
#include "forebay/data_warning.h"
#include "forebay/ledger.h"
#include "forebay/pipeline.h"
#include "forebay/result.h"

namespace forebay {

enum class OnError : uint8_t { kRaise, kSkip, kReplace };

/// Which rank gets which rows of a global batch; never which rows there are, so a run may go on under another one.
enum class ShardBy : uint8_t {
  kAuto,  ///< kLocality where the pipeline has a `.cache()` and more than one host (or process, for caches in memory) keeps samples
  kCount,     ///< rows in turn, equal numbers
  kLocality,  ///< equal numbers, each rank first what its host keeps: what it got in the first epoch
};

/// How many different bad samples of an epoch are borne: a count (an integer), or a share of the data set (0.0 to 1.0).
struct ErrorLimit {
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  ErrorLimit(T number) : count(static_cast<int64_t>(number)) {}
  template <std::floating_point T>
  ErrorLimit(T part) : share(static_cast<double>(part)) {}

  int64_t count = 0;
  std::optional<double> share;  ///< counts where it is there
};

/// The hosts of a job, as far as a loader needs to know them. TLS between them is asked for by FOREBAY_CLUSTER_CERTIFICATE_FILE and its like (docs/cluster.md).
struct PeerOptions {
  /// Empty: none are asked. "host:port" of each rank, in the order of the ranks; or "file:///FOLDER", a folder that all hosts share
  /// and that is this job's alone, where they tell each other their addresses.
  std::vector<std::string> addresses = {};
  std::string token = {};  ///< of the job; empty: FOREBAY_CLUSTER_TOKEN, or the file FOREBAY_CLUSTER_TOKEN_FILE
  std::optional<uint64_t> generation =
      {};  ///< hosts of different ones do not talk to each other; else torchrun's count of restarts, else 0
  /// Where hosts meet in another way, and `addresses` is empty: given this rank's card (a line of text), gives those of all ranks, in order. Called once, while the
  /// loader is opened.
  std::function<Result<std::vector<std::string>>(const std::string& card, int rank, int world_size)> gather = {};
};

struct LoaderOptions {
  uint64_t seed = 0;
  std::optional<int64_t> epochs = {};  ///< nothing is prefetched past the last one
  /// For evaluation: begin_iteration() goes back to the beginning of the epoch that the loader is in, unless a state was loaded since
  /// the last batch. A stream goes on where it stands.
  bool restart = false;
  std::optional<int64_t> steps_per_epoch = {};  ///< of a stream, which else has one epoch without end
  /// Of a stream: the journal of a run that is to be repeated (Loader::journal()). It ends where that ended.
  std::string journal = {};
  /// With a `.rehearse()`: the state() of a loader over the same data set (the task before, of other classes, say), whose kept samples this
  /// one begins with.
  std::string rehearsal = {};
  std::optional<int> rank = {};         ///< else from torchrun, Slurm or MPI variables, else 0
  std::optional<int> world_size = {};   ///< likewise, else 1
  std::optional<int> threads = {};      ///< compute threads; else from affinity and cgroup quota
  std::optional<int> requests = {};     ///< storage requests in flight
  std::optional<uint64_t> memory = {};  ///< bytes for everything between storage and the user
  OnError on_error = OnError::kRaise;
  std::optional<ErrorLimit> max_errors = {};  ///< any number where not given
  std::map<std::string, std::string> storage_options = {};
  ShardBy shard_by = ShardBy::kAuto;  ///< the same on every rank; row groups are assigned by lane, whatever this says
  std::optional<int> hosts =
      {};  ///< how many the ranks are on, the same on every rank; else from torchrun or Slurm variables
  /// Processes of the job on this host, which share its cores and memory; else from the launcher's variables, else 1.
  std::optional<int> local_ranks = {};
  /// Whom to ask for what a `.cache()` keeps, before storage.
  PeerOptions peers = {};
  bool log_warnings = true;  ///< false: the caller tells its user of Loader::warnings()
  std::stop_token stop =
      {};  ///< ends open(), which may have a long listing to read; Loader::close() ends everything later
};

/// One entry of Loader::errors().
struct ErrorEntry {
  int64_t sample = 0;
  std::string key, op, code, message;
  int64_t count = 0;
};

/// A call that user code outside the engine (Python) has to make, on a thread of its own. Exactly one of finish()/fail() per
/// call; a call that is dropped counts as failed.
class ForeignCall;  // src/pipeline/foreign.h
class Loader;

/// One field of a data set: "float32", "bytes", "text", …, and the shape in one sample, -1 where it differs between samples:
/// lists of text are "text" of the shape {-1}.
struct FieldDescription {
  std::string name;
  std::string type;
  std::vector<int64_t> shape;
  /// What NumPy calls integers that are dates or times, "datetime64[us]" or "timedelta64[s]"; empty for all others.
  std::string time = {};
  /// Of a table: whether it stands in the names of folders, so that all rows of a row group have one value.
  bool of_folder = false;
  /// Whether null=fb.NULL_MASK made it, to say where another field is there. A column of that name is none.
  bool is_mask = false;
};

/// One field of the batches to come, as far as it is known before the first one.
struct BatchFieldDescription {
  std::string name;
  std::optional<BatchField::Kind> kind = {};  ///< not known: user code makes it
  std::optional<DType> dtype = {};            ///< of `values`; not known: likewise
  Shape row = {};                             ///< kDense: of one row; a dimension may differ between batches (-1)
};

/// One step of one rank.
struct PlannedStep {
  int64_t position = 0;  ///< in the epoch, where the global batch begins
  std::vector<int64_t> ids, positions;
  int64_t padding = 0;         ///< how many rows at the end are repeats
  std::vector<int64_t> moved;  ///< for tables in lanes: positions whose lane belongs to another rank
};

/// Where the samples of an epoch go.
struct EpochPlan {
  int64_t size = 0;   ///< samples
  int64_t steps = 0;  ///< of each rank; `first` may hold fewer
  std::vector<PlannedStep> first;
};

/// A running, checkpointable stream of batches: a position in a plan. This process makes them (Loader), or a server of the host
/// does (SharedLoader). next(), state and epoch calls come from one thread at a time; close() and stats() from any.
class BatchLoader {
 public:
  virtual ~BatchLoader() = default;

  /// Finishes what must be known before the length of an epoch is: the pass of a filter. next() and every method that reports
  /// sizes or fingerprints needs it. Further calls cost nothing.
  virtual Status prepare() = 0;
  /// Begins a new round of the training loop. An end of epoch that next() has not returned yet, since the loop was left at the
  /// last batch, is forgotten. An epoch that was left in the middle goes on, or begins again with LoaderOptions::restart.
  virtual void begin_iteration() = 0;

  /// Returns the next batch, or nothing at the end of an epoch (the call after that begins the next one) and after the last
  /// epoch. An epoch without samples ends at once.
  virtual Result<std::optional<Batch>> next() = 0;
  /// The same, but gives up after `timeout`: then `*timed_out` is true.
  virtual Result<std::optional<Batch>> next_for(std::chrono::milliseconds timeout, bool* timed_out) = 0;

  /// For bindings of languages with a lock of their own: the time between the end of next() and the moment when the caller had
  /// that lock again. It counts as time waited.
  virtual void waited_for_interpreter(std::chrono::nanoseconds time) = 0;

  // The next five return 0 or "" before prepare() has succeeded.
  /// Batches of this rank in the current epoch: those done plus those left. -1 for a stream, whose epochs have no end.
  virtual int64_t batches_per_epoch() const = 0;
  /// Samples in the data set, after take and filter.
  virtual int64_t size() const = 0;
  /// The data set without any step, as this loader opened it. Loaders over pipelines that begin with it list and index nothing
  /// again.
  virtual Pipeline opened() const = 0;
  /// Fields of the data set, before any step of the pipeline.
  virtual std::vector<FieldDescription> source_fields() const = 0;
  /// The class names of `images` in the order of their labels. Empty for other sources.
  virtual std::vector<std::string> classes() const = 0;
  /// For tables: the ids at which row groups begin, and last the number of rows. Empty for other sources.
  virtual std::vector<int64_t> row_groups() const = 0;
  /// Epoch of the next batch.
  virtual int64_t epoch() const = 0;
  /// Whether no batch is left: `epochs` are over, or no epoch has a batch.
  virtual bool finished() const = 0;
  virtual Status set_epoch(int64_t epoch) = 0;
  virtual int rank() const = 0;
  virtual int world_size() const = 0;
  virtual const Pipeline& pipeline() const = 0;

  /// Identifies data set, pipeline and seed, as 32 hexadecimal digits.
  virtual std::string fingerprint() const = 0;
  /// Returns the position as JSON text, the same on every rank: under 1 KB, and 8 to 40 bytes more for each sample of a replay
  /// buffer.
  virtual std::string state() const = 0;
  virtual Status load_state(const std::string& json, bool strict = true) = 0;

  virtual Ledger stats() const = 0;
  /// Writes a trace to `path` from now on, at most `most_bytes` of it, for ui.perfetto.dev. Errors: InvalidArgument (a trace is
  /// being written already, the loader is closed, too few bytes), Unavailable (the file cannot be written).
  virtual Status begin_trace(const std::string& path, uint64_t most_bytes = 100'000'000) = 0;
  /// Ends the trace, if there is one; close() does so, too. Unavailable where not all of it could be written.
  virtual Status end_trace() = 0;
  virtual std::vector<ErrorEntry> errors() const = 0;
  /// Data that open() found and does not read, one entry for each cause. open() has logged them. Empty for a pipeline that opened()
  /// returned: the loader that listed the data set reported them.
  virtual std::vector<DataWarning> warnings() const = 0;
  /// Takes a bounded time, from any state and thread; idempotent. A next() that waits on another thread returns Cancelled.
  virtual void close() = 0;
  virtual bool closed() const = 0;
};

/// A BatchLoader over an engine of this process.
class Loader final : public BatchLoader {
 public:
  /// Checks the pipeline and opens the data set (reads the listing). Threads start with the first next().
  static Result<std::unique_ptr<Loader>> open(const Pipeline& pipeline, LoaderOptions options = {});
  /// Closes.
  ~Loader() override;
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  Status prepare() override;
  void begin_iteration() override;
  Result<std::optional<Batch>> next() override;
  Result<std::optional<Batch>> next_for(std::chrono::milliseconds timeout, bool* timed_out) override;
  void waited_for_interpreter(std::chrono::nanoseconds time) override;

  int64_t batches_per_epoch() const override;
  int64_t size() const override;
  /// What a rank of `world_size` gets in the first steps of an epoch, computed from the plan; any rank can ask it of any other.
  Result<EpochPlan> plan(int64_t epoch, int64_t rank, int64_t world_size, int64_t max_steps) const;
  Pipeline opened() const override;
  std::vector<FieldDescription> source_fields() const override;
  /// Fields of the batches to come. Empty before prepare() has succeeded.
  std::vector<BatchFieldDescription> batch_fields() const;
  std::vector<std::string> classes() const override;
  std::vector<int64_t> row_groups() const override;
  /// Returns, for tables, the bytes of each row group's columns once they are decoded, or an estimate; nothing for other
  /// sources.
  std::vector<uint64_t> row_group_bytes() const;
  int64_t epoch() const override;
  bool finished() const override;
  Status set_epoch(int64_t epoch) override;
  int rank() const override;
  int world_size() const override;
  const Pipeline& pipeline() const override;

  std::string fingerprint() const override;
  /// How rows are assigned to ranks, which must be the same on all of them: "count", "local, hosts 2", "lane". Empty before
  /// prepare(), and for a stream.
  std::string shard_assignment() const;
  std::string state() const override;
  Status load_state(const std::string& json, bool strict = true) override;

  /// For a stream: records from now on which records come, tens of bytes a step, so that LoaderOptions::journal can repeat the
  /// run. Rank 0 writes it. It ends when load_state() goes to another place; an existing journal is continued at this loader's place.
  /// InvalidArgument where it belongs to another run, or this is no stream; Unavailable where it cannot be written.
  Status journal(const std::string& path);

  Ledger stats() const override;
  Status begin_trace(const std::string& path, uint64_t most_bytes = 100'000'000) override;
  Status end_trace() override;
  std::vector<ErrorEntry> errors() const override;
  std::vector<DataWarning> warnings() const override;
  void close() override;
  bool closed() const override;

  /// For faces that run user code on their own threads: waits up to `timeout` for a call to make. Null on time-out; after
  /// close() `*closed` is true.
  std::shared_ptr<ForeignCall> take_call(std::chrono::milliseconds timeout, bool* closed);

 private:
  struct Impl;
  explicit Loader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Streaming digest of an epoch: xxh3-128 over (id, then the bytes of each field, fields by name), sample by sample, padding
/// left out; of a list of strings all strings, then the length of each (uint32). Give it the steps in order, each with the batches of all ranks.
class EpochDigest {
 public:
  EpochDigest();
  ~EpochDigest();
  /// The batches of one step, one of each rank, in any order.
  void add(std::span<const Batch* const> step);
  void add(const Batch& batch);
  /// 32 hexadecimal digits.
  std::string to_string() const;
  int64_t samples() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace forebay
