#include "loader/run/replay_run.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "cache/budget_limits.h"
#include "forebay/ledger.h"
#include "loader/describe/check.h"
#include "loader/describe/parted_source.h"
#include "loader/describe/step_arguments.h"
#include "loader/run/sample_labels.h"
#include "ops/definition/args.h"
#include "pipeline/cache_rules.h"
#include "pipeline/catalog.h"

namespace forebay {

namespace {

constexpr uint64_t kDefaultReplayBytes = uint64_t{2} << 30;  // as for a .cache()

// Shrinks a class of the buffer of a run with another capacity to its latest `capacity` samples,
// oldest first.
void shrink_to_latest(Rehearsal::Class& one, int64_t capacity) {
  std::rotate(one.samples.begin(), one.samples.begin() + one.next, one.samples.end());
  const auto size = static_cast<int64_t>(one.samples.size());
  if (size > capacity) one.samples.erase(one.samples.begin(), one.samples.end() - capacity);
  one.next = 0;
}

// Settings of the replay buffer, from the steps of the description.
struct ReplaySettings {
  RehearsalOptions options;
  int64_t replayed = 0;  // replayed samples in each step of each rank
  std::string by = {};   // field that determines a sample's class; empty for none
};

// The replay buffer of .buffer(on_underrun="repeat"): the latest records, as many as one step has.
// It draws nothing for steps whose records have arrived (is_underrun_buffer()).
ReplaySettings underrun_settings(const RunInput& input) {
  const ScheduleOptions schedule = schedule_of(input.description(), 0, input.rank_info.world_size);
  return {.options = {.seed = input.options.seed,
                      .policy = RehearsalPolicy::kRecent,
                      .capacity = schedule.batch_size * schedule.world_size,
                      .draws = 0,
                      .candidates = {}}};
}

ReplaySettings replay_settings(const RunInput& input) {
  const OpSpec* const step = find_step(input.description(), OpEffect::kReplay);
  if (step == nullptr) return underrun_settings(input);
  const Args args(step->args, catalog().find(step->name)->args);
  const std::string policy = args.text("policy");
  ReplaySettings settings;
  settings.replayed = args.integer("n");
  settings.by = args.text("by");
  settings.options = {.seed = input.options.seed,
                      .policy = policy == "balanced" ? RehearsalPolicy::kBalanced
                                : policy == "recent" ? RehearsalPolicy::kRecent
                                                     : RehearsalPolicy::kReservoir,
                      .capacity = args.integer("capacity"),
                      // Drawn for all ranks at once. Each takes its part, so no two share a sample.
                      .draws = settings.replayed * input.rank_info.world_size};
  if (args.has("candidates")) settings.options.candidates = args.integer("candidates");
  return settings;
}

// Opens the store of results for where="here"; null for any other `where`, and without a rehearsal.
// `memory` is the limit that the user set, of which the store is a part.
std::shared_ptr<ReplayRows> open_results(const Description& description, std::optional<uint64_t> memory) {
  const OpSpec* const step = find_step(description, OpEffect::kReplay);
  if (step == nullptr || !rehearses_here(*step, catalog())) return nullptr;
  const Args args(step->args, catalog().find(step->name)->args);
  const uint64_t budget = args.has("ram") ? args.bytes("ram") : kDefaultReplayBytes;
  return std::make_shared<ReplayRows>(std::min({budget, max_memory_budget(), max_cache_bytes(memory)}));
}

std::vector<int64_t> ids_of(const Rehearsal& rehearsal) {
  std::vector<int64_t> ids;
  for (const ReplaySample& sample : rehearsal.all()) ids.push_back(sample.id);
  return ids;
}

Status unusable_replay() { return invalid_argument("this state has no usable \"rehearsal\""); }

}  // namespace

// Names the part in an error about its fields.
template <typename T>
Result<T> ReplayRun::in_part(size_t branch, Result<T> result) const {
  const std::string part = branches_of(input_.description())[branch].name();
  if (result.ok() || part.empty()) return result;
  return Status(result.status().code(), fmt::format("{} (in '{}')", result.status().message(), part));
}

Result<std::shared_ptr<ReplayRun>> ReplayRun::open(const RunInput& input, std::shared_ptr<Run> run) {
  std::shared_ptr<ReplayRun> replay(new ReplayRun(input, std::move(run)));
  ReplaySettings settings = replay_settings(input);
  replay->options_ = settings.options;
  replay->replayed_ = settings.replayed;
  replay->by_ = std::move(settings.by);
  for (const SourceFields& fields : replay->source_fields()) {
    FOREBAY_ASSIGN(replay->read_fields_.emplace_back(),
                   replay->in_part(replay->read_fields_.size(), SampleLabels::field_to_read(replay->by_, fields)));
  }
  replay->results_ = open_results(input.description(), input.sizes.memory);
  return replay;
}

// The fields of each branch.
std::vector<SourceFields> ReplayRun::source_fields() const {
  const PartedSource* const parts = as_parted(*source());
  std::vector<SourceFields> all;
  for (const Branch& branch : branches_of(input_.description()))
    all.emplace_back(branch.description, parts != nullptr ? *parts->branch_sources()[all.size()] : *source());
  return all;
}

bool ReplayRun::needs_pass() const {
  return run_->needs_pass() || std::ranges::any_of(read_fields_, [](const auto& field) { return !field.empty(); });
}

Status ReplayRun::choose(RunSetup& setup) {
  // Parts of a larger pipeline have no results (advice_for_replay()).
  if (results_) setup.branches.front().replayed = {results_, std::make_shared<ReplayKeys>(results_)};
  return run_->choose(setup);
}

Status ReplayRun::order(RunSetup& setup) {
  FOREBAY_RETURN_IF_ERROR(run_->order(setup));
  setup.sizes.run.replayed_rows = replayed_;
  setup.sizes.run.rows += replayed_;
  for (size_t branch = 0; branch < read_fields_.size(); ++branch)
    if (!read_fields_[branch].empty())
      setup.sizes.run.classes += SampleClasses::expected_bytes(setup.branches[branch].selection->size());
  return {};
}

Status ReplayRun::open_steps(RunSetup& setup) {
  FOREBAY_RETURN_IF_ERROR(run_->open_steps(setup));
  if (results_)
    setup.runner.memory.accounts.push_back({Use::kCaches, results_, ByteBudget::Kind::kEntries, results_->most_bytes(),
                                            0, /*beside=*/results_->most_bytes()});
  std::vector<SampleLabels> labels;
  for (const SourceFields& fields : source_fields()) {
    FOREBAY_ASSIGN(labels.emplace_back(), labels_of(setup, labels.size(), fields));
  }
  setup.runner.memory.index += class_bytes_ - setup.sizes.run.classes;  // was an estimate
  samples_ = run_->samples(std::move(labels));
  steps_ = std::make_shared<ReplaySteps>(run_->steps(), samples_, options_, replayed_, input_.rank_info.rank, results_);
  return restore_given_buffer();
}

// The classes of the samples of a branch, for which a pass may have to read them.
Result<SampleLabels> ReplayRun::labels_of(RunSetup& setup, size_t branch, const SourceFields& fields) {
  if (read_fields_[branch].empty()) return in_part(branch, SampleLabels::of_field(by_, fields));
  // Errors of damaged samples are reported when these are due.
  const PassCallbacks quiet{setup.callbacks.on_runner, [](const RowError&) { return Status(); }};
  FOREBAY_ASSIGN(std::shared_ptr<const SampleClasses> classes,
                 read_classes(setup.branches[branch], fields.steps(), read_fields_[branch], input_.sizes, quiet));
  class_bytes_ += classes->bytes();
  return SampleLabels::of_classes(std::move(classes));
}

// Starts with the replay buffer of an earlier loader, if the options have one.
Status ReplayRun::restore_given_buffer() {
  if (input_.options.rehearsal.empty()) return {};
  FOREBAY_ASSIGN(const Checkpoint before, Checkpoint::from_json(input_.options.rehearsal));
  if (!before.replay) return invalid_argument("rehearsal=: this state keeps nothing: its pipeline has no .rehearse()");
  FOREBAY_ASSIGN(Restored given, restored(*before.replay));
  FOREBAY_RETURN_IF_ERROR(samples_->check_before(ids_of(given.buffer)));
  given.samples();
  steps_->resume_with(std::move(given.buffer));
  return {};
}

void ReplayRun::advanced_to(const Cursor& at) {
  steps_->delivered(at);
  run_->advanced_to(at);
}

Result<Run::Resume> ReplayRun::change(const PlanEdit& edit, const Cursor& at) {
  FOREBAY_ASSIGN(Resume resume, run_->change(edit, at));
  if (!resume) return resume;
  return Resume([steps = steps_, resume = std::move(resume)] {
    steps->resume();
    resume();
  });
}

Result<Checkpoint> ReplayRun::with_changed_parts(const Checkpoint& saved) const {
  if (saved.replay && saved.replay->source_version != source()->version().to_string())
    return unsupported(
        "parts=\"changed\": with .rehearse() other weights can be given, and other parts not yet: the old samples are "
        "of the parts before; leave .rehearse() out for this state, and begin it anew");
  return run_->with_changed_parts(saved);
}

void ReplayRun::save(Checkpoint& state) const {
  run_->save(state);
  state.replay = state_of(steps_->buffer());
}

Result<Run::Resume> ReplayRun::load(const Checkpoint& saved) {
  Restored state{Rehearsal(options_), [] {}};
  if (saved.replay) {
    FOREBAY_ASSIGN(state, restored(*saved.replay));
  }
  FOREBAY_ASSIGN(Resume resume, run_->load(saved));
  return Resume([steps = steps_, state = std::move(state), resume = std::move(resume)] {
    state.samples();
    steps->resume_with(state.buffer);
    resume();
  });
}

void ReplayRun::pause() {
  run_->pause();
  steps_->pause();
}

void ReplayRun::resume_at_epoch() {
  steps_->resume();
  run_->resume_at_epoch();
}

void ReplayRun::add_to(Ledger& ledger) const {
  run_->add_to(ledger);
  if (results_) ledger.rehearsal = results_->stats();
  ledger.index_bytes += class_bytes_;
}

ReplayState ReplayRun::state_of(const Rehearsal& buffer) const {
  return {source()->version().to_string(), buffer.classes(), results_ != nullptr, samples_->records(ids_of(buffer))};
}

// StateMismatch if the buffer is of another data set. InvalidArgument if it has more samples than
// the capacity, or samples that this run cannot have.
Result<ReplayRun::Restored> ReplayRun::restored(const ReplayState& state) const {
  if (state.source_version != source()->version().to_string())
    return Status(Code::kStateMismatch, "the kept samples are of another data set");
  std::map<int64_t, Rehearsal::Class> classes = state.classes;
  int64_t all = 0;
  for (auto& [label, one] : classes) {
    const auto size = static_cast<int64_t>(one.samples.size());
    all += size;
    // An underrun buffer has the size of one step, and a run may resume with another batch size.
    const bool other_size = size > options_.capacity || (size < options_.capacity && one.next > 0);
    if (is_underrun_buffer() && other_size) shrink_to_latest(one, options_.capacity);
    if (static_cast<int64_t>(one.samples.size()) > options_.capacity) return unusable_replay();
  }
  if (options_.policy == RehearsalPolicy::kBalanced && all > options_.capacity) return unusable_replay();
  Rehearsal rehearsal(options_);
  rehearsal.restore(std::move(classes));
  const std::vector<PlacedRecord> none;
  FOREBAY_ASSIGN(Restore samples, samples_->find(ids_of(rehearsal), state.records ? *state.records : none));
  return Restored{std::move(rehearsal), std::move(samples)};
}

}  // namespace forebay
