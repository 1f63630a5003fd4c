#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "forebay/loader.h"

namespace forebay {

/// User code of a pipeline in the form that a server loads. Faces of other languages make it; a
/// server of the same language (ServerOptions::load_code) reads it.
struct PortableCode {
  std::string source;    ///< where the server finds the pipeline with its functions; empty: no code
  std::string pipeline;  ///< text that identifies the pipeline without its functions
  /// For each function a text that names it and is equal for equal functions only.
  std::vector<std::string> functions = {};
};

/// The server that makes the batches of a SharedLoader.
struct ShareOptions {
  /// "auto": the host's server, which is started if none runs, and restarted if it was killed.
  /// Otherwise the name of a running server, or the path of its socket (`forebay serve --socket`).
  std::string server = "auto";
  /// 0: this loader has its own order and pace. 1: loaders of the same pipeline, seed and rank get
  /// the same batches, which are made once for all of them. n: the first batch also waits, at most
  /// a minute, for n loaders.
  int together = 0;
  /// The program `forebay` that "auto" starts, and the words before its arguments. Empty: the
  /// program on PATH.
  std::vector<std::string> program = {};
  /// The user code of the pipeline, if it has some. `server` then names a server for such code, which
  /// is started with `program` if it does not run.
  PortableCode code = {};
};

/// A BatchLoader whose batches another process makes for the loaders of this host: see `forebay
/// serve`. The batches are byte for byte those of a Loader.
///
/// Batches are in memory of the server that this process can read but not write. The memory of a
/// batch is released with the batch's last tensor, also after close(). In the child of a fork
/// batches are valid for as long as the parent lives.
class SharedLoader final : public BatchLoader {
 public:
  /// Errors: those of Loader::open(); InvalidArgument for pipelines that hold arrays in memory, or
  /// user code without ShareOptions::code, and for `peers`; StateMismatch if another loader of the
  /// group has other functions; NotFound or Unavailable if there is no such server.
  static Result<std::unique_ptr<SharedLoader>> open(const Pipeline& pipeline, LoaderOptions options = {},
                                                    ShareOptions share = {});
  ~SharedLoader() override;
  SharedLoader(const SharedLoader&) = delete;
  SharedLoader& operator=(const SharedLoader&) = delete;

  Status prepare() override;
  void begin_iteration() override;
  /// Unavailable if the server has ended. With "auto" another server is started, and the batches
  /// continue in order.
  Result<std::optional<Batch>> next() override;
  Result<std::optional<Batch>> next_for(std::chrono::milliseconds timeout, bool* timed_out) override;
  void waited_for_interpreter(std::chrono::nanoseconds time) override;

  int64_t batches_per_epoch() const override;
  int64_t size() const override;
  /// The data set without any step. Every loader over it opens the data set again.
  Pipeline opened() const override;
  std::vector<FieldDescription> source_fields() const override;
  std::vector<std::string> classes() const override;
  std::vector<int64_t> row_groups() const override;
  int64_t epoch() const override;
  bool finished() const override;
  Status set_epoch(int64_t epoch) override;
  int rank() const override;
  int world_size() const override;
  const Pipeline& pipeline() const override;

  std::string fingerprint() const override;
  std::string state() const override;
  Status load_state(const std::string& json, bool strict = true) override;
  /// This, and other weights, are changes for this client alone, also with `together`.
  Status load_state_of_changed_parts(const std::string& json, bool strict = true) override;
  Status set_weights(const std::map<std::string, double>& weights) override;
  /// Unsupported: a server moves its loaders by states, which have no weights of samples.
  Status set_sampling(std::vector<double> weights, const std::string& version = {},
                      const std::string& part = {}) override;

  /// Counters of the loader in the server; `waits.interpreter` is that of this process.
  Ledger stats() const override;
  Status begin_trace(const std::string& path, uint64_t most_bytes = 100'000'000) override;
  Status end_trace() override;
  std::vector<ErrorEntry> errors() const override;
  std::vector<DataWarning> warnings() const override;
  void close() override;
  bool closed() const override;

 private:
  struct Impl;
  explicit SharedLoader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace forebay
