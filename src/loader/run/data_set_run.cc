#include "loader/run/data_set_run.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "forebay/ledger.h"
#include "format/joined/joined_samples.h"
#include "format/joined/part_of_source.h"
#include "loader/compile/bucket_step.h"
#include "loader/compile/open_step_cache.h"
#include "loader/compile/ordering.h"
#include "loader/compile/reclaimable_accounts.h"
#include "loader/describe/check.h"
#include "loader/describe/materialized_steps.h"
#include "loader/describe/parted_source.h"
#include "loader/describe/step_arguments.h"
#include "loader/peers/open_job.h"
#include "loader/peers/open_peers.h"
#include "loader/run/epoch_by_epoch.h"
#include "loader/run/indexed_samples.h"
#include "loader/run/loader_stats.h"
#include "loader/run/saved_changes.h"
#include "loader/samples/changed_parts.h"
#include "loader/samples/drawn_samples.h"
#include "loader/samples/epoch_plan.h"
#include "loader/samples/part_progress.h"
#include "loader/samples/pass_results.h"
#include "pipeline/cache_rules.h"
#include "pipeline/catalog.h"
#include "pipeline/op_spec.h"
#include "pipeline/operator.h"
#include "plan/packed_windows.h"
#include "telemetry/log.h"

namespace forebay {

namespace {

std::vector<std::shared_ptr<TieredCache>> without_places(
    const std::vector<std::pair<Hash128, std::shared_ptr<TieredCache>>>& caches) {
  std::vector<std::shared_ptr<TieredCache>> all;
  for (const auto& [place, cache] : caches)
    if (cache) all.push_back(cache);
  return all;
}

// True if items of a data set follow the epoch: of the source, or of a part beside others.
bool reads_by_epoch(const OpSpec& source) {
  const auto follows = [](const PipelinePart& part) { return follows_epoch(part.pipeline.steps().front()); };
  return follows_epoch(source) || (catalog().joins_parts(source) && std::ranges::any_of(source.parts, follows));
}

// The parts of samples have entries of their own; rows of chunks have one for all parts.
std::optional<Problem> find_shared_entries_problem(const BranchData& branch, size_t step) {
  const std::vector<OpSpec>& steps = branch.branch.description.steps();
  if (steps[step].part.empty() || as_joined(*branch.source) != nullptr) return std::nullopt;
  return shared_entries_problem(steps, step, catalog());
}

}  // namespace

Result<std::shared_ptr<DataSetRun>> DataSetRun::open(const RunInput& input, std::shared_ptr<const Source> source) {
  const LoaderOptions& options = input.options;
  if (options.stream.steps_per_epoch || !options.stream.journal.empty())
    return invalid_argument("steps_per_epoch= and journal= are for streams; the epochs of a data set have its length");
  std::shared_ptr<DataSetRun> run(new DataSetRun(input, std::move(source)));
  run->data_.branches = begin_branches(input.description(), run->source_, options.seed);
  if (peers_requested(options.job.peers) && std::ranges::any_of(run->data_.branches, &BranchData::draws_partners))
    return unsupported(
        "peers= is not for parts of a zip with .sample() or .balance() yet: leave it out, and each rank caches for "
        "itself");
  FOREBAY_ASSIGN(run->peers_, open_peers(options.job.peers, input.rank_info, options.stop));
  return run;
}

bool DataSetRun::needs_pass() const {
  const auto passes = [](const OpSpec& step) {
    const OpDef* const def = catalog().find(step.name);
    return def != nullptr && def->needs_pass();
  };
  const auto branch_passes = [&](const BranchData& data) {
    return std::ranges::any_of(data.branch.description.steps(), passes);
  };
  return std::ranges::any_of(data_.branches, [&](const BranchData& data) {
    return branch_passes(data) || std::ranges::any_of(data.choosing, branch_passes);
  });
}

// The pass over all samples and the epochs share one cache. Two caches of one place would each hold
// what the pass computed.
Result<std::shared_ptr<EntryCache>> DataSetRun::open_cache(const BranchData& branch, size_t step, const Hash128& cached,
                                                           uint64_t least_bytes) {
  for (const auto& [known, cache] : caches_)
    if (known == cached) return std::shared_ptr<EntryCache>(cache);
  const Description& description = branch.branch.description;
  if (const auto problem = find_shared_entries_problem(branch, step)) {
    log_warning(fmt::format("{} keeps nothing: {}; {}", problem->op, problem->message, problem->remedy));
    caches_.emplace_back(cached, nullptr);
    return std::shared_ptr<EntryCache>();
  }
  const std::shared_ptr<const Source> source = part_of_source(branch.source, description.steps()[step].part);
  FOREBAY_ASSIGN(std::shared_ptr<TieredCache> cache, open_step_cache({.description = description,
                                                                      .step = step,
                                                                      .content_id = cached,
                                                                      .min_entry_bytes = least_bytes,
                                                                      .source = *source,
                                                                      .selection = *branch.chosen.selection,
                                                                      .memory_limit = input_.sizes.memory,
                                                                      .local_ranks = input_.sizes.local_ranks}));
  const Json asks = description.steps()[step].args.value("peers", Json());
  if (peers_ && asks != "none") {
    const auto number = static_cast<size_t>(&branch - data_.branches.data());
    cache = peers_->join(std::move(cache), number_elements(data_)->first(number));
  }
  caches_.emplace_back(cached, cache);
  return std::shared_ptr<EntryCache>(std::move(cache));
}

// The input of the compiler for a branch, without its selection.
CompileInput DataSetRun::compile_input(const CompileInput& whole, BranchData& branch) {
  CompileInput input = whole;
  input.description = &branch.branch.description;
  input.end = sample_steps(branch.branch.description);
  input.source = branch.source;
  input.seed = branch.seed;
  input.numbers = branch.branch.numbers;
  // A part that is drawn from is not the whole pipeline either.
  if (data_.branches.size() > 1 || &branch != &data_.branches.front()) {
    input.branch = CompileInput::BranchName{branch.branch.name(), branch.fields, branch.selects};
  }
  input.open_cache = [this, &branch](size_t step, const Hash128& cached, uint64_t least_bytes) {
    return open_cache(branch, step, cached, least_bytes);
  };
  return input;
}

// Sets `branch.chosen`, and returns the input of the compiler with that choice.
Result<CompileInput> DataSetRun::choose_branch(RunSetup& setup, const CompileInput& whole, BranchData& branch) {
  CompileInput input = compile_input(whole, branch);
  const auto choose = [&](const PassCallbacks& callbacks) -> Result<ChosenSamples> {
    FOREBAY_ASSIGN(branch.chosen, choose_samples(input, setup.sizes, callbacks));
    input.selection = branch.chosen.selection;
    FOREBAY_RETURN_IF_ERROR(pack_samples(input, setup.sizes, callbacks, &branch.chosen));
    FOREBAY_RETURN_IF_ERROR(draw_samples(input, setup.sizes, callbacks, &branch.chosen));
    FOREBAY_RETURN_IF_ERROR(measure_samples(input, setup.sizes, callbacks, &branch.chosen));
    return branch.chosen;
  };
  PassResults* const passes = input_.options.passes.get();
  FOREBAY_ASSIGN(branch.chosen, passes == nullptr
                                    ? choose(setup.callbacks)
                                    : passes->choose(choices_++, branch.source->version(), setup.callbacks, choose));
  input.selection = branch.chosen.selection;
  input.packing = branch.chosen.sequences;
  return input;
}

Status DataSetRun::join_parts(BranchData& branch) {
  const std::shared_ptr<const Source> before = branch.source;
  FOREBAY_RETURN_IF_ERROR(join_chosen_parts(&branch));
  if (branch.source == before) return {};
  const PartedSource* const parts = as_parted(*source_);
  const auto number = static_cast<size_t>(&branch - data_.branches.data());
  source_ = parts != nullptr ? parts->with_branch(number, branch.source) : branch.source;
  return {};
}

Status DataSetRun::choose(RunSetup& setup) {
  const CompileInput whole = setup.branches.front();
  setup.branches.clear();
  choices_ = 0;
  for (BranchData& branch : data_.branches) {
    // A few samples that a study has taken from a zip are those of no part.
    for (BranchData& part : branch.choosing)
      if (part.source) FOREBAY_RETURN_IF_ERROR(choose_branch(setup, whole, part).status());
    FOREBAY_RETURN_IF_ERROR(join_parts(branch));
    FOREBAY_ASSIGN(setup.branches.emplace_back(), choose_branch(setup, whole, branch));
  }
  FOREBAY_RETURN_IF_ERROR(order_branches(input_.description(), input_.options.seed, &data_));
  return schedule_of(input_.description(), data_.size(), input_.rank_info.world_size).check();
}

Status DataSetRun::order(RunSetup& setup) {
  const int64_t ranks = input_.rank_info.world_size;
  FOREBAY_ASSIGN(job_steps_,
                 open_schedule(input_.description(), data_, input_.options.seed, ranks, assignment_request(ranks)));
  const OpSpec* const bucket = measuring_step(input_.description());
  if (bucket != nullptr) warn_of_unlike_batches(*bucket, ranks);
  for (const BranchData& branch : data_.branches) {
    // Lanes are no remedy for batches that have rows of all of them.
    if (job_steps_.window == 1) warn_of_shared_lanes(branch.ordering, ranks, branch.branch.name());
    setup.sizes.mixing.push_back(mixing_of(branch));
  }
  setup.sizes.run.rows = job_steps_.schedule->most_rows();
  return {};
}

// Rows of a window may come in any order, so all of its blocks are in memory, whoever has their
// lanes.
SizingInput::Mixing DataSetRun::mixing_of(const BranchData& branch) const {
  const Ordering& ordering = branch.ordering;
  if (job_steps_.window == 1) return {ordering.block, lanes_of_rank(ordering, input_.rank_info.world_size)};
  const int64_t blocks = blocks_in_window(branch, job_steps_.window);
  return {ordering.block * blocks, ordering.lanes};
}

Status DataSetRun::open_steps(RunSetup& setup) {
  const Description& description = input_.description();
  const LoaderOptions& options = input_.options;
  if (peers_) {
    share_entries(*setup.plan);
    set_run_settings(*peers_->job(), description, *source_, data_, job_steps_.assignment.name, options.seed,
                     input_.rank_info.world_size);
    tell_ranks(peers_->job());
  }
  add_reclaimable_accounts(*setup.plan, without_places(caches_), input_.sizes.memory, setup.runner.memory.accounts);
  indexed_ = itinerary();
  current_ = std::make_shared<CurrentSteps>(indexed_);
  steps_ = current_;
  if (reads_by_epoch(description.steps().front())) steps_ = std::make_shared<EpochByEpoch>(current_);
  return {};
}

void DataSetRun::share_entries(const ExecutionPlan& plan) {
  std::vector<std::shared_ptr<const Source>> sources;
  for (const auto& branch : plan.branches()) sources.push_back(branch->source);
  cached_ = cached_elements(plan, data_);
  peers_->set_versions(number_elements(data_), std::move(sources));
  set_owners(*peers_, cached_, data_, job_steps_);
  advanced_to({});
}

std::shared_ptr<IndexedItinerary> DataSetRun::itinerary() const {
  return std::make_shared<IndexedItinerary>(data_.plan, data_.samples(), job_steps_.schedule, input_.rank_info.rank,
                                            input_.options.epochs);
}

// The launcher's number of hosts is that of the running job, and not of other world sizes.
AssignmentRequest DataSetRun::assignment_request(int64_t world_size) const {
  const RankInfo& info = input_.rank_info;
  return {input_.options.job.shard_by, input_.options.job.hosts, world_size == info.world_size ? info.hosts : 0};
}

Result<EpochPlan> DataSetRun::plan(int64_t epoch, int64_t rank, int64_t world_size, int64_t max_steps) const {
  if (is_before({epoch, 0, 0}, earliest()))
    return invalid_argument(fmt::format(
        "plan(): parts or weights changed in epoch {}, at position {}; what came before is not known any more",
        earliest().epoch, earliest().position));
  return plan_epoch(input_.description(), data_,
                    {input_.options.seed, epoch, rank, world_size, max_steps, assignment_request(world_size)});
}

int64_t DataSetRun::passes_before(size_t branch, const Cursor& at) const {
  return current_->order(branch)->size() == 0 ? 0 : current_->next_place(branch, at).epoch;
}

std::shared_ptr<ReplayBranch> DataSetRun::replayed(size_t branch, SampleLabels labels) const {
  return std::make_shared<ReplayedDataSet>(std::move(labels), data_.branches[branch].source);
}

std::shared_ptr<RunSamples> DataSetRun::samples(std::vector<SampleLabels> labels) {
  std::vector<std::shared_ptr<ReplayBranch>> branches;
  for (SampleLabels& one : labels) branches.push_back(replayed(branches.size(), std::move(one)));
  return std::make_shared<IndexedSamples>(std::move(branches), current_);
}

Status DataSetRun::before_batch(const Cursor& at) {
  if (!peers_) return {};
  FOREBAY_RETURN_IF_ERROR(peers_->job()->check_run());
  advanced_to(at);
  return {};
}

void DataSetRun::advanced_to(const Cursor& at) {
  const int64_t number = number_of(at);
  if (peers_) peers_->set_position(number);
  if (!job_) return;
  job_->edit_run([&](RunChanges& changes) { changes.position = number; });
  // Called again and again while the first batch of an epoch is awaited.
  if (at.position == 0 && std::exchange(asked_in_epoch_, at.epoch) != at.epoch) job_->ask_soon();
}

// The position counted over all epochs. Nobody waits for first uses in epochs so late that their
// positions are too large to count.
int64_t DataSetRun::number_of(const Cursor& at) const {
  const bool counted = at.epoch < INT64_MAX / (data_.size() + 1);
  return counted ? at.epoch * data_.size() + at.position : INT64_MAX;
}

void DataSetRun::tell_ranks(std::shared_ptr<Job> job) {
  job_ = std::move(job);
  if (job_) job_->edit_run([&](RunChanges& changes) { changes.possible = may_change(); });
}

void DataSetRun::resume_at_epoch() {
  current_->resume();
  // The position follows with the next batch.
  if (job_) job_->edit_run([](RunChanges& changes) { changes.jump(0); });
}

bool DataSetRun::may_change() const {
  return !catalog().is_one_branch(input_.description().steps().front()) ||
         data_.branches.front().chosen.drawing != nullptr || data_.branches.front().draws_partners();
}

std::string DataSetRun::changes_version() const {
  return data_.changes.empty() ? "" : hash128(json_of(data_.changes).dump()).to_string();
}

std::vector<SavedPart> DataSetRun::parts_at(const Cursor& at) const {
  Order::Use place{at.epoch, at.position};
  // Positions that count blocks are no positions of the plan.
  const Schedule* const schedule = job_steps_.schedule.get();
  if (schedule != nullptr && schedule->blocks() != nullptr) place.position = schedule->first_plan_position(place);
  return parts_before({input_.description()}, *data_.plan, place, data_, data_.changes);
}

// Makes the plan of `data` with its changes.
Result<DataPlan> DataSetRun::with_plan(DataPlan data) const {
  FOREBAY_ASSIGN(data.plan, plan_of({input_.description()}, input_.options.seed, data, data.changes));
  FOREBAY_RETURN_IF_ERROR(redraw_partners(&data));
  return data;
}

// Goes on with the changes and given weights of `data`. Returns whether its plan is another one; the
// steps are paused then.
Result<bool> DataSetRun::apply(DataPlan data) {
  if (data.changes == data_.changes) {
    data_.branches = std::move(data.branches);
    return false;
  }
  FOREBAY_RETURN_IF_ERROR(check_fits(data.changes, input_.description(), data));
  FOREBAY_ASSIGN(data, with_plan(std::move(data)));
  const int64_t ranks = input_.rank_info.world_size;
  FOREBAY_ASSIGN(job_steps_,
                 open_schedule(input_.description(), data, input_.options.seed, ranks, assignment_request(ranks)));
  data_ = std::move(data);
  if (peers_) set_owners(*peers_, cached_, data_, job_steps_);
  indexed_ = itinerary();
  current_->replace(indexed_);
  return true;
}

Status DataSetRun::load_changes(const PlanChanges& changes) {
  DataPlan data = data_;
  data.changes = changes;
  return apply(std::move(data)).status();
}

// A window of samples that is half delivered would have other samples.
Status DataSetRun::expect_steps_in_order(const std::string& what) const {
  if (job_steps_.window == 1) return {};
  if (const OpSpec* const bucket = measuring_step(input_.description()))
    return unsupported(fmt::format("{} is not for .{}() yet; use .batch(n)", what, bucket->name));
  return unsupported(fmt::format(
      "{} is not for blocks that are made anew in each epoch yet; leave .pack() out, or pack the parts of a mix: "
      "mix({{\"a\": a.pack(n), …}})",
      what));
}

Result<Run::Resume> DataSetRun::change(const PlanEdit& edit, const Cursor& at) {
  FOREBAY_RETURN_IF_ERROR(expect_steps_in_order(edit.call));
  FOREBAY_ASSIGN(DataPlan with_edit, edit.edit(input_.description(), data_, at));
  FOREBAY_ASSIGN(const bool changed, apply(std::move(with_edit)));
  if (changed && job_) {
    job_->edit_run([&](RunChanges& changes) {
      changes.position = number_of(at);
      changes.add(fmt::format("{} with {} in epoch {}, at position {}", edit.call, edit.value, at.epoch, at.position));
    });
  }
  return changed ? Resume([steps = current_] { steps->resume(); }) : Resume();
}

Result<Checkpoint> DataSetRun::with_changed_parts(const Checkpoint& saved) const {
  if (catalog().is_one_branch(input_.description().steps().front())) return Run::with_changed_parts(saved);
  if (saved.parts.empty()) return invalid_argument("parts=\"changed\": the state is of a pipeline without parts");
  FOREBAY_RETURN_IF_ERROR(expect_steps_in_order("parts=\"changed\""));
  DataPlan unchanged = data_;
  unchanged.changes = {};
  FOREBAY_ASSIGN(unchanged, with_plan(std::move(unchanged)));
  const SavedPlace before{saved.cursor, saved.samples, saved.parts, saved.changes.value_or(PlanChanges())};
  FOREBAY_ASSIGN(SavedPlace place,
                 place_with_changed_parts(input_.description(), input_.options.seed, unchanged, before));
  Checkpoint state = saved;
  state.cursor = place.cursor;
  state.samples = place.samples;
  state.changes = std::move(place.changes);
  state.streams.clear();  // a data set has none
  return state;
}

void DataSetRun::save(Checkpoint& state) const {
  state.parts = parts_at(state.cursor);
  if (may_change()) state.changes = data_.changes;
}

// The bound is that of the steps: an epoch may have more packed blocks than samples.
Status DataSetRun::check_position(const Checkpoint& saved) const {
  const Cursor& at = saved.cursor;
  const Schedule* const schedule = job_steps_.schedule.get();
  const PackedWindows* const blocks = schedule != nullptr ? schedule->blocks() : nullptr;
  const int64_t end = blocks != nullptr ? blocks->count_blocks(at.epoch, at.position) : saved.samples;
  if (!saved.streams.empty() || at.position <= end) return {};
  return invalid_argument("this state's position lies behind its data set's end");
}

Result<Run::Resume> DataSetRun::load(const Checkpoint& saved) {
  FOREBAY_RETURN_IF_ERROR(check_position(saved));
  FOREBAY_RETURN_IF_ERROR(load_changes(saved.changes.value_or(PlanChanges())));
  if (job_) job_->edit_run([at = number_of(saved.cursor)](RunChanges& changes) { changes.jump(at); });
  return Resume([steps = current_] { steps->resume(); });
}

Status DataSetRun::write_journal(const std::string&, const Cursor&) {
  return invalid_argument("journal(): what a data set gives follows from the seed; only streams need one");
}

void DataSetRun::add_to(Ledger& ledger) const {
  add_caches(without_places(caches_), ledger);
  if (peers_) peers_->add_to(ledger);
}

void DataSetRun::release() {
  if (peers_) peers_->job()->close();
}

}  // namespace forebay
