#include "forebay/loader.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "forebay/ledger.h"
#include "loader/batch_fields.h"
#include "loader/describe/check.h"
#include "loader/describe/open_sample_sources.h"
#include "loader/describe/open_source.h"
#include "loader/describe/source_description.h"
#include "loader/describe/step_arguments.h"
#include "loader/loader_impl.h"
#include "loader/run/loader_stats.h"
#include "loader/samples/choose_assignment.h"
#include "pipeline/op_spec.h"
#include "pipeline/run/run_trace.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

// Returns the rank of the loader, or the error of an option that contradicts it.
Result<RankInfo> checked_rank_info(const LoaderOptions& options) {
  FOREBAY_ASSIGN(RankInfo rank_info, find_rank_info(options.job.rank, options.job.world_size, process_environment()));
  if (options.job.local_ranks) rank_info.local_ranks = std::max(*options.job.local_ranks, 1);
  FOREBAY_RETURN_IF_ERROR(check_assignment({options.job.shard_by, options.job.hosts}, rank_info.world_size));
  if (options.epochs && *options.epochs < 0)
    return invalid_argument(fmt::format("epochs={} is negative", *options.epochs));
  return rank_info;
}

// Opens the source of the pipeline. Sets `warnings` to what it says about the data, and logs it if
// the options say so.
Result<std::shared_ptr<const Source>> open_data(const Description& description, const LoaderOptions& options,
                                                std::vector<DataWarning>& warnings) {
  DataWarnings found;
  const bool keep_versions = std::ranges::any_of(branches_of(description), [](const Branch& branch) {
    return find_step(branch.description, OpEffect::kCaching) != nullptr;
  });
  FOREBAY_ASSIGN(std::shared_ptr<const Source> source,
                 open_source(description.steps().front(), {.storage_options = options.storage_options,
                                                           .stop = options.stop,
                                                           .keep_versions = keep_versions,
                                                           .requests = options.resources.requests,
                                                           .memory = options.resources.memory,
                                                           .warnings = &found}));
  warnings = found.list();
  for (const DataWarning& warning : warnings) {
    if (options.log_warnings) log_warning(warning.message);
  }
  return source;
}

}  // namespace

Loader::Loader(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Loader::~Loader() {
  if (impl_->in_child()) {
    // The threads that own the rest live in the parent; destroying it here could wait for ever.
    (void)impl_.release();
    return;
  }
  close();
}

Result<std::unique_ptr<Loader>> Loader::open(const Pipeline& pipeline, LoaderOptions options) {
  auto impl = std::make_unique<Impl>();
  impl->engine = Engine::shared();
  const Description& description = pipeline.description();
  if (std::vector<Problem> problems = check(description); !problems.empty()) return problems_as_status(problems);
  // Checked before anything is opened: a wrong rank must not cost a listing first.
  FOREBAY_ASSIGN(RankInfo rank_info, checked_rank_info(options));
  FOREBAY_ASSIGN(std::shared_ptr<const Source> source, open_data(description, options, impl->warnings));
  const SizingInput sizes = {.threads = options.resources.threads,
                             .requests = options.resources.requests,
                             .memory = options.resources.memory,
                             .run = {.rows = batch_size(description)},
                             .engine = Engine::limits(),
                             .local_ranks = rank_info.local_ranks,
                             .ranks = rank_info.world_size};
  impl->input = {pipeline, std::move(options), std::move(rank_info), sizes};
  impl->reading = begin_reading(*source);
  FOREBAY_ASSIGN(impl->run, open_run(impl->input, std::move(source)));
  impl->input.options.job.peers.gather = {};  // open_run() has called it, and it is called only once
  // The fields of the data set are known now, so the check is repeated with them.
  if (std::vector<Problem> problems = check(description, *impl->run->source()); !problems.empty())
    return problems_as_status(problems);
  // Passes run in prepare(): the user then has the loader to serve calls of user code, and close()
  // ends them.
  if (!impl->run->needs_pass()) FOREBAY_RETURN_IF_ERROR(impl->prepare());
  return std::unique_ptr<Loader>(new Loader(std::move(impl)));
}

Status Loader::prepare() { return impl_->prepare(); }

void Loader::begin_iteration() {
  impl_->epoch_over = false;
  const bool restarts = impl_->input.options.restart && !impl_->run->is_endless() && !impl_->at_loaded_state;
  if (!restarts || !impl_->prepared || !impl_->usable().ok()) return;
  const Cursor at = impl_->current()->cursor();
  if (at.position > 0) impl_->seek_to_epoch(at.epoch);
}

Result<std::optional<Batch>> Loader::next() {
  for (;;) {
    bool timed_out = false;
    // Any timeout works: between two rounds the runner checks its host and logs what it waits for.
    Result<std::optional<Batch>> batch = next_for(std::chrono::seconds(10), &timed_out);
    if (!timed_out) return batch;
  }
}

Result<std::optional<Batch>> Loader::next_for(std::chrono::milliseconds timeout, bool* timed_out) {
  *timed_out = false;
  FOREBAY_RETURN_IF_ERROR(impl_->usable());
  FOREBAY_RETURN_IF_ERROR(impl_->prepare());
  if (std::exchange(impl_->epoch_over, false)) return std::optional<Batch>();
  const std::shared_ptr<Runner> runner = impl_->current();
  const Cursor at = runner->cursor();
  if (impl_->epoch_ends_at(at)) {
    runner->seek({at.epoch + 1, 0, 0});
    return std::optional<Batch>();
  }
  FOREBAY_RETURN_IF_ERROR(impl_->run->before_batch(at));
  Result<Runner::Delivery> delivery = runner->next_for(timeout);
  // The cursor passes a batch with a data error, too, so it is examined before the result.
  const Cursor after = runner->cursor();
  impl_->run->advanced_to(after);
  impl_->at_loaded_state &= after == at;
  impl_->epoch_over = after.epoch != at.epoch;
  if (!delivery.ok()) return delivery.status();
  *timed_out = delivery->timed_out;
  Lock lock(impl_->mutex);
  for (const RowError& error : delivery->errors) FOREBAY_RETURN_IF_ERROR(impl_->errors->add(at.epoch, error));
  return std::move(delivery->batch);
}

int64_t Loader::batches_per_epoch() const {
  const std::shared_ptr<Runner> runner = impl_->current();
  return impl_->prepared && runner ? impl_->run->steps()->batches(runner->cursor()).value_or(-1) : 0;
}

Result<EpochPlan> Loader::plan(int64_t epoch, int64_t rank, int64_t world_size, int64_t max_steps) const {
  if (!impl_->prepared) return invalid_argument("plan(): call prepare() first");
  return impl_->run->plan(epoch, rank, world_size, max_steps);
}

Pipeline Loader::opened() const {
  OpSpec step = impl_->description().steps().front();
  step.opened = impl_->run->source();
  return Pipeline(std::make_shared<const Description>(std::move(step)));
}

std::vector<FieldDescription> Loader::source_fields() const { return describe_fields(*impl_->run->source()); }
std::vector<BatchFieldDescription> Loader::batch_fields() const {
  return impl_->prepared && impl_->plan ? describe_batch_fields(*impl_->plan) : std::vector<BatchFieldDescription>();
}
std::vector<std::string> Loader::classes() const { return classes_of(*impl_->run->source()); }
std::vector<int64_t> Loader::row_groups() const { return row_group_begins(*impl_->run->source()); }
std::vector<uint64_t> Loader::row_group_bytes() const { return forebay::row_group_bytes(*impl_->run->source()); }
int64_t Loader::size() const { return impl_->prepared ? impl_->run->size() : 0; }

int64_t Loader::epoch() const {
  const std::shared_ptr<Runner> runner = impl_->current();
  return impl_->prepared && runner ? runner->cursor().epoch : 0;
}

bool Loader::finished() const {
  const std::shared_ptr<Runner> runner = impl_->current();
  if (!impl_->prepared || !runner) return false;
  const Cursor at = runner->cursor();
  const std::optional<int64_t> epochs = impl_->input.options.epochs;
  if (epochs && impl_->run->steps()->epoch_over({})) return at.epoch >= *epochs;
  return impl_->run->steps()->finished(at);
}

Status Loader::set_epoch(int64_t epoch) {
  FOREBAY_RETURN_IF_ERROR(impl_->usable());
  FOREBAY_RETURN_IF_ERROR(impl_->prepare());
  if (epoch < 0) return invalid_argument(fmt::format("set_epoch({}): epochs are counted from 0", epoch));
  const int64_t last = impl_->run->last_epoch();
  if (epoch > last) return invalid_argument(fmt::format("set_epoch({}): the last epoch is {}", epoch, last));
  const std::shared_ptr<Runner> runner = impl_->current();
  // Frameworks call this before each epoch. If the loader is already in that epoch, it keeps its
  // place.
  if (epoch == runner->cursor().epoch) return {};
  if (impl_->run->is_endless())
    return invalid_argument("set_epoch(): a stream goes on where it stands; load_state_dict() goes to another place");
  if (const Cursor first = impl_->run->earliest(); is_before({epoch, 0, 0}, first))
    return invalid_argument(fmt::format(
        "set_epoch({}): parts or weights changed in epoch {}, at position {}, and what came before is not known "
        "any more; load a state from before the change",
        epoch, first.epoch, first.position));
  impl_->seek_to_epoch(epoch);
  impl_->epoch_over = false;
  return {};
}

int Loader::rank() const { return impl_->input.rank_info.rank; }
int Loader::world_size() const { return impl_->input.rank_info.world_size; }
const Pipeline& Loader::pipeline() const { return impl_->input.pipeline; }

std::string Loader::fingerprint() const {
  if (!impl_->prepared || impl_->in_child()) return "";
  const Checkpoint state = impl_->identity();
  return hash128(state.dataset + state.pipeline + state.seed + impl_->run->changes_version()).to_string();
}

std::string Loader::shard_assignment() const { return impl_->prepared ? impl_->run->shard_assignment() : ""; }

std::string Loader::state() const {
  if (!impl_->prepared || impl_->in_child()) return "";
  Checkpoint state = impl_->identity();
  state.cursor = impl_->current()->cursor();
  impl_->run->save(state);
  return state.to_json();
}

Status Loader::load_state(const std::string& json, bool strict) {
  FOREBAY_RETURN_IF_ERROR(impl_->usable());
  FOREBAY_RETURN_IF_ERROR(impl_->prepare());
  FOREBAY_ASSIGN(const Checkpoint saved, Checkpoint::from_json(json));
  return impl_->load(saved, strict);
}

Status Loader::load_state_of_changed_parts(const std::string& json, bool strict) {
  FOREBAY_RETURN_IF_ERROR(impl_->usable());
  FOREBAY_RETURN_IF_ERROR(impl_->prepare());
  FOREBAY_ASSIGN(Checkpoint saved, Checkpoint::from_json(json));
  const Checkpoint running = impl_->identity();
  if (saved.pipeline != running.pipeline || saved.dataset != running.dataset) {
    FOREBAY_ASSIGN(saved, impl_->run->with_changed_parts(saved));
    saved.pipeline = running.pipeline;
    saved.dataset = running.dataset;
  }
  return impl_->load(saved, strict);
}

Status Loader::set_weights(const std::map<std::string, double>& weights) {
  return impl_->change(set_part_weights(weights));
}

Status Loader::set_sampling(std::vector<double> weights, const std::string& version, const std::string& part) {
  return impl_->change(set_sample_weights(std::move(weights), version, part));
}

Status Loader::journal(const std::string& path) {
  FOREBAY_RETURN_IF_ERROR(impl_->usable());
  FOREBAY_RETURN_IF_ERROR(impl_->prepare());
  return impl_->run->write_journal(path, impl_->current()->cursor());
}

Ledger Loader::stats() const {
  Ledger stats;
  if (impl_->in_child() || !impl_->prepared) return stats;
  add_plan(*impl_->plan, stats);
  stats.index_bytes = impl_->run->source()->index_bytes();
  impl_->run->add_to(stats);
  const std::shared_ptr<Runner> runner = impl_->current();
  if (!runner) return stats;
  add_run(*runner, stats);
  std::vector<int64_t> passes;
  for (size_t branch = 0; branch < impl_->plan->size(); ++branch)
    passes.push_back(impl_->run->passes_before(branch, runner->cursor()));
  add_parts(*impl_->plan, *runner, passes, stats);
  add_wait_for_interpreter(impl_->interpreter_ns, stats);
  Lock lock(impl_->mutex);
  stats.errors = impl_->errors->total();
  return stats;
}

void Loader::waited_for_interpreter(std::chrono::nanoseconds time) { impl_->interpreter_ns += time.count(); }

Status Loader::begin_trace(const std::string& path, uint64_t most_bytes) {
  FOREBAY_RETURN_IF_ERROR(impl_->usable());
  FOREBAY_RETURN_IF_ERROR(impl_->prepare());
  return forebay::begin_trace(impl_->plan->trace(), path, most_bytes);
}

Status Loader::end_trace() {
  return impl_->in_child() || !impl_->prepared ? Status() : forebay::end_trace(impl_->plan->trace());
}

std::vector<ErrorEntry> Loader::errors() const {
  if (impl_->in_child()) return {};
  Lock lock(impl_->mutex);
  return impl_->errors ? impl_->errors->entries() : std::vector<ErrorEntry>();
}

std::vector<DataWarning> Loader::warnings() const { return impl_->warnings; }

void Loader::close() {
  if (impl_->in_child()) return;
  std::shared_ptr<Runner> runner;
  {
    Lock lock(impl_->mutex);
    impl_->closed.request_stop();
    runner = impl_->runner;
  }
  // Serialises calls of close(), because threads that end here can be joined only once.
  const Lock closing(impl_->closing);
  // The run stops first, so that nothing arrives for a runner that is closing.
  impl_->run->stop();
  if (runner) runner->close();
  impl_->run->release();
  // The trace ends after the runner, so that the file has the last rows.
  (void)end_trace();
  std::shared_ptr<Engine> engine;  // destroyed after the lock is released
  Lock lock(impl_->mutex);
  engine = std::move(impl_->engine);
  impl_->reading.reset();
}

bool Loader::closed() const {
  if (impl_->in_child()) return true;
  Lock lock(impl_->mutex);
  return impl_->closed.stop_requested();
}

std::shared_ptr<ForeignCall> Loader::take_call(std::chrono::milliseconds timeout, bool* closed) {
  *closed = this->closed();
  if (*closed) return nullptr;
  const std::shared_ptr<Runner> runner = impl_->current();
  if (!runner) {
    // No runner yet, or none between two: waits a moment, so that callers in a loop do not spin.
    std::this_thread::sleep_for(std::min(timeout, std::chrono::milliseconds(1)));
    return nullptr;
  }
  std::shared_ptr<ForeignCall> call = runner->take_call(timeout);
  *closed = this->closed();
  return call;
}

}  // namespace forebay
