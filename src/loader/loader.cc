#include "forebay/loader.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "loader/check.h"
#include "loader/checkpoint.h"
#include "loader/chosen_samples.h"
#include "loader/compile.h"
#include "loader/distributed.h"
#include "loader/epoch_plan.h"
#include "loader/error_log.h"
#include "loader/kept_beside.h"
#include "loader/loader_stats.h"
#include "loader/materialized_steps.h"
#include "loader/open_peers.h"
#include "loader/open_source.h"
#include "loader/open_step_cache.h"
#include "loader/ordering.h"
#include "loader/packing_step.h"
#include "loader/sizing.h"
#include "loader/source_description.h"
#include "loader/step_arguments.h"
#include "pipeline/run/run_trace.h"
#include "pipeline/run/runner.h"
#include "runtime/fork_guard.h"

namespace forebay {

// The description is compiled when it is opened, except for what depends on how many samples filters leave: that is done by
// prepare(), once user code can be called.
struct Loader::Impl {
  Pipeline pipeline;
  LoaderOptions options;
  Place place;
  SizingInput sizes;
  std::shared_ptr<const Source> source;
  std::shared_ptr<void> reading;  // of its store; until it is closed
  uint64_t generation = process_generation();

  // Set by prepare().
  std::atomic<bool> prepared = false;  // what follows is constant from then on
  ChosenSamples chosen;
  std::shared_ptr<const ExecutionPlan> plan;
  std::shared_ptr<const Itinerary> itinerary;
  std::optional<ErrorLog> errors;
  std::vector<std::shared_ptr<TieredCache>> caches;
  std::vector<std::pair<Hash128, std::shared_ptr<TieredCache>>> opened;
  std::shared_ptr<PeerGroup> peers;  // null: none

  std::atomic<int64_t> interpreter_ns = 0;  // see waited_for_interpreter()
  bool epoch_over = false;                  // the last batch has been delivered, the end has not been told

  mutable std::mutex
      mutex;  // guards runner, closed and errors against close(), stats() and take_call() from other threads
  std::shared_ptr<Runner> runner;
  bool closed = false;

  const Description& description() const { return pipeline.description(); }
  const UnitSource* units() const { return dynamic_cast<const UnitSource*>(source.get()); }
  bool in_child() const { return process_generation() != generation; }

  Status usable() const {
    if (in_child())
      return invalid_argument(
          "this loader was made before a fork and its threads live in the parent process; make a new Loader in the "
          "child");
    std::lock_guard lock(mutex);
    return closed ? invalid_argument(
                        "the loader is closed; make a new one (its state_dict() goes on where this one stopped)")
                  : Status();
  }

  // What take_call() and close() find. Null between two runners.
  Status set_runner(std::shared_ptr<Runner> next) {
    std::lock_guard lock(mutex);
    if (closed && next) return cancelled("the loader was closed");
    runner = std::move(next);
    return {};
  }

  // Null in the child of a fork, too: the runner's lock may be held by a thread that is not there.
  std::shared_ptr<Runner> current() const {
    if (in_child()) return nullptr;
    std::lock_guard lock(mutex);
    return runner;
  }

  // An epoch that has no batch (left): all there is to tell of it is its end.
  bool ends_at(const Cursor& at) const {
    return itinerary->schedule().steps_left(at.position) == 0 && !(options.epochs && at.epoch >= *options.epochs);
  }

  // With as many ranks as that.
  DealRequest dealing(int64_t world_size) const {
    return {options.deal, options.hosts, world_size == place.world_size ? place.hosts : 0};
  }

  PassWatch watch_of_passes();
  Result<std::shared_ptr<EntryCache>> open_cache(size_t step, const Hash128& cached, uint64_t least_bytes);
  Status prepare();
  Checkpoint checkpoint() const;
};

PassWatch Loader::Impl::watch_of_passes() {
  return {[this](std::shared_ptr<Runner> next) { return set_runner(std::move(next)); },
          [this](const RowError& error) {
            if (bad_sample(options.on_error) == BadSample::kRaise) return error.status;
            std::lock_guard lock(mutex);
            return errors->add(ErrorLog::kFilterPass, error);
          }};
}

// A pass over all samples and the epochs share one.
Result<std::shared_ptr<EntryCache>> Loader::Impl::open_cache(size_t step, const Hash128& cached, uint64_t least_bytes) {
  for (const auto& [known, cache] : opened)
    if (known == cached) return std::shared_ptr<EntryCache>(cache);
  FOREBAY_ASSIGN(std::shared_ptr<TieredCache> cache,
                 open_step_cache(description(), step, cached, least_bytes, *source, *chosen.selection, sizes.memory));
  if (peers) cache = peers->join(std::move(cache));
  opened.emplace_back(cached, cache);
  caches.push_back(cache);
  return std::shared_ptr<EntryCache>(std::move(cache));
}

Status Loader::Impl::prepare() {
  if (prepared) return {};
  FOREBAY_RETURN_IF_ERROR(usable());
  FOREBAY_ASSIGN(const std::optional<int64_t> limit, error_limit(options.max_errors, source->size()));
  {
    std::lock_guard lock(mutex);
    errors.emplace(limit);
  }
  CompileInput input{&description(), description().steps().size(), false, source, nullptr, options.seed};
  input.open_cache = std::bind_front(&Impl::open_cache, this);
  FOREBAY_ASSIGN(chosen, choose_samples(input, sizes, watch_of_passes()));
  input.selection = chosen.selection;
  FOREBAY_RETURN_IF_ERROR(pack_samples(input, sizes, watch_of_passes(), &chosen));
  input.packing = chosen.packing;
  const ScheduleOptions schedule = schedule_of(description(), chosen.size(), place.world_size);
  FOREBAY_RETURN_IF_ERROR(schedule.check());
  FOREBAY_ASSIGN(plan, compile(input));
  FOREBAY_ASSIGN(Ordering ordering, chosen.order(find_step(description(), OpRole::kOrder), units(), options.seed));
  warn_of_shared_lanes(ordering, place.world_size);
  FOREBAY_RETURN_IF_ERROR(choose_deal(description(), schedule, dealing(place.world_size), &ordering));
  SizingInput sizing = sizes;
  sizing.block = ordering.block;
  sizing.lanes = lanes_of_rank(ordering, place.world_size);
  sizing.caches = cached_bytes(caches, sizes.memory);
  FOREBAY_ASSIGN(RunnerOptions runner_options, choose_sizes(*plan, sizing));
  if (peers && !chosen.packing) set_first_homes(*peers, *plan, ordering, chosen.selection, schedule);
  runner_options.beside = kept_beside(*plan, caches, sizes.memory);
  runner_options.bad_sample = bad_sample(options.on_error);
  if (const OpSpec* batch = find_step(description(), OpRole::kBatch)) {
    for (std::string& name : field_list(batch->args.value("ragged", Json())))
      runner_options.ragged.insert(std::move(name));
  }
  itinerary = std::make_shared<const Itinerary>(std::move(ordering.order), Schedule(schedule, std::move(ordering.deal)),
                                                options.seed, place.rank, options.epochs, chosen.packing);
  FOREBAY_RETURN_IF_ERROR(set_runner(std::make_shared<Runner>(Engine::shared(), plan, itinerary, runner_options)));
  prepared = true;
  return {};
}

Checkpoint Loader::Impl::checkpoint() const {
  Checkpoint state;
  state.cursor = runner->cursor();
  state.samples = chosen.size();
  state.dataset = hash128(source->version().to_string() + chosen.version).to_string();
  state.pipeline = fingerprint_of(description(), *source).to_string();
  state.seed = hash128(fmt::format("seed {}", options.seed)).to_string();
  return state;
}

Loader::Loader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Loader::~Loader() {
  if (impl_->in_child()) {
    // The threads that own the rest live in the parent; taking it apart here could wait for ever.
    (void)impl_.release();
    return;
  }
  close();
}

Result<std::unique_ptr<Loader>> Loader::open(const Pipeline& pipeline, LoaderOptions options) {
  auto impl = std::make_unique<Impl>();
  const Description& description = pipeline.description();
  if (std::vector<Problem> problems = check(description); !problems.empty()) return problems_as_status(problems);
  FOREBAY_ASSIGN(impl->place, find_place(options.rank, options.world_size, process_environment()));
  FOREBAY_RETURN_IF_ERROR(check_deal({options.deal, options.hosts}, impl->place.world_size));
  if (options.epochs && *options.epochs < 0)
    return invalid_argument(fmt::format("epochs={} is negative", *options.epochs));
  FOREBAY_ASSIGN(impl->source, open_source(description.steps().front(),
                                           {.storage_options = options.storage_options,
                                            .stop = options.stop,
                                            .keep_versions = find_step(description, OpRole::kKeep) != nullptr,
                                            .requests = options.requests}));
  impl->reading = begin_reading(*impl->source);
  FOREBAY_ASSIGN(impl->peers, open_peers(options.peers, impl->place, description, options.stop));
  // Now that the data set's fields are known, what was taken on trust is checked.
  if (std::vector<Problem> problems = check(description, impl->source->schema()); !problems.empty())
    return problems_as_status(problems);
  impl->sizes = {.threads = options.threads,
                 .requests = options.requests,
                 .memory = options.memory,
                 .batch_size = batch_size(description),
                 .local_ranks = impl->place.local_ranks};
  impl->pipeline = pipeline;
  options.peers.gather = {};  // called once
  impl->options = std::move(options);
  // User code in these passes is called by whoever has the loader.
  const bool passes =
      find_step(description, OpRole::kFilter) != nullptr || find_step(description, OpRole::kPack) != nullptr;
  if (!passes) FOREBAY_RETURN_IF_ERROR(impl->prepare());
  return std::unique_ptr<Loader>(new Loader(std::move(impl)));
}

Status Loader::prepare() { return impl_->prepare(); }
void Loader::begin_iteration() { impl_->epoch_over = false; }

Result<std::optional<Batch>> Loader::next() {
  for (;;) {
    bool timed_out = false;
    Result<std::optional<Batch>> batch = next_for(std::chrono::seconds(10), &timed_out);
    if (!timed_out) return batch;
  }
}

Result<std::optional<Batch>> Loader::next_for(std::chrono::milliseconds timeout, bool* timed_out) {
  *timed_out = false;
  FOREBAY_RETURN_IF_ERROR(impl_->usable());
  FOREBAY_RETURN_IF_ERROR(impl_->prepare());
  if (impl_->epoch_over) {
    impl_->epoch_over = false;
    return std::optional<Batch>();
  }
  const std::shared_ptr<Runner> runner = impl_->current();
  const Cursor at = runner->cursor();
  if (impl_->ends_at(at)) {
    runner->seek({at.epoch + 1, 0, 0});
    return std::optional<Batch>();
  }
  if (impl_->peers) impl_->peers->stands_at(at.epoch, at.position);
  Result<Runner::Delivery> delivery = runner->next_for(timeout);
  if (impl_->peers) impl_->peers->stands_at(runner->cursor().epoch, runner->cursor().position);
  // An error may stand in the place of an epoch's last batch, too.
  impl_->epoch_over = runner->cursor().epoch != at.epoch;
  if (!delivery.ok()) return delivery.status();
  *timed_out = delivery->timed_out;
  std::lock_guard lock(impl_->mutex);
  for (const RowError& error : delivery->errors) FOREBAY_RETURN_IF_ERROR(impl_->errors->add(at.epoch, error));
  return std::move(delivery->batch);
}

int64_t Loader::batches_per_epoch() const {
  const std::shared_ptr<Runner> runner = impl_->current();
  return impl_->prepared && runner ? impl_->itinerary->batches(runner->cursor()) : 0;
}

Result<EpochPlan> Loader::plan(int64_t epoch, int64_t rank, int64_t world_size, int64_t max_steps) const {
  if (!impl_->prepared) return invalid_argument("plan(): call prepare() first");
  return plan_epoch(impl_->description(), impl_->units(), impl_->chosen,
                    {impl_->options.seed, epoch, rank, world_size, max_steps, impl_->dealing(world_size)});
}

Pipeline Loader::opened() const {
  OpSpec step = impl_->description().steps().front();
  step.opened = impl_->source;
  return Pipeline(std::make_shared<const Description>(std::move(step)));
}

std::vector<FieldDescription> Loader::source_fields() const { return describe_fields(*impl_->source); }
std::vector<int64_t> Loader::row_groups() const { return row_group_begins(*impl_->source); }
int64_t Loader::size() const { return impl_->prepared ? impl_->chosen.size() : 0; }

int64_t Loader::epoch() const {
  const std::shared_ptr<Runner> runner = impl_->current();
  return impl_->prepared && runner ? runner->cursor().epoch : 0;
}

bool Loader::finished() const {
  const std::shared_ptr<Runner> runner = impl_->current();
  if (!impl_->prepared || !runner) return false;
  const Cursor at = runner->cursor();
  if (impl_->options.epochs && impl_->itinerary->schedule().steps() == 0) return at.epoch >= *impl_->options.epochs;
  return impl_->itinerary->finished(at);
}

Status Loader::set_epoch(int64_t epoch) {
  FOREBAY_RETURN_IF_ERROR(impl_->usable());
  FOREBAY_RETURN_IF_ERROR(impl_->prepare());
  if (epoch < 0) return invalid_argument(fmt::format("set_epoch({}): epochs are counted from 0", epoch));
  if (epoch > kMaxEpoch) return invalid_argument(fmt::format("set_epoch({}): the last epoch is {}", epoch, kMaxEpoch));
  const std::shared_ptr<Runner> runner = impl_->current();
  if (epoch == runner->cursor().epoch) return {};
  runner->seek({epoch, 0, 0});
  impl_->epoch_over = false;
  return {};
}

int Loader::rank() const { return impl_->place.rank; }
int Loader::world_size() const { return impl_->place.world_size; }
const Pipeline& Loader::pipeline() const { return impl_->pipeline; }

std::string Loader::fingerprint() const {
  if (!impl_->prepared || impl_->in_child()) return "";
  const Checkpoint state = impl_->checkpoint();
  return hash128(state.dataset + state.pipeline + state.seed).to_string();
}

std::string Loader::state() const { return impl_->prepared && !impl_->in_child() ? impl_->checkpoint().to_json() : ""; }

Status Loader::load_state(const std::string& json, bool strict) {
  FOREBAY_RETURN_IF_ERROR(impl_->usable());
  FOREBAY_RETURN_IF_ERROR(impl_->prepare());
  FOREBAY_ASSIGN(const Checkpoint saved, Checkpoint::from_json(json));
  FOREBAY_RETURN_IF_ERROR(check_same(saved, impl_->checkpoint(), strict));
  impl_->current()->seek(saved.cursor);
  impl_->epoch_over = false;
  return {};
}

Ledger Loader::stats() const {
  Ledger stats;
  if (impl_->in_child() || !impl_->prepared) return stats;
  add_plan(*impl_->plan, impl_->caches, stats);
  if (impl_->peers) impl_->peers->add_to(stats);
  stats.index_bytes = impl_->source->index_bytes();
  const std::shared_ptr<Runner> runner = impl_->current();
  if (!runner) return stats;
  add_run(*runner, stats);
  add_wait_for_interpreter(impl_->interpreter_ns, stats);
  std::lock_guard lock(impl_->mutex);
  stats.errors = impl_->errors->total();
  return stats;
}

void Loader::waited_for_interpreter(std::chrono::nanoseconds time) { impl_->interpreter_ns += time.count(); }

Status Loader::begin_trace(const std::string& path, uint64_t most_bytes) {
  FOREBAY_RETURN_IF_ERROR(impl_->usable());
  FOREBAY_RETURN_IF_ERROR(impl_->prepare());
  return forebay::begin_trace(*impl_->plan->trace, path, most_bytes);
}

Status Loader::end_trace() {
  return impl_->in_child() || !impl_->prepared ? Status() : forebay::end_trace(*impl_->plan->trace);
}

std::vector<ErrorEntry> Loader::errors() const {
  if (impl_->in_child()) return {};
  std::lock_guard lock(impl_->mutex);
  return impl_->errors ? impl_->errors->entries() : std::vector<ErrorEntry>();
}

void Loader::close() {
  if (impl_->in_child()) return;
  std::shared_ptr<Runner> runner;
  {
    std::lock_guard lock(impl_->mutex);
    impl_->closed = true;
    runner = impl_->runner;
  }
  if (runner) runner->close();
  if (impl_->peers) impl_->peers->close();
  (void)end_trace();
  std::lock_guard lock(impl_->mutex);
  impl_->reading.reset();
}

bool Loader::closed() const {
  if (impl_->in_child()) return true;
  std::lock_guard lock(impl_->mutex);
  return impl_->closed;
}

std::shared_ptr<ForeignCall> Loader::take_call(std::chrono::milliseconds timeout, bool* closed) {
  *closed = this->closed();
  if (*closed) return nullptr;
  const std::shared_ptr<Runner> runner = impl_->current();
  if (!runner) {
    std::this_thread::sleep_for(std::min(timeout, std::chrono::milliseconds(1)));
    return nullptr;
  }
  std::shared_ptr<ForeignCall> call = runner->take_call(timeout);
  *closed = this->closed();
  return call;
}

}  // namespace forebay
