#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/json_depth.h"
#include "base/mutex.h"
#include "base/timed_mutex.h"
#include "capi/batch.h"
#include "capi/failure.h"
#include "capi/handles.h"
#include "capi/options.h"
#include "capi/texts.h"
#include "forebay/ledger.h"
#include "forebay/loader.h"
#include "loader/versions/build.h"

namespace forebay::capi {

namespace {

/// A loader with a handle. Calls that change its position hold `call_mutex`.
struct OpenLoader {
  explicit OpenLoader(std::unique_ptr<Loader> opened) : loader(std::move(opened)) {}

  const std::unique_ptr<Loader> loader;
  TimedMutex call_mutex;
  bool end_reported FOREBAY_GUARDED_BY(call_mutex) =
      false;  // fb_next() has returned FB_END_OF_EPOCH, and no batch since
};

using Loaders = Handles<OpenLoader>;
using Cancellers = Handles<std::stop_source>;

// Timeouts from here on mean no timeout: added to the time, they could overflow the clock.
constexpr int64_t kForeverMs = int64_t{1} << 40;

/// Closes all loaders at exit, because engine threads must not run while globals are destroyed.
void close_all() {
  for (const auto& open : Loaders::of_process().all()) open->loader->close();
}

Result<std::shared_ptr<OpenLoader>> find_loader(const fb_loader* handle) {
  if (handle == nullptr) return invalid_argument("the loader is a null pointer: fb_open() did not give one");
  std::shared_ptr<OpenLoader> found = Loaders::of_process().find(handle);
  if (found == nullptr)
    return invalid_argument("this is no loader: it was freed, or opened in a process that this one was forked from");
  return found;
}

Status check_open(const Loader& loader) {
  return loader.closed() ? invalid_argument("this loader is closed; open a new one") : Status();
}

/// Prepares the loader and calls `work(Loader&)` while holding `call_mutex`.
template <typename Work>
Status with_prepared_loader(const fb_loader* handle, Work&& work) {
  FOREBAY_ASSIGN(const std::shared_ptr<OpenLoader> open, find_loader(handle));
  const TimedLock lock(open->call_mutex);
  FOREBAY_RETURN_IF_ERROR(check_open(*open->loader));
  FOREBAY_RETURN_IF_ERROR(open->loader->prepare());
  return work(*open->loader);
}

// The JSON object of numbers as a map. The text is not trusted.
Result<std::map<std::string, double>> weights_of(const char* text) {
  const auto json = nests_too_deep(text) ? nlohmann::json() : nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object())
    return invalid_argument("fb_set_weights: the weights are no JSON object, such as {\"web\": 2, \"code\": 1}");
  std::map<std::string, double> weights;
  for (const auto& [path, weight] : json.items()) {
    if (!weight.is_number())
      return invalid_argument(fmt::format("fb_set_weights: the weight of '{}' is no number", path));
    weights[path] = weight.get<double>();
  }
  return weights;
}

Status null_pointer(const char* what) { return invalid_argument(fmt::format("{} is a null pointer", what)); }

Result<std::shared_ptr<std::stop_source>> find_canceller(const fb_canceller* handle) {
  if (handle == nullptr) return null_pointer("the canceller");
  std::shared_ptr<std::stop_source> found = Cancellers::of_process().find(handle);
  if (found == nullptr)
    return invalid_argument("this is no canceller: it was freed, or made in a process that this one was forked from");
  return found;
}

Status check_not_cancelled(const std::stop_token& stop) {
  return stop.stop_requested() ? cancelled("fb_cancel() ended the opening") : Status();
}

Status open_loader(const char* pipeline_json, const char* options_json, std::stop_token stop, fb_loader** handle) {
  if (handle == nullptr) return null_pointer("fb_open: where the loader goes");
  *handle = nullptr;
  if (pipeline_json == nullptr) return null_pointer("fb_open: the pipeline");
  static const bool at_exit = std::atexit(close_all) == 0;
  (void)at_exit;
  FOREBAY_ASSIGN(LoaderOptions options, options_from_json(options_json == nullptr ? "" : options_json));
  FOREBAY_ASSIGN(const Pipeline pipeline, Pipeline::from_json(pipeline_json));
  FOREBAY_RETURN_IF_ERROR(check_not_cancelled(stop));
  options.stop = stop;
  FOREBAY_ASSIGN(std::unique_ptr<Loader> loader, Loader::open(pipeline, std::move(options)));
  // Loader::open() checks the token only while it waits, and it may not have waited.
  FOREBAY_RETURN_IF_ERROR(check_not_cancelled(stop));
  *handle = reinterpret_cast<fb_loader*>(Loaders::of_process().add(std::make_shared<OpenLoader>(std::move(loader))));
  return {};
}

Status open_cancellable(const char* pipeline_json, const char* options_json, const fb_canceller* canceller,
                        fb_loader** handle) {
  if (handle != nullptr) *handle = nullptr;
  if (canceller == nullptr) return open_loader(pipeline_json, options_json, {}, handle);
  FOREBAY_ASSIGN(const std::shared_ptr<std::stop_source> found, find_canceller(canceller));
  return open_loader(pipeline_json, options_json, found->get_token(), handle);
}

Status new_canceller(fb_canceller** handle) {
  if (handle == nullptr) return null_pointer("fb_canceller_new: where the canceller goes");
  *handle = reinterpret_cast<fb_canceller*>(Cancellers::of_process().add(std::make_shared<std::stop_source>()));
  return {};
}

Status free_canceller(const fb_canceller* handle) {
  if (handle == nullptr) return {};
  FOREBAY_RETURN_IF_ERROR(find_canceller(handle).status());
  Cancellers::of_process().take(handle);
  return {};
}

/// Waits for the next batch, without limit if `timeout_ms` is negative. Sets `*timed_out` if the
/// time ran out first. The caller holds `call_mutex`.
Result<std::optional<Batch>> wait_for_batch(Loader& loader, int64_t timeout_ms, bool* timed_out) {
  FOREBAY_RETURN_IF_ERROR(check_open(loader));
  FOREBAY_RETURN_IF_ERROR(loader.prepare());
  // next() also logs now and then what it waits for.
  if (timeout_ms < 0) return loader.next();
  return loader.next_for(std::chrono::milliseconds(timeout_ms), timed_out);
}

fb_code next_batch(OpenLoader& open, int64_t timeout_ms, fb_batch** batch) FOREBAY_REQUIRES(open.call_mutex) {
  // The last epoch's end is FB_END_OF_EPOCH once, and FB_FINISHED from then on.
  if (open.end_reported && open.loader->finished() && !open.loader->closed()) return FB_FINISHED;
  bool timed_out = false;
  auto next = wait_for_batch(*open.loader, timeout_ms, &timed_out);
  if (!next.ok()) return record_failure(next.status());
  if (timed_out) return FB_TIMED_OUT;
  open.end_reported = !next->has_value();
  if (open.end_reported) return FB_END_OF_EPOCH;
  *batch = new_batch_handle(std::move(**next));
  return FB_OK;
}

fb_code next(fb_loader* handle, int64_t timeout_ms, fb_batch** batch) {
  if (batch == nullptr) return record_failure(null_pointer("fb_next: where the batch goes"));
  *batch = nullptr;
  if (timeout_ms < -1)
    return record_failure(invalid_argument(
        fmt::format("fb_next: timeout_ms is {}; it must be a number of milliseconds, or -1", timeout_ms)));
  const auto open = find_loader(handle);
  if (!open.ok()) return record_failure(open.status());
  OpenLoader& loader = **open;
  if (timeout_ms < 0 || timeout_ms >= kForeverMs) {
    const TimedLock lock(loader.call_mutex);
    return next_batch(loader, -1, batch);
  }
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  // The wait for the lock counts against the timeout: another thread may be waiting for a batch.
  if (!loader.call_mutex.try_lock_until(until)) return FB_TIMED_OUT;
  const TimedLock lock(loader.call_mutex, std::adopt_lock);
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
  return next_batch(loader, std::max<int64_t>(0, left.count()), batch);
}

Status describe(const fb_loader* handle, fb_loader_info* info) {
  constexpr size_t kFirstVersion = offsetof(fb_loader_info, fingerprint) + sizeof(fb_loader_info::fingerprint);
  return with_prepared_loader(handle, [&](Loader& loader) {
    fb_loader_info filled = {};
    filled.epoch = loader.epoch();
    filled.batches_per_epoch = loader.batches_per_epoch();
    filled.samples = loader.size();
    filled.rank = loader.rank();
    filled.world_size = loader.world_size();
    filled.finished = loader.finished() ? 1 : 0;
    // The last byte stays 0 and ends the text.
    loader.fingerprint().copy(filled.fingerprint, sizeof filled.fingerprint - 1);
    return copy_struct("fb_loader_info", kFirstVersion, &filled, sizeof filled, info);
  });
}

/// Runs `write_json()`, which stores a text in `*json`. `*json` is null after a failure.
template <typename WriteJson>
fb_code with_json_result(char** json, WriteJson write_json) {
  return guarded([&]() -> Status {
    if (json == nullptr) return null_pointer("where the text goes");
    *json = nullptr;
    return write_json();
  });
}

std::string errors_to_json(const std::vector<ErrorEntry>& errors) {
  auto list = nlohmann::ordered_json::array();
  for (const ErrorEntry& entry : errors)
    list.push_back({{"sample", entry.sample},
                    {"key", entry.key},
                    {"operator", entry.op},
                    {"code", entry.code},
                    {"message", entry.message},
                    {"count", entry.count}});
  // Keys are file names, which may contain any bytes.
  return list.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace

}  // namespace forebay::capi

using namespace forebay;  // NOLINT: what follows belongs to C

int32_t fb_abi_version(void) { return FB_ABI_VERSION; }

const char* fb_version(void) { return forebay::build().version; }

fb_code fb_open(const char* pipeline_json, const char* options_json, fb_loader** loader) {
  return capi::guarded([&] { return capi::open_loader(pipeline_json, options_json, {}, loader); });
}

fb_code fb_open_cancellable(const char* pipeline_json, const char* options_json, fb_canceller* canceller,
                            fb_loader** loader) {
  return capi::guarded([&] { return capi::open_cancellable(pipeline_json, options_json, canceller, loader); });
}

fb_code fb_canceller_new(fb_canceller** canceller) {
  return capi::guarded([&] { return capi::new_canceller(canceller); });
}

fb_code fb_cancel(fb_canceller* canceller) {
  return capi::guarded([&]() -> Status {
    FOREBAY_ASSIGN(const auto found, capi::find_canceller(canceller));
    found->request_stop();
    return {};
  });
}

fb_code fb_canceller_free(fb_canceller* canceller) {
  return capi::guarded([&] { return capi::free_canceller(canceller); });
}

fb_code fb_next(fb_loader* loader, int64_t timeout_ms, fb_batch** batch) {
  return capi::guarded([&] { return capi::next(loader, timeout_ms, batch); });
}

fb_code fb_loader_describe(fb_loader* loader, fb_loader_info* info) {
  return capi::guarded([&] { return capi::describe(loader, info); });
}

fb_code fb_begin(fb_loader* loader) {
  return capi::guarded([&] {
    return capi::with_prepared_loader(loader, [](Loader& open) {
      open.begin_iteration();
      return Status();
    });
  });
}

fb_code fb_set_epoch(fb_loader* loader, int64_t epoch) {
  return capi::guarded(
      [&] { return capi::with_prepared_loader(loader, [&](Loader& open) { return open.set_epoch(epoch); }); });
}

fb_code fb_state(fb_loader* loader, char** json) {
  return capi::with_json_result(json, [&] {
    return capi::with_prepared_loader(loader, [&](Loader& open) { return capi::return_text(open.state(), json); });
  });
}

fb_code fb_load_state(fb_loader* loader, const char* json, int32_t strict) {
  return capi::guarded([&]() -> Status {
    if (json == nullptr) return capi::null_pointer("fb_load_state: the state");
    return capi::with_prepared_loader(loader, [&](Loader& open) { return open.load_state(json, strict != 0); });
  });
}

fb_code fb_load_state_of_changed_parts(fb_loader* loader, const char* json, int32_t strict) {
  return capi::guarded([&]() -> Status {
    if (json == nullptr) return capi::null_pointer("fb_load_state_of_changed_parts: the state");
    return capi::with_prepared_loader(
        loader, [&](Loader& open) { return open.load_state_of_changed_parts(json, strict != 0); });
  });
}

fb_code fb_set_weights(fb_loader* loader, const char* weights) {
  return capi::guarded([&]() -> Status {
    if (weights == nullptr) return capi::null_pointer("fb_set_weights: the weights");
    FOREBAY_ASSIGN(const auto by_part, capi::weights_of(weights));
    return capi::with_prepared_loader(loader, [&](Loader& open) { return open.set_weights(by_part); });
  });
}

fb_code fb_set_sampling(fb_loader* loader, const double* weights, int64_t count, const char* version,
                        const char* part) {
  return capi::guarded([&]() -> Status {
    if (weights == nullptr) return capi::null_pointer("fb_set_sampling: the weights");
    if (count < 0) return invalid_argument(fmt::format("fb_set_sampling: there are {} weights", count));
    std::vector<double> given(weights, weights + count);
    const auto text = [](const char* may_be_null) { return std::string(may_be_null == nullptr ? "" : may_be_null); };
    return capi::with_prepared_loader(
        loader, [&](Loader& open) { return open.set_sampling(std::move(given), text(version), text(part)); });
  });
}

fb_code fb_stats(fb_loader* loader, char** json) {
  return capi::with_json_result(json, [&]() -> Status {
    // Does not take `call_mutex`, so that it works while another thread waits in fb_next().
    FOREBAY_ASSIGN(const auto open, capi::find_loader(loader));
    return capi::return_text(to_json(open->loader->stats()), json);
  });
}

fb_code fb_errors(fb_loader* loader, char** json) {
  return capi::with_json_result(json, [&]() -> Status {
    FOREBAY_ASSIGN(const auto open, capi::find_loader(loader));
    return capi::return_text(capi::errors_to_json(open->loader->errors()), json);
  });
}

fb_code fb_loader_close(fb_loader* loader) {
  return capi::guarded([&]() -> Status {
    FOREBAY_ASSIGN(const auto open, capi::find_loader(loader));
    // Does not take `call_mutex`, because close() ends the wait of another thread in fb_next().
    open->loader->close();
    return {};
  });
}

fb_code fb_loader_free(fb_loader* loader) {
  return capi::guarded([&]() -> Status {
    if (loader == nullptr) return {};
    FOREBAY_ASSIGN(const auto open, capi::find_loader(loader));
    // A call on another thread shares ownership of the loader until it returns.
    capi::Loaders::of_process().take(loader);
    open->loader->close();
    return {};
  });
}
