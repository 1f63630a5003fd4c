#pragma once

#include <chrono>
#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "forebay/loader.h"
#include "forebay/shared_loader.h"

namespace forebay::python {

/// What Python wants of a loader, be its batches made here or by a server. As of forebay::Loader.
class LoaderFace {
 public:
  virtual ~LoaderFace() = default;
  virtual Status prepare() = 0;
  virtual void begin_iteration() = 0;
  virtual Result<std::optional<Batch>> next_for(std::chrono::milliseconds timeout, bool* timed_out) = 0;
  virtual void waited_for_interpreter(std::chrono::nanoseconds time) = 0;
  virtual int64_t batches_per_epoch() const = 0;
  virtual int64_t size() const = 0;
  virtual Pipeline opened() const = 0;
  virtual std::vector<FieldDescription> source_fields() const = 0;
  virtual std::vector<std::string> classes() const = 0;
  virtual std::vector<int64_t> row_groups() const = 0;
  virtual int64_t epoch() const = 0;
  virtual bool finished() const = 0;
  virtual Status set_epoch(int64_t epoch) = 0;
  virtual int rank() const = 0;
  virtual int world_size() const = 0;
  virtual std::string fingerprint() const = 0;
  virtual std::string deal() const = 0;  ///< of a loader that another process has: nothing
  virtual std::string state() const = 0;
  virtual Status load_state(const std::string& json, bool strict) = 0;
  virtual Ledger stats() const = 0;
  virtual Status begin_trace(const std::string& path, uint64_t most_bytes) = 0;
  virtual Status end_trace() = 0;
  virtual std::vector<ErrorEntry> errors() const = 0;
  virtual std::vector<DataWarning> warnings() const = 0;
  virtual void close() = 0;
  virtual bool closed() const = 0;
  virtual std::shared_ptr<ForeignCall> take_call(std::chrono::milliseconds timeout, bool* closed) = 0;
  /// Whether batches lie in memory that cannot be written.
  virtual bool read_only() const = 0;
  /// The loader of this process; null where a server has it.
  virtual Loader* here() = 0;
};

template <typename L>
class FaceOf final : public LoaderFace {
 public:
  explicit FaceOf(std::unique_ptr<L> loader) : loader_(std::move(loader)) {}

  Status prepare() override { return loader_->prepare(); }
  void begin_iteration() override { loader_->begin_iteration(); }
  Result<std::optional<Batch>> next_for(std::chrono::milliseconds timeout, bool* timed_out) override {
    return loader_->next_for(timeout, timed_out);
  }
  void waited_for_interpreter(std::chrono::nanoseconds time) override { loader_->waited_for_interpreter(time); }
  int64_t batches_per_epoch() const override { return loader_->batches_per_epoch(); }
  int64_t size() const override { return loader_->size(); }
  Pipeline opened() const override { return loader_->opened(); }
  std::vector<FieldDescription> source_fields() const override { return loader_->source_fields(); }
  std::vector<std::string> classes() const override { return loader_->classes(); }
  std::vector<int64_t> row_groups() const override { return loader_->row_groups(); }
  int64_t epoch() const override { return loader_->epoch(); }
  bool finished() const override { return loader_->finished(); }
  Status set_epoch(int64_t epoch) override { return loader_->set_epoch(epoch); }
  int rank() const override { return loader_->rank(); }
  int world_size() const override { return loader_->world_size(); }
  std::string fingerprint() const override { return loader_->fingerprint(); }
  std::string deal() const override {
    if constexpr (requires(const L& loader) { loader.deal(); }) return loader_->deal();
    return "";
  }
  std::string state() const override { return loader_->state(); }
  Status load_state(const std::string& json, bool strict) override { return loader_->load_state(json, strict); }
  Ledger stats() const override { return loader_->stats(); }
  Status begin_trace(const std::string& path, uint64_t most_bytes) override {
    return loader_->begin_trace(path, most_bytes);
  }
  Status end_trace() override { return loader_->end_trace(); }
  std::vector<ErrorEntry> errors() const override { return loader_->errors(); }
  std::vector<DataWarning> warnings() const override { return loader_->warnings(); }
  void close() override { loader_->close(); }
  bool closed() const override { return loader_->closed(); }
  std::shared_ptr<ForeignCall> take_call(std::chrono::milliseconds timeout, bool* closed) override {
    if constexpr (std::same_as<L, Loader>) return loader_->take_call(timeout, closed);
    *closed = true;  // functions of the user's are no part of what a server does
    return nullptr;
  }
  Loader* here() override {
    if constexpr (std::same_as<L, Loader>) return loader_.get();
    return nullptr;
  }
  bool read_only() const override { return !std::same_as<L, Loader>; }

 private:
  const std::unique_ptr<L> loader_;
};

}  // namespace forebay::python
