#include "python/loader.h"
#include "base/clock.h"

#include <unistd.h>

#include <chrono>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include "base/replace_file.h"
#include "forebay/ledger.h"
#include "pipeline/foreign.h"
#include "python/array.h"
#include "python/batch.h"
#include "python/batch_call.h"
#include "python/foreign_call.h"
#include "python/raise.h"
#include "python/stats.h"
#include "python/text.h"
#include "python/wait.h"
#include "serve/wire/portable_object.h"
#include "study/limits.h"
#include "study/observation.h"
#include "study/report/pages.h"

namespace forebay::python {

namespace {

using OpenResult = Result<std::unique_ptr<BatchLoader>>;

OpenResult open(const Pipeline& pipeline, const LoaderOptions& options, const std::optional<ShareOptions>& share) {
  if (share) {
    FOREBAY_ASSIGN(std::unique_ptr<SharedLoader> loader, SharedLoader::open(pipeline, options, *share));
    return std::unique_ptr<BatchLoader>(std::move(loader));
  }
  FOREBAY_ASSIGN(std::unique_ptr<Loader> loader, Loader::open(pipeline, options));
  return std::unique_ptr<BatchLoader>(std::move(loader));
}

OpenResult open_interruptibly(const PyDescription& description, LoaderOptions options,
                              std::optional<ShareOptions> share) {
  auto work = [pipeline = description.pipeline(), options = std::move(options),
               share = std::move(share)](std::stop_token stop) mutable {
    // After an interrupt the opening ends when it next checks `stop`; its result is dropped.
    options.stop = std::move(stop);
    return open(pipeline, options, share);
  };
  if (description.keep.is_none()) return wait_interruptibly(std::move(work));
  // An interrupted open continues in the background, where nothing keeps Python's arrays alive.
  // Arrays need no listing, so there is no long wait to interrupt.
  std::optional<OpenResult> result;
  {
    nb::gil_scoped_release unlocked;
    result.emplace(work({}));
  }
  return std::move(*result);
}

[[noreturn]] void raise_user_failure(const nb::object& exception) {
  nb::object error = nb::module_::import_("forebay.errors").attr("UserFailure")(exception);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.ptr())), error.ptr());
  throw nb::python_error();
}

// For a status of a server, whose exceptions are pickles.
[[noreturn]] void raise_portable(const Status& status) {
  const Tensor& bytes = static_cast<const PortableObject*>(status.payload().get())->bytes;
  raise_user_failure(nb::bytes(bytes.buffer.data(), bytes.nbytes()));
}

// Shortest wait for the interpreter lock that is counted as such.
constexpr int64_t kLockTakenNs = 10'000;  // a lock that is free takes less

}  // namespace

PyLoader::PyLoader(const PyDescription& description, LoaderOptions options, std::optional<ShareOptions> share,
                   nb::object convert)
    : keep_(description.keep), convert_(std::move(convert)), process_(getpid()) {
  given_.resources = options.resources;
  // Before any thread of the engine works: NumPy changes the environment while it is imported, and
  // libraries read it (libjpeg on each thread, OpenSSL, libcurl), which glibc does not synchronize.
  import_numpy();
  // The arguments are Python objects, so the lock is held here and released inside.
  OpenResult opened = open_interruptibly(description, std::move(options), std::move(share));
  // Only a server runs functions while it opens a loader: those of filters.
  if (opened.status().payload()) raise_portable(opened.status());
  engine_->loader = value_or_raise(std::move(opened));
  engine_->own = dynamic_cast<Loader*>(engine_->loader.get());
}

PyLoader::~PyLoader() {
  if (getpid() != process_) {
    // The child has none of the threads, so nothing can be joined.
    new std::shared_ptr<Engine>(std::move(engine_));
    return;
  }
  nb::gil_scoped_release unlocked;
  // Ends the waits of other threads, which then find the loader closed.
  engine_->loader->close();
  engine_->turn.lock();  // background work ends soon after close(), and reads the arrays of `keep_`
  engine_->turn.unlock();
  // Without the lock: the engine's threads end here, and some may need it to drop objects.
  engine_.reset();
}

BatchLoader& PyLoader::loader() const {
  if (getpid() != process_) {
    raise(
        invalid_argument(fmt::format("this loader was opened in process {} and cannot be used in process {}, which was "
                                     "forked from it; open a new Loader after the fork",
                                     process_, getpid())));
  }
  return *engine_->loader;
}

Loader* PyLoader::own_loader() const {
  (void)loader();
  return engine_->own;
}

void PyLoader::raise_from(const Status& status) {
  if (!status.payload()) raise(status);
  // The last status with this payload drops its token, so it is held until Python has looked the
  // token up.
  {
    const Lock lock(mutex_);
    raised_ = status;
  }
  if (engine_->own == nullptr) raise_portable(status);
  raise_user_failure(nb::cast(static_cast<const KeptObject*>(status.payload().get())->token));
}

template <typename Call>
auto PyLoader::in_turn(Call call) {
  BatchLoader& target = loader();
  while (true) {
    {
      nb::gil_scoped_release unlocked;
      // Only the wait for the turn is cut into periods; `call` bounds its own wait.
      if (engine_->turn.try_lock_for(kSignalPeriod)) {
        const TimedLock lock(engine_->turn, std::adopt_lock);
        return call(target);
      }
    }
    check_signals();
  }
}

void PyLoader::prepare() {
  // Raises in a forked child, where a thread that does not exist may hold the turn.
  loader();
  const Status status = wait_interruptibly([engine = engine_](const std::stop_token&) {
    const TimedLock lock(engine->turn);
    return engine->loader->prepare();
  });
  if (!status.ok()) raise_from(status);
}

void PyLoader::begin_iteration() {
  require_open();
  in_turn([](BatchLoader& target) { return target.begin_iteration(); });
}

nb::object PyLoader::next() {
  while (true) {
    bool timed_out = false;
    int64_t there_ns = 0;
    auto result = in_turn([&](BatchLoader& target) {
      // Waits in periods and checks signals in between. A batch that arrives meanwhile is returned
      // by the next period.
      auto delivered = target.next_for(kSignalPeriod, &timed_out);
      there_ns = monotonic_ns();
      return delivered;
    });
    // Other Python threads hold the lock for up to 5 ms each. The trainer then waited for them, not
    // for the engine.
    if (const int64_t locked_ns = monotonic_ns() - there_ns; locked_ns >= kLockTakenNs)
      loader().waited_for_interpreter(std::chrono::nanoseconds(locked_ns));
    if (!result.ok()) raise_from(result.status());
    if (result->has_value())
      return nb::cast(new PyBatch(std::move(**result), convert_, /*read_only=*/engine_->own == nullptr),
                      nb::rv_policy::take_ownership);
    if (!timed_out) return nb::none();
    check_signals();
  }
}

nb::object PyLoader::take_call(double timeout_s) {
  Loader* const own = own_loader();
  // The functions of a shared loader run in its server.
  return own == nullptr ? nb::none() : python::take_call(*own, timeout_s, convert_);
}

nb::object take_call(Loader& loader, double timeout_s, const nb::object& convert) {
  const auto timeout = std::chrono::milliseconds(static_cast<int64_t>(timeout_s * 1000));
  bool closed = false;
  std::shared_ptr<ForeignCall> call;
  {
    nb::gil_scoped_release unlocked;
    call = loader.take_call(timeout, &closed);
  }
  if (call == nullptr) return nb::none();
  if (auto batch = std::dynamic_pointer_cast<BatchCall>(call)) return nb::cast(PyBatchCall{std::move(batch), convert});
  return nb::cast(std::dynamic_pointer_cast<SampleCall>(std::move(call)));
}

int64_t PyLoader::batches_per_epoch() {
  return in_turn([](BatchLoader& target) { return target.batches_per_epoch(); });
}

int64_t PyLoader::epoch() {
  return in_turn([](BatchLoader& target) { return target.epoch(); });
}

void PyLoader::set_epoch(int64_t epoch) {
  check(in_turn([&](BatchLoader& target) { return target.set_epoch(epoch); }));
}

nb::object PyLoader::state() {
  return to_text(in_turn([](BatchLoader& target) { return target.state(); }));
}

void PyLoader::load_state(nb::str json, bool strict) {
  const std::string text = from_text(json);
  check(in_turn([&](BatchLoader& target) { return target.load_state(text, strict); }));
}

void PyLoader::load_state_of_changed_parts(nb::str json, bool strict) {
  const std::string text = from_text(json);
  check(in_turn([&](BatchLoader& target) { return target.load_state_of_changed_parts(text, strict); }));
}

void PyLoader::set_weights(const std::map<std::string, double>& weights) {
  check(in_turn([&](BatchLoader& target) { return target.set_weights(weights); }));
}

void PyLoader::set_sampling(const InputArray& weights, nb::str version, nb::str part) {
  const auto* const first = static_cast<const double*>(weights.data());
  std::vector<double> given(first, first + weights.size());
  const std::string name = from_text(version), path = from_text(part);
  check(in_turn([&](BatchLoader& target) { return target.set_sampling(std::move(given), name, path); }));
}

PyDescription PyLoader::opened() const { return {loader().opened().description(), keep_}; }

std::string PyLoader::report() {
  BatchLoader& target = loader();
  const nb::gil_scoped_release released;
  return forebay::report(target.stats());
}

void PyLoader::write_report(nb::str path) {
  const std::string file = from_text(path);
  BatchLoader& target = loader();
  Status written;
  {
    const nb::gil_scoped_release released;
    written = replace_file(file, to_html(run_page(target.stats(), RunHistory(), "loader")));
  }
  if (!written.ok()) check(std::move(written).with_key(file));
}

void PyLoader::begin_trace(nb::str path, uint64_t most_bytes) {
  prepare();
  const std::string text = from_text(path);
  check(loader().begin_trace(text, most_bytes));
}

void PyLoader::end_trace() {
  BatchLoader& target = loader();
  Status status;
  {
    nb::gil_scoped_release unlocked;
    status = target.end_trace();
  }
  check(status);
}

void PyLoader::journal(nb::str path) {
  prepare();
  const std::string file = from_text(path);
  check(in_turn([&](BatchLoader&) {
    return engine_->own != nullptr ? engine_->own->journal(file)
                                   : invalid_argument("journal(): only streams need one, and these are not shared");
  }));
}

nb::dict PyLoader::stats() {
  BatchLoader& target = loader();
  Ledger stats;
  {
    nb::gil_scoped_release unlocked;
    stats = target.stats();
  }
  return to_dict(stats);
}

nb::tuple PyLoader::limit() {
  const BatchLoader& target = loader();
  Observation since;
  {
    nb::gil_scoped_release unlocked;
    since.after = target.stats();
  }
  {
    const Lock lock(mutex_);
    if (at_last_limit_) since.before = std::move(*at_last_limit_);
    at_last_limit_ = std::make_unique<Ledger>(since.after);
  }
  const Limiter limiter = limiter_of(since, given_);
  return nb::make_tuple(std::string(name_of(limiter.limit)), limiter.share);
}

nb::list PyLoader::errors() {
  BatchLoader& target = loader();
  std::vector<ErrorEntry> entries;
  {
    // Releases the lock, because a server may be asked, which has half a minute to answer.
    const nb::gil_scoped_release unlocked;
    entries = target.errors();
  }
  nb::list list;
  for (const ErrorEntry& entry : entries) list.append(to_dict(entry));
  return list;
}

nb::list PyLoader::warnings() {
  BatchLoader& target = loader();
  std::vector<DataWarning> entries;
  {
    const nb::gil_scoped_release unlocked;  // a server may be asked
    entries = target.warnings();
  }
  nb::list list;
  for (const DataWarning& entry : entries) list.append(to_dict(entry));
  return list;
}

void PyLoader::close() {
  // A forked child has nothing to close, and its parent's loader continues.
  if (getpid() != process_) return;
  BatchLoader& target = *engine_->loader;
  nb::gil_scoped_release unlocked;
  target.close();
}

void PyLoader::require_open() const {
  if (loader().closed()) raise(invalid_argument("this loader is closed; open a new one"));
}

}  // namespace forebay::python
