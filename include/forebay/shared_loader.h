#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "forebay/loader.h"

namespace forebay {

/// Which server makes the batches of a SharedLoader.
struct ShareOptions {
  /// "auto": that of the host, started where there is none and again where it was killed; else one that runs: its name, or the path
  /// of its socket (`forebay serve --socket`).
  std::string server = "auto";
  /// 0: this loader has its own order and pace. 1: it gets the batches of whoever asks for the same pipeline, seed and rank, made once
  /// for all of them; n: and the first one waits until so many are there, a minute at most.
  int together = 0;
  /// The program `forebay` that "auto" starts, with what goes before its arguments. Empty: the one on PATH.
  std::vector<std::string> program = {};
};

/// A Loader whose batches another process makes, for all that ask for them on this host: see `forebay serve`. What is not said here is
/// as of a Loader, and so are the batches, to the byte.
///
/// Batches lie in memory of the server's that this process can read and not write. They go back when their last tensor goes, also after
/// close(). In the child of a fork they are valid for as long as the parent lives.
class SharedLoader {
 public:
  /// Errors: those of Loader::open(); InvalidArgument for pipelines that hold user code or arrays in memory, and for `peers`; NotFound
  /// or Unavailable where there is no such server.
  static Result<std::unique_ptr<SharedLoader>> open(const Pipeline& pipeline, LoaderOptions options = {},
                                                    ShareOptions share = {});
  ~SharedLoader();
  SharedLoader(const SharedLoader&) = delete;
  SharedLoader& operator=(const SharedLoader&) = delete;

  Status prepare();
  void begin_iteration();
  /// Unavailable where the server has gone. With "auto" another one is started, and the next batch is the next one.
  Result<std::optional<Batch>> next();
  Result<std::optional<Batch>> next_for(std::chrono::milliseconds timeout, bool* timed_out);
  void waited_for_interpreter(std::chrono::nanoseconds time);

  int64_t batches_per_epoch() const;
  int64_t size() const;
  /// The data set without any step; it is opened by whoever reads it.
  Pipeline opened() const;
  std::vector<FieldDescription> source_fields() const;
  std::vector<std::string> classes() const;
  std::vector<int64_t> row_groups() const;
  int64_t epoch() const;
  bool finished() const;
  Status set_epoch(int64_t epoch);
  int rank() const;
  int world_size() const;
  const Pipeline& pipeline() const;

  std::string fingerprint() const;
  std::string state() const;
  Status load_state(const std::string& json, bool strict = true);

  /// Counters of the loader in the server. `waits.interpreter` is this process's.
  Ledger stats() const;
  Status begin_trace(const std::string& path, uint64_t most_bytes = 100'000'000);
  Status end_trace();
  std::vector<ErrorEntry> errors() const;
  std::vector<DataWarning> warnings() const;
  void close();
  bool closed() const;

 private:
  struct Impl;
  explicit SharedLoader(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace forebay
