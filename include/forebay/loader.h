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
#include "forebay/pipeline.h"
#include "forebay/result.h"

namespace forebay {

class BlockSource;  // src/runtime/block_source.h
class PassResults;  // src/loader/samples/pass_results.h
struct Ledger;

/// How a bad sample is treated: its error is raised, the batch is shorter, or another sample takes
/// its place.
enum class OnError : uint8_t { kRaise, kSkip, kReplace };

/// The shard assignment. The rows of a global batch do not depend on it, so a run may be resumed
/// with another one.
enum class ShardBy : uint8_t {
  /// kLocality if the pipeline has a `.cache()` and there is more than one cache, otherwise kCount.
  /// A cache on disk belongs to a host, a cache in memory to a process.
  kAuto,
  kCount,  ///< equal numbers of rows, in turn
  /// Equal numbers of rows. Each rank first gets the rows that its host has in its cache: those that
  /// it got in the first epoch, or, in plans of several data sets, whose home is there.
  kLocality,
};

/// The number of different bad samples that an epoch may have: a count (an integer), or a share of
/// the data set (0.0 to 1.0).
struct ErrorLimit {
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  ErrorLimit(T number) : count(static_cast<int64_t>(number)) {}
  template <std::floating_point T>
  ErrorLimit(T part) : share(static_cast<double>(part)) {}

  int64_t count = 0;
  std::optional<double> share;  ///< if set, `count` is not used
};

/// The hosts of a job. The environment variable FOREBAY_CLUSTER_CERTIFICATE_FILE and related ones
/// turn on TLS between them (docs/reference/cluster.md).
struct PeerOptions {
  /// "host:port" of each rank, in the order of the ranks. Or "file:///FOLDER": a folder that all
  /// hosts share and that only this job uses, where the hosts exchange their addresses. Empty:
  /// there are no peers, unless `gather` is set.
  std::vector<std::string> addresses = {};
  /// The token of the job. Empty: FOREBAY_CLUSTER_TOKEN, or the content of the file
  /// FOREBAY_CLUSTER_TOKEN_FILE.
  std::string token = {};
  /// Hosts of different generations refuse each other. By default torchrun's count of restarts,
  /// otherwise 0.
  std::optional<uint64_t> generation = {};
  /// For hosts that meet in another way; `addresses` is then empty. Gets this rank's card (a line
  /// of text) and returns the cards of all ranks, in order. Called once, while the loader is
  /// opened.
  std::function<Result<std::vector<std::string>>(const std::string& card, int rank, int world_size)> gather = {};
};

/// The ranks among which the batches are divided, and the place of this process. Values that are
/// not set come from the variables of a launcher: torchrun, Slurm or MPI.
struct JobOptions {
  std::optional<int> rank = {};        ///< otherwise 0
  std::optional<int> world_size = {};  ///< otherwise 1
  /// The number of hosts of the ranks, the same on every rank. Only torchrun and Slurm tell it.
  std::optional<int> hosts = {};
  /// Processes of the job on this host, which share its cores and memory; otherwise 1.
  std::optional<int> local_ranks = {};
  /// The same on every rank. Row groups are assigned by lane in any case.
  ShardBy shard_by = ShardBy::kAuto;
  /// Hosts that are asked for cache entries before storage is read.
  PeerOptions peers = {};
};

/// The most that a loader uses. They change its speed and never its batches.
struct ResourceOptions {
  std::optional<int> threads = {};      ///< compute threads; default: affinity and cgroup quota
  std::optional<int> requests = {};     ///< storage requests in flight; default: by the kind of store
  std::optional<uint64_t> memory = {};  ///< bytes for everything between storage and the user
};

/// How bad samples are treated.
struct ErrorOptions {
  OnError on_error = OnError::kRaise;
  std::optional<ErrorLimit> max_errors = {};  ///< default: any number
};

/// A run over a stream, by itself or as a part. InvalidArgument for any other source.
struct StreamRunOptions {
  /// Batches of one epoch. By default a stream has one endless epoch. Not for a part.
  std::optional<int64_t> steps_per_epoch = {};
  /// The journal of the run to repeat (Loader::journal()). The loader ends where that run ended.
  std::string journal = {};
};

/// For Loader::open() and SharedLoader::open().
struct LoaderOptions {
  uint64_t seed = 0;
  std::optional<int64_t> epochs = {};  ///< nothing is prefetched past the last one
  /// For evaluation: begin_iteration() returns to the beginning of the current epoch, unless a
  /// state was loaded since the last batch. A stream continues at its position.
  bool restart = false;
  /// For a pipeline with `.rehearse()`: the state() of a loader over the same data set, for example
  /// of the previous task. This loader begins with the replay buffer of that state.
  std::string rehearsal = {};
  StreamRunOptions stream = {};
  JobOptions job = {};
  ResourceOptions resources = {};
  ErrorOptions errors = {};
  /// Settings of stores and brokers by name, such as credentials.
  std::map<std::string, std::string> storage_options = {};
  /// For bindings and servers: provides the memory of batches. Null: memory of this process.
  std::shared_ptr<BlockSource> batch_memory = {};
  /// For servers: what loaders with an equal pipeline and seed found in their passes over the data
  /// set. Null: this loader makes its passes itself.
  std::shared_ptr<PassResults> passes = {};
  bool log_warnings = true;  ///< false: the caller reports Loader::warnings() to its user
  /// Ends open(), which may have a long listing to read. Loader::close() ends everything later.
  std::stop_token stop = {};
};

/// One entry of Loader::errors().
struct ErrorEntry {
  int64_t sample = 0;
  std::string key, op, code, message;
  int64_t count = 0;
};

/// A call of user code outside the engine (Python). A language binding takes it with
/// Loader::take_call() and runs it on a thread of its own. It answers with exactly one of finish()
/// and fail(). A call that is dropped without an answer counts as failed.
class ForeignCall;  // src/pipeline/foreign.h
class Loader;

/// One field of a data set.
struct FieldDescription {
  std::string name;
  std::string type;  ///< "float32", "bytes", "text", …
  /// The shape in one sample; -1: the dimension differs between samples. A list of texts is "text"
  /// of the shape {-1}.
  std::vector<int64_t> shape;
  /// NumPy's type of integers that are dates or times, such as "datetime64[us]" or
  /// "timedelta64[s]". Empty for all other fields.
  std::string time = {};
  /// For tables: whether the values come from the names of folders, so that all rows of a row group
  /// have the same value.
  bool of_folder = false;
  /// Whether null=fb.NULL_MASK added this field, which then says where another field has a value.
  /// False for a column of the table that has such a name.
  bool is_mask = false;
};

/// One field of future batches, as far as it is known before the first one.
struct BatchFieldDescription {
  std::string name;
  std::optional<BatchField::Kind> kind = {};  ///< empty if user code makes the field
  std::optional<DType> dtype = {};            ///< of `values`; empty likewise
  Shape row = {};                             ///< kDense: of one row; -1: differs between batches
};

/// One step of one rank.
struct PlannedStep {
  int64_t position = 0;  ///< position in the epoch at which the global batch begins
  std::vector<int64_t> ids, positions;
  std::vector<int32_t> parts = {};  ///< number of the part of each row; empty without parts
  int64_t padding = 0;              ///< number of repeated rows at the end
  std::vector<int64_t> moved;       ///< tables in lanes: positions whose lane belongs to another rank
};

/// The first steps of one rank in an epoch.
struct EpochPlan {
  int64_t size = 0;                          ///< samples
  int64_t steps = 0;                         ///< of each rank; `first` may hold fewer
  std::vector<std::string> part_names = {};  ///< by number; empty without parts
  std::vector<PlannedStep> first;
};

/// A running, checkpointable stream of batches: a position in a plan. This process makes the
/// batches (Loader), or a server of the host does (SharedLoader). Calls of next() and calls for
/// states and epochs come from one thread at a time; close() and stats() may come from any thread.
class BatchLoader {
 public:
  virtual ~BatchLoader() = default;

  /// Finds the length of an epoch, for which a filter takes a pass over the data. next() and all
  /// methods that return sizes or fingerprints need it. Further calls cost nothing.
  virtual Status prepare() = 0;
  /// Begins a new round of the training loop. If the loop was left at the last batch, so that
  /// next() has not returned the end of the epoch yet, that end is skipped. An epoch that was left
  /// in the middle continues; with LoaderOptions::restart it begins again.
  virtual void begin_iteration() = 0;

  /// Returns the next batch. Returns nothing at the end of an epoch, after which the next call
  /// begins the next epoch, and after the last epoch. An epoch without samples ends at once.
  virtual Result<std::optional<Batch>> next() = 0;
  /// Does the same, but returns nothing after `timeout` and sets `*timed_out`.
  virtual Result<std::optional<Batch>> next_for(std::chrono::milliseconds timeout, bool* timed_out) = 0;

  /// For bindings of languages with an interpreter lock: adds the time between the end of next()
  /// and the moment when the caller had that lock again to the time waited.
  virtual void waited_for_interpreter(std::chrono::nanoseconds time) = 0;

  // The next five return 0 or "" before prepare() has succeeded.
  /// Batches of this rank in the current epoch: those done plus those left. -1 for a stream, whose
  /// epochs have no end.
  virtual int64_t batches_per_epoch() const = 0;
  /// Samples in the data set, after take and filter.
  virtual int64_t size() const = 0;
  /// The data set without any step, as this loader opened it. Loaders over pipelines that begin
  /// with it do not list or index the data set again.
  virtual Pipeline opened() const = 0;
  /// Fields of the data set, before any step of the pipeline.
  virtual std::vector<FieldDescription> source_fields() const = 0;
  /// The class names of `images` in the order of their labels, also of parts that have the same.
  /// Empty for other sources.
  virtual std::vector<std::string> classes() const = 0;
  /// For tables: the ids at which row groups begin, and last the number of rows. Empty for other
  /// sources.
  virtual std::vector<int64_t> row_groups() const = 0;
  /// Epoch of the next batch.
  virtual int64_t epoch() const = 0;
  /// Whether no batch is left, because all `epochs` are over or no epoch has a batch.
  virtual bool finished() const = 0;
  virtual Status set_epoch(int64_t epoch) = 0;
  virtual int rank() const = 0;
  virtual int world_size() const = 0;
  virtual const Pipeline& pipeline() const = 0;

  /// Identifies data set, pipeline and seed, as 32 hexadecimal digits.
  virtual std::string fingerprint() const = 0;
  /// Returns the position as JSON text, which is the same on every rank. It takes less than 1 KB,
  /// and 8 to 40 bytes for each sample of a replay buffer.
  virtual std::string state() const = 0;
  virtual Status load_state(const std::string& json, bool strict = true) = 0;
  /// Goes on from a state of a pipeline with other parts, weights or sizes of parts. The parts of
  /// the same names go on where they were, new ones begin, and the weights of this loader's pipeline
  /// hold. StateMismatch if the seed differs and `strict` is set, InvalidArgument if either pipeline
  /// has no parts, Unsupported in the middle of an epoch of a source without weights that changed.
  virtual Status load_state_of_changed_parts(const std::string& json, bool strict = true) = 0;
  /// Gives the parts of a mix other weights from the next batch on. Names of parts within parts are
  /// joined by "/"; every mix that is named gets a weight for each of its parts. The epoch keeps its
  /// length, and a schedule of the mix is over. state() has the weights, so that load_state() goes on
  /// with them. All ranks must make the same call at the same position. InvalidArgument for weights
  /// that the parts cannot have, for a mix without weights, and in the middle of an epoch with
  /// LoaderOptions::restart.
  virtual Status set_weights(const std::map<std::string, double>& weights) = 0;
  /// Draws the samples of a data set by other weights from the next batch on, in place of those of
  /// its `.sample()` or `.balance()`: one for each sample of the data set, by id. `version`
  /// is your name of them, up to 64 bytes of UTF-8. `part` names the data set where several have
  /// draws. The epoch keeps its number of draws. state() has the version and a hash, not the
  /// weights: before load_state() of such a state, call this with the same weights and version. All
  /// ranks must make the same call at the same position. InvalidArgument for weights that are not
  /// possible, for a data set without draws, inside an epoch with replacement=False, and inside an
  /// epoch with LoaderOptions::restart; Unsupported with a server.
  virtual Status set_sampling(std::vector<double> weights, const std::string& version = {},
                              const std::string& part = {}) = 0;

  virtual Ledger stats() const = 0;
  /// Begins to write a trace for ui.perfetto.dev to `path`, of at most `most_bytes`. Errors:
  /// InvalidArgument (a trace is being written already, the loader is closed, too few bytes),
  /// Unavailable (the file cannot be written).
  virtual Status begin_trace(const std::string& path, uint64_t most_bytes = 100'000'000) = 0;
  /// Ends the trace, if there is one; so does close(). Unavailable if not all of it could be
  /// written.
  virtual Status end_trace() = 0;
  virtual std::vector<ErrorEntry> errors() const = 0;
  /// Data that open() found and does not read, one entry for each cause. open() has logged them.
  /// Empty for a pipeline that opened() returned: the loader that listed the data set reported
  /// them.
  virtual std::vector<DataWarning> warnings() const = 0;
  /// Ends the loader in a bounded time, in any state and from any thread; idempotent. A next() that
  /// waits on another thread returns Cancelled.
  virtual void close() = 0;
  virtual bool closed() const = 0;
};

/// A BatchLoader over an engine of this process.
class Loader final : public BatchLoader {
 public:
  /// Checks the pipeline and opens the data set (reads the listing). The first next() starts
  /// threads.
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
  /// Computes from the plan what a rank of `world_size` gets in the first steps of an epoch. Any
  /// rank can compute it for every other rank.
  Result<EpochPlan> plan(int64_t epoch, int64_t rank, int64_t world_size, int64_t max_steps) const;
  Pipeline opened() const override;
  std::vector<FieldDescription> source_fields() const override;
  /// Fields of future batches. Empty before prepare() has succeeded.
  std::vector<BatchFieldDescription> batch_fields() const;
  std::vector<std::string> classes() const override;
  std::vector<int64_t> row_groups() const override;
  /// For tables: bytes of each row group's decoded columns, or an estimate. Empty for other
  /// sources.
  std::vector<uint64_t> row_group_bytes() const;
  int64_t epoch() const override;
  bool finished() const override;
  Status set_epoch(int64_t epoch) override;
  int rank() const override;
  int world_size() const override;
  const Pipeline& pipeline() const override;

  std::string fingerprint() const override;
  /// The shard assignment in words, which must be the same on all ranks: "count", "local, hosts 2"
  /// or "lane". Empty before prepare(), and for a stream.
  std::string shard_assignment() const;
  std::string state() const override;
  Status load_state(const std::string& json, bool strict = true) override;
  Status load_state_of_changed_parts(const std::string& json, bool strict = true) override;
  Status set_weights(const std::map<std::string, double>& weights) override;
  Status set_sampling(std::vector<double> weights, const std::string& version = {},
                      const std::string& part = {}) override;

  /// For a stream: begins to record the order of its records, in tens of bytes a step, so that
  /// StreamRunOptions::journal can repeat the run. Rank 0 writes the journal. An existing journal
  /// is continued at this loader's position. It ends when load_state() moves the loader elsewhere.
  /// A mix of several streams has a folder with a journal of each. Errors: InvalidArgument if the
  /// journal belongs to another run or no source is a stream, Unavailable if it cannot be written.
  Status journal(const std::string& path);

  Ledger stats() const override;
  Status begin_trace(const std::string& path, uint64_t most_bytes = 100'000'000) override;
  Status end_trace() override;
  std::vector<ErrorEntry> errors() const override;
  std::vector<DataWarning> warnings() const override;
  void close() override;
  bool closed() const override;

  /// For bindings that run user code on their own threads: waits up to `timeout` for the next call.
  /// Null on time-out. After close() `*closed` is true.
  std::shared_ptr<ForeignCall> take_call(std::chrono::milliseconds timeout, bool* closed);

 private:
  struct Impl;
  explicit Loader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Streaming digest (xxh3-128) of the samples of an epoch, without padding. Each sample adds its id
/// and then the bytes of each field, in the order of the fields' names. A list of strings adds all
/// strings, then the length of each (uint32). The caller adds the steps in order, each with the
/// batches of all ranks.
class EpochDigest {
 public:
  EpochDigest();
  ~EpochDigest();
  /// Adds the batches of one step, one of each rank, in any order.
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
